//! `lanebox requeue`: a dead job starts again.

use anyhow::bail;
use lanebox::JobId;
use lanebox::people::Requeued;
use serde_json::json;

use super::Session;
use crate::args::{Who, id};

#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  lanebox requeue 0198c1f2-7e5a-7000-8000-5d3c2b1a0f00")]
pub struct Requeue {
    /// The dead job
    #[arg(value_parser = id::job)]
    id: JobId,
    #[command(flatten)]
    who: Who,
}

impl Requeue {
    pub fn run(&self, session: &Session) -> anyhow::Result<()> {
        let id = self.id;
        let sent = match session.lanebox.requeue(id, &self.who.name())? {
            Requeued::Again { sent } => sent,
            Requeued::NotDead => {
                let sentence = session.lanebox.explain(id)?.sentence;
                bail!("job {id} is not dead: {sentence}; nothing was changed")
            }
            Requeued::Expired => {
                bail!("job {id} has expired: it would end again unseen; nothing was changed")
            }
            Requeued::KeyTaken { by } => bail!(
                "job {id} cannot wait again: job {by} has its unique key and has not ended; \
                 nothing was changed: let that one end or cancel it first"
            ),
        };
        let said = match sent {
            true => format!(
                "job {id} waits again; a send of it was accepted before and is not sent again"
            ),
            false => format!("job {id} waits again"),
        };
        session.out.answer(&json!({ "id": id, "answer": "again", "sent_before": sent }), &said)
    }
}
