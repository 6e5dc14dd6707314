//! A suspect: a consumer whose process died in one of its routes passes that range one event at a
//! time, each with nothing beside it. Only this consumer is slow, only over this range.

use rusqlite::params;

use super::deliver::{Case, deliver, deliver_dead};
use super::tx::Tx;
use crate::error::Result;
use crate::model::id::{EventSeq, ProcessNo};
use crate::store::bus::{Dispatched, Made, Next, Suspect};

/// What a person reads of a route that killed its process.
const DIED_ALONE: &str = "its process died while this route ran with nothing beside it";

const SUSPECT_TAKE: &str = "UPDATE lanebox_consumer SET alone = ?5, holder = ?6 WHERE id = ?1 AND position = ?2 AND generation = ?3 \
     AND state = 'active' AND routing = ?4 AND alone IS NULL AND holder IS NULL \
     AND EXISTS (SELECT 1 FROM lanebox_process p WHERE p.id = ?6 AND p.gone = 0)";
const SUSPECT_DROP: &str = "UPDATE lanebox_consumer SET alone = NULL, holder = NULL WHERE id = ?1 AND holder = ?2 AND alone = ?3";
const SUSPECT_PASS: &str = "UPDATE lanebox_consumer SET position = ?4, routing = NULL, alone = NULL WHERE id = ?1 AND position = ?2 AND generation = ?3 \
     AND state = 'active' AND routing = ?4 AND holder IS NULL";
const SUSPECT_STEP: &str = "UPDATE lanebox_consumer SET position = ?5, routing = CASE WHEN routing > ?5 THEN routing END, alone = NULL, holder = NULL \
     WHERE id = ?1 AND position = ?2 AND generation = ?3 AND state = 'active' AND routing = ?4 AND alone = ?5 AND holder IS ?6";

/// Takes the suspect for this process; whether it was still as the look saw it.
pub(super) fn take(
    tx: &Tx<'_>,
    process: ProcessNo,
    suspect: &Suspect,
    event: EventSeq,
) -> Result<bool> {
    let Suspect { watch, position, routing, .. } = suspect;
    let row = params![watch.consumer, position, watch.generation, routing, event, process];
    Ok(tx.run(SUSPECT_TAKE, row)? > 0)
}

/// Moves the suspect past its event, or to the end of its range, with the delivery.
pub(super) fn settle(
    tx: &Tx<'_>,
    process: ProcessNo,
    suspect: &Suspect,
    made: Option<&Made>,
    apart: bool,
    done: &mut Dispatched,
) -> Result<()> {
    let Suspect { watch, position, routing, .. } = suspect;
    let case = |event, org| Case { watch, event, org, attempts: 0, apart };
    let step = |event: EventSeq, holder: Option<ProcessNo>| {
        let row = params![watch.consumer, position, watch.generation, routing, event, holder];
        Ok::<_, crate::error::Error>(tx.run(SUSPECT_STEP, row)? > 0)
    };
    match (&suspect.next, made) {
        (Next::Pass, _) => {
            let row = params![watch.consumer, position, watch.generation, routing];
            done.moved |= tx.run(SUSPECT_PASS, row)? == 0;
        }
        (Next::Died { event, org }, _) => {
            if step(*event, None)? {
                deliver_dead(tx, &case(*event, org), DIED_ALONE, done)?;
            } else {
                done.moved = true;
            }
        }
        (Next::Run { event, org, .. }, Some(made)) => {
            if step(*event, Some(process))? {
                deliver(tx, &case(*event, org), made, done)?;
            } else {
                // Paused, retired or redefined meanwhile: exactly our own mark is taken back.
                tx.run(SUSPECT_DROP, params![watch.consumer, process, event])?;
                done.moved = true;
            }
        }
        (Next::Run { .. }, None) => {}
    }
    Ok(())
}
