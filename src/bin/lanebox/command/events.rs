//! `lanebox events`: what happened, newest first; or one event in full.

use lanebox::people::{EventView, Filter};
use lanebox::{EventId, Lanebox};
use serde_json::json;

use super::Session;
use crate::args::{Narrow, Since, id, set};
use crate::output::table::Table;
use crate::output::text::{instant, masked};
use crate::output::words::entity;

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  lanebox events --state dead --since 2h\n  lanebox events 0198c1f2-7e5a-7000-8000-5d3c2b1a0f00"
)]
pub struct Events {
    /// Show this event in full
    #[arg(value_parser = id::event, conflicts_with_all = ["state", "kind", "since", "org", "after", "limit"])]
    id: Option<EventId>,
    /// Only events in this state
    #[arg(long, value_parser = ["unhandled", "pending", "done", "dead", "duplicate"])]
    state: Option<String>,
    /// Only events of this name, or of names that begin so: message.*
    #[arg(long, alias = "name", value_name = "NAME")]
    kind: Option<String>,
    /// Only what was recorded since: 2h, 2026-05-01 or 2026-05-01T08:00:00Z
    #[arg(long, value_name = "TIME")]
    since: Option<Since>,
    #[command(flatten)]
    narrow: Narrow,
}

impl Events {
    pub fn run(&self, session: &Session) -> anyhow::Result<()> {
        if let Some(id) = self.id {
            return one(session, id);
        }
        let filter = self.narrow.filter(self.state.as_ref());
        let mut filter = set(filter, self.kind.as_ref(), Filter::kind);
        if let Some(since) = self.since {
            filter = filter.since(since.from(session.lanebox.now()));
        }
        let page = session.page(filter, Lanebox::events)?;
        if session.out.json {
            return session.out.document(&json!({ "events": page.rows, "next": page.next }));
        }
        let mut table =
            Table::of(&["seq", "id", "recorded", "org", "name", "entity", "subject", "state"]);
        for event in &page.rows {
            table.row(row(session, event));
        }
        session.list(&table, "no events", &self.narrow)?;
        session.more(page.next.as_deref())
    }
}

fn row(session: &Session, event: &EventView) -> [String; 8] {
    [
        event.seq.clone(),
        event.id.map_or("-".to_owned(), |id| id.to_string()),
        session.out.when(event.recorded_at),
        event.org.clone(),
        event.name.clone(),
        entity(event),
        event.subject.as_deref().map(masked).unwrap_or_default(),
        event.state.clone(),
    ]
}

fn one(session: &Session, id: EventId) -> anyhow::Result<()> {
    let detail = session.lanebox.event(id)?;
    if session.out.json {
        return session.out.document(&detail);
    }
    let event = &detail.event;
    let mut facts = Table::plain();
    facts.fact("event", id.to_string());
    facts.fact("seq", &event.seq);
    facts.fact("org", &event.org);
    facts.fact("name", &event.name);
    facts.fact("state", &event.state);
    facts.maybe("entity", Some(entity(event)).filter(|entity| !entity.is_empty()));
    facts.maybe("subject", event.subject.as_deref().map(masked));
    facts.fact("occurred", instant(event.occurred_at));
    let ago = session.out.when(event.recorded_at);
    facts.fact("recorded", format!("{} ({ago})", instant(event.recorded_at)));
    facts.maybe("due again", event.next_at.map(|at| session.out.when(at)));
    facts.maybe("dedupe key", detail.dedupe_key.as_deref());
    facts.maybe("duplicate of", detail.duplicate_of.map(|id| id.to_string()));
    facts.maybe("caused by event", detail.cause_event.as_deref());
    facts.maybe("caused by job", detail.cause_job.map(|id| id.to_string()));
    facts.fact("payload", detail.payload.as_deref().unwrap_or("forgotten"));
    facts.maybe("metadata", detail.metadata.as_deref().filter(|text| *text != "{}"));
    session.out.table(&facts, "")?;
    session.out.line(&format!("what came of it: lanebox trace {id}"))
}
