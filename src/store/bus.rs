//! The seam of the bus: recording facts, registering consumers, and dispatch in two halves. First a
//! look (a snapshot), then the routes with no transaction open, then a commit in which every
//! decision of the look is checked again.

use std::sync::Arc;

use crate::error::Result;
use crate::model::consumer::Registration;
use crate::model::event::{Event, NewEvent, Published};
use crate::model::id::{ConsumerNo, EventId, EventSeq, ProcessNo};
use crate::model::job::{NewJob, Policy};
use crate::model::pattern::Pattern;

/// Verbs on events and consumers.
pub(crate) trait Bus {
    /// Records facts, all or none; each answer is the new event or the first one of its dedupe key.
    fn publish(&self, events: Vec<NewEvent>) -> Result<Vec<Published>>;

    /// Registers a consumer, or takes it over with another definition.
    fn subscribe(&self, registration: Registration) -> Result<Registered>;

    /// What there is to dispatch for these consumers, in one snapshot. Writes nothing.
    fn look(&self, ask: &Look<'_>) -> Result<Outlook>;

    /// Takes suspects and due retries for this process, so that no other one runs them meanwhile.
    /// Answers those that it got; what moved since the look is not among them.
    fn take(&self, process: ProcessNo, wanted: Wanted) -> Result<Wanted>;

    /// Remembers, beyond the death of this process, which route it is about to run; `None`: none
    /// any more.
    fn note_route(&self, process: ProcessNo, at: Option<&InRoute>) -> Result<()>;
}

/// What became of a registration.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Registered {
    New {
        consumer: ConsumerNo,
        generation: i64,
    },
    Same {
        consumer: ConsumerNo,
        generation: i64,
    },
    /// Another definition took over. It holds for events after the position.
    Changed {
        consumer: ConsumerNo,
        generation: i64,
        added: Vec<String>,
        removed: Vec<String>,
    },
    /// The file knows a higher version: this process does not dispatch it.
    Older {
        version: u32,
    },
    /// A person ended it: this process does not dispatch it.
    Retired,
}

/// A consumer that this process has code for, as of one generation of its definition.
#[derive(Debug)]
pub(crate) struct Watch {
    pub(crate) consumer: ConsumerNo,
    pub(crate) generation: i64,
    pub(crate) key: String,
    pub(crate) patterns: Vec<Pattern>,
    pub(crate) policy: Policy,
}

impl Watch {
    pub(crate) fn wants(&self, name: &str) -> bool {
        self.patterns.iter().any(|pattern| pattern.matches(name))
    }
}

/// What a process asks before it dispatches.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Look<'a> {
    pub(crate) process: ProcessNo,
    pub(crate) mine: &'a [Arc<Watch>],
    /// Whose turn it is among laggards and among suspects.
    pub(crate) turn: usize,
}

/// What there is to dispatch.
#[derive(Debug, Default)]
pub(crate) struct Outlook {
    /// Of every consumer's definition and state, at the time of looking.
    pub(crate) generation: i64,
    /// Events beyond the front with the consumers that stand there, then one group of laggards with
    /// theirs.
    pub(crate) ranges: Vec<Range>,
    pub(crate) wanted: Wanted,
    /// There is more than one pass takes.
    pub(crate) more: bool,
    /// When the next failed delivery is due.
    pub(crate) next_retry: Option<i64>,
}

impl Outlook {
    pub(crate) fn is_empty(&self) -> bool {
        self.ranges.is_empty() && self.wanted.is_empty()
    }
}

/// Events after `from` up to `to`, and the consumers that stand before them.
#[derive(Debug)]
pub(crate) struct Range {
    pub(crate) from: EventSeq,
    pub(crate) to: EventSeq,
    pub(crate) events: Vec<Sighting>,
    pub(crate) members: Vec<Member>,
}

/// A consumer in a range. It may stand in its midst: events before its position are not for it.
#[derive(Clone, Debug)]
pub(crate) struct Member {
    pub(crate) watch: Arc<Watch>,
    pub(crate) position: EventSeq,
}

impl Member {
    pub(crate) fn wants(&self, event: EventSeq, name: &str) -> bool {
        event > self.position && self.watch.wants(name)
    }
}

