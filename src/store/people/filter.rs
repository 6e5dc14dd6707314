//! Which rows a list shows, and one page of them.

use serde::Serialize;
use time::OffsetDateTime;

use crate::error::{Error, Result};
use crate::model::job::millis;

/// Most rows of one page.
pub const MAX_LIMIT: usize = 200;

/// Which rows a list shows. Nothing set shows everything, newest first, 50 a page.
///
/// ```
/// use lanebox::people::Filter;
///
/// let dead = Filter::new().state("dead").org("acme").limit(20);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Filter {
    pub(crate) state: Option<String>,
    pub(crate) kind: Option<String>,
    pub(crate) org: Option<String>,
    pub(crate) lane: Option<String>,
    pub(crate) lane_no: Option<String>,
    pub(crate) since: Option<i64>,
    pub(crate) after: Option<String>,
    pub(crate) limit: Option<usize>,
}

impl Filter {
    /// Everything.
    #[must_use]
    pub fn new() -> Filter {
        Filter::default()
    }

    /// Only rows in this state; each list says which states it knows.
    #[must_use]
    pub fn state(mut self, state: impl Into<String>) -> Filter {
        self.state = Some(state.into());
        self
    }

    /// Only jobs or notices of this kind, sends of this channel, events of this name (or
    /// `prefix.*`).
    #[must_use]
    pub fn kind(mut self, kind: impl Into<String>) -> Filter {
        self.kind = Some(kind.into());
        self
    }

    /// Only rows of this org.
    #[must_use]
    pub fn org(mut self, org: impl Into<String>) -> Filter {
        self.org = Some(org.into());
        self
    }

    /// Only this lane, or what belongs to it.
    #[must_use]
    pub fn lane(mut self, lane: impl Into<String>) -> Filter {
        self.lane = Some(lane.into());
        self
    }

    /// The same, by the number that [`LaneView::no`](super::LaneView::no) and
    /// [`JobView::lane_no`](super::JobView::lane_no) tell: for whoever does not see its name.
    #[must_use]
    pub fn lane_no(mut self, no: impl Into<String>) -> Filter {
        self.lane_no = Some(no.into());
        self
    }

    /// Only events recorded, jobs enqueued, sends begun, notices counted at or after this time.
    #[must_use]
    pub fn since(mut self, since: OffsetDateTime) -> Filter {
        self.since = Some(millis(since));
        self
    }

    /// Goes on behind the page whose `next` this is.
    #[must_use]
    pub fn after(mut self, cursor: impl Into<String>) -> Filter {
        self.after = Some(cursor.into());
        self
    }

    /// Rows of one page, 1 to [`MAX_LIMIT`], default 50.
    #[must_use]
    pub fn limit(mut self, rows: usize) -> Filter {
        self.limit = Some(rows);
        self
    }

    pub(crate) fn rows(&self) -> Result<usize> {
        match self.limit {
            None => Ok(50),
            Some(rows) if (1..=MAX_LIMIT).contains(&rows) => Ok(rows),
            Some(_) => Err(refused(format!("a page has 1 to {MAX_LIMIT} rows"))),
        }
    }

    pub(crate) fn cursor(&self) -> Result<Option<i64>> {
        let parse = |text: &String| {
            let number: Option<i64> = text.parse().ok().filter(|&n| n >= 0);
            number.ok_or_else(|| refused(format!("{text:?} is not the `next` of a page")))
        };
        self.after.as_ref().map(parse).transpose()
    }

    /// The number of the lane asked for.
    pub(crate) fn lane_number(&self) -> Result<Option<i64>> {
        let parse = |text: &String| {
            text.parse().map_err(|_| refused(format!("{text:?} is not the number of a lane")))
        };
        self.lane_no.as_ref().map(parse).transpose()
    }

    /// The state asked for, if this list knows it.
    pub(crate) fn state_of(&self, known: &'static [&'static str]) -> Result<Option<&'static str>> {
        let Some(state) = &self.state else { return Ok(None) };
        let found = known.iter().find(|known| *known == state);
        let why = || refused(format!("there is no state {state:?}; use {}", known.join(", ")));
        found.copied().map(Some).ok_or_else(why)
    }

    /// Refuses what a list cannot be filtered by.
    pub(crate) fn without(&self, list: &str, fields: &[&str]) -> Result<()> {
        let set = |field: &&&str| match **field {
            "kind" => self.kind.is_some(),
            "lane" => self.lane.is_some() || self.lane_no.is_some(),
            "since" => self.since.is_some(),
            _ => false,
        };
        match fields.iter().find(set) {
            None => Ok(()),
            Some(field) => Err(refused(format!("{list} cannot be filtered by {field}"))),
        }
    }
}

fn refused(why: String) -> Error {
    Error::Refused { what: "this list".to_owned(), why }
}

/// One page of a list.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Page<T> {
    /// The rows, in the order of the list.
    pub rows: Vec<T>,
    /// What [`Filter::after`] takes for the next page; `None` at the end. A page of a narrow filter
    /// may be short, or empty, and still have a next: a call looks at a bounded number of rows.
    pub next: Option<String>,
}
