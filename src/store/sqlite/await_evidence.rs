//! A job waits for the fate of a send: no thread, slot, lease or attempt, but its lane for the
//! channel's patience.

use super::again;
use super::end::lane_goes_on;
use super::ledger;
use super::promote::schedule;
use super::row::{Phase, RunningRow};
use super::tx::Tx;
use crate::error::Result;
use crate::model::id::SendNo;
use crate::model::verdict::Again;
use crate::store::jobs::Ended;

/// Holds the job until the send is settled; outside its lane at once if the patience is over and a
/// person was told.
pub(super) fn await_evidence(
    tx: &Tx<'_>,
    run: &RunningRow,
    send: SendNo,
    again: &Again,
) -> Result<Ended> {
    again::remember(tx, run, "unknown", Some("the fate of a send is unknown"))?;
    match ledger::patience_until(tx, send)? {
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
