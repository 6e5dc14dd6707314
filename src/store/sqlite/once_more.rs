//! A person orders a send once more. The order lasts until a try of it is accepted, or somebody
//! gives up.

use rusqlite::params;

use super::audit_log::record;
use super::finished;
use super::sends;
use super::tx::Tx;
use crate::error::Result;
use crate::model::id::SendKey;
use crate::model::send::tries::TryState;
use crate::store::ledger::Ordered;

const ORDER_NEW: &str =
    "UPDATE lanebox_send SET order_by = ?2, orders = orders + 1 WHERE id = ?1 AND order_by IS NULL";

/// Orders the send of this key, its newest try's, once more.
pub(super) fn order(tx: &Tx<'_>, key: SendKey, who: &str) -> Result<Ordered> {
    let Some(found) = sends::of_key(tx, key)? else {
        return Ok(Ordered::UnknownKey);
    };
    let tries = sends::tries(tx, found.send)?;
    let newest = tries.first().expect("the key is of one of them");
    if newest.key != key {
        return Ok(Ordered::Superseded { newest: newest.key });
    }
    let any = |states: &[TryState]| tries.iter().any(|t| states.contains(&t.state));
    if any(&[TryState::Intended, TryState::Unknown]) {
        return Ok(Ordered::Undecided);
    }
    if finished::for_good(tx, found.job)? {
        return Ok(Ordered::JobEnded);
    }
    if !any(&[TryState::Accepted, TryState::GivenUp]) {
        return Ok(Ordered::NotNeeded);
    }
    if tx.run(ORDER_NEW, params![found.send, who])? == 0 {
        return Ok(Ordered::Pending);
    }
    record(tx, who, "send.order", ("send", found.send.0), None)?;
    Ok(Ordered::Now)
}
