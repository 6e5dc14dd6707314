//! The second half of a pass, in one transaction: adoption, deliveries with their jobs, and the new
//! positions. Whatever moved since the look drops out by itself; the others commit.

use std::collections::HashSet;

use rusqlite::params;

use super::careful;
use super::deliver::{Case, deliver};
use super::front::advance;
use super::route_retry;
use super::tx::Tx;
use crate::error::Result;
use crate::model::id::{ConsumerNo, EventSeq, ProcessNo};
use crate::store::bus::{Batch, Dispatch, Dispatched, Member, Next, Wanted};

const POSITION_MOVE: &str = "UPDATE lanebox_consumer SET position = ?4 WHERE id = ?1 AND position = ?2 AND generation = ?3 AND state = 'active' AND routing IS NULL";

/// Writes what the routes made of what was looked at.
pub(super) fn dispatch(tx: &Tx<'_>, pass: &Dispatch) -> Result<Dispatched> {
    let mut done = Dispatched::default();
    for batch in &pass.batches {
        settle(tx, batch, pass, &mut done)?;
    }
    if let Some((suspect, made)) = &pass.suspect {
        careful::settle(tx, pass.process, suspect, made.as_ref(), pass.apart, &mut done)?;
    }
    for (due, made) in &pass.retries {
        route_retry::settle(tx, pass.process, due, made.as_ref(), pass.apart, &mut done)?;
    }
    Ok(done)
}

fn settle(tx: &Tx<'_>, batch: &Batch, pass: &Dispatch, done: &mut Dispatched) -> Result<()> {
    let reached = advance(tx, &batch.range, pass.generation)?;
    done.moved |= reached.to < batch.range.to;
    let mut here: HashSet<ConsumerNo> = HashSet::new();
    for member in &batch.range.members {
        if move_on(tx, member, reached.to)? {
            here.insert(member.watch.consumer);
        } else {
            done.moved = true;
        }
    }
    for delivery in &batch.made {
        let event = delivery.event;
        let counts = event <= reached.to && !reached.duplicates.contains(&event);
        if counts && here.contains(&delivery.watch.consumer) {
            let (watch, org) = (&*delivery.watch, delivery.org.as_str());
            let case = Case { watch, event, org, attempts: 0, apart: pass.apart };
            deliver(tx, &case, &delivery.made, done)?;
        }
    }
    Ok(())
}

// The check and the move are one statement. Who stands beyond the range has nothing in it.
fn move_on(tx: &Tx<'_>, member: &Member, to: EventSeq) -> Result<bool> {
    let Member { watch, position } = member;
    if *position >= to {
        return Ok(true);
    }
    Ok(tx.run(POSITION_MOVE, params![watch.consumer, position, watch.generation, to])? > 0)
}

/// Takes what runs one at a time; what moved since the look is left out.
pub(super) fn take(tx: &Tx<'_>, process: ProcessNo, wanted: Wanted) -> Result<Wanted> {
    let mut taken = Wanted::default();
    if let Some(mut suspect) = wanted.suspect {
        let got = match &suspect.next {
            Next::Run { event, .. } if !suspect.taken => {
                careful::take(tx, process, &suspect, *event)?
            }
            _ => true,
        };
        suspect.taken = true;
        taken.suspect = got.then_some(suspect);
    }
    for mut due in wanted.due {
        if due.taken || due.has_died() {
            taken.due.push(due);
        } else if route_retry::take(tx, process, &due)? {
            due.taken = true;
            due.marks += 1;
            taken.due.push(due);
        }
    }
    Ok(taken)
}
