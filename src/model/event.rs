//! An event before it is recorded, the answer to recording it, and the event as routes and handlers
//! see it.

use std::borrow::Cow;
use std::fmt;
use std::sync::OnceLock;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use time::OffsetDateTime;

use crate::error::{Error, Result};
use crate::model::id::{EventId, EventSeq};
use crate::model::text::{check_event_name, check_key, check_name, check_object};

/// Most bytes of an event's payload or metadata.
pub const MAX_PAYLOAD: usize = 1 << 20;

/// Longest chain of events that cause one another: beyond it lies a loop.
pub(crate) const MAX_DEPTH: u32 = 16;

/// A fact that already happened, about to be recorded.
///
/// ```
/// use lanebox::NewEvent;
///
/// let event = NewEvent::new("acme", "message.received")
///     .entity("message", "wamid.1")
///     .subject("+4915112345")
///     .payload(&serde_json::json!({ "text": "hello" }))
///     .dedupe("wamid.1");
/// ```
#[derive(Clone, Debug)]
#[must_use = "an event is recorded only when it is published"]
pub struct NewEvent {
    pub(crate) org: String,
    pub(crate) name: String,
    pub(crate) entity: Option<(String, String)>,
    pub(crate) subject: Option<String>,
    pub(crate) payload: Result<String, String>,
    pub(crate) metadata: Result<String, String>,
    pub(crate) dedupe: Option<String>,
    pub(crate) occurred_at: Option<i64>,
    pub(crate) cause_event: Option<EventSeq>,
    pub(crate) cause_job: Option<crate::model::id::JobNo>,
    pub(crate) depth: u32,
}

impl NewEvent {
    /// A fact of this org. Names are dotted lower case, two parts or more: `message.received`.
    pub fn new(org: impl Into<String>, name: impl Into<String>) -> NewEvent {
        NewEvent {
            org: org.into(),
            name: name.into(),
            entity: None,
            subject: None,
            payload: Ok("{}".to_owned()),
            metadata: Ok("{}".to_owned()),
            dedupe: None,
            occurred_at: None,
            cause_event: None,
            cause_job: None,
            depth: 0,
        }
    }

    /// What it is about: a type and an id of the host's.
    pub fn entity(mut self, kind: impl Into<String>, id: impl ToString) -> NewEvent {
        self.entity = Some((kind.into(), id.to_string()));
        self
    }

    /// Whom it concerns, normally the contact. Consumers get a lane per subject by default.
    pub fn subject(mut self, subject: impl Into<String>) -> NewEvent {
        self.subject = Some(subject.into());
        self
    }

    /// The body: anything that serializes to a JSON object. Stored unchanged, at most
    /// [`MAX_PAYLOAD`] bytes.
    pub fn payload(mut self, payload: &impl Serialize) -> NewEvent {
        self.payload = serde_json::to_string(payload).map_err(|error| error.to_string());
        self
    }

    /// The body as JSON text, stored byte for byte.
    pub fn payload_json(mut self, json: impl Into<String>) -> NewEvent {
        self.payload = Ok(json.into());
        self
    }

    /// Circumstances that are not part of the fact (trace ids, sources): a JSON object.
    pub fn metadata(mut self, metadata: &impl Serialize) -> NewEvent {
        self.metadata = serde_json::to_string(metadata).map_err(|error| error.to_string());
        self
    }

    /// A key that comes from the fact, normally the provider's id: the same key again is a
    /// duplicate.
    pub fn dedupe(mut self, key: impl Into<String>) -> NewEvent {
        self.dedupe = Some(key.into());
        self
    }

    /// When it happened, if that was not now: in the years 1970 to 9999.
    pub fn occurred_at(mut self, at: OffsetDateTime) -> NewEvent {
        let ms = at.unix_timestamp_nanos().div_euclid(1_000_000);
        self.occurred_at = Some(i64::try_from(ms).expect("a date of four digits fits"));
        self
    }

