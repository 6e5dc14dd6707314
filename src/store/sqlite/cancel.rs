//! A person, or time, ends a job that waits; a running one is asked to stop.

use super::expire;
use super::finished::{Finished, Waited, finish};
use super::once_more;
use super::place::{leave_line, next_of, unready};
use super::promote::unschedule;
use super::row;
use super::tx::Tx;
use super::undecided;
use crate::error::Result;
use crate::model::id::JobNo;
use crate::model::verdict::CancelReason;
use crate::store::jobs::Cancelled;

const RUNNING_CANCEL: &str = "UPDATE lanebox_running SET cancel_asked = 1 WHERE id = ?1";

/// Cancels a job for this reason.
pub(super) fn cancel(tx: &Tx<'_>, id: JobNo, reason: CancelReason) -> Result<Cancelled> {
    if tx.run(RUNNING_CANCEL, [id])? > 0 {
        return Ok(Cancelled::Asked);
    }
    match remove(tx, id)? {
        Some(waited) => {
            finish(tx, &Finished::cancelled(id, reason, &waited))?;
            if waited.0.as_ref().is_some_and(|tried| tried.sent) {
                undecided::notice_undecided(tx, id)?;
                once_more::tell_unfulfilled(tx, id)?;
            }
            Ok(Cancelled::Now)
        }
        None => Ok(Cancelled::Ended),
    }
}

/// Takes a waiting job out of every place and lets its lane go on; `None` if it does not wait.
pub(super) fn remove(tx: &Tx<'_>, id: JobNo) -> Result<Option<Waited>> {
    let Some(job) = row::job(tx, id)? else {
        return Ok(None);
    };
    let tried = row::take_tried(tx, id)?;
    let run_at = tried.as_ref().map_or(job.run_at, |tried| tried.run_at);
    let kept = tried.as_ref().and_then(|tried| tried.lane);
    let here = job.place_at(run_at, tried.as_ref().is_some_and(|tried| tried.lost >= 2));
    let scheduled = unschedule(tx, run_at, id)?;
    let was_ready = unready(tx, &here)?;
    let stood = match job.lane {
        Some(lane) if kept.is_none() => leave_line(tx, lane, &here)?,
        _ => false,
    };
    if tried.is_none() && !scheduled && !was_ready && !stood {
        return Ok(None);
    }
    expire::forget(tx, job.expires_at, id)?;
    if let Some(lane) = job.lane
        && (kept.is_some() || was_ready)
    {
        next_of(tx, lane, job.org)?;
    }
    Ok(Some(Waited(tried)))
}
