//! `lanebox enqueue`: a job, accepted once it is on the disk.

use lanebox::{Enqueued, EventId, Lane, MAX_JOB_PAYLOAD, NewJob};
use serde_json::json;

use super::Session;
use crate::args::{Body, Later, id, read};

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  lanebox enqueue send_contract '{\"deal\":7}' --org acme --lane +4915112345 --at 10m"
)]
#[command(group = clap::ArgGroup::new("in").args(["lane", "no_lane"]).required(true))]
#[command(group = clap::ArgGroup::new("key").args(["once_for", "dedupe", "unique"]))]
pub struct Enqueue {
    /// What kind of work: a-z, 0-9, '_', '.', '-'
    kind: String,
    /// Its arguments as JSON: text, @file, or - for stdin
    payload: Option<Body>,
    /// The org that it belongs to; the platform itself is '-'
    #[arg(long)]
    org: String,
    /// The lane in which it runs, one at a time and in order: normally the contact
    #[arg(long)]
    lane: Option<String>,
    /// It may run beside anything
    #[arg(long)]
    no_lane: bool,
    /// Whom it concerns, normally the contact
    #[arg(long)]
    subject: Option<String>,
    /// 0 to 999, smaller first
    #[arg(long, default_value_t = 500)]
    priority: u16,
    /// Not before: 10m (from now), or 2026-05-01T08:00:00Z
    #[arg(long, value_name = "TIME")]
    at: Option<Later>,
    /// How often it may fail
    #[arg(long, default_value_t = 10)]
    max_attempts: u32,
    /// The one job of this kind for this event, whatever becomes of it
    #[arg(long, value_name = "EVENT", value_parser = id::event)]
    once_for: Option<EventId>,
    /// The same key again, within 90 days, is the same job
    #[arg(long, value_name = "KEY")]
    dedupe: Option<String>,
    /// The same key again, while this job is unfinished, is the same job
    #[arg(long, value_name = "KEY")]
    unique: Option<String>,
}

impl Enqueue {
    pub fn run(&self, session: &Session) -> anyhow::Result<()> {
        let payload = read(self.payload.as_ref(), MAX_JOB_PAYLOAD)?;
        let enqueued = session.lanebox.enqueue(self.job(payload, session))?;
        let (answer, said) = match enqueued {
            Enqueued::New(_) => ("new", "is accepted"),
            Enqueued::Existing(_) => (
                "existing",
                "was there before by that key: it stands, and what you gave now is not stored",
            ),
        };
        let id = enqueued.id();
        let document = json!({ "id": id, "answer": answer });
        session.out.answer(&document, &format!("job {id} {said}"))
    }

    fn job(&self, payload: String, session: &Session) -> NewJob {
        let lane = self.lane.as_ref().map_or(Lane::NONE, Lane::of);
        let mut job = NewJob::raw(&self.kind, payload, lane)
            .org(&self.org)
            .priority(self.priority)
            .max_attempts(self.max_attempts);
        if let Some(subject) = &self.subject {
            job = job.subject(subject);
        }
        if let Some(at) = self.at {
            job = job.at(at.from(session.lanebox.now()));
        }
        match (self.once_for, &self.dedupe, &self.unique) {
            (Some(event), ..) => job.once_for(event),
            (_, Some(key), _) => job.dedupe(key),
            (.., Some(key)) => job.unique(key),
            _ => job,
        }
    }
}
