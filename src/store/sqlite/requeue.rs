//! A person starts a dead job again: a new series, its history and its send identity kept.

use rusqlite::params;

use super::again;
use super::expire;
use super::pause;
use super::place::{due_now, place};
use super::promote::promote_lane;
use super::row::{self, JobRow, Phase, TriedRow};
use super::tx::Tx;
use super::unique;
use crate::error::Result;
use crate::model::id::{JobNo, LaneNo};
use crate::store::jobs::Requeued;

const FINISHED_TAKE: &str = "DELETE FROM lanebox_finished WHERE id = ?1 AND state = 'dead' RETURNING started_at, token, process, series, attempts, finished_at, error";
const ATTEMPT_NEW: &str = "INSERT INTO lanebox_attempt(job, token, series, n, process, started_at, ended_at, ended, error) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 'dead', ?8)";
const IS_DEAD: &str = "SELECT 1 FROM lanebox_finished WHERE id = ?1 AND state = 'dead'";
const PAUSE_BY_DEAD: &str = "SELECT 1 FROM lanebox_pause WHERE lane = ?1 AND dead_job = ?2";
const PAUSE_DROP_DEAD: &str = "UPDATE lanebox_pause SET dead_job = NULL WHERE lane = ?1 AND dead_job = ?2 AND (by_operator = 1 OR cancel_upto IS NOT NULL)";
const PAUSE_DEL_DEAD: &str = "DELETE FROM lanebox_pause WHERE lane = ?1 AND dead_job = ?2";
const SENT_ANY: &str = "SELECT EXISTS (SELECT 1 FROM lanebox_send WHERE origin = ?1), \
     EXISTS (SELECT 1 FROM lanebox_send s CROSS JOIN lanebox_send_try t ON t.send = s.id AND t.state = 'accepted' WHERE s.origin = ?1 AND s.order_by IS NULL)";

/// Starts a dead job again, at the end of its line; in its old place if its lane stands still for
/// this very job.
pub(super) fn requeue(tx: &Tx<'_>, id: JobNo) -> Result<Requeued> {
    let Some(job) = row::job(tx, id)? else {
        return Ok(Requeued::NotDead);
    };
    if !tx.has(IS_DEAD, [id])? {
        return Ok(Requeued::NotDead);
    }
    if job.expires_at.is_some_and(|at| at <= tx.now) {
        return Ok(Requeued::Expired);
    }
    if let Some(by) = unique::take_back(tx, id)? {
        return Ok(Requeued::KeyTaken { by });
    }
    let Some(series) = take_dead(tx, id)? else {
        return Ok(Requeued::NotDead);
    };
    let (has_sends, sent) = tx
        .one(SENT_ANY, [job.origin()], |row| Ok((row.get(0)?, row.get(1)?)))?
        .expect("a select without FROM answers one row");
    let stopped_by_it = match job.lane {
        Some(lane) => tx.has(PAUSE_BY_DEAD, params![lane, id])?,
        None => false,
    };
    if let Some(lane) = job.lane {
        promote_lane(tx, lane)?;
    }
    let due = if stopped_by_it { job.run_at } else { due_now(tx, job.lane, job.priority)? };
    again::restore(tx, id, &fresh(due, series + 1, has_sends))?;
    if let (Some(at), false) = (job.expires_at, has_sends) {
        expire::note(tx, at, id)?;
    }
    place(tx, &job.place_at(due, false))?;
    if let (Some(lane), true) = (job.lane, stopped_by_it) {
        lane_resumes(tx, &job, lane)?;
    }
    Ok(Requeued::Again { sent })
}

fn take_dead(tx: &Tx<'_>, id: JobNo) -> Result<Option<i64>> {
    let taken = tx.one(FINISHED_TAKE, [id], |row| {
        let last = (row.get::<_, Option<i64>>(0)?, row.get::<_, Option<i64>>(1)?);
        let process: Option<i64> = row.get(2)?;
        let counts = (row.get::<_, i64>(3)?, row.get::<_, i64>(4)?, row.get::<_, i64>(5)?);
        Ok((last, process, counts, row.get::<_, Option<String>>(6)?))
    })?;
    let Some((last, process, (series, attempts, finished_at), error)) = taken else {
        return Ok(None);
    };
    if let ((Some(started_at), Some(token)), Some(process)) = (last, process) {
        let n = attempts.max(1);
        tx.run(
            ATTEMPT_NEW,
            params![id, token, series, n, process, started_at, finished_at, error],
        )?;
    }
    Ok(Some(series))
}

fn fresh(due: i64, series: i64, sent: bool) -> TriedRow {
    TriedRow {
        lane: None,
        phase: Phase::Waiting,
        run_at: due,
        series,
        attempts: 0,
        lost: 0,
        lost_alone: 0,
        postponed: 0,
        unknowns: 0,
        sent,
        waits_send: None,
        error: None,
    }
}

// The person has decided about the job that the lane stood still for.
fn lane_resumes(tx: &Tx<'_>, job: &JobRow, lane: LaneNo) -> Result<()> {
    if tx.run(PAUSE_DROP_DEAD, params![lane, job.id])? == 0 {
        tx.run(PAUSE_DEL_DEAD, params![lane, job.id])?;
        pause::make_claimable(tx, lane, job.org)?;
    }
    Ok(())
}
