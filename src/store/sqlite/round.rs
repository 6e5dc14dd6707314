//! One engine pass in one commit: ends first, then renewals, the reaper, and the next claim.

use super::cascade::cascade;
use super::claim::claim;
use super::end::end;
use super::promote::next_due;
use super::reap::reap;
use super::renew::renew;
use super::tx::Tx;
use crate::error::Result;
use crate::store::jobs::{Round, Rounded};

/// Runs the parts of a pass in the order that frees lanes and slots before they are asked for.
pub(super) fn round(tx: &Tx<'_>, round: &Round) -> Result<Rounded> {
    let mut done = Rounded::default();
    for report in &round.finish {
        done.finished.push(end(tx, report)?);
    }
    for &held in &round.renew {
        done.renewed.push(renew(tx, held, round.lease_ms)?);
    }
    if round.reap {
        done.reaped = reap(tx)?;
        cascade(tx)?;
    }
    if let Some(ask) = &round.claim {
        done.claimed = claim(tx, ask)?;
        done.next_due = next_due(tx)?;
    }
    Ok(done)
}
