//! A paused lane is not claimed from: what it holds stays in its place, and nothing of it is in
//! `ready`.

use rusqlite::params;

#[cfg(test)]
use super::place::unready;
use super::place::{Place, is_suspect, next_of, ready};
use super::row::{self, Phase};
use super::tx::Tx;
use crate::error::Result;
use crate::model::id::{JobNo, LaneNo, OrgNo};

#[cfg(test)]
const PAUSE_OPERATOR: &str = "INSERT INTO lanebox_pause(lane, by_operator) VALUES (?1, 1) ON CONFLICT(lane) DO UPDATE SET by_operator = 1";
// A person's resume ends the pause and a death's stop; a cancellation under way goes on.
#[cfg(test)]
const PAUSE_KEEP_CANCEL: &str = "UPDATE lanebox_pause SET by_operator = 0, dead_job = NULL WHERE lane = ?1 AND cancel_upto IS NOT NULL";
#[cfg(test)]
const PAUSE_DEL: &str = "DELETE FROM lanebox_pause WHERE lane = ?1";
const LANE_ORG: &str = "SELECT org FROM lanebox_lane WHERE id = ?1";
const LANE_KEEPER: &str = "SELECT id FROM lanebox_tried WHERE lane = ?1";
const LANE_RUNNING: &str = "SELECT 1 FROM lanebox_running WHERE lane = ?1";
const SCHEDULED_HAS: &str = "SELECT 1 FROM lanebox_scheduled WHERE run_at = ?1 AND id = ?2";
const OPEN_HEAD: &str = "SELECT priority, run_at, id, kind FROM lanebox_open WHERE lane = ?1 ORDER BY priority, run_at, id LIMIT 1";

/// A person pauses a lane. (The model test's, until people have the verb.)
#[cfg(test)]
pub(super) fn pause_lane(tx: &Tx<'_>, lane: LaneNo) -> Result<()> {
    tx.run(PAUSE_OPERATOR, [lane])?;
    let org = org_of(tx, lane)?;
    if let Some(claimable) = claimable(tx, lane, org)? {
        unready(tx, &claimable)?;
    }
    Ok(())
}

/// A person resumes a lane.
#[cfg(test)]
pub(super) fn resume_lane(tx: &Tx<'_>, lane: LaneNo) -> Result<()> {
    if tx.run(PAUSE_KEEP_CANCEL, [lane])? == 0 && tx.run(PAUSE_DEL, [lane])? > 0 {
        let org = org_of(tx, lane)?;
        make_claimable(tx, lane, org)?;
    }
    Ok(())
}

/// The last reason of a pause is gone: the lane's keeper, or the head of its line, becomes
/// claimable.
pub(super) fn make_claimable(tx: &Tx<'_>, lane: LaneNo, org: OrgNo) -> Result<()> {
    if tx.has(LANE_RUNNING, [lane])? {
        return Ok(());
    }
    match (claimable(tx, lane, org)?, tx.has(LANE_KEEPER, [lane])?) {
        (Some(keeper), true) => ready(tx, &keeper),
        (None, true) => Ok(()),
        (_, false) => next_of(tx, lane, org),
    }
}

// The one job of a lane that stands in `ready` while the lane is not paused.
fn claimable(tx: &Tx<'_>, lane: LaneNo, org: OrgNo) -> Result<Option<Place>> {
    if let Some(id) = tx.one(LANE_KEEPER, [lane], |row| row.get::<_, JobNo>(0))? {
        return due_keeper(tx, id);
    }
    let head = tx.one(OPEN_HEAD, [lane], |row| {
        let (priority, run_at, id, kind) = (row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?);
        Ok(Place { id, org, kind, lane: Some(lane), priority, run_at, alone: false })
    })?;
    head.map(|head| Ok(Place { alone: is_suspect(tx, head.id)?, ..head })).transpose()
}

fn due_keeper(tx: &Tx<'_>, id: JobNo) -> Result<Option<Place>> {
    let (Some(job), Some(tried)) = (row::job(tx, id)?, row::tried(tx, id)?) else {
        return Ok(None);
    };
    let waits =
        tried.phase != Phase::Waiting || tx.has(SCHEDULED_HAS, params![tried.run_at, id])?;
    Ok((!waits).then(|| job.place_at(tried.run_at, tried.lost >= 2)))
}

pub(super) fn org_of(tx: &Tx<'_>, lane: LaneNo) -> Result<OrgNo> {
    let org = tx.one(LANE_ORG, [lane], |row| row.get(0))?;
    org.ok_or_else(|| crate::error::Error::NotFound { what: "lane", id: lane.to_string() })
}
