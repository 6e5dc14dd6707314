//! A job before it is accepted, and the answer to accepting it.

use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use time::OffsetDateTime;

use crate::error::{Error, Result};
use crate::model::backoff::Backoff;
use crate::model::id::{ConsumerNo, EventSeq, JobId};
use crate::model::lane::Lane;
use crate::model::text::{check_json, check_key, check_name, check_word};

/// Most bytes of a job's payload.
pub const MAX_JOB_PAYLOAD: usize = 1 << 20;

/// Work of one kind, typed: the type owns its kind, version, lane and policy.
///
/// ```
/// use lanebox::{Job, Lane};
///
/// #[derive(serde::Serialize, serde::Deserialize)]
/// struct InboundTurn { contact: String, message: String }
///
/// impl Job for InboundTurn {
///     const KIND: &'static str = "inbound_turn";
///     fn lane(&self) -> Lane { Lane::of(&self.contact) }
/// }
/// ```
pub trait Job: Serialize + DeserializeOwned {
    /// Names the work in the file: 1 to 128 characters of `a-z`, `0-9`, `_`, `.`, `-`.
    const KIND: &'static str;
    /// Version of the payload's shape, 1 or more.
    const VERSION: u32 = 1;

    /// In which lane this one runs; [`Lane::NONE`] is said, never implied.
    fn lane(&self) -> Lane;

    /// How this kind is tried, timed out and retried.
    fn policy() -> Policy {
        Policy::default()
    }
}

/// How a kind of work is tried. The defaults suit an outage of half an hour: nothing dies of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Policy {
    pub(crate) max_attempts: u32,
    pub(crate) backoff: Backoff,
    pub(crate) max_run_ms: i64,
    pub(crate) yields: bool,
}

impl Default for Policy {
    fn default() -> Policy {
        Policy { max_attempts: 10, backoff: Backoff::default(), max_run_ms: 600_000, yields: false }
    }
}

impl Policy {
    /// How often it may fail before it is dead: 1 to 100, default 10. 1 also means: never start it
    /// a second time. A job has what its typed [`Job`] said when it was enqueued, a delivery what
    /// its consumer said; a [raw](NewJob::raw) job says it [itself](NewJob::max_attempts).
    #[must_use]
    pub fn max_attempts(self, n: u32) -> Policy {
        Policy { max_attempts: n, ..self }
    }

    /// How long it waits between two attempts.
    #[must_use]
    pub fn backoff(self, backoff: Backoff) -> Policy {
        Policy { backoff, ..self }
    }

    /// Longest run of one attempt, default 10 minutes; then it is told to stop and its lease runs
    /// out.
    #[must_use]
    pub fn max_run(self, longest: Duration) -> Policy {
        Policy { max_run_ms: duration_ms(longest).max(1), ..self }
    }

    /// Gives its lane back while it waits to be tried again: what follows in the lane may overtake
    /// it. Not unless said. It holds for the kind, in every process, from the start of the last
    /// engine that handles it.
    #[must_use]
    pub fn yields(self) -> Policy {
        Policy { yields: true, ..self }
    }
}

/// A job about to be accepted: usually made from a typed [`Job`].
#[derive(Clone, Debug)]
#[must_use = "a job is accepted only when it is enqueued"]
pub struct NewJob {
    pub(crate) kind: String,
    pub(crate) version: u32,
    pub(crate) payload: Result<String, String>,
    pub(crate) org: Option<String>,
    pub(crate) lane: Lane,
    pub(crate) subject: Option<String>,
    pub(crate) priority: i64,
    pub(crate) run_at: Option<i64>,
    pub(crate) expires_at: Option<i64>,
    pub(crate) max_attempts: u32,
    pub(crate) unique_by: UniqueBy,
    pub(crate) origin: Origin,
}

/// What makes a second enqueue the same job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum UniqueBy {
    /// Nothing: every call is a new job.
    Nothing,
    /// One job per (org, source event, name), whatever became of it.
    Once { event: crate::model::id::EventId, name: String },
    /// A key that is remembered for its horizon, also after the job is done.
    Dedupe(String),
    /// A key that holds while the job is unfinished.
    Unfinished(String),
}

/// Which event and which consumer's delivery of it a job was born of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Origin {
    pub(crate) event: Option<EventSeq>,
    pub(crate) delivery: Option<(ConsumerNo, u32)>,
}

impl NewJob {
    /// A job from its typed arguments, with the kind's lane and policy.
    pub fn new<J: Job>(job: &J) -> NewJob {
        let payload = serde_json::to_string(job).map_err(|error| error.to_string());
        let mut new = NewJob::raw(J::KIND, payload.clone().unwrap_or_default(), job.lane());
        new.payload = payload;
        new.version = J::VERSION;
        new.max_attempts = J::policy().max_attempts;
        new
    }

    /// A job of a kind known by name only, its payload as JSON text, stored byte for byte. It may
    /// fail 10 times unless it says otherwise.
    pub fn raw(kind: impl Into<String>, payload_json: impl Into<String>, lane: Lane) -> NewJob {
        NewJob {
            kind: kind.into(),
            version: 1,
            payload: Ok(payload_json.into()),
            org: None,
            lane,
            subject: None,
            priority: 500,
            run_at: None,
            expires_at: None,
            max_attempts: 10,
            unique_by: UniqueBy::Nothing,
            origin: Origin::default(),
        }
    }