    /// The event that led to this one, for `trace`, and so that a loop of causes ends.
    pub fn caused_by(mut self, event: &Event) -> NewEvent {
        self.cause_event = Some(event.seq);
        self.depth = event.depth + 1;
        self
    }

    /// Refuses what the schema would refuse, with a better sentence.
    pub(crate) fn check(&self) -> Result<()> {
        check_name("org", &self.org, 128)?;
        check_event_name(&self.name)?;
        if let Some((kind, id)) = &self.entity {
            check_key("entity type", kind, 512)?;
            check_key("entity id", id, 512)?;
        }
        if let Some(subject) = &self.subject {
            check_key("subject", subject, 512)?;
        }
        if let Some(key) = &self.dedupe {
            check_key("dedupe key", key, 512)?;
        }
        // A fact is kept as it was told: another time would not be it.
        if self.occurred_at.is_some_and(|at| crate::model::job::clamped(at) != at) {
            return Err(Error::invalid("time of an event", "it is not in the years 1970 to 9999"));
        }
        check_object("payload", self.payload_text()?, MAX_PAYLOAD)?;
        check_object("metadata", self.metadata_text()?, MAX_PAYLOAD)?;
        self.check_depth()
    }

    pub(crate) fn check_depth(&self) -> Result<()> {
        if self.depth <= MAX_DEPTH {
            return Ok(());
        }
        let why = format!("{MAX_DEPTH} events have led to it, one from another: look for a loop");
        Err(Error::invalid("cause of an event", why))
    }

    pub(crate) fn payload_text(&self) -> Result<&str> {
        self.payload.as_deref().map_err(|why| Error::invalid("payload", why.clone()))
    }

    pub(crate) fn metadata_text(&self) -> Result<&str> {
        self.metadata.as_deref().map_err(|why| Error::invalid("metadata", why.clone()))
    }
}

/// What became of a publish: recorded, or known already. Both mean that the fact is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Published {
    /// Recorded now, under this id.
    New(EventId),
    /// The dedupe key is known: this is the first event that had it.
    Duplicate(EventId),
}

impl Published {
    /// The id of the event, whoever recorded it first.
    pub fn id(self) -> EventId {
        match self {
            Published::New(id) | Published::Duplicate(id) => id,
        }
    }
}

/// A recorded fact, as routes and handlers see it. It never changes.
#[derive(Clone)]
pub struct Event {
    pub(crate) id: EventId,
    pub(crate) seq: EventSeq,
    pub(crate) org: String,
    pub(crate) name: String,
    pub(crate) entity: Option<(String, String)>,
    pub(crate) subject: Option<String>,
    pub(crate) payload: String,
    pub(crate) metadata: String,
    pub(crate) occurred_at: i64,
    pub(crate) recorded_at: i64,
    pub(crate) cause: Option<EventSeq>,
    pub(crate) depth: u32,
    pub(crate) parsed: OnceLock<Value>,
}

impl Event {
    /// Its identity.
    pub fn id(&self) -> EventId {
        self.id
    }

    /// Its sequence number in this file: the order of commits.
    pub fn seq(&self) -> i64 {
        self.seq.0
    }

    /// The org that it belongs to.
    pub fn org(&self) -> &str {
        &self.org
    }

    /// Its name, like `message.received`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it is about: a type and an id of the host's.
    pub fn entity(&self) -> Option<(&str, &str)> {
        self.entity.as_ref().map(|(kind, id)| (kind.as_str(), id.as_str()))
    }

    /// Whom it concerns, normally the contact.
    pub fn subject(&self) -> Option<&str> {
        self.subject.as_deref()
    }

    /// The body, parsed when it is first asked for.
    ///
    /// # Errors
    /// [`Error::Undecodable`] if it nests deeper than this program reads (another program's event
    /// may).
    pub fn payload(&self) -> Result<&Value> {
        if let Some(parsed) = self.parsed.get() {
            return Ok(parsed);
        }
        let parsed = self.payload_as()?;
        Ok(self.parsed.get_or_init(|| parsed))
    }

