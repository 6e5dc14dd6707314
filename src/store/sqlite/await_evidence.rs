//! A job waits for the fate of a send: no thread, slot, lease or attempt, but its lane for the
//! channel's patience.

use super::again;
use super::end::lane_goes_on;
use super::place::next_of;
use super::promote::{schedule, unschedule};
use super::row::{JobRow, Phase, RunningRow, TriedRow};
use super::tx::Tx;
use super::undecided;
use crate::error::Result;
use crate::model::id::SendNo;
use crate::model::verdict::Again;
use crate::store::jobs::Ended;

const TRIED_PARK: &str = "UPDATE lanebox_tried SET phase = 'parked', lane = NULL WHERE id = ?1";

/// Holds the job until the send is settled; outside its lane at once if the patience is over and a
/// person was told.
pub(super) fn await_evidence(
    tx: &Tx<'_>,
    run: &RunningRow,
    send: SendNo,
    again: &Again,
) -> Result<Ended> {
    again::remember(tx, run, "unknown", Some("the fate of a send is unknown"))?;
    match undecided::patience_until(tx, send)? {
        Some(until) => {
            let held = Again { due: until, ..*again };
            again::write(tx, run, &held, run.held.lane, Phase::Unknown, Some(send), None)?;
            schedule(tx, until, run.held.job, run.held.lane)?;
        }
        None => {
            again::write(tx, run, again, None, Phase::Parked, Some(send), None)?;
            lane_goes_on(tx, run.held)?;
        }
    }
    Ok(Ended::Holds)
}

/// The channel's patience is over: a person is told, the send stays unknown, and the lane goes on
/// without the job.
pub(super) fn park(tx: &Tx<'_>, job: &JobRow, tried: &TriedRow) -> Result<()> {
    unschedule(tx, tried.run_at, job.id)?;
    tx.run(TRIED_PARK, [job.id])?;
    if let Some(send) = tried.waits_send {
        undecided::notice_send(tx, send)?;
    }
    tried.lane.map_or(Ok(()), |lane| next_of(tx, lane, job.org))
}
