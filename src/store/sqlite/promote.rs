//! Due jobs leave `scheduled` for their place.

use rusqlite::params;

use super::await_evidence::park;
use super::expire;
use super::place::{place, place_keeper};
use super::row::{self, JobRow, Phase, TriedRow};
use super::tx::Tx;
use crate::error::Result;
use crate::model::id::{JobNo, LaneNo};

/// Due jobs promoted by one claim: far above what falls due between two claims.
pub(super) const BATCH: usize = 1_000;

const SCHEDULED_NEW: &str = "INSERT INTO lanebox_scheduled(run_at, id, lane) VALUES (?1, ?2, ?3)";
const SCHEDULED_DUE: &str =
    "SELECT run_at, id FROM lanebox_scheduled WHERE run_at <= ?1 ORDER BY run_at, id LIMIT ?2";
const SCHEDULED_DUE_OF_LANE: &str =
    "SELECT run_at, id FROM lanebox_scheduled WHERE lane = ?1 AND run_at <= ?2 ORDER BY run_at, id";
const SCHEDULED_DEL: &str = "DELETE FROM lanebox_scheduled WHERE run_at = ?1 AND id = ?2";
const SCHEDULED_NEXT: &str =
    "SELECT run_at FROM lanebox_scheduled WHERE run_at >= 0 ORDER BY run_at, id LIMIT 1";

/// Keeps a job until `run_at`.
pub(super) fn schedule(tx: &Tx<'_>, run_at: i64, id: JobNo, lane: Option<LaneNo>) -> Result<()> {
    tx.run(SCHEDULED_NEW, params![run_at, id, lane])?;
    Ok(())
}

/// Takes a job out of the schedule; whether it was there.
pub(super) fn unschedule(tx: &Tx<'_>, run_at: i64, id: JobNo) -> Result<bool> {
    Ok(tx.run(SCHEDULED_DEL, params![run_at, id])? > 0)
}

/// When the next scheduled job is due, or the next waiting one expires.
pub(super) fn next_due(tx: &Tx<'_>) -> Result<Option<i64>> {
    let due: Option<i64> = tx.one(SCHEDULED_NEXT, [], |row| row.get(0))?;
    let expires = expire::next(tx)?;
    Ok(due.into_iter().chain(expires).min())
}

/// Moves what is due, oldest first, at most `most` jobs; how many it moved.
pub(super) fn promote(tx: &Tx<'_>, most: usize) -> Result<usize> {
    let due = tx.all(SCHEDULED_DUE, params![tx.now, most], read_due)?;
    for &(run_at, id) in &due {
        promote_one(tx, run_at, id)?;
    }
    Ok(due.len())
}

/// Moves a lane's overdue jobs, so that nothing newer gets in line before them.
pub(super) fn promote_lane(tx: &Tx<'_>, lane: LaneNo) -> Result<()> {
    for (run_at, id) in tx.all(SCHEDULED_DUE_OF_LANE, params![lane, tx.now], read_due)? {
        promote_one(tx, run_at, id)?;
    }
    Ok(())
}

fn read_due(row: &rusqlite::Row<'_>) -> rusqlite::Result<(i64, JobNo)> {
    Ok((row.get(0)?, row.get(1)?))
}

fn promote_one(tx: &Tx<'_>, run_at: i64, id: JobNo) -> Result<()> {
    unschedule(tx, run_at, id)?;
    let Some(job) = row::job(tx, id)? else {
        return Ok(());
    };
    match row::tried(tx, id)? {
        None => place(tx, &job.place_at(run_at, false)),
        Some(tried) => promote_tried(tx, &job, &tried),
    }
}

fn promote_tried(tx: &Tx<'_>, job: &JobRow, tried: &TriedRow) -> Result<()> {
    let here = job.place_at(tried.run_at, tried.lost >= 2);
    match (tried.phase, tried.lane) {
        (Phase::Waiting, Some(lane)) => place_keeper(tx, lane, &here),
        (Phase::Waiting, None) => place(tx, &here),
        (Phase::Unknown, _) => park(tx, job, tried),
        (Phase::Parked, _) => Ok(()),
    }
}
