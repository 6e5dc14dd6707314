//! The fate of a send is known, or may be tried again: the job that waited for it runs again.

use super::again;
use super::place::{due_now, place, place_keeper};
use super::promote::{promote_lane, unschedule};
use super::row::{self, Phase, TriedRow};
use super::tx::Tx;
use crate::error::Result;
use crate::model::id::{JobNo, SendNo};

const WAITER: &str = "SELECT id FROM lanebox_tried WHERE waits_send = ?1";

/// The job that waits for this send, if one does.
pub(super) fn waiter(tx: &Tx<'_>, send: SendNo) -> Result<Option<JobNo>> {
    tx.one(WAITER, [send], |row| row.get(0))
}

/// Lets the waiting job go on: at once and still in its lane, or at the end of its line if it was
/// parked. Nothing happens if the job runs or has ended.
pub(super) fn free(tx: &Tx<'_>, send: SendNo) -> Result<bool> {
    let Some(id) = waiter(tx, send)? else {
        return Ok(false);
    };
    let job = row::job(tx, id)?.expect("a tried job has its row (foreign key)");
    let tried = row::take_tried(tx, id)?.expect("it was found in this transaction");
    unschedule(tx, tried.run_at, id)?;
    let waiting = TriedRow { phase: Phase::Waiting, waits_send: None, ..tried.clone() };
    match (tried.phase, tried.lane) {
        (Phase::Unknown, Some(lane)) => {
            let run_at = tx.now;
            again::restore(tx, id, &TriedRow { run_at, ..waiting })?;
            place_keeper(tx, lane, &job.place_at(run_at, tried.lost >= 2))?;
        }
        _ => {
            if let Some(lane) = job.lane {
                promote_lane(tx, lane)?;
            }
            let run_at = due_now(tx, job.lane, job.priority)?;
            again::restore(tx, id, &TriedRow { run_at, ..waiting })?;
            place(tx, &job.place_at(run_at, tried.lost >= 2))?;
        }
    }
    Ok(true)
}
