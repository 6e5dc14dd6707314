//! `lanebox sends`: what went out, newest first; or one send with its tries.

use lanebox::Lanebox;
use lanebox::people::{Filter, SendView};
use serde_json::json;

use super::Session;
use crate::args::{LaneArg, Narrow, Since, id, set};
use crate::output::table::Table;
use crate::output::text::instant;
use crate::output::words::{send_state, told};

const ABOUT: &str =
    "States of a try: intended (its call may be under way), unknown (it may have gone out: see
`lanebox resolve`), accepted and rejected (as the channel said), abandoned (the provider does not
know it, or a person dropped or repeated it), duplicate (it went out, and another try did too).

Examples:
  lanebox sends --state unknown
  lanebox sends 12";

#[derive(Debug, clap::Args)]
#[command(after_help = ABOUT)]
pub struct Sends {
    /// Show this send with its tries, by its number
    #[arg(value_name = "SEND", value_parser = id::send, conflicts_with_all = ["state", "kind", "lane", "since", "org", "after", "limit"])]
    id: Option<String>,
    /// Only sends whose newest try is in this state
    #[arg(long, value_parser = ["intended", "unknown", "accepted", "rejected", "abandoned", "duplicate"])]
    state: Option<String>,
    /// Only sends by this channel
    #[arg(long, alias = "channel", value_name = "CHANNEL")]
    kind: Option<String>,
    /// Only sends of jobs of this lane: its name, or as tables show it, like +49…78~12
    #[arg(long)]
    lane: Option<LaneArg>,
    /// Only sends begun since: 2h, 2026-05-01 or 2026-05-01T08:00:00Z
    #[arg(long, value_name = "TIME")]
    since: Option<Since>,
    #[command(flatten)]
    narrow: Narrow,
}

impl Sends {
    pub fn run(&self, session: &Session) -> anyhow::Result<()> {
        if let Some(id) = &self.id {
            return one(session, id);
        }
        let filter = self.narrow.filter(self.state.as_ref());
        let filter = set(filter, self.kind.as_ref(), Filter::kind);
        let mut filter = LaneArg::narrow(self.lane.as_ref(), filter);
        if let Some(since) = self.since {
            filter = filter.since(since.from(session.lanebox.now()));
        }
        let page = session.page(filter, Lanebox::sends)?;
        if session.out.json {
            return session.out.document(&json!({ "sends": page.rows, "next": page.next }));
        }
        session.list(&listed(session, &page.rows), "no sends", &self.narrow)?;
        session.more(page.next.as_deref())
    }
}

/// Sends as a table.
pub fn listed(session: &Session, sends: &[SendView]) -> Table {
    let columns =
        ["send", "channel", "recipient", "state", "tries", "intended", "job", "said", "notice"];
    let mut table = Table::of(&columns);
    for send in sends {
        table.row([
            send.id.clone(),
            send.channel.clone(),
            send.recipient.clone(),
            send_state(send),
            send.tries.to_string(),
            session.out.when(send.intended_at),
            send.job.map(|id| id.to_string()).unwrap_or_default(),
            send.receipt.clone().or(send.reason.clone()).unwrap_or_default(),
            send.notice.clone().unwrap_or_default(),
        ]);
    }
    table
}

fn one(session: &Session, id: &str) -> anyhow::Result<()> {
    let detail = session.lanebox.send(id)?;
    if session.out.json {
        return session.out.document(&detail);
    }
    let send = &detail.send;
    let mut facts = Table::plain();
    facts.fact("send", &send.id);
    facts.fact("org", &send.org);
    facts.fact("channel", &send.channel);
    facts.fact("recipient", &send.recipient);
    facts.fact("state", send_state(send));
    facts.maybe("name", send.name.as_deref());
    facts.maybe("number", send.seq.map(|seq| seq.to_string()));
    facts.fact("origin", &detail.origin);
    facts.maybe("job", send.job.map(|id| id.to_string()));
    facts.maybe("receipt", send.receipt.as_deref());
    let until = |at| format!("{} ({})", instant(at), session.out.when(at));
    facts.maybe("lane kept until", send.wait_until.map(until));
    facts.maybe("notice", send.notice.as_deref());
    session.out.table(&facts, "")?;
    session.out.line("")?;
    let mut tries = Table::of(&["try", "key", "state", "calls", "intended", "said"]);
    for one in &detail.history {
        let intended = session.out.when(one.intended_at);
        let (key, calls) = (one.key.to_string(), one.calls.to_string());
        tries.row([one.n.to_string(), key, one.state.clone(), calls, intended, told(one)]);
    }
    session.out.table(&tries, "")?;
    if send.state == "unknown" {
        let line = format!("decide: lanebox resolve {} --sent, --resend or --give-up", send.id);
        session.out.line(&line)?;
    }
    Ok(())
}
