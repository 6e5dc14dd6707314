//! Rows as people see them. Times are milliseconds since 1970 UTC; numbers of rows are texts, like
//! every id.

use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use crate::model::id::{EventId, JobId, SendKey};

/// An event in a list.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct EventView {
    /// Its id; none until a dispatcher has adopted an event that another program inserted.
    pub id: Option<EventId>,
    /// Its place in the order of commits.
    pub seq: String,
    /// The org that it belongs to.
    pub org: String,
    /// What happened, dotted lower case.
    pub name: String,
    /// What it is about: the type of the host's entity.
    pub entity_type: Option<String>,
    /// What it is about: the id of the host's entity.
    pub entity_id: Option<String>,
    /// Whom it concerns, normally the contact. In clear.
    pub subject: Option<String>,
    /// `unhandled`, `pending`, `done`, `dead` or `duplicate`; derived from its deliveries and their
    /// jobs.
    pub state: String,
    /// Most attempts of one of its deliveries, if it has any.
    pub attempts: Option<i64>,
    /// When the next failed delivery is tried again.
    pub next_at: Option<i64>,
    /// When it happened.
    pub occurred_at: i64,
    /// When it was recorded.
    pub recorded_at: i64,
}

/// An event in full.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct EventDetail {
    /// As in a list.
    #[serde(flatten)]
    pub event: EventView,
    /// Its body as JSON text, byte for byte; none once it was forgotten.
    #[serde(serialize_with = "json")]
    pub payload: Option<String>,
    /// Its circumstances as JSON text.
    #[serde(serialize_with = "json")]
    pub metadata: Option<String>,
    /// The key that makes a repeat a duplicate.
    pub dedupe_key: Option<String>,
    /// The first event of the same key, if this one is a duplicate.
    pub duplicate_of: Option<EventId>,
    /// The event that caused it.
    pub cause_event: Option<String>,
    /// The job that published it.
    pub cause_job: Option<JobId>,
    /// How many causes lie above it.
    pub depth: i64,
}

/// A job in a list.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct JobView {
    /// Its id.
    pub id: JobId,
    /// The org that it belongs to.
    pub org: String,
    /// What kind of work it is.
    pub kind: String,
    /// `pending`, `running`, `done`, `dead` or `cancelled`.
    pub state: String,
    /// Of a pending job: `scheduled`, `queued`, `ready`, `backing_off`, `waiting_for_send` or
    /// `parked`.
    pub place: Option<String>,
    /// The lane that it runs in, in clear; none: it runs beside anything.
    pub lane: Option<String>,
    /// The number of that lane in the file, also once its name was forgotten.
    pub lane_no: Option<String>,
    /// Whom it concerns, in clear.
    pub subject: Option<String>,
    /// 0 to 999, smaller first.
    pub priority: i64,
    /// When it is, or was, due.
    pub due_at: i64,
    /// Attempts used up in this series.
    pub attempts: i64,
    /// Attempts that it has.
    pub max_attempts: i64,
    /// How often its holder vanished in a row.
    pub lost: i64,
    /// Which series this is: a requeue begins a new one.
    pub series: i64,
    /// When it was enqueued.
    pub created_at: i64,
    /// When its current or last attempt began.
    pub started_at: Option<i64>,
    /// When it ended.
    pub finished_at: Option<i64>,
    /// Why it was cancelled: `vetoed`, `operator`, `expired`, `given_up` or `superseded`; `skipped`
    /// if it is done without work.
    pub reason: Option<String>,
    /// The last error.
    pub error: Option<String>,
    /// The send whose fate it waits for.
    pub waits_send: Option<String>,
}