    /// The org it belongs to; the platform itself is `-`. A routed job has its event's org unless
    /// told otherwise; any other job must say it.
    pub fn org(mut self, org: impl Into<String>) -> NewJob {
        self.org = Some(org.into());
        self
    }

    /// Whom it concerns, normally the contact, as people see it in the job's page.
    pub fn subject(mut self, subject: impl Into<String>) -> NewJob {
        self.subject = Some(subject.into());
        self
    }

    /// 0 to 999, smaller first, default 500; orders jobs inside one org only.
    pub fn priority(mut self, priority: u16) -> NewJob {
        self.priority = i64::from(priority);
        self
    }

    /// Not before this time.
    pub fn at(mut self, at: OffsetDateTime) -> NewJob {
        self.run_at = Some(millis(at));
        self
    }

    /// How often it may fail, 1 to 100, instead of what its typed [`Job`] says.
    pub fn max_attempts(mut self, n: u32) -> NewJob {
        self.max_attempts = n;
        self
    }

    /// One job per (org, source event, kind), whatever becomes of it; the same call again answers
    /// `Existing`.
    pub fn once_for(mut self, event: crate::model::id::EventId) -> NewJob {
        self.unique_by = UniqueBy::Once { event, name: self.kind.clone() };
        self
    }

    /// Like [`NewJob::once_for`], for several jobs of one kind and one event, told apart by a name.
    pub fn once_for_named(
        mut self,
        event: crate::model::id::EventId,
        name: impl Into<String>,
    ) -> NewJob {
        self.unique_by = UniqueBy::Once { event, name: name.into() };
        self
    }

    /// A key remembered for its horizon (90 days), also after the job is done.
    pub fn dedupe(mut self, key: impl Into<String>) -> NewJob {
        self.unique_by = UniqueBy::Dedupe(key.into());
        self
    }

    /// A key that holds only while the job is unfinished: until then every other job by this key is
    /// answered with the first, whatever its payload says.
    pub fn unique(mut self, key: impl Into<String>) -> NewJob {
        self.unique_by = UniqueBy::Unfinished(key.into());
        self
    }

    /// Refuses what the schema would refuse, with a better sentence.
    pub(crate) fn check(&self) -> Result<()> {
        check_word("job kind", &self.kind)?;
        match &self.org {
            Some(org) => check_name("org", org, 128)?,
            None => return Err(Error::invalid("org", "a job needs one: `NewJob::org`")),
        }
        self.lane.check()?;
        if let Some(subject) = &self.subject {
            check_key("subject", subject, 512)?;
        }
        if !(0..=999).contains(&self.priority) {
            return Err(Error::invalid("priority", "it is 0 to 999, smaller first"));
        }
        if !(1..=100).contains(&self.max_attempts) {
            return Err(Error::invalid("max attempts", "it is 1 to 100"));
        }
        if self.version == 0 {
            return Err(Error::invalid("job version", "it is 1 or more"));
        }
        match &self.unique_by {
            UniqueBy::Nothing => {}
            UniqueBy::Once { name, .. } => check_key("once name", name, 128)?,
            UniqueBy::Dedupe(key) => check_key("dedupe key", key, 512)?,
            UniqueBy::Unfinished(key) => check_key("unique key", key, 512)?,
        }
        let payload = self.payload_text()?;
        check_json("job payload", payload, MAX_JOB_PAYLOAD)?;
        if payload.trim() == "null" {
            return Err(Error::invalid("job payload", "it is null; use {} for no arguments"));
        }
        Ok(())
    }

    pub(crate) fn payload_text(&self) -> Result<&str> {
        self.payload.as_deref().map_err(|why| Error::invalid("job payload", why.clone()))
    }
}

/// What became of an enqueue. Either way a job with its key is kept; of two that are not the same,
/// it is the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Enqueued {
    /// Accepted now, under this id.
    New(JobId),
    /// Its key is known: this is the job that has it, whatever its state.
    Existing(JobId),
}

impl Enqueued {
    /// The id of the job, whoever made it.
    pub fn id(self) -> JobId {
        match self {
            Enqueued::New(id) | Enqueued::Existing(id) => id,
        }
    }
}

/// Milliseconds since 1970 of a time of the caller's, clamped to years 1970 .. 9999.
pub(crate) fn millis(at: OffsetDateTime) -> i64 {
    let ms = at.unix_timestamp_nanos() / 1_000_000;
    i64::try_from(ms.clamp(0, 253_402_300_799_999))
        .expect("milliseconds clamped to what an i64 holds")
}

/// Of these milliseconds, what lies in the years 1970 to 9999.
pub(crate) fn clamped(ms: i64) -> i64 {
    ms.clamp(0, 253_402_300_799_999)
}

/// The time of the caller's that these milliseconds since 1970 name.
pub(crate) fn instant(ms: i64) -> OffsetDateTime {
    OffsetDateTime::from_unix_timestamp_nanos(i128::from(clamped(ms)) * 1_000_000)
        .expect("clamped to years 1970 to 9999")
}

pub(crate) fn duration_ms(d: Duration) -> i64 {
    i64::try_from(d.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_without_an_org_is_told_how_to_say_it() {
        let refused = NewJob::raw("k", "{}", Lane::NONE).check().expect_err("no org");
        assert!(refused.to_string().contains("`NewJob::org`"), "{refused}");
        NewJob::raw("k", "{}", Lane::NONE).org("acme").check().expect("a job");
    }
}
