//! `lanebox trace`: what came of what, as a tree.

use lanebox::Error;

use super::Session;
use crate::output::tree;

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  lanebox trace 0198c1f2-7e5a-7000-8000-5d3c2b1a0f00\n  lanebox trace 12\n  lanebox trace message:wamid.1"
)]
pub struct Trace {
    /// An event or a job, a send by its number or the key of a try, or an entity as type:id
    id: String,
}

impl Trace {
    pub fn run(&self, session: &Session) -> anyhow::Result<()> {
        let trace = session.lanebox.trace(&self.id).map_err(told)?;
        if session.out.json {
            return session.out.document(&trace);
        }
        for line in tree::lines(&trace, session.out) {
            session.out.line(&line)?;
        }
        Ok(())
    }
}

fn told(error: Error) -> anyhow::Error {
    match error {
        Error::NotFound { .. } => anyhow::anyhow!("{error}: {FORMS}"),
        other => other.into(),
    }
}

const FORMS: &str = "trace an event or a job by its id (0198c1f2-7e5a-7000-8000-5d3c2b1a0f00), \
a send by its number (12) or by the key of one of its tries (an id like that), \
or an entity by its type and id (message:wamid.1)";
