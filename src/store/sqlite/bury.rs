//! A process is gone: its row says so, and whatever it had taken of consumers is free again. Only
//! the route that it died in stays accused.

use rusqlite::params;

use super::handles;
use super::process::mark_gone;
use super::tx::Tx;
use crate::error::Result;
use crate::model::id::{ConsumerNo, EventSeq, ProcessNo};
use crate::store::bus::{InRoute, Way};

const ROUTING_SET: &str = "UPDATE lanebox_consumer SET routing = ?3 WHERE id = ?1 AND generation = ?2 AND state <> 'retired' \
     AND position < ?3 AND (routing IS NULL OR routing < ?3)";
const ALONE_LEFT: &str = "UPDATE lanebox_consumer SET holder = NULL, alone = CASE WHEN id = ?2 AND alone = ?3 THEN alone END WHERE holder = ?1";
const RETRY_LEFT: &str = "UPDATE lanebox_delivery INDEXED BY lanebox_delivery_held \
     SET holder = NULL, marks = marks - CASE WHEN consumer = ?2 AND event = ?3 THEN 0 ELSE 1 END WHERE holder = ?1";

/// Buries it, with the route that it died in; whoever is first.
pub(super) fn bury(tx: &Tx<'_>, process: ProcessNo, died_in: Option<&InRoute>) -> Result<()> {
    if !mark_gone(tx, process)? {
        return Ok(());
    }
    if let Some(&InRoute { way: Way::Range, consumer, generation, event }) = died_in {
        tx.run(ROUTING_SET, params![consumer, generation, event])?;
    }
    let died = |way| {
        let at = died_in.filter(|route| route.way == way);
        at.map_or((ConsumerNo(0), EventSeq(0)), |route| (route.consumer, route.event))
    };
    let (consumer, event) = died(Way::Alone);
    handles::forget(tx, process)?;
    tx.run(ALONE_LEFT, params![process, consumer, event])?;
    let (consumer, event) = died(Way::Again);
    tx.run(RETRY_LEFT, params![process, consumer, event])?;
    Ok(())
}
