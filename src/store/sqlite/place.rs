//! Where a due job stands: in `ready`, or in its lane's line with the head of the line in `ready`.

use rusqlite::params;

use super::tx::Tx;
use crate::error::Result;
use crate::model::id::{JobNo, KindNo, LaneNo, OrgNo};

const OPEN_HEAD: &str = "SELECT priority, run_at, id, kind FROM lanebox_open WHERE lane = ?1 ORDER BY priority, run_at, id LIMIT 1";
const OPEN_NEW: &str =
    "INSERT INTO lanebox_open(lane, priority, run_at, id, kind) VALUES (?1, ?2, ?3, ?4, ?5)";
const OPEN_DEL: &str =
    "DELETE FROM lanebox_open WHERE lane = ?1 AND priority = ?2 AND run_at = ?3 AND id = ?4";
const LANE_RUNNING: &str = "SELECT id FROM lanebox_running WHERE lane = ?1";
const LANE_KEEPER: &str = "SELECT id FROM lanebox_tried WHERE lane = ?1";
const LANE_PAUSED: &str = "SELECT 1 FROM lanebox_pause WHERE lane = ?1";
const READY_NEW: &str = "INSERT INTO lanebox_ready(alone, kind, org, priority, run_at, id) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
const READY_DEL: &str = "DELETE FROM lanebox_ready WHERE alone = ?1 AND kind = ?2 AND org = ?3 AND priority = ?4 AND run_at = ?5 AND id = ?6";
// A suspect stands in a line only after its send was parked; it runs alone from there too.
const IS_SUSPECT: &str = "SELECT 1 FROM lanebox_tried WHERE id = ?1 AND lost >= 2";
const LANE_NEXT: &str = "INSERT INTO lanebox_ready(alone, kind, org, priority, run_at, id) \
     SELECT EXISTS (SELECT 1 FROM lanebox_tried t WHERE t.id = o.id AND t.lost >= 2), kind, ?2, priority, run_at, id \
     FROM lanebox_open o WHERE lane = ?1 AND NOT EXISTS (SELECT 1 FROM lanebox_pause WHERE lane = ?1) ORDER BY priority, run_at, id LIMIT 1 \
     ON CONFLICT DO NOTHING";
const LANE_LAST: &str = "SELECT run_at FROM lanebox_open WHERE lane = ?1 AND priority = ?2 ORDER BY run_at DESC, id DESC LIMIT 1";

/// What decides where a job stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) id: JobNo,
    pub(super) org: OrgNo,
    pub(super) kind: KindNo,
    pub(super) lane: Option<LaneNo>,
    pub(super) priority: i64,
    pub(super) run_at: i64,
    pub(super) alone: bool,
}

/// Puts a due job that keeps no lane where it belongs.
pub(super) fn place(tx: &Tx<'_>, job: &Place) -> Result<()> {
    let Some(lane) = job.lane else {
        return ready(tx, job);
    };
    let head = tx.one(OPEN_HEAD, [lane], |row| {
        Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?, row.get::<_, JobNo>(2)?, row.get(3)?))
    })?;
    tx.run(OPEN_NEW, params![lane, job.priority, job.run_at, job.id, job.kind])?;
    match head {
        Some((priority, run_at, id, _))
            if (priority, run_at, id) < (job.priority, job.run_at, job.id) =>
        {
            Ok(())
        }
        head => {
            if !is_free(tx, lane)? {
                return Ok(());
            }
            if let Some((priority, run_at, id, kind)) = head {
                let alone = is_suspect(tx, id)?;
                unready(tx, &Place { id, kind, priority, run_at, alone, ..*job })?;
            }
            ready(tx, job)
        }
    }
}

/// Whether a lane has no occupant and is not paused.
fn is_free(tx: &Tx<'_>, lane: LaneNo) -> Result<bool> {
    Ok(!tx.has(LANE_RUNNING, [lane])? && !tx.has(LANE_KEEPER, [lane])? && !is_paused(tx, lane)?)
}

pub(super) fn is_paused(tx: &Tx<'_>, lane: LaneNo) -> Result<bool> {
    tx.has(LANE_PAUSED, [lane])
}

/// Whether a waiting job was lost twice or more: it runs with nothing beside it.
pub(super) fn is_suspect(tx: &Tx<'_>, id: JobNo) -> Result<bool> {
    tx.has(IS_SUSPECT, [id])
}

/// Makes a job claimable.
pub(super) fn ready(tx: &Tx<'_>, job: &Place) -> Result<()> {
    let Place { id, org, kind, priority, run_at, alone, .. } = *job;
    tx.run(READY_NEW, params![alone, kind, org, priority, run_at, id])?;
    Ok(())
}

/// Takes a job out of what is claimable; whether it was there.
pub(super) fn unready(tx: &Tx<'_>, job: &Place) -> Result<bool> {
    let Place { id, org, kind, priority, run_at, alone, .. } = *job;
    Ok(tx.run(READY_DEL, params![alone, kind, org, priority, run_at, id])? > 0)
}

/// Takes a job out of its lane's line; whether it was there.
pub(super) fn leave_line(tx: &Tx<'_>, lane: LaneNo, job: &Place) -> Result<bool> {
    Ok(tx.run(OPEN_DEL, params![lane, job.priority, job.run_at, job.id])? > 0)
}

/// A keeper that is due again is claimable at once, unless its lane is paused.
pub(super) fn place_keeper(tx: &Tx<'_>, lane: LaneNo, job: &Place) -> Result<()> {
    if is_paused(tx, lane)? { Ok(()) } else { ready(tx, job) }
}

/// The lane is free: the head of its line becomes claimable.
pub(super) fn next_of(tx: &Tx<'_>, lane: LaneNo, org: OrgNo) -> Result<()> {
    tx.run(LANE_NEXT, params![lane, org])?;
    Ok(())
}

/// The place of a job that is due at once: never before the last due job of its lane and priority,
/// whatever the clock says.
pub(super) fn due_now(tx: &Tx<'_>, lane: Option<LaneNo>, priority: i64) -> Result<i64> {
    let Some(lane) = lane else { return Ok(tx.now) };
    let last = tx.one(LANE_LAST, params![lane, priority], |row| row.get::<_, i64>(0))?;
    Ok(last.map_or(tx.now, |last| last.max(tx.now)))
}
