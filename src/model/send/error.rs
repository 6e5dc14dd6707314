//! Why a send gave no receipt, and what each of these answers makes of the run that heard it.

use time::OffsetDateTime;

use crate::error::Error;
use crate::model::job::millis;
use crate::model::send::class::Refusal;
use crate::model::verdict::End;

/// Why a send gave no receipt. `?` in a handler, also inside an error of the host's own, lets the
/// engine do what it says: veto, postpone, wait for evidence, retry or end.
///
/// After `Unknown`, `Vetoed`, `Cancelled`, `Postponed`, `LeaseShort`, `OverTime`, `LeaseLost` and
/// `Store` every later send of the same run gets the same answer: else the numbers of the sends
/// would shift, and one could go out twice.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SendError {
    /// It may have gone out. The job waits for evidence, without a thread, slot, lease or attempt,
    /// and runs again then.
    #[error(
        "it is not known whether the message went out; it is not sent again, the job waits for evidence"
    )]
    Unknown,
    /// The gate refused: this must not be sent. The job ends as cancelled, without an alarm.
    #[error("the message must not be sent: {why}; nothing was sent")]
    Vetoed {
        /// What refused, and on which evidence.
        why: String,
    },
    /// A person asked to cancel this job.
    #[error("this job was cancelled; nothing was sent")]
    Cancelled,
    /// The gate is closed for now. The job waits in its lane, without using an attempt.
    #[error("the message waits until {until}: {why}; nothing was sent")]
    Postponed {
        /// When the gate is asked again.
        until: OffsetDateTime,
        /// What it waits for.
        why: String,
    },
    /// The rest of the lease does not outlive the channel's timeout, or the call was not begun in
    /// time. The job runs again at once, without using an attempt (bounded per kind).
    #[error("the lease of this run does not outlive the call; nothing was sent, it is tried again")]
    LeaseShort {
        /// When it is tried again.
        until: OffsetDateTime,
    },
    /// The run took longer than its kind allows: its lease is not renewed any more, and whoever has
    /// the job next sends.
    #[error("this run is over its time; nothing was sent, it is tried again")]
    OverTime,
    /// A person gave up on this send. The job ends as cancelled; only an order of a person sends it
    /// again.
    #[error("a person gave up on this message; nothing was sent")]
    GivenUp,
    /// The provider, or the channel before any call, refused the message.
    #[error("the message was refused: {reason}")]
    Rejected {
        /// Whether it may be tried again.
        refusal: Refusal,
        /// As the channel said it.
        reason: String,
        /// When the provider allows the next call, if it said so: the job waits until then without
        /// using an attempt.
        retry_at: Option<OffsetDateTime>,
    },
    /// Nothing reached the provider: the next attempt sends it.
    #[error("nothing reached the provider: {reason}")]
    NotCalled {
        /// As the channel said it.
        reason: String,
    },
    /// The job is somebody else's by now: this run is dropped.
    #[error("the lease of this run is lost; nothing was sent, another run does the work")]
    LeaseLost,
    /// The store refused before this message was sent.
    #[error("this message was not sent: {0}")]
    Store(#[source] Error),
}

/// What the engine does with a run whose handler answered one of our errors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Told {
    /// It ends like this.
    End(End),
    /// It is dropped: whoever holds the job now, or the reaper, ends it.
    Drop,
}

impl SendError {
    /// Whether every later send of the run gets this answer too: it used no number, or its send is
    /// not settled.
    pub(crate) fn sticks(&self) -> bool {
        !matches!(
            self,
            SendError::Rejected { .. } | SendError::NotCalled { .. } | SendError::GivenUp
        )
    }

    /// The same answer for a later send of the run.
    pub(crate) fn again(&self) -> SendError {
        match self {
            SendError::Unknown => SendError::Unknown,
            SendError::Vetoed { why } => SendError::Vetoed { why: why.clone() },
            SendError::Cancelled => SendError::Cancelled,
            SendError::Postponed { until, why } => {
                SendError::Postponed { until: *until, why: why.clone() }
            }
            SendError::LeaseShort { until } => SendError::LeaseShort { until: *until },
            SendError::OverTime => SendError::OverTime,
            SendError::GivenUp => SendError::GivenUp,
            SendError::Rejected { refusal, reason, retry_at } => SendError::Rejected {
                refusal: *refusal,
                reason: reason.clone(),
                retry_at: *retry_at,
            },
            SendError::NotCalled { reason } => SendError::NotCalled { reason: reason.clone() },
            SendError::LeaseLost => SendError::LeaseLost,
            SendError::Store(Error::Invalid { what, why }) => {
                SendError::Store(Error::invalid(what, why.clone()))
            }
            SendError::Store(error) => SendError::Store(error.again()),
        }
    }

    /// What it makes of the run; `wait_ms` is the backoff if it is a failure.
    fn told(&self, wait_ms: i64) -> Told {
        let retry = || End::Retry { error: self.to_string(), wait_ms };
        Told::End(match self {
            SendError::Unknown => End::Unknown,
            SendError::Vetoed { why } => End::Veto(why.clone()),
            SendError::Postponed { until, why } => postpone(*until, why.clone(), false),
            SendError::LeaseShort { until } => postpone(*until, self.to_string(), true),
            SendError::GivenUp => End::GivenUp(self.to_string()),
            SendError::Rejected { refusal: Refusal::ForGood, .. } => End::Dead(self.to_string()),
            SendError::Rejected { retry_at: Some(at), .. } => {
                postpone(*at, self.to_string(), false)
            }
            SendError::Store(Error::Invalid { .. }) => End::Dead(self.to_string()),
            // A person's wish is in the row of the run: it wins against a retry.
            SendError::Cancelled | SendError::OverTime => retry(),
            SendError::Rejected { .. } | SendError::NotCalled { .. } | SendError::Store(_) => {
                retry()
            }
            SendError::LeaseLost => return Told::Drop,
        })
    }
}

// The lane is kept: a contact's messages stay in order through an outage of their channel.
fn postpone(until: OffsetDateTime, why: String, counted: bool) -> End {
    End::Postpone { until: millis(until), why, keep_lane: Some(true), counted }
}

/// What one of our answers, wherever it is in the chain of a handler's error, makes of the run;
/// `None` if the error is the host's alone. `wait_ms` is the backoff if it is a failure.
pub(crate) fn end_of(error: &(dyn std::error::Error + 'static), wait_ms: i64) -> Option<Told> {
    let mut link = Some(error);
    while let Some(error) = link {
        if let Some(answer) = error.downcast_ref::<SendError>() {
            return Some(answer.told(wait_ms));
        }
        link = error.source();
    }
    None
}

#[cfg(test)]
mod tests;
