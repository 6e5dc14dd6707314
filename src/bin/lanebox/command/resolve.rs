//! `lanebox resolve`: a person decides about a send.

use anyhow::{Context, bail};
use lanebox::SendKey;
use lanebox::people::SendDetail;
use lanebox::sends::{Ordered, Resolved, Word};
use serde_json::json;

use super::Session;
use crate::args::Who;

const ABOUT: &str = "A send is unknown when its call timed out or its worker died: it may have gone out. Look at the
provider first. What was accepted or given up can be sent once more with --resend: then there
are two.

Example:
  lanebox resolve 12 --sent";

#[derive(Debug, clap::Args)]
#[command(after_help = ABOUT)]
#[command(group = clap::ArgGroup::new("word").args(["sent", "resend", "give_up"]).required(true))]
pub struct Resolve {
    /// The send, by its number
    send: String,
    /// It went out
    #[arg(long)]
    sent: bool,
    /// Send it again, whatever became of it
    #[arg(long)]
    resend: bool,
    /// Leave it: it is not sent, and the job that waits for it is cancelled
    #[arg(long)]
    give_up: bool,
    #[command(flatten)]
    who: Who,
}

impl Resolve {
    pub fn run(&self, session: &Session) -> anyhow::Result<()> {
        let detail = session.lanebox.send(&self.send)?;
        let newest = detail.history.last().context("this send has no try; nothing was changed")?;
        let (answer, said) = if self.resend && newest.state != "unknown" {
            self.order(session, newest.key)?
        } else {
            self.settle(session, newest.key, &detail)?
        };
        let id = &detail.send.id;
        session.out.answer(&json!({ "id": id, "answer": answer }), &format!("send {id} {said}"))
    }

    fn settle(
        &self,
        session: &Session,
        key: SendKey,
        detail: &SendDetail,
    ) -> anyhow::Result<(&'static str, &'static str)> {
        let (word, answer) = match (self.sent, self.resend) {
            (true, _) => (Word::Sent, ("sent", "went out, as you say")),
            (_, true) => (Word::SendAgain, ("again", "is sent again when its job runs")),
            _ => (Word::GiveUp, ("given_up", "is given up")),
        };
        match session.lanebox.resolve_send(key, word, &self.who.name())? {
            Resolved::Now => Ok(answer),
            Resolved::NotUnknown | Resolved::UnknownKey => {
                let send = &detail.send;
                bail!("send {} is not unknown: it is {}; nothing was changed", send.id, send.state)
            }
        }
    }

    fn order(
        &self,
        session: &Session,
        key: SendKey,
    ) -> anyhow::Result<(&'static str, &'static str)> {
        match session.lanebox.order_again(key, &self.who.name())? {
            Ordered::Now => Ok(("ordered", "is sent once more by the next run of its job")),
            Ordered::Pending => Ok(("pending", "was ordered before, and is not sent yet")),
            Ordered::NotNeeded => {
                bail!("its job sends it anyway when it runs again; nothing was changed")
            }
            Ordered::Undecided | Ordered::Superseded { .. } | Ordered::UnknownKey => {
                bail!("it is on its way now: look again; nothing was changed")
            }
        }
    }
}
