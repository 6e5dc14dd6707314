//! The form of event names, and the patterns that select them: exact, `prefix.*`, `*`. One rule for
//! the business bus and for durable consumers.

use std::fmt;

/// Which events somebody wants to hear of.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Pattern {
    Everything,
    Exact(String),
    /// With its dot, so that `call.*` does not take `callback.due`.
    Below(String),
}

impl Pattern {
    /// `None` if the text has none of the three forms.
    pub(crate) fn parse(pattern: &str) -> Option<Pattern> {
        if pattern == "*" {
            return Some(Pattern::Everything);
        }
        if is_event_name(pattern) {
            return Some(Pattern::Exact(pattern.to_owned()));
        }
        // What is a name once a part follows it, is a prefix.
        let prefix = pattern.strip_suffix('*').filter(|prefix| prefix.ends_with('.'))?;
        is_event_name(&format!("{prefix}x")).then(|| Pattern::Below(prefix.to_owned()))
    }

    pub(crate) fn matches(&self, name: &str) -> bool {
        match self {
            Pattern::Everything => true,
            Pattern::Exact(exact) => exact == name,
            Pattern::Below(prefix) => name.starts_with(prefix.as_str()),
        }
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Pattern::Everything => f.write_str("*"),
            Pattern::Exact(name) => f.write_str(name),
            Pattern::Below(prefix) => write!(f, "{prefix}*"),
        }
    }
}

/// Dotted lower case: two parts or more, each a letter and then letters, digits or `_`; at most 128
/// bytes. The same form that the schema demands of events, so that a hook's event can become one.
pub(crate) const fn is_event_name(name: &str) -> bool {
    let name = name.as_bytes();
    let mut dots = 0;
    let mut part_begins = true;
    let mut at = 0;
    while at < name.len() {
        match name[at] {
            b'a'..=b'z' => part_begins = false,
            b'0'..=b'9' | b'_' if !part_begins => {}
            b'.' if !part_begins => {
                dots += 1;
                part_begins = true;
            }
            _ => return false,
        }
        at += 1;
    }
    dots > 0 && !part_begins && name.len() <= 128
}
