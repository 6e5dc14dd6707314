//! `lanebox lanes`: the lanes in use, who occupies each, and how long its line is.

use lanebox::Lanebox;
use lanebox::people::LaneView;
use serde_json::json;

use super::Session;
use crate::args::{LaneArg, Narrow};
use crate::output::table::Table;
use crate::output::words;

#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  lanebox lanes --state paused")]
pub struct Lanes {
    /// Only lanes in this state
    #[arg(long, value_parser = ["paused", "running", "waiting", "ready", "scheduled", "idle"])]
    state: Option<String>,
    /// Only this lane, also if nothing is in it: its name, or as tables show it, like +49…78~12
    #[arg(long)]
    lane: Option<LaneArg>,
    #[command(flatten)]
    narrow: Narrow,
}

impl Lanes {
    pub fn run(&self, session: &Session) -> anyhow::Result<()> {
        let filter = self.narrow.filter(self.state.as_ref());
        let filter = LaneArg::narrow(self.lane.as_ref(), filter);
        let page = session.page(filter, Lanebox::lanes)?;
        if session.out.json {
            return session.out.document(&json!({ "lanes": page.rows, "next": page.next }));
        }
        let columns = [
            "lane",
            "org",
            "state",
            "occupant",
            "kind",
            "line",
            "later",
            "next in line",
            "paused by",
        ];
        let mut table = Table::of(&columns);
        for lane in &page.rows {
            table.row(row(lane));
        }
        session.list(&table, "no lanes in use", &self.narrow)?;
        session.more(page.next.as_deref())
    }
}

fn row(lane: &LaneView) -> [String; 9] {
    [
        words::lane(lane.name.as_deref(), Some(&lane.no)),
        lane.org.clone(),
        lane.state.clone(),
        lane.occupant.map(|id| id.to_string()).unwrap_or_default(),
        lane.occupant_kind.clone().unwrap_or_default(),
        at_least(lane.line),
        at_least(lane.scheduled),
        lane.head.map(|id| id.to_string()).unwrap_or_default(),
        lane.paused.join(", "),
    ]
}

fn at_least(n: i64) -> String {
    if n < 1_000 { n.to_string() } else { format!("{n}+") }
}
