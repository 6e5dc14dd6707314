//! A run ended and its job will be tried again: retry, postponement, handing back and loss write
//! the same rows.

use rusqlite::params;

use super::end::lane_goes_on;
use super::expire;
use super::place::{place, place_keeper};
use super::promote::schedule;
use super::row::{self, JobRow, Phase, RunningRow, TriedRow};
use super::tx::Tx;
use crate::error::Result;
use crate::model::id::{JobNo, LaneNo, SendNo};
use crate::model::verdict::{Again, End};
use crate::store::jobs::Ended;

const ATTEMPT_NEW: &str = "INSERT INTO lanebox_attempt(job, token, series, n, process, started_at, ended_at, ended, error) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
const TRIED_NEW: &str = "INSERT INTO lanebox_tried(id, lane, phase, run_at, series, attempts, lost, lost_alone, postponed, unknowns, sent, waits_send, error) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)";

/// Writes the attempt, the waiting row, the lane's next, and then the job's own place, in this
/// order.
pub(super) fn wait(tx: &Tx<'_>, run: &RunningRow, end: &End, again: &Again) -> Result<Ended> {
    let job = row::job(tx, run.held.job)?.expect("a running job has its row (foreign key)");
    let (ended, error) = told(end);
    remember(tx, run, ended, error)?;
    let kept = run.held.lane.filter(|_| again.keep_lane);
    write(tx, run, again, kept, Phase::Waiting, None, error)?;
    if kept.is_none() {
        lane_goes_on(tx, run.held)?;
    }
    may_expire(tx, run, &job)?;
    let here = job.place_at(again.due, again.lost >= 2);
    // What is handed back was due when it was taken: a clock that went back since changes nothing.
    let was_due = matches!(end, End::HandBack { .. });
    match kept {
        _ if again.due > tx.now && !was_due => schedule(tx, again.due, job.id, run.held.lane)?,
        Some(lane) => place_keeper(tx, lane, &here)?,
        None => place(tx, &here)?,
    }
    Ok(Ended::Waits { due: again.due })
}

/// Remembers an attempt that did not end its job.
pub(super) fn remember(
    tx: &Tx<'_>,
    run: &RunningRow,
    ended: &str,
    error: Option<&str>,
) -> Result<()> {
    let held = run.held;
    let attempt = params![
        held.job,
        held.token,
        held.series,
        held.attempts,
        held.process,
        held.started_at,
        tx.now,
        ended,
        error
    ];
    tx.run(ATTEMPT_NEW, attempt)?;
    Ok(())
}

/// Writes the row of a job that waits to be tried again.
pub(super) fn write(
    tx: &Tx<'_>,
    run: &RunningRow,
    again: &Again,
    lane: Option<LaneNo>,
    phase: Phase,
    waits_send: Option<SendNo>,
    error: Option<&str>,
) -> Result<()> {
    let tried = TriedRow {
        lane,
        phase,
        run_at: again.due,
        series: run.held.series,
        attempts: again.attempts,
        lost: again.lost,
        lost_alone: again.lost_alone,
        postponed: again.postponed,
        unknowns: again.unknowns,
        sent: run.sent,
        waits_send,
        error: error.map(str::to_owned),
    };
    restore(tx, run.held.job, &tried)
}

/// Puts a waiting job's row back as it was.
pub(super) fn restore(tx: &Tx<'_>, id: JobNo, tried: &TriedRow) -> Result<()> {
    let row = params![
        id,
        tried.lane,
        tried.phase.as_str(),
        tried.run_at,
        tried.series,
        tried.attempts,
        tried.lost,
        tried.lost_alone,
        tried.postponed,
        tried.unknowns,
        tried.sent,
        tried.waits_send,
        tried.error
    ];
    tx.run(TRIED_NEW, row)?;
    Ok(())
}

// Only what has sent nothing may expire while it waits.
fn may_expire(tx: &Tx<'_>, run: &RunningRow, job: &JobRow) -> Result<()> {
    match job.expires_at {
        Some(at) if !run.sent => expire::note(tx, at, job.id),
        _ => Ok(()),
    }
}

fn told(end: &End) -> (&'static str, Option<&str>) {
    match end {
        End::Retry { error, .. } => ("failed", Some(error)),
        End::Postpone { why, .. } => ("postponed", Some(why)),
        End::HandBack { .. } => ("handed_back", None),
        End::Lost { .. } => ("lost", Some("lease expired or its holder vanished")),
        End::Unknown => ("unknown", None),
        End::Done { .. } | End::Skip(_) | End::Veto(_) | End::GivenUp(_) | End::Dead(_) => {
            ("failed", None)
        }
    }
}
