//! What came of what: a tree of events, deliveries, jobs, sends and notices.

use serde::Serialize;

use super::view::{AttemptView, EventView, JobView, NoticeView, SendView, TryView};

/// What came of an event, job, send or entity, from its first cause on.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Trace {
    /// First causes that are events.
    pub events: Vec<EventTrace>,
    /// First causes that are jobs: somebody enqueued them without an event.
    pub jobs: Vec<JobTrace>,
    /// The tree was too large, so only its first part is here; or an entity may have events older
    /// than the newest 100,000, which are all that is looked at for it.
    pub cut: bool,
}

/// An event and what came of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct EventTrace {
    /// The event.
    #[serde(flatten)]
    pub event: EventView,
    /// Who saw it.
    pub deliveries: Vec<DeliveryTrace>,
    /// Jobs that the host enqueued once for it.
    pub jobs: Vec<JobTrace>,
}

/// One event for one consumer.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct DeliveryTrace {
    /// The key of the consumer.
    pub consumer: String,
    /// `job`, `routed`, `skipped`, `retry` or `dead`; `ahead` if the consumer has not come to it
    /// yet.
    pub state: String,
    /// When it was delivered.
    pub at: Option<i64>,
    /// Attempts at it that failed.
    pub attempts: i64,
    /// When it is tried again.
    pub next_at: Option<i64>,
    /// Why it was skipped, or how it failed.
    pub reason: Option<String>,
    /// What a person was told.
    pub notice: Option<NoticeView>,
    /// What people did to that notice, oldest first.
    pub audit: Vec<AuditView>,
    /// The jobs that it became.
    pub jobs: Vec<JobTrace>,
}

/// A job and what came of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct JobTrace {
    /// The job.
    #[serde(flatten)]
    pub job: JobView,
    /// Its attempts, oldest first.
    pub history: Vec<AttemptView>,
    /// Its sends with their tries.
    pub sends: Vec<SendTrace>,
    /// What a person was told about it.
    pub notice: Option<NoticeView>,
    /// What people did to it and to that notice, oldest first.
    pub audit: Vec<AuditView>,
    /// The events that it published with its end.
    pub published: Vec<EventTrace>,
}

/// A send with its tries.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct SendTrace {
    /// The send.
    #[serde(flatten)]
    pub send: SendView,
    /// Its tries, oldest first.
    pub history: Vec<TryView>,
    /// What a person was told about it.
    pub notices: Vec<NoticeView>,
    /// What people did to it and to those notices, oldest first.
    pub audit: Vec<AuditView>,
}

/// What a person did: an order, or a word about a send or a notice.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct AuditView {
    /// When.
    pub at: i64,
    /// Who, as they were named then.
    pub who: String,
    /// What: `requeue`, `cancel`, `send.sent`, `send.again`, `send.give_up`, `send.order`,
    /// `acknowledge` or `resolve`.
    pub verb: String,
    /// To what: `job`, `send` or `notice`.
    pub about: String,
    /// The id of that, as the commands take it.
    pub about_id: String,
    /// What else was recorded: the reason, or what it meant at that moment.
    pub detail: Option<String>,
}
