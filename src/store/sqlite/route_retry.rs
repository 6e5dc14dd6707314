//! A delivery whose route failed is tried again: the only way out of a failed route.

use rusqlite::params;

use super::deliver::{Case, Fate, dead, decide};
use super::tx::Tx;
use crate::error::Result;
use crate::model::id::ProcessNo;
use crate::store::bus::{Dispatched, Due, Made};

/// What a person reads of a route that killed its process again.
const DIED_TWICE: &str = "its process died twice while it was tried again";

// A mark repeats everything that was decided on: another process may have run it and put it off
// meanwhile. Who was marked gone takes nothing: nobody would ever free it again.
const RETRY_TAKE: &str = "UPDATE lanebox_delivery SET marks = marks + 1, holder = ?7 WHERE consumer = ?1 AND event = ?2 AND state = 'retry' \
     AND series = ?3 AND attempts = ?4 AND marks = ?5 AND next_at = ?6 AND holder IS NULL \
     AND EXISTS (SELECT 1 FROM lanebox_process p WHERE p.id = ?7 AND p.gone = 0) \
     AND EXISTS (SELECT 1 FROM lanebox_consumer c WHERE c.id = ?1 AND c.generation = ?8 AND c.state = 'active')";
const RETRY_HELD: &str = "SELECT 1 FROM lanebox_delivery d JOIN lanebox_consumer c ON c.id = d.consumer WHERE d.consumer = ?1 AND d.event = ?2 \
     AND d.state = 'retry' AND d.series = ?3 AND d.attempts = ?4 AND d.marks = ?5 AND d.holder IS ?6 AND c.generation = ?7 AND c.state = 'active'";
const RETRY_DROP: &str = "UPDATE lanebox_delivery SET marks = marks - 1, holder = NULL WHERE consumer = ?1 AND event = ?2 AND holder = ?3";
const RETRY_SET: &str = "UPDATE lanebox_delivery SET state = ?3, at = ?4, job = ?5, reason = ?6, attempts = ?7, marks = ?8, holder = NULL, \
     next_at = ?9, last_error = coalesce(?10, last_error), notice = ?11 WHERE consumer = ?1 AND event = ?2 AND state = 'retry'";

/// Takes a due delivery for this process; whether it was still as the look saw it.
pub(super) fn take(tx: &Tx<'_>, process: ProcessNo, due: &Due) -> Result<bool> {
    let Due { watch, event, series, attempts, marks, next_at, .. } = due;
    let row =
        params![watch.consumer, event, series, attempts, marks, next_at, process, watch.generation];
    Ok(tx.run(RETRY_TAKE, row)? > 0)
}

/// Writes what became of a try.
pub(super) fn settle(
    tx: &Tx<'_>,
    process: ProcessNo,
    due: &Due,
    made: Option<&Made>,
    apart: bool,
    done: &mut Dispatched,
) -> Result<()> {
    let watch = &due.watch;
    let died = due.has_died();
    let holder = (!died).then_some(process);
    let row = params![
        watch.consumer,
        due.event,
        due.series,
        due.attempts,
        due.marks,
        holder,
        watch.generation
    ];
    if !tx.has(RETRY_HELD, row)? {
        if !died {
            tx.run(RETRY_DROP, params![watch.consumer, due.event, process])?;
        }
        done.moved = true;
        return Ok(());
    }
    let case = Case { watch, event: due.event, org: &due.org, attempts: due.attempts, apart };
    let fate = match made {
        _ if died => dead(tx, &case, DIED_TWICE)?,
        Some(made) => decide(tx, &case, made, done)?,
        None => return Ok(()),
    };
    set(tx, due, &fate)?;
    done.deliveries += 1;
    Ok(())
}

// Our own mark is taken back; earlier deaths stay counted while it is tried again.
fn set(tx: &Tx<'_>, due: &Due, fate: &Fate) -> Result<()> {
    let marks = if fate.state == "retry" { due.marks.saturating_sub(1) } else { 0 };
    let row = params![
        due.watch.consumer,
        due.event,
        fate.state,
        tx.now,
        fate.job,
        fate.reason,
        fate.attempts,
        marks,
        fate.next_at,
        fate.last_error,
        fate.notice
    ];
    tx.run(RETRY_SET, row)?;
    Ok(())
}
