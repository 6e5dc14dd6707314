//! One engine pass in one commit: ends first, then renewals, the reaper, new deliveries, and the
//! next claim.

use super::cascade::cascade;
use super::claim::claim;
use super::dispatch::dispatch;
use super::end::{end_all, end_or_retry};
use super::promote::next_due;
use super::reap::reap;
use super::renew::renew;
use super::tx::Tx;
use crate::error::{Error, Result};
use crate::store::jobs::{Ended, Finish, Round, Rounded};

/// Whoever cannot see when the next job is due looks again after this long.
const LOOK_AGAIN_MS: i64 = 1_000;

/// How the ends of a pass are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Care {
    /// All together: the first that cannot be written fails the pass.
    Together,
    /// Each in a savepoint of its own: one that cannot be written costs the others nothing.
    Apart,
}

/// Runs the parts of a pass in the order that frees lanes and slots before they are asked for.
pub(super) fn round(tx: &Tx<'_>, round: &Round, care: Care) -> Result<Rounded> {
    let finished = match care {
        Care::Together => end_all(tx, &round.finish)?,
        Care::Apart => round.finish.iter().map(|report| end_apart(tx, report)).collect(),
    };
    let mut done = Rounded { finished, ..Rounded::default() };
    for &held in &round.renew {
        done.renewed.push(renew(tx, held, round.lease_ms)?);
    }
    if let Some(whose) = round.reap {
        done.reaped = reap(tx, whose, care)?;
        done.cascaded = cascade(tx)?;
    }
    if let Some(pass) = &round.dispatch {
        // Apart from the rest: a delivery that cannot be written holds up no end of a run.
        let dispatched = tx.savepoint(|| dispatch(tx, pass));
        if tx.conn.is_autocommit() {
            return Err(Error::RolledBack);
        }
        done.dispatched = Some(dispatched);
    }
    if let Some(ask) = &round.claim {
        (done.claimed, done.more) = claim(tx, ask)?;
        // Whoever got all it wanted claims again anyway, and asks then.
        if done.claimed.len() < ask.idle + ask.ahead {
            done.next_due = next_due(tx).or_else(|error| blind(tx, error))?;
        }
    }
    Ok(done)
}

fn end_apart(tx: &Tx<'_>, report: &Finish) -> Ended {
    tx.savepoint(|| end_or_retry(tx, report)).unwrap_or_else(|error| {
        tracing::error!(%error, job = %report.held.job, "an end could not be written");
        Ended::NotStored
    })
}

// What was taken is kept: somebody looks again soon instead. Unless the storage itself is in doubt.
fn blind(tx: &Tx<'_>, error: Error) -> Result<Option<i64>> {
    if tx.conn.is_autocommit() || error.doubt().is_some() {
        return Err(error);
    }
    tracing::error!(%error, "the next due time could not be read");
    Ok(Some(tx.now + LOOK_AGAIN_MS))
}
