//! The form of event names, and the patterns that select them: exact, `prefix.*`, `*`.

use super::HookError;

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Pattern {
    Everything,
    Exact(String),
    /// With its dot, so that `call.*` does not take `callback.due`.
    Below(String),
}

impl Pattern {
    pub(super) fn parse(pattern: &str) -> Result<Self, HookError> {
        if pattern == "*" {
            return Ok(Pattern::Everything);
        }
        if is_event_name(pattern) {
            return Ok(Pattern::Exact(pattern.to_owned()));
        }
        match pattern.strip_suffix('*') {
            // What is a name once a part follows it, is a prefix.
            Some(prefix) if prefix.ends_with('.') && is_event_name(&format!("{prefix}x")) => {
                Ok(Pattern::Below(prefix.to_owned()))
            }
            _ => Err(HookError::Pattern { pattern: pattern.to_owned() }),
        }
    }

    pub(super) fn matches(&self, name: &str) -> bool {
        match self {
            Pattern::Everything => true,
            Pattern::Exact(exact) => exact == name,
            Pattern::Below(prefix) => name.starts_with(prefix.as_str()),
        }
    }
}

/// Dotted lower case: two parts or more, each a letter and then letters, digits or `_`; at most 128
/// bytes. The same form that the schema demands of events, so that a hook's event can become one.
pub(super) const fn is_event_name(name: &str) -> bool {
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
