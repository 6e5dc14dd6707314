//! What a handler says about its job.

use std::error::Error as StdError;
use std::time::Duration;

use serde::Serialize;
use time::OffsetDateTime;

use crate::model::job::MAX_JOB_PAYLOAD;
use crate::model::text::check_json;
use crate::model::verdict::End;

/// Any error of the host's.
pub type BoxError = Box<dyn StdError + Send + Sync>;

/// What a handler answers. An `Err` of the host's means [`Outcome::retry`]; an error of Lanebox's
/// own that travels through `?` means what it says (veto, postpone, wait, rejected for good, lease
/// lost).
///
/// ```
/// use lanebox::Outcome;
///
/// fn decide(closed: bool) -> Outcome {
///     if closed { Outcome::veto("conversation closed") } else { Outcome::Done }
/// }
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
#[must_use]
pub enum Outcome {
    /// The work is done.
    Done,
    /// The work is done, and this is its result, kept with the job. A result that no payload could
    /// be (over [`MAX_JOB_PAYLOAD`] bytes, nested deeper than 64 levels, a NUL in a string) makes
    /// the job dead.
    DoneWith(serde_json::Value),
    /// There is nothing to do here: consumed without work. The job is done, marked as skipped with
    /// this reason, and never run again; neither host rows nor events of the run are recorded.
    Skip(String),
    /// Not before `until`; no attempt is used. Bounded per kind (100 times).
    Postpone {
        /// The next try.
        until: OffsetDateTime,
        /// One line for people.
        why: String,
        /// Keeps the lane meanwhile? Unless said: only when the wait is at most 60 s or something
        /// was sent.
        keep_lane: Option<bool>,
    },
    /// A business decision against the work: cancelled, visible, no alarm, no retry.
    Veto(String),
    /// It failed: try again by the kind's backoff, or at `at`; dead after the last attempt.
    Retry {
        /// One line for people.
        error: String,
        /// Instead of the backoff, e.g. from `Retry-After`.
        at: Option<OffsetDateTime>,
    },
    /// It failed for good: dead at once, with a notice.
    Dead(String),
}

impl Outcome {
    /// Done, with a result that is kept with the job. A value that is not JSON counts as no result.
    pub fn done_with(result: impl Serialize) -> Outcome {
        serde_json::to_value(result).map_or(Outcome::Done, Outcome::DoneWith)
    }

    /// There is nothing to do here: consumed without work, for this reason.
    ///
    /// ```
    /// use lanebox::{Consumer, Outcome, Reactions};
    ///
    /// let sentiment = Consumer::new("sentiment", "message.received");
    /// let reactions = Reactions::new().consume(sentiment, |_ctx, event| {
    ///     if event.subject().is_none() {
    ///         return Ok::<_, lanebox::BoxError>(Outcome::skip("it concerns nobody"));
    ///     }
    ///     Ok(Outcome::Done)
    /// });
    /// ```
    pub fn skip(why: impl Into<String>) -> Outcome {
        Outcome::Skip(why.into())
    }

    /// Not before `until`.
    pub fn postpone(until: OffsetDateTime, why: impl Into<String>) -> Outcome {
        Outcome::Postpone { until, why: why.into(), keep_lane: None }
    }

    /// A business decision against the work.
    pub fn veto(why: impl Into<String>) -> Outcome {
        Outcome::Veto(why.into())
    }

    /// It failed: try again later.
    pub fn retry(error: impl ToString) -> Outcome {
        Outcome::Retry { error: error.to_string(), at: None }
    }

    /// It failed for good.
    pub fn dead(error: impl ToString) -> Outcome {
        Outcome::Dead(error.to_string())
    }

    /// As the store understands it. `wait` is the backoff of the failure that it would be.
    pub(crate) fn into_end(self, now: i64, wait: Duration) -> End {
        let millis = crate::model::job::millis;
        match self {
            Outcome::Done => End::Done { result: None },
            Outcome::DoneWith(value) => done_with(value.to_string()),
            Outcome::Postpone { until, why, keep_lane } => {
                End::Postpone { until: millis(until), why, keep_lane, counted: true }
            }
            Outcome::Skip(why) => End::Skip(why),
            Outcome::Veto(why) => End::Veto(why),
            Outcome::Retry { error, at } => {
                let backoff = crate::model::job::duration_ms(wait);
                let wait_ms = at.map_or(backoff, |at| millis(at).saturating_sub(now).max(0));
                End::Retry { error, wait_ms }
            }
            Outcome::Dead(error) => End::Dead(error),
        }
    }
}

// The work may have gone out: to do it again would not give a result that fits.
fn done_with(result: String) -> End {
    match check_json("result of the job", &result, MAX_JOB_PAYLOAD) {
        Ok(()) => End::Done { result: Some(result) },
        Err(error) => End::Dead(error.to_string()),
    }
}
