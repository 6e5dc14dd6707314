//! `lanebox jobs`: jobs, newest first; or one in full, and why it waits.

use lanebox::people::{AttemptView, Filter, JobDetail, JobView};
use lanebox::{JobId, Lanebox};
use serde_json::json;

use super::Session;
use crate::args::{LaneArg, Narrow, Since, id, set};
use crate::output::table::Table;
use crate::output::text::{instant, masked};
use crate::output::words::{self, job_state, took};

const ABOUT: &str = "A pending job is in one place: scheduled (not due yet), queued (behind another in its lane), ready
(it can be claimed), backing_off (it failed and is tried again), waiting_for_send (it keeps its
lane until the fate of a send is known) or parked (it waits for that too, outside its lane).

Examples:
  lanebox jobs --state dead --kind inbound_turn
  lanebox jobs 0198c1f2-7e5a-7000-8000-5d3c2b1a0f00";

#[derive(Debug, clap::Args)]
#[command(after_help = ABOUT)]
pub struct Jobs {
    /// Show this job in full, and why it waits
    #[arg(value_parser = id::job, conflicts_with_all = ["state", "kind", "lane", "since", "org", "after", "limit"])]
    id: Option<JobId>,
    /// Only jobs in this state, or in this place of a pending one
    #[arg(long, value_parser = ["pending", "scheduled", "queued", "ready", "backing_off",
        "waiting_for_send", "parked", "running", "done", "dead", "cancelled"])]
    state: Option<String>,
    /// Only jobs of this kind
    #[arg(long)]
    kind: Option<String>,
    /// Only jobs of this lane: its name, or as tables show it, like +49…78~12
    #[arg(long)]
    lane: Option<LaneArg>,
    /// Only what was enqueued since: 2h, 2026-05-01 or 2026-05-01T08:00:00Z
    #[arg(long, value_name = "TIME")]
    since: Option<Since>,
    #[command(flatten)]
    narrow: Narrow,
}

impl Jobs {
    pub fn run(&self, session: &Session) -> anyhow::Result<()> {
        if let Some(id) = self.id {
            return one(session, id);
        }
        let filter = self.narrow.filter(self.state.as_ref());
        let filter = set(filter, self.kind.as_ref(), Filter::kind);
        let mut filter = LaneArg::narrow(self.lane.as_ref(), filter);
        if let Some(since) = self.since {
            filter = filter.since(since.from(session.lanebox.now()));
        }
        let page = session.page(filter, Lanebox::jobs)?;
        if session.out.json {
            return session.out.document(&json!({ "jobs": page.rows, "next": page.next }));
        }
        let mut table =
            Table::of(&["id", "kind", "state", "when", "org", "lane", "attempts", "said"]);
        for job in &page.rows {
            table.row(row(session, job));
        }
        session.list(&table, "no jobs", &self.narrow)?;
        session.more(page.next.as_deref())
    }
}

fn row(session: &Session, job: &JobView) -> [String; 8] {
    let at = match job.state.as_str() {
        "pending" => job.due_at,
        "running" => job.started_at.unwrap_or(job.due_at),
        _ => job.finished_at.unwrap_or(job.due_at),
    };
    [
        job.id.to_string(),
        job.kind.clone(),
        job_state(job),
        session.out.when(at),
        job.org.clone(),
        words::lane(job.lane.as_deref(), job.lane_no.as_deref()),
        format!("{}/{}", job.attempts, job.max_attempts),
        job.error.clone().unwrap_or_default(),
    ]
}

fn one(session: &Session, id: JobId) -> anyhow::Result<()> {
    let detail = session.lanebox.job(id)?;
    if session.out.json {
        return session.out.document(&detail);
    }
    session.out.table(&facts(session, &detail), "")?;
    session.out.line(&detail.explanation.sentence)?;
    if !detail.history.is_empty() {
        session.out.line("")?;
        session.out.table(&attempts(session, &detail.history), "")?;
    }
    if !detail.sends.is_empty() {
        session.out.line("")?;
        session.out.table(&super::sends::listed(session, &detail.sends), "")?;
    }
    Ok(())
}

fn facts(session: &Session, detail: &JobDetail) -> Table {
    let job = &detail.job;
    let mut facts = Table::plain();
    facts.fact("job", job.id.to_string());
    facts.fact("org", &job.org);
    facts.fact("kind", &job.kind);
    facts.fact("state", job_state(job));
    let lane = words::lane(job.lane.as_deref(), job.lane_no.as_deref());
    facts.maybe("lane", Some(lane).filter(|lane| !lane.is_empty()));
    facts.maybe("subject", job.subject.as_deref().map(masked));
    facts.fact("priority", job.priority.to_string());
    facts.fact("enqueued", instant(job.created_at));
    facts.fact("due", format!("{} ({})", instant(job.due_at), session.out.when(job.due_at)));
    facts.maybe("ended", job.finished_at.map(instant));
    facts.fact(
        "attempts",
        format!("{} of {}, series {}", job.attempts, job.max_attempts, job.series),
    );
    facts.maybe("expires", detail.expires_at.map(instant));
    facts.maybe("from event", detail.source_event.map(|id| id.to_string()));
    facts.maybe("by consumer", detail.consumer.as_deref());
    facts.maybe("progress", detail.progress.as_deref());
    let steps: Vec<&str> = detail.steps.iter().map(|step| step.name.as_str()).collect();
    facts.maybe("finished steps", Some(steps.join(", ")).filter(|steps| !steps.is_empty()));
    facts.fact("payload", detail.payload.as_deref().unwrap_or("forgotten"));
    facts.maybe("result", detail.result.as_deref());
    facts
}

fn attempts(session: &Session, history: &[AttemptView]) -> Table {
    let mut table = Table::of(&["attempt", "series", "token", "began", "took", "ended", "said"]);
    for attempt in history {
        table.row([
            attempt.n.to_string(),
            attempt.series.to_string(),
            attempt.token.clone(),
            session.out.when(attempt.started_at),
            attempt
                .ended_at
                .map(|at| took(at.saturating_sub(attempt.started_at)))
                .unwrap_or_default(),
            attempt.ended.replace('_', " "),
            attempt.error.clone().unwrap_or_default(),
        ]);
    }
    table
}