/// An event as a pass saw it.
#[derive(Debug)]
pub(crate) struct Sighting {
    pub(crate) seq: EventSeq,
    pub(crate) org: String,
    pub(crate) name: String,
    pub(crate) recorded_at: i64,
    /// Its id; of an event that nobody adopted yet, the one that it will get.
    pub(crate) id: EventId,
    pub(crate) adopted: bool,
    pub(crate) duplicate: bool,
    /// Some live consumer's pattern meets it.
    pub(crate) handled: bool,
    /// Read if a member wants it; none either if its subject was forgotten.
    pub(crate) body: Option<Arc<Event>>,
}

/// What runs one at a time: a suspect, and deliveries whose next try is due.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wanted {
    pub(crate) suspect: Option<Suspect>,
    pub(crate) due: Vec<Due>,
}

impl Wanted {
    pub(crate) fn is_empty(&self) -> bool {
        self.suspect.is_none() && self.due.is_empty()
    }
}

/// A consumer whose process died in one of its routes: it goes on one event at a time until it has
/// passed that range.
#[derive(Clone, Debug)]
pub(crate) struct Suspect {
    pub(crate) watch: Arc<Watch>,
    pub(crate) position: EventSeq,
    /// End of the range that was being routed.
    pub(crate) routing: EventSeq,
    pub(crate) next: Next,
    /// This process has it already, from a pass that did not commit.
    pub(crate) taken: bool,
}

/// What a suspect does next.
#[derive(Clone, Debug)]
pub(crate) enum Next {
    /// Nothing that it wants is left in its range.
    Pass,
    /// The event that it wants; `None` if its subject was forgotten.
    Run { event: EventSeq, org: String, body: Option<Arc<Event>> },
    /// This event ran with nothing beside it, and its process died of it.
    Died { event: EventSeq, org: String },
}

/// A delivery whose route failed, due now.
#[derive(Clone, Debug)]
pub(crate) struct Due {
    pub(crate) watch: Arc<Watch>,
    pub(crate) event: EventSeq,
    pub(crate) org: String,
    pub(crate) body: Option<Arc<Event>>,
    pub(crate) series: i64,
    pub(crate) attempts: u32,
    /// Runs that began and are not known to have ended, this one included once it is taken.
    pub(crate) marks: u32,
    pub(crate) next_at: i64,
    pub(crate) taken: bool,
}

impl Due {
    /// Its process died twice while it ran: it does not run again.
    pub(crate) fn has_died(&self) -> bool {
        self.marks >= 2 && !self.taken
    }
}

/// Which route a process is in, as its lock file says after its death.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct InRoute {
    pub(crate) way: Way,
    pub(crate) consumer: ConsumerNo,
    pub(crate) generation: i64,
    pub(crate) event: EventSeq,
}

/// How a route came to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// Among others of a range.
    Range,
    /// With nothing beside it.
    Alone,
    /// Again, after it failed.
    Again,
}

/// What a consumer makes of an event.
#[derive(Clone, Debug)]
pub(crate) enum Made {
    /// The job of a consume handler.
    Job(Box<NewJob>),
    /// The jobs of a route; none is a skip.
    Routed(Vec<NewJob>),
    Skipped(String),
    /// The route failed or panicked.
    Failed(String),
}

/// The second half of a pass: what the routes answered, to be checked and written.
#[derive(Debug)]
pub(crate) struct Dispatch {
    pub(crate) process: ProcessNo,
    pub(crate) generation: i64,
    pub(crate) batches: Vec<Batch>,
    pub(crate) suspect: Option<(Suspect, Option<Made>)>,
    pub(crate) retries: Vec<(Due, Option<Made>)>,
    /// Each delivery in a savepoint: one that cannot be written fails alone.
    pub(crate) apart: bool,
}

/// A range with what its members made of it, in the order of events.
#[derive(Debug)]
pub(crate) struct Batch {
    pub(crate) range: Range,
    pub(crate) made: Vec<Delivery>,
}

/// One event for one consumer.
#[derive(Debug)]
pub(crate) struct Delivery {
    pub(crate) watch: Arc<Watch>,
    pub(crate) event: EventSeq,
    pub(crate) org: String,
    pub(crate) made: Made,
}

/// What a commit did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[must_use]
pub(crate) struct Dispatched {
    /// Deliveries written, first ones and tries again.
    pub(crate) deliveries: usize,
    /// Jobs that they became.
    pub(crate) jobs: usize,
    /// When the first of those that failed now is tried again.
    pub(crate) retry_at: Option<i64>,
    /// Something had moved since the look: its results were dropped, and a new look is due.
    pub(crate) moved: bool,
}
