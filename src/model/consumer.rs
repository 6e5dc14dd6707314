//! A consumer before it is registered: its key, what it hears, where it begins, and how its jobs
//! stand in line.

use time::OffsetDateTime;

use crate::error::{Error, Result};
use crate::model::event::Event;
use crate::model::job::{NewJob, Origin, Policy};
use crate::model::lane::Lane;
use crate::model::pattern::Pattern;
use crate::model::text::check_word;

/// What the kinds of consume jobs begin with: the consumer `sentiment` has the kind
/// `consume.sentiment`.
pub(crate) const KIND_PREFIX: &str = "consume.";

/// Where a consumer begins that the file does not know yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Start {
    /// With the next event. The default.
    #[default]
    Now,
    /// With the oldest event that is still in the file.
    Beginning,
    /// With the first event that was recorded at this time or later.
    At(OffsetDateTime),
}

/// In which lane the jobs of a consume handler run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LaneRule {
    /// A lane of this consumer's own for each subject: in order per contact, and whoever is in
    /// backoff holds up nobody else. Events without a subject have no lane. The default.
    #[default]
    OwnPerSubject,
    /// The subject's lane, shared with every job of that contact.
    Subject,
    /// No lane: beside anything, in any order.
    Unordered,
}

/// A named, durable subscription: every matching event becomes one delivery, once, whatever
/// restarts.
///
/// ```
/// use lanebox::{Consumer, LaneRule, Start};
///
/// let sentiment = Consumer::new("sentiment", "message.received")
///     .also("message.edited")
///     .start(Start::Beginning)
///     .lane(LaneRule::OwnPerSubject);
/// ```
#[derive(Clone, Debug)]
#[must_use = "a consumer hears nothing before it is registered"]
pub struct Consumer {
    key: String,
    patterns: Vec<String>,
    version: u32,
    start: Start,
    lane: LaneRule,
    policy: Policy,
}

impl Consumer {
    /// A consumer of this key, which stays the same for good, and of this pattern: an exact name,
    /// `prefix.*` or `*`. Keys are 1 to 120 characters of `a-z`, `0-9`, `_`, `.`, `-`.
    pub fn new(key: impl Into<String>, pattern: impl Into<String>) -> Consumer {
        Consumer {
            key: key.into(),
            patterns: vec![pattern.into()],
            version: 1,
            start: Start::Now,
            lane: LaneRule::default(),
            policy: Policy::default(),
        }
    }

    /// One more pattern. Changed patterns hold for events after the consumer's position.
    pub fn also(mut self, pattern: impl Into<String>) -> Consumer {
        self.patterns.push(pattern.into());
        self
    }

    /// Version of its code, 1 or more, default 1. Raise it when the code of a route changes: the
    /// higher one takes over, and processes with a lower one stop dispatching this consumer.
    pub fn version(mut self, version: u32) -> Consumer {
        self.version = version;
        self
    }

    /// Where it begins when the file does not know it yet: with the next event unless said. A known
    /// consumer goes on at its position.
    pub fn start(mut self, start: Start) -> Consumer {
        self.start = start;
        self
    }

    /// In which lane the jobs of a consume handler run: in one of its own per subject unless said.
    /// A route names the lane of each job itself.
    pub fn lane(mut self, lane: LaneRule) -> Consumer {
        self.lane = lane;
        self
    }

    /// How often and how far apart a failing handler or route is tried.
    pub fn policy(mut self, policy: Policy) -> Consumer {
        self.policy = policy;
        self
    }

    pub(crate) fn key(&self) -> &str {
        &self.key
    }

    pub(crate) fn tries(&self) -> Policy {
        self.policy
    }

    /// Checks it, as a consumer of this form.
    pub(crate) fn registration(&self, form: Form) -> Result<Registration> {
        check_word("consumer key", &self.key)?;
        if self.key.len() + KIND_PREFIX.len() > 128 {
            return Err(Error::invalid("consumer key", "it has 1 to 120 characters"));
        }
        let parse = |text: &String| {
            let form = "an exact event name, `prefix.*` or `*`";
            Pattern::parse(text)
                .ok_or_else(|| Error::invalid("pattern", format!("{text:?} is not {form}")))
        };
        let mut patterns = self.patterns.iter().map(parse).collect::<Result<Vec<_>>>()?;
        patterns.sort();
        patterns.dedup();
        if self.version == 0 {
            return Err(Error::invalid("consumer version", "it is 1 or more"));
        }
        if !(1..=100).contains(&self.policy.max_attempts) {
            return Err(Error::invalid("max attempts", "it is 1 to 100"));
        }
        let Consumer { key, version, start, lane, policy, .. } = self.clone();
        Ok(Registration { key, form, patterns, version, start, lane, policy })
    }
}

/// What a consumer's code is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// A handler: each delivery is one job, run with retries.
    Consume,
    /// A pure function from an event to jobs.
    Route,
}

impl Form {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Form::Consume => "consume",
            Form::Route => "route",
        }
    }
}

impl LaneRule {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            LaneRule::OwnPerSubject => "own",
            LaneRule::Subject => "subject",
            LaneRule::Unordered => "none",
        }
    }

    /// The lane of a delivery. A subject too long for a lane's name is bounded where lanes are
    /// stored.
    fn lane(self, key: &str, subject: Option<&str>) -> Lane {
        match (self, subject) {
            (LaneRule::Unordered, _) | (_, None) => Lane::NONE,
            (LaneRule::Subject, Some(subject)) => Lane::of(subject),
            (LaneRule::OwnPerSubject, Some(subject)) => Lane::of(format!("{key}/{subject}")),
        }
    }
}

/// A checked consumer, as the store registers it.
#[derive(Clone, Debug)]
pub(crate) struct Registration {
    pub(crate) key: String,
    pub(crate) form: Form,
    /// Sorted, each once.
    pub(crate) patterns: Vec<Pattern>,
    pub(crate) version: u32,
    pub(crate) start: Start,
    pub(crate) lane: LaneRule,
    pub(crate) policy: Policy,
}

impl Registration {
    /// The kind of the jobs that deliver to a consume handler.
    pub(crate) fn kind(&self) -> String {
        format!("{KIND_PREFIX}{}", self.key)
    }

    /// The job that delivers an event to a consume handler.
    pub(crate) fn job(&self, event: &Event) -> Result<NewJob> {
        let mut job =
            NewJob::raw(self.kind(), event.envelope()?, self.lane.lane(&self.key, event.subject()));
        job.org = Some(event.org().to_owned());
        job.subject = event.subject().map(str::to_owned);
        job.max_attempts = self.policy.max_attempts;
        Ok(job)
    }
}

/// Said by a route that makes no job of an event, on purpose: the delivery is closed with this
/// reason.
///
/// ```
/// use lanebox::{Event, NewJob, Skip};
///
/// fn route(event: &Event) -> Result<Vec<NewJob>, Box<dyn std::error::Error + Send + Sync>> {
///     if event.subject().is_none() {
///         return Err(Skip::because("it concerns nobody").into());
///     }
///     Ok(vec![])
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("skipped: {0}")]
pub struct Skip(pub(crate) String);

impl Skip {
    /// The reason, one line of at most 300 characters, kept with the delivery.
    pub fn because(reason: impl Into<String>) -> Skip {
        Skip(reason.into())
    }
}

/// Which delivery a job was born of.
pub(crate) fn origin(
    event: crate::model::id::EventSeq,
    consumer: crate::model::id::ConsumerNo,
    ordinal: u32,
) -> Origin {
    Origin { event: Some(event), delivery: Some((consumer, ordinal)) }
}
