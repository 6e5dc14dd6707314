//! A job is dead: its notice in the same transaction, then its kind's policy for the lane.

use rusqlite::params;

use super::end::lane_goes_on;
use super::finished::{Finished, finish};
use super::notify::{Notice, notify};
use super::row::RunningRow;
use super::tx::Tx;
use super::undecided;
use crate::error::Result;
use crate::model::id::{JobNo, LaneNo};
use crate::model::text::one_line;
use crate::store::jobs::Ended;

const KIND_DEATH: &str = "SELECT name, on_dead FROM lanebox_kind WHERE id = ?1";
const PAUSE_DEAD: &str = "INSERT INTO lanebox_pause(lane, by_operator, dead_job) VALUES (?1, 0, ?2) ON CONFLICT(lane) DO UPDATE SET dead_job = excluded.dead_job";
const PAUSE_CANCEL: &str = "INSERT INTO lanebox_pause(lane, by_operator, cancel_upto) VALUES (?1, 0, ?2) ON CONFLICT(lane) DO UPDATE SET cancel_upto = excluded.cancel_upto";
const JOB_MAX: &str = "SELECT max(id) FROM lanebox_job";

/// Ends the job as dead.
pub(super) fn dead(tx: &Tx<'_>, run: &RunningRow, error: &str) -> Result<Ended> {
    let policy = tx.one(KIND_DEATH, [run.kind], |row| {
        Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?))
    })?;
    let (kind, on_dead) = policy.expect("a kind that ran has its row (foreign key)");
    let notice = notify(
        tx,
        &Notice {
            org: run.held.org,
            kind: "job.dead",
            cause: one_line(&format!("{kind}: {error}")),
            severity: "critical",
            reason: one_line(error),
            next_step: format!(
                "mend the cause, then `lanebox requeue JOB`; if this {kind} need not run, \
                 `lanebox notices NOTICE --resolve`"
            ),
            about: Some(("job", run.held.job.0)),
        },
    )?;
    let error = Some(error);
    finish(tx, &Finished { error, notice: Some(notice), ..Finished::by(run.held, "dead") })?;
    if run.sent {
        undecided::notice_undecided(tx, run.held.job)?;
    }
    match (run.held.lane, on_dead.as_str()) {
        (Some(lane), "stop") => stop(tx, lane, run.held.job)?,
        (Some(lane), "cancel") => cancel_line(tx, lane)?,
        _ => lane_goes_on(tx, run.held)?,
    }
    Ok(Ended::Dead)
}

// The lane stands still until a person decides about this very job.
fn stop(tx: &Tx<'_>, lane: LaneNo, job: JobNo) -> Result<()> {
    tx.run(PAUSE_DEAD, params![lane, job])?;
    Ok(())
}

// What follows is cancelled in batches, the lane closed meanwhile.
fn cancel_line(tx: &Tx<'_>, lane: LaneNo) -> Result<()> {
    let newest: Option<i64> = tx.one(JOB_MAX, [], |row| row.get(0))?;
    tx.run(PAUSE_CANCEL, params![lane, newest.unwrap_or(0)])?;
    Ok(())
}
