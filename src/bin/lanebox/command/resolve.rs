//! `lanebox resolve`: a person decides about a send.

use anyhow::{Context, bail};
use lanebox::people::SendView;
use lanebox::sends::{Ordered, Resolved, Word};
use lanebox::{JobId, SendKey};
use serde_json::json;

use super::Session;
use crate::args::{Who, id};

const ABOUT: &str = "A send is unknown when its call timed out or its worker died: it may have gone out. Look at the
provider first. What was accepted or given up can be sent once more with --resend: then there
are two. Its job sends it: one that is done or cancelled does not run again, a dead one after
`lanebox requeue`.

Example:
  lanebox resolve 12 --sent";

#[derive(Debug, clap::Args)]
#[command(after_help = ABOUT)]
#[command(group = clap::ArgGroup::new("word").args(["sent", "resend", "give_up"]).required(true))]
pub struct Resolve {
    /// The send, by its number
    #[arg(value_parser = id::send)]
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
            self.order(session, newest.key, &detail.send)?
        } else {
            self.settle(session, newest.key, &detail.send)?
        };
        let id = &detail.send.id;
        let dead = if self.resend { dead_job(session, &detail.send)? } else { None };
        let first = dead.map(requeue_first).unwrap_or_default();
        let json = json!({ "id": id, "answer": answer, "requeue_first": dead });
        session.out.answer(&json, &format!("send {id} {said}{first}"))
    }

    fn settle(
        &self,
        session: &Session,
        key: SendKey,
        send: &SendView,
    ) -> anyhow::Result<(&'static str, &'static str)> {
        let (word, answer) = match (self.sent, self.resend) {
            (true, _) => (Word::Sent, ("sent", "went out, as you say")),
            (_, true) => (Word::SendAgain, ("again", "is sent again when its job runs")),
            _ => (Word::GiveUp, ("given_up", "is given up")),
        };
        match session.lanebox.resolve_send(key, word, &self.who.name())? {
            Resolved::Now => Ok(answer),
            Resolved::JobEnded => {
                bail!("{}; say --sent or --give-up about this one", nobody_sends(session, send)?)
            }
            Resolved::NotUnknown | Resolved::UnknownKey => {
                bail!("send {} is not unknown: it is {}; nothing was changed", send.id, send.state)
            }
        }
    }

    fn order(
        &self,
        session: &Session,
        key: SendKey,
        send: &SendView,
    ) -> anyhow::Result<(&'static str, &'static str)> {
        match session.lanebox.order_again(key, &self.who.name())? {
            Ordered::Now => Ok(("ordered", "is sent once more by the next run of its job")),
            Ordered::Pending => Ok(("pending", "was ordered before, and is not sent yet")),
            Ordered::JobEnded => bail!(nobody_sends(session, send)?),
            Ordered::NotNeeded => {
                let first = dead_job(session, send)?.map(requeue_first).unwrap_or_default();
                bail!(
                    "send {} needs no order: its job sends it anyway when it runs again; nothing was \
                     changed{first}",
                    send.id
                )
            }
            Ordered::Undecided | Ordered::Superseded { .. } | Ordered::UnknownKey => {
                bail!("it is on its way now: look again; nothing was changed")
            }
        }
    }
}

/// Its job, if that is dead: it sends nothing before a person starts it again.
fn dead_job(session: &Session, send: &SendView) -> anyhow::Result<Option<JobId>> {
    let Some(id) = send.job else { return Ok(None) };
    Ok((session.lanebox.job(id)?.job.state == "dead").then_some(id))
}

fn requeue_first(id: JobId) -> String {
    format!("; its job is dead, start it again: lanebox requeue {id}")
}

/// Its job has ended for good: what that means for the send, and what to do.
fn nobody_sends(session: &Session, send: &SendView) -> anyhow::Result<String> {
    let ended = match send.job {
        Some(id) => format!("job {id} has ended: {}", session.lanebox.explain(id)?.sentence),
        None => "its job has ended".to_owned(),
    };
    Ok(format!(
        "send {} is not sent again: {ended}; nothing was changed: enqueue a new job for what must \
         still go out",
        send.id
    ))
}