/// A job in full.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct JobDetail {
    /// As in a list.
    #[serde(flatten)]
    pub job: JobView,
    /// Why it waits, or what became of it.
    pub explanation: Explanation,
    /// Its arguments as JSON text; none once they were forgotten.
    #[serde(serialize_with = "json")]
    pub payload: Option<String>,
    /// Version of the payload's shape.
    pub version: i64,
    /// What its handler answered with Done, as JSON text.
    #[serde(serialize_with = "json")]
    pub result: Option<String>,
    /// What its handler last said of its progress.
    pub progress: Option<String>,
    /// When it ends if it was not started before.
    pub expires_at: Option<i64>,
    /// The event that it was born of.
    pub source_event: Option<EventId>,
    /// The consumer whose delivery of that event it is.
    pub consumer: Option<String>,
    /// What it finished once and does not do again.
    pub steps: Vec<StepView>,
    /// Its attempts, oldest first, the one under way included.
    pub history: Vec<AttemptView>,
    /// Its sends, in their order.
    pub sends: Vec<SendView>,
}

/// One attempt at a job.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct AttemptView {
    /// The fencing number of its claim.
    pub token: String,
    /// Its series.
    pub series: i64,
    /// Its number within the series.
    pub n: i64,
    /// The process that ran it, by its number in the file.
    pub process: String,
    /// When it began.
    pub started_at: i64,
    /// When it ended; none: it runs.
    pub ended_at: Option<i64>,
    /// `running`, `done`, `failed`, `lost`, `postponed`, `handed_back`, `unknown`, `dead` or
    /// `cancelled`.
    pub ended: String,
    /// What it said.
    pub error: Option<String>,
}

/// A step that a handler has finished.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct StepView {
    /// Its name.
    pub name: String,
    /// When it was finished.
    pub finished_at: i64,
    /// The fencing number of the claim that finished it.
    pub token: String,
}

/// A lane with what it holds.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct LaneView {
    /// Its number in the file.
    pub no: String,
    /// The org that it belongs to.
    pub org: String,
    /// Its name, in clear; none once it was forgotten.
    pub name: Option<String>,
    /// `paused`, `running`, `waiting` (its occupant waits to be tried again), `ready` (its next job
    /// can be claimed), `scheduled` (nothing is due) or `idle`.
    pub state: String,
    /// The job that runs in it, or that keeps it between two tries.
    pub occupant: Option<JobId>,
    /// The kind of that job.
    pub occupant_kind: Option<String>,
    /// Due jobs in its line; 1000 means at least.
    pub line: i64,
    /// Jobs that are not due yet; 1000 means at least.
    pub scheduled: i64,
    /// The first of its line.
    pub head: Option<JobId>,
    /// Why it is paused: `operator`, `dead job <id>`, `its line is being cancelled`.
    pub paused: Vec<String>,
}

/// A send in a list: its newest try decides what is shown.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct SendView {
    /// Its number.
    pub id: String,
    /// The org that it belongs to.
    pub org: String,
    /// Its number within its origin, unless its handler named it.
    pub seq: Option<i64>,
    /// The name that its handler gave it.
    pub name: Option<String>,
    /// The channel.
    pub channel: String,
    /// The recipient, masked: the ledger does not hold it in clear.
    pub recipient: String,
    /// `intended`, `unknown`, `accepted`, `rejected`, `abandoned` or `duplicate`.
    pub state: String,
    /// How many tries it has.
    pub tries: i64,
    /// The job that made the newest try.
    pub job: Option<JobId>,
    /// Who ordered it once more, if that is not fulfilled yet.
    pub order_by: Option<String>,
    /// When its newest try was intended.
    pub intended_at: i64,
    /// When that was settled.
    pub ended_at: Option<i64>,
    /// Until when its job waits in its lane for the answer.
    pub wait_until: Option<i64>,
    /// The channel's receipt.
    pub receipt: Option<String>,
    /// What the channel said of its newest try, if that was no receipt.
    pub reason: Option<String>,
    /// The open notice about it.
    pub notice: Option<String>,
}

/// A send in full.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct SendDetail {
    /// As in a list.
    #[serde(flatten)]
    pub send: SendView,
    /// What it is known by across series and replays.
    pub origin: String,
    /// How many orders of a person there were.
    pub orders: i64,
    /// Its tries, oldest first.
    pub history: Vec<TryView>,
}

