//! `lanebox trace`: what came of what, as a tree.

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
        let trace = session.lanebox.trace(&self.id)?;
        if session.out.json {
            return session.out.document(&trace);
        }
        for line in tree::lines(&trace, session.out) {
            session.out.line(&line)?;
        }
        Ok(())
    }
}
