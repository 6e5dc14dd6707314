//! `lanebox publish`: a fact, recorded once it is on the disk.

use anyhow::Context;
use lanebox::{MAX_PAYLOAD, NewEvent, Published};
use serde_json::json;
use serde_json::value::RawValue;

use super::Session;
use crate::args::{Body, Since, read};

const EXAMPLE: &str = "Example:
  lanebox publish message.received @message.json --org acme --entity message:wamid.1 \\
    --subject +4915112345 --dedupe wamid.1";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLE)]
pub struct Publish {
    /// What happened: dotted lower case, like message.received
    name: String,
    /// Its body, a JSON object: text, @file, or - for stdin
    payload: Option<Body>,
    /// The org that it belongs to; the platform itself is '-'
    #[arg(long)]
    org: String,
    /// What it is about, as type:id
    #[arg(long, value_name = "TYPE:ID", value_parser = entity)]
    entity: Option<(String, String)>,
    /// Whom it concerns, normally the contact
    #[arg(long)]
    subject: Option<String>,
    /// The key of the fact, normally the provider's id: a second event of it is a duplicate
    #[arg(long, value_name = "KEY")]
    dedupe: Option<String>,
    /// Circumstances, a JSON object: text or @file
    #[arg(long, value_name = "JSON")]
    metadata: Option<Body>,
    /// When it happened, if not now: 10m (ago), or 2026-05-01T08:00:00Z
    #[arg(long, value_name = "TIME")]
    occurred: Option<Since>,
}

fn entity(text: &str) -> Result<(String, String), String> {
    let parts = text.split_once(':').map(|(kind, id)| (kind.to_owned(), id.to_owned()));
    parts.ok_or_else(|| "write it as type:id, like message:wamid.1".to_owned())
}

impl Publish {
    pub fn run(&self, session: &Session) -> anyhow::Result<()> {
        let event = self.event(session)?;
        let published = session.lanebox.publish(event)?;
        let (answer, said) = match published {
            Published::New(_) => ("new", "is recorded"),
            Published::Duplicate(_) => ("duplicate", "was there before: it has that key"),
        };
        let id = published.id();
        let document = json!({ "id": id, "answer": answer });
        session.out.answer(&document, &format!("event {id} {said}"))
    }

    fn event(&self, session: &Session) -> anyhow::Result<NewEvent> {
        let payload = read(self.payload.as_ref(), MAX_PAYLOAD)?;
        let mut event = NewEvent::new(&self.org, &self.name).payload_json(payload);
        if let Some((kind, id)) = &self.entity {
            event = event.entity(kind, id);
        }
        if let Some(subject) = &self.subject {
            event = event.subject(subject);
        }
        if let Some(key) = &self.dedupe {
            event = event.dedupe(key);
        }
        if let Some(metadata) = &self.metadata {
            let text = read(Some(metadata), MAX_PAYLOAD)?;
            let json: Box<RawValue> = serde_json::from_str(&text)
                .context("metadata: it is not JSON; nothing was stored")?;
            event = event.metadata(&json);
        }
        if let Some(at) = self.occurred {
            event = event.occurred_at(at.from(session.lanebox.now()));
        }
        Ok(event)
    }
}
