//! `lanebox stats`: the file in numbers.

use lanebox::people::{Census, ConsumerView, Count};

use super::Session;
use crate::output::table::Table;
use crate::output::text::bytes;

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Every job is counted once, by the words of `lanebox jobs --state`.\n\nExample:\n  lanebox stats --json"
)]
pub struct Stats {}

impl Stats {
    pub fn run(&self, session: &Session) -> anyhow::Result<()> {
        let stats = session.lanebox.stats()?;
        if session.out.json {
            return session.out.document(&stats);
        }
        session.out.table(&whole(session, &stats), "")?;
        for (name, some) in [("kind", &stats.kinds), ("org", &stats.orgs)] {
            if !some.is_empty() {
                session.out.line("")?;
                session.out.table(&census(name, some), "")?;
            }
        }
        if !stats.consumers.is_empty() {
            session.out.line("")?;
            session.out.table(&consumers(session, &stats.consumers), "")?;
        }
        Ok(())
    }
}

fn whole(session: &Session, stats: &lanebox::people::Stats) -> Table {
    let mut facts = Table::plain();
    facts.fact("events ever", stats.events.to_string());
    facts.fact("events not looked at yet", stats.events_ahead.to_string());
    facts.fact("jobs ever", stats.jobs.to_string());
    facts.fact("scheduled", count(stats.scheduled));
    facts.fact("queued", count(stats.queued));
    let since = stats.oldest_ready_at.map(|at| format!(", since {}", session.out.when(at)));
    facts.fact("ready", count(stats.ready) + &since.unwrap_or_default());
    facts.fact("backing_off", count(stats.backing_off));
    facts.fact("waiting_for_send", count(stats.waiting_for_send));
    facts.fact("parked", count(stats.parked));
    facts.fact("running", stats.running.to_string());
    facts.fact("done", count(stats.done));
    facts.fact("dead", count(stats.dead));
    facts.fact("cancelled", count(stats.cancelled));
    facts.fact("unknown sends", count(stats.unknown_sends));
    facts.fact("open notices", count(stats.open_notices));
    facts.maybe("claims", stats.paused.then_some("paused"));
    facts.maybe("sends held", stats.hold.as_deref());
    facts.fact("database", bytes(stats.database_bytes.unsigned_abs()));
    facts.fact("write-ahead log", bytes(stats.wal_bytes));
    facts
}

fn census(name: &str, some: &[Census]) -> Table {
    let mut table = Table::of(&[name, "ready", "running", "dead", ""]);
    for one in some {
        let paused = if one.paused { "paused" } else { "" };
        let (ready, dead) = (count(one.ready), count(one.dead));
        table.row([one.name.clone(), ready, one.running.to_string(), dead, paused.to_owned()]);
    }
    table
}

fn consumers(session: &Session, consumers: &[ConsumerView]) -> Table {
    let columns = [
        "consumer", "form", "state", "position", "behind", "seen", "retries", "dead", "next",
        "wants",
    ];
    let mut table = Table::of(&columns);
    for consumer in consumers {
        table.row([
            consumer.key.clone(),
            consumer.form.clone(),
            consumer.state.clone(),
            consumer.position.to_string(),
            consumer.lag.to_string(),
            consumer.seen.to_string(),
            consumer.retries.to_string(),
            consumer.dead.to_string(),
            session.out.maybe(consumer.next_at),
            consumer.patterns.join(" "),
        ]);
    }
    table
}

fn count(count: Count) -> String {
    if count.more { format!("{}+", count.n) } else { count.n.to_string() }
}
