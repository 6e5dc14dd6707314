//! After a death with the policy `cancel`: what stood in the line is cancelled in batches, the lane
//! closed meanwhile.

use rusqlite::params;

use super::cancel::cancel;
use super::pause::{make_claimable, org_of};
use super::tx::Tx;
use crate::error::Result;
use crate::model::id::{JobNo, LaneNo};
use crate::model::verdict::CancelReason;

/// Jobs cancelled by one pass.
const BATCH: usize = 200;

const CASCADE_FIND: &str =
    "SELECT lane, cancel_upto FROM lanebox_pause WHERE cancel_upto IS NOT NULL LIMIT 1";
const OPEN_UPTO: &str = "SELECT id FROM lanebox_open WHERE lane = ?1 AND id <= ?2 ORDER BY priority, run_at, id LIMIT ?3";
const PAUSE_END_CANCEL: &str = "UPDATE lanebox_pause SET cancel_upto = NULL WHERE lane = ?1 AND (by_operator = 1 OR dead_job IS NOT NULL)";
const PAUSE_DEL: &str = "DELETE FROM lanebox_pause WHERE lane = ?1";

/// One batch of one lane; whether there was anything to do.
pub(super) fn cascade(tx: &Tx<'_>) -> Result<bool> {
    let found = tx.one(CASCADE_FIND, [], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let Some((lane, upto)): Option<(LaneNo, i64)> = found else {
        return Ok(false);
    };
    let line: Vec<JobNo> = tx.all(OPEN_UPTO, params![lane, upto, BATCH], |row| row.get(0))?;
    for &job in &line {
        // It waits in this line, so it is cancelled now; a running job is not in a line.
        let _now = cancel(tx, job, CancelReason::Operator)?;
    }
    if line.len() < BATCH && tx.run(PAUSE_END_CANCEL, [lane])? == 0 {
        tx.run(PAUSE_DEL, [lane])?;
        make_claimable(tx, lane, org_of(tx, lane)?)?;
    }
    Ok(true)
}
