//! The lane: the key within which jobs run one at a time, in order.

use crate::error::Result;
use crate::model::text::check_name;

/// In which lane a job runs. Jobs of one lane run one at a time, in order; lanes run in parallel.
///
/// A lane belongs to its org: the same name in two orgs is two lanes.
///
/// ```
/// use lanebox::Lane;
///
/// let of_a_contact = Lane::of("+49 151 123");
/// assert_ne!(of_a_contact, Lane::NONE);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lane(Option<String>);

impl Lane {
    /// No lane: the job runs beside anything. Said, never implied.
    pub const NONE: Lane = Lane(None);

    /// The lane of a key, normally a contact: 1 to 200 characters without outer blanks (checked at
    /// enqueue).
    pub fn of(key: impl Into<String>) -> Lane {
        Lane(Some(key.into()))
    }

    pub(crate) fn name(&self) -> Option<&str> {
        self.0.as_deref()
    }

    pub(crate) fn check(&self) -> Result<()> {
        self.0.as_deref().map_or(Ok(()), |name| check_name("lane", name, 200))
    }
}
