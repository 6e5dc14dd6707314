//! Times as people write them: `10m`, `2026-05-01`, `2026-05-01T08:00:00Z`.

use std::str::FromStr;
use std::time::Duration;

use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// A time in the past: how long ago, or when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Since(When);

/// A time to come: in how long, or when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Later(When);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum When {
    Away(Duration),
    At(OffsetDateTime),
}

impl Since {
    /// Seen from now.
    pub fn from(self, now: OffsetDateTime) -> OffsetDateTime {
        match self.0 {
            When::Away(away) => {
                now.checked_sub(seconds(away)).unwrap_or(OffsetDateTime::UNIX_EPOCH)
            }
            When::At(at) => at,
        }
    }
}

impl Later {
    /// Seen from now.
    pub fn from(self, now: OffsetDateTime) -> OffsetDateTime {
        match self.0 {
            When::Away(away) => now.saturating_add(seconds(away)),
            When::At(at) => at,
        }
    }
}

fn seconds(away: Duration) -> time::Duration {
    time::Duration::try_from(away).unwrap_or(time::Duration::MAX)
}

impl FromStr for Since {
    type Err = String;

    fn from_str(text: &str) -> Result<Since, String> {
        parse(text).map(Since)
    }
}

impl FromStr for Later {
    type Err = String;

    fn from_str(text: &str) -> Result<Later, String> {
        parse(text).map(Later)
    }
}

fn parse(text: &str) -> Result<When, String> {
    if let Some(away) = away(text) {
        return Ok(When::Away(away));
    }
    // A day begins at midnight, UTC.
    let at = OffsetDateTime::parse(text, &Rfc3339)
        .or_else(|_| OffsetDateTime::parse(&format!("{text}T00:00:00Z"), &Rfc3339));
    at.map(When::At)
        .map_err(|_| "write 90s, 10m, 2h, 3d, 2026-05-01 or 2026-05-01T08:00:00Z".to_owned())
}

fn away(text: &str) -> Option<Duration> {
    let at = text.find(|c: char| !c.is_ascii_digit())?;
    let (number, unit) = text.split_at(at);
    let unit = match unit {
        "s" => 1,
        "m" | "min" => 60,
        "h" => 3_600,
        "d" => 86_400,
        "w" => 604_800,
        _ => return None,
    };
    let number: u64 = number.parse().ok()?;
    Some(Duration::from_secs(number.saturating_mul(unit)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now() -> OffsetDateTime {
        OffsetDateTime::from_unix_timestamp(1_900_000_000).expect("a time")
    }

    #[test]
    fn lengths_days_and_instants_are_understood() {
        let since = |text: &str| Since::from_str(text).map(|s| s.from(now()).unix_timestamp());
        assert_eq!(since("90s"), Ok(1_900_000_000 - 90));
        assert_eq!(since("10m"), since("10min"));
        assert_eq!(since("2h"), Ok(1_900_000_000 - 7_200));
        assert_eq!(since("1w"), since("7d"));
        assert_eq!(since("2030-03-17"), Ok(1_899_936_000));
        assert_eq!(since("2030-03-17T17:46:40Z"), Ok(1_900_000_000));
        assert_eq!(since("2030-03-17T17:46:40+01:00"), Ok(1_899_996_400));
        let later = Later::from_str("10m").map(|l| l.from(now()).unix_timestamp());
        assert_eq!(later, Ok(1_900_000_600));
    }

    #[test]
    fn what_is_no_time_is_refused_and_what_is_too_far_does_not_overflow() {
        for text in ["", "m", "10", "10x", "-5m", "yesterday", "2026-13-01", "1 h", "９s"] {
            assert!(Since::from_str(text).is_err(), "{text:?}");
        }
        let far = Since::from_str("18446744073709551615w").expect("a length");
        assert_eq!(far.from(now()), OffsetDateTime::UNIX_EPOCH);
        let far = Later::from_str("18446744073709551615w").expect("a length");
        assert!(far.from(now()) > now());
    }
}
