//! The patterns of the business bus: those of every event, refused with the bus's own error.

use super::HookError;
pub(super) use crate::model::pattern::{Pattern, is_event_name};

pub(super) fn parse(pattern: &str) -> Result<Pattern, HookError> {
    Pattern::parse(pattern).ok_or_else(|| HookError::Pattern { pattern: pattern.to_owned() })
}