    /// The body as a type of the caller's.
    ///
    /// # Errors
    /// [`Error::Undecodable`] if it does not have this shape.
    pub fn payload_as<T: DeserializeOwned>(&self) -> Result<T> {
        serde_json::from_str(&self.payload)
            .map_err(|error| Error::undecodable("payload of an event", &error))
    }

    /// The body as JSON text, byte for byte as it was recorded.
    pub fn payload_json(&self) -> &str {
        &self.payload
    }

    /// Circumstances that are not part of the fact, as JSON text.
    pub fn metadata_json(&self) -> &str {
        &self.metadata
    }

    /// When it happened.
    pub fn occurred_at(&self) -> OffsetDateTime {
        crate::model::job::instant(self.occurred_at)
    }

    /// When it was recorded.
    pub fn recorded_at(&self) -> OffsetDateTime {
        crate::model::job::instant(self.recorded_at)
    }

    /// The sequence number of the event that led to it.
    pub fn cause(&self) -> Option<i64> {
        self.cause.map(|cause| cause.0)
    }

    /// How many events led to it, one from another.
    pub fn depth(&self) -> u32 {
        self.depth
    }

    /// As the payload of the job that delivers it.
    pub(crate) fn envelope(&self) -> Result<String> {
        let wrong = |error| Error::undecodable("payload of an event", &error);
        let envelope = Envelope {
            id: self.id.to_string(),
            seq: self.seq.0,
            org: Cow::Borrowed(&self.org),
            name: Cow::Borrowed(&self.name),
            entity: self.entity.clone(),
            subject: self.subject.clone(),
            payload: serde_json::from_str(&self.payload).map_err(wrong)?,
            metadata: serde_json::from_str(&self.metadata).map_err(wrong)?,
            occurred_at: self.occurred_at,
            recorded_at: self.recorded_at,
            cause: self.cause(),
            depth: self.depth,
        };
        serde_json::to_string(&envelope).map_err(wrong)
    }

    /// Out of the payload of the job that delivers it.
    pub(crate) fn from_envelope(json: &str) -> Result<Event> {
        let wrong = |error| Error::undecodable("event of a delivery", &error);
        let envelope: Envelope<'_> = serde_json::from_str(json).map_err(wrong)?;
        let id = envelope.id.parse().map_err(|_| Error::Undecodable {
            what: "event of a delivery",
            why: "its id is no UUID".to_owned(),
        })?;
        Ok(Event {
            id: EventId(id),
            seq: EventSeq(envelope.seq),
            org: envelope.org.into_owned(),
            name: envelope.name.into_owned(),
            entity: envelope.entity,
            subject: envelope.subject,
            payload: envelope.payload.get().to_owned(),
            metadata: envelope.metadata.get().to_owned(),
            occurred_at: envelope.occurred_at,
            recorded_at: envelope.recorded_at,
            cause: envelope.cause.map(EventSeq),
            depth: envelope.depth,
            parsed: OnceLock::new(),
        })
    }
}

// Bodies and contacts stay out of logs.
impl fmt::Debug for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Event {} {} {} of {}", self.seq, self.id, self.name, self.org)
    }
}

#[derive(Serialize, Deserialize)]
struct Envelope<'a> {
    id: String,
    seq: i64,
    #[serde(borrow)]
    org: Cow<'a, str>,
    #[serde(borrow)]
    name: Cow<'a, str>,
    entity: Option<(String, String)>,
    subject: Option<String>,
    #[serde(borrow)]
    payload: &'a RawValue,
    #[serde(borrow)]
    metadata: &'a RawValue,
    occurred_at: i64,
    recorded_at: i64,
    cause: Option<i64>,
    depth: u32,
}
