//! Texts that came from outside, made safe and short for a screen.

use lanebox::people::mask;

/// Longest cell of a table.
const LONGEST: usize = 80;

/// Shows what a terminal would obey: control characters, and those that turn the writing direction.
pub fn shown(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if obeyed(c) { shown.extend(c.escape_default()) } else { shown.push(c) }
    }
    shown
}

/// A cell of a table: shown, and cut if it is long.
pub fn cell(text: &str) -> String {
    let text = shown(text);
    if text.chars().count() <= LONGEST {
        return text;
    }
    text.chars().take(LONGEST - 1).chain(['…']).collect()
}

/// The same JSON, with what a terminal would obey written as escapes. Such characters stand only
/// inside its strings.
pub fn plain_json(json: &str) -> String {
    let mut plain = String::with_capacity(json.len());
    for c in json.chars() {
        if obeyed(c) { plain += &format!("\\u{:04x}", u32::from(c)) } else { plain.push(c) }
    }
    plain
}

fn obeyed(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// A contact as people may see it: enough to recognise it, not enough to write to it.
pub fn masked(contact: &str) -> String {
    // The lane of a consumer's deliveries: its key, a slash, the contact.
    let is_key = |key: &str| {
        key.starts_with(|c: char| c.is_ascii_lowercase())
            && key
                .chars()
                .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "_.-".contains(c))
    };
    match contact.split_once('/') {
        Some((key, contact)) if is_key(key) => format!("{key}/{}", mask(contact)),
        _ => mask(contact),
    }
}

/// When that was or will be, in the largest unit that tells something.
pub fn relative(at: i64, now: i64) -> String {
    let away = at.abs_diff(now) / 1_000;
    let (number, unit) = match away {
        0 => return "now".to_owned(),
        1..90 => (away, "s"),
        90..5_400 => (away / 60, "min"),
        5_400..172_800 => (away / 3_600, "h"),
        _ => (away / 86_400, "d"),
    };
    if at < now { format!("{number} {unit} ago") } else { format!("in {number} {unit}") }
}

/// An instant in full.
pub fn instant(at: i64) -> String {
    let time = time::OffsetDateTime::from_unix_timestamp_nanos(i128::from(at) * 1_000_000);
    let written =
        time.ok().and_then(|t| t.format(&time::format_description::well_known::Rfc3339).ok());
    written.unwrap_or_else(|| format!("{at} ms"))
}

/// Bytes in the unit that people read.
pub fn bytes(n: u64) -> String {
    match n {
        0..10_240 => format!("{n} B"),
        10_240..10_485_760 => format!("{} KiB", n >> 10),
        10_485_760..10_737_418_240 => format!("{} MiB", n >> 20),
        _ => format!("{} GiB", n >> 30),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_obey_is_shown() {
        assert_eq!(shown("a\u{1b}[2Jb\n\u{9b}"), "a\\u{1b}[2Jb\\n\\u{9b}");
        assert_eq!(shown("user\u{202e}gpj.exe"), "user\\u{202e}gpj.exe");
        assert_eq!(shown("Ünï → 你好 👩\u{200d}👧"), "Ünï → 你好 👩\u{200d}👧");
        assert_eq!(cell(&"x".repeat(100)).chars().count(), 80);
    }

    #[test]
    fn json_stays_the_same_json() {
        let text = "a\u{1b}\u{7f}\u{9b}\u{202e}\"\\";
        let json = serde_json::to_string(text).expect("json");
        let plain = plain_json(&json);
        assert!(!plain.chars().any(obeyed), "{plain}");
        assert_eq!(serde_json::from_str::<String>(&plain).expect("json"), text);
    }

    #[test]
    fn contacts_are_masked_and_the_consumer_of_a_lane_is_not() {
        assert_eq!(masked("+4915123456789"), "+49…89");
        assert_eq!(masked("sentiment/+4915123456789"), "sentiment/+49…89");
        assert_eq!(masked("4915123456789/1"), "491…/1");
        assert_eq!(masked("ann"), "…");
    }

    #[test]
    fn times_are_relative_in_a_unit_that_tells_something() {
        let now = 1_900_000_000_000;
        for (away, said) in [
            (0, "now"),
            (-8_000, "8 s ago"),
            (8_000, "in 8 s"),
            (-180_000, "3 min ago"),
            (7_200_000, "in 2 h"),
            (-200_000_000, "2 d ago"),
        ] {
            assert_eq!(relative(now + away, now), said);
        }
        assert!(relative(i64::MIN, i64::MAX).ends_with(" d ago"));
        assert_eq!(instant(1_900_000_000_000), "2030-03-17T17:46:40Z");
        assert_eq!(instant(i64::MAX), format!("{} ms", i64::MAX));
    }
}
