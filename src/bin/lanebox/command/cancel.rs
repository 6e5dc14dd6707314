//! `lanebox cancel`: a job that waits ends; one that runs is asked to stop.

use anyhow::bail;
use lanebox::JobId;
use lanebox::people::Cancelled;
use serde_json::json;

use super::Session;
use crate::args::{Who, id};

#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  lanebox cancel 0198c1f2-7e5a-7000-8000-5d3c2b1a0f00")]
pub struct Cancel {
    /// The job
    #[arg(value_parser = id::job)]
    id: JobId,
    #[command(flatten)]
    who: Who,
}

impl Cancel {
    pub fn run(&self, session: &Session) -> anyhow::Result<()> {
        let id = self.id;
        let (answer, said) = match session.lanebox.cancel(id, &self.who.name())? {
            Cancelled::Now => ("cancelled", format!("job {id} is cancelled")),
            Cancelled::Asked => {
                let stands = "if it ends as done or vetoed before it notices, that stands";
                ("asked", format!("job {id} runs and was asked to stop; {stands}"))
            }
            Cancelled::Ended => {
                let sentence = session.lanebox.explain(id)?.sentence;
                bail!("job {id} has ended before: {sentence}; nothing was changed")
            }
        };
        session.out.answer(&json!({ "id": id, "answer": answer }), &said)
    }
}
