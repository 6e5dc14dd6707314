//! An event before it is recorded, and the answer to recording it.

use serde::Serialize;
use time::OffsetDateTime;

use crate::error::{Error, Result};
use crate::model::id::{EventId, EventSeq};
use crate::model::text::{check_event_name, check_key, check_name, check_object};

/// Most bytes of an event's payload or metadata.
pub const MAX_PAYLOAD: usize = 1 << 20;

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

    /// When it happened, if that was not now.
    pub fn occurred_at(mut self, at: OffsetDateTime) -> NewEvent {
        self.occurred_at = Some(crate::model::job::millis(at));
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
        check_object("payload", self.payload_text()?, MAX_PAYLOAD)?;
        check_object("metadata", self.metadata_text()?, MAX_PAYLOAD)
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
