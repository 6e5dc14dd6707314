//! Rules for texts that come from outside: bounds, NUL, JSON, and the one line that a notice may
//! carry.

#[cfg(test)]
mod tests;

use crate::error::{Error, Result};
use crate::model::pattern::is_event_name;

/// Deepest nesting of a payload.
pub(crate) const MAX_JSON_DEPTH: usize = 64;

/// Longest reason that people are shown, in characters.
const MAX_LINE: usize = 300;

/// How much of an error's first line is looked at, in characters: far above what is shown.
const MAX_LOOK: usize = 4_000;

/// A name of bounded length without NUL and outer blanks.
pub(crate) fn check_name(what: &'static str, text: &str, max: usize) -> Result<()> {
    if text.is_empty() || text.chars().count() > max {
        return Err(Error::invalid(what, format!("it has 1 to {max} characters")));
    }
    if text.contains('\0') {
        return Err(Error::invalid(what, "it contains NUL"));
    }
    // SQLite's trim() knows the blank alone; people also mean tabs and line ends.
    if text.trim() != text {
        return Err(Error::invalid(what, "it begins or ends with a blank"));
    }
    Ok(())
}

/// A key or subject: bounded, without NUL.
pub(crate) fn check_key(what: &'static str, text: &str, max: usize) -> Result<()> {
    if text.is_empty() || text.chars().count() > max {
        return Err(Error::invalid(what, format!("it has 1 to {max} characters")));
    }
    if text.contains('\0') {
        return Err(Error::invalid(what, "it contains NUL"));
    }
    Ok(())
}

/// A lower-case word of the field: kinds, consumer keys, notice kinds.
pub(crate) fn check_word(what: &'static str, text: &str) -> Result<()> {
    let legal = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "_.-".contains(c);
    if text.is_empty() || text.len() > 128 || !text.chars().all(legal) {
        let rule = "1 to 128 characters of a-z, 0-9, '_', '.', '-'";
        return Err(Error::invalid(what, format!("{text:?} is not {rule}")));
    }
    Ok(())
}

/// A dotted lower-case event name of two parts or more, like `lead.stage_changed`.
pub(crate) fn check_event_name(text: &str) -> Result<()> {
    if !is_event_name(text) {
        let rule = "dotted lower case like lead.stage_changed, at most 128 characters";
        return Err(Error::invalid("event name", format!("{text:?} is not {rule}")));
    }
    Ok(())
}

/// JSON within `max` bytes and the depth bound. The text is stored as it is, byte for byte.
pub(crate) fn check_json(what: &'static str, text: &str, max: usize) -> Result<()> {
    if text.len() > max {
        let why = format!("it has {} bytes, the bound is {max}; it was not cut", text.len());
        return Err(Error::invalid(what, why));
    }
    if text.contains('\0') || escapes_nul(text) {
        return Err(Error::invalid(what, "it contains NUL"));
    }
    if json_depth(text) > MAX_JSON_DEPTH {
        let why = format!("it nests deeper than {MAX_JSON_DEPTH} levels");
        return Err(Error::invalid(what, why));
    }
    match serde_json::from_str::<&serde_json::value::RawValue>(text) {
        Ok(_) => Ok(()),
        Err(error) => Err(Error::invalid(what, format!("it is not JSON: {error}"))),
    }
}

/// Like [`check_json`], and an object.
pub(crate) fn check_object(what: &'static str, text: &str, max: usize) -> Result<()> {
    check_json(what, text, max)?;
    if text.trim_start().starts_with('{') {
        Ok(())
    } else {
        Err(Error::invalid(what, "it is not a JSON object"))
    }
}

// A backslash that is itself escaped begins no escape: `\\\\u0000` is text.
fn escapes_nul(text: &str) -> bool {
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        let escaped = &rest[at + 1..];
        if escaped.starts_with("u0000") {
            return true;
        }
        let mut after = escaped.chars();
        after.next();
        rest = after.as_str();
    }
    false
}

// Counted before anything parses it, so that no parser recurses too deep.
fn json_depth(text: &str) -> usize {
    let (mut depth, mut deepest, mut quoted, mut escaped) = (0_usize, 0, false, false);
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b'{' | b'[' if !quoted => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b'}' | b']' if !quoted => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

/// An instant for people, to the second.
pub(crate) fn utc(ms: i64) -> String {
    let Ok(at) = time::OffsetDateTime::from_unix_timestamp(ms.div_euclid(1000)) else {
        return format!("{ms} ms");
    };
    let (date, time) = (at.date(), at.time());
    format!("{date} {:02}:{:02}:{:02} UTC", time.hour(), time.minute(), time.second())
}

/// The first line of an error, without control characters, at most 300 characters, cut on a
/// character boundary.
pub(crate) fn one_line(text: &str) -> String {
    shortened(&first_line(text))
}

/// One line for people in which nothing of the payload can be read: its texts and long numbers
/// become `[…]`.
pub(crate) fn scrub(text: &str, payload: &str) -> String {
    let line = first_line(text);
    let Ok(payload) = serde_json::from_str(payload) else { return shortened(&line) };
    let mut secrets = Vec::new();
    leaves(&payload, &mut secrets);
    // Longer ones first, so that a part of one does not leave the rest standing.
    secrets.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
    secrets.dedup();
    // Before the line is cut: half of a text must not be left standing at its end.
    let look = cut_before_a_part(&line, &secrets);
    let hide = |line: String, secret: &String| match line.contains(secret) {
        true => line.replace(secret, "[…]"),
        false => line,
    };
    shortened(&secrets.iter().fold(look.to_owned(), hide))
}

fn first_line(text: &str) -> String {
    let lines = text.lines().map(clean);
    lines.into_iter().find(|line| !line.is_empty()).unwrap_or_else(|| "no reason given".to_owned())
}

fn clean(line: &str) -> String {
    let shown: String = line.chars().filter(|c| !c.is_control()).collect();
    shown.trim().to_owned()
}

fn shortened(line: &str) -> String {
    if line.chars().count() <= MAX_LINE {
        return line.to_owned();
    }
    line.chars().take(MAX_LINE - 1).chain(['…']).collect()
}

// What is looked at ends where a secret begins that it does not hold as a whole.
fn cut_before_a_part<'l>(line: &'l str, secrets: &[String]) -> &'l str {
    let Some((end, _)) = line.char_indices().nth(MAX_LOOK) else { return line };
    let look = &line[..end];
    let parts = secrets.iter().filter_map(|secret| {
        let near = look.char_indices().rev().map(|(at, _)| at);
        near.take_while(|at| end - at < secret.len())
            .filter(|&at| secret.starts_with(&look[at..]))
            .last()
    });
    parts.min().map_or(look, |at| &look[..at])
}

fn leaves(value: &serde_json::Value, into: &mut Vec<String>) {
    match value {
        serde_json::Value::String(text) => text.lines().for_each(|line| hidden(line, into)),
        serde_json::Value::Number(number) if number.to_string().len() >= 6 => {
            into.push(number.to_string());
        }
        serde_json::Value::Array(items) => items.iter().for_each(|item| leaves(item, into)),
        serde_json::Value::Object(fields) => fields.values().for_each(|item| leaves(item, into)),
        _ => {}
    }
}

// As errors show a text: as it is, or quoted. An error is one line, so each line counts alone.
fn hidden(line: &str, into: &mut Vec<String>) {
    let quoted = line.trim().escape_debug().to_string();
    let plain = clean(line);
    if plain.chars().count() < 4 {
        return;
    }
    if quoted != plain {
        into.push(quoted);
    }
    into.push(plain);
}