/// One try of a send.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct TryView {
    /// Its number.
    pub n: i64,
    /// Its own key, given to the provider.
    pub key: SendKey,
    /// `intended`, `unknown`, `accepted`, `rejected`, `abandoned` or `duplicate`.
    pub state: String,
    /// How many calls may have been made with its key.
    pub calls: i64,
    /// Why there is a further try: after `rejected`, `abandoned`, or by `order`.
    pub after: Option<String>,
    /// Who ordered it.
    pub ordered_by: Option<String>,
    /// When it was intended.
    pub intended_at: i64,
    /// When it was settled.
    pub ended_at: Option<i64>,
    /// The resolver's next look.
    pub next_look: Option<i64>,
    /// The channel's receipt.
    pub receipt: Option<String>,
    /// Of a rejected try: `transient`, `good` (for good) or `not_called`.
    pub class: Option<String>,
    /// What the channel said: why it refused, or why it does not know.
    pub reason: Option<String>,
    /// Of an abandoned try: `not_found`, `send_again` or `given_up`.
    pub how: Option<String>,
    /// Who or what settled it, if the call itself did not.
    pub settled_by: Option<String>,
}

/// An item for a person.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct NoticeView {
    /// Its number.
    pub id: String,
    /// The org that it belongs to.
    pub org: String,
    /// What kind of trouble.
    pub kind: String,
    /// `info`, `warn` or `critical`.
    pub severity: String,
    /// `open`, `acknowledged` or `resolved`.
    pub state: String,
    /// What happened, one line.
    pub reason: String,
    /// What to do next.
    pub next_step: String,
    /// How often it happened.
    pub count: i64,
    /// What it is about: `job`, `event`, `send`, `consumer`, `kind`, `lane` or `channel`.
    pub about: Option<String>,
    /// The id of what it is about, as the commands take it.
    pub about_id: Option<String>,
    /// When it happened first.
    pub first_at: i64,
    /// When it happened last.
    pub last_at: i64,
    /// When it was resolved.
    pub resolved_at: Option<i64>,
    /// Who resolved it.
    pub resolved_by: Option<String>,
}

/// A consumer and how far it is.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ConsumerView {
    /// Its stable key.
    pub key: String,
    /// `consume` or `route`.
    pub form: String,
    /// `active`, `paused` or `retired`.
    pub state: String,
    /// The event names that it wants.
    pub patterns: Vec<String>,
    /// The last event that it has passed.
    pub position: i64,
    /// Events after its position, matching or not.
    pub lag: i64,
    /// Deliveries that it has; 100000 means at least.
    pub seen: i64,
    /// Deliveries that failed and are tried again.
    pub retries: i64,
    /// Dead deliveries and dead jobs of its deliveries, among the newest 10,000 of each.
    pub dead: i64,
    /// When the next failed delivery is tried again.
    pub next_at: Option<i64>,
}

/// Why a job waits, and until when.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Explanation {
    /// The job.
    pub job: JobId,
    /// One sentence for a person; times are UTC.
    pub sentence: String,
    /// What it waits for, as a word: `nothing`, `time`, `backoff`, `worker`, `lane`, `lane_pause`,
    /// `pause`, `cap`, `send` or `person`.
    pub waits_for: &'static str,
    /// The id of that, if it has one: the job in the lane, the send, the paused org or kind.
    pub id: Option<String>,
    /// Until when, if that is known.
    pub until: Option<i64>,
}

/// JSON text goes out as the JSON that it is.
fn json<S: Serializer>(text: &Option<String>, out: S) -> Result<S::Ok, S::Error> {
    let Some(text) = text else { return out.serialize_none() };
    match serde_json::from_str::<&RawValue>(text) {
        Ok(raw) => raw.serialize(out),
        Err(_) => out.serialize_str(text),
    }
}
