//! Facts: the provider accepted a try. Never fenced by token, lease or state; a second message is a
//! fact too.

use rusqlite::params;

use super::notify::{Notice, notify};
use super::sends::{self, TryRow};
use super::settle::free;
use super::tx::Tx;
use super::undecided::close_notice;
use crate::error::Result;
use crate::model::id::NoticeNo;
use crate::model::send::receipt::bounded;
use crate::store::ledger::{Accepted, Fact};

const ACCEPTED_OF_ORDER: &str =
    "SELECT 1 FROM lanebox_send_try WHERE send = ?1 AND order_no = ?2 AND state = 'accepted'";
const ACCEPTED_ANY: &str = "SELECT 1 FROM lanebox_send_try WHERE send = ?1 AND state = 'accepted'";
const TRY_ACCEPTED: &str = "UPDATE lanebox_send_try SET state = 'accepted', receipt = ?3, settled_by = ?4, ended_at = ?5, next_look = NULL, resend = 0, notice = NULL \
     WHERE send = ?1 AND n = ?2";
const TRY_DUPLICATE: &str = "UPDATE lanebox_send_try SET state = 'duplicate', receipt = ?3, settled_by = ?4, ended_at = ?5, next_look = NULL, resend = 0, notice = ?6 \
     WHERE send = ?1 AND n = ?2";
const RECEIPT_FILL: &str =
    "UPDATE lanebox_send_try SET receipt = ?3 WHERE send = ?1 AND n = ?2 AND receipt IS NULL";
const EXTRA_HAS: &str =
    "SELECT 1 FROM lanebox_send_extra WHERE send = ?1 AND n = ?2 AND receipt = ?3";
const EXTRA_NEW: &str =
    "INSERT INTO lanebox_send_extra(send, n, receipt, at, notice) VALUES (?1, ?2, ?3, ?4, ?5)";
const ORDER_DONE: &str = "UPDATE lanebox_send SET order_by = NULL WHERE id = ?1 AND orders = ?2";

/// Records a fact, and lets the job that waited for it go on.
pub(super) fn accept(tx: &Tx<'_>, fact: &Fact) -> Result<Accepted> {
    let Some(found) = sends::of_key(tx, fact.key)? else {
        return Ok(Accepted::UnknownKey);
    };
    if fact.channel.as_ref().is_some_and(|channel| *channel != found.channel) {
        return Ok(Accepted::OtherChannel);
    }
    let receipt = fact.receipt.as_deref().map(bounded);
    match found.state.as_str() {
        "accepted" | "duplicate" => known(tx, &found, receipt),
        _ => settle(tx, fact, &found, receipt),
    }
}

// A receipt that the try did not have yet is kept; another one is a second message with the same
// key.
fn known(tx: &Tx<'_>, found: &TryRow, receipt: Option<String>) -> Result<Accepted> {
    let Some(receipt) = receipt else {
        return Ok(Accepted::Already);
    };
    match &found.receipt {
        None => {
            tx.run(RECEIPT_FILL, params![found.send, found.n, receipt])?;
            Ok(Accepted::Already)
        }
        Some(stored) if *stored == receipt => Ok(Accepted::Already),
        Some(_) if tx.has(EXTRA_HAS, params![found.send, found.n, receipt])? => {
            Ok(Accepted::Already)
        }
        Some(_) => {
            let notice = went_out_twice(tx, found)?;
            tx.run(EXTRA_NEW, params![found.send, found.n, receipt, tx.now, notice])?;
            Ok(Accepted::Duplicate)
        }
    }
}

fn settle(tx: &Tx<'_>, fact: &Fact, found: &TryRow, receipt: Option<String>) -> Result<Accepted> {
    let TryRow { send, n, order_no, .. } = *found;
    let settled_by = fact.witness.settled_by(found.state != "intended");
    let answer = if tx.has(ACCEPTED_OF_ORDER, params![send, order_no])? {
        let notice = went_out_twice(tx, found)?;
        tx.run(TRY_DUPLICATE, params![send, n, receipt, settled_by, tx.now, notice])?;
        Accepted::Duplicate
    } else {
        if tx.has(ACCEPTED_ANY, [send])? {
            ordered_twice(tx, found)?;
        }
        tx.run(TRY_ACCEPTED, params![send, n, receipt, settled_by, tx.now])?;
        if found.order_by.is_some() && order_no == found.orders {
            tx.run(ORDER_DONE, params![send, order_no])?;
        }
        Accepted::Now
    };
    close_notice(tx, found.notice, settled_by.unwrap_or("lanebox"))?;
    // With an order pending, the job may still wait for that.
    if !sends::blocks(tx, send)? {
        free(tx, send)?;
    }
    Ok(answer)
}

fn went_out_twice(tx: &Tx<'_>, found: &TryRow) -> Result<NoticeNo> {
    let name = &found.channel;
    let notice = Notice {
        org: found.org,
        kind: "send.duplicate",
        cause: format!("channel {name}"),
        severity: "critical",
        reason: format!("a message by {name} went out twice"),
        next_step: "look at `lanebox trace` of the send, and say sorry to the recipient".to_owned(),
        about: Some(("send", found.send.0)),
    };
    notify(tx, &notice)
}

fn ordered_twice(tx: &Tx<'_>, found: &TryRow) -> Result<NoticeNo> {
    let name = &found.channel;
    let notice = Notice {
        org: found.org,
        kind: "send.twice",
        cause: format!("channel {name}"),
        severity: "info",
        reason: format!("a message by {name} went out once more, as a person ordered"),
        next_step: "nothing, if that was meant".to_owned(),
        about: Some(("send", found.send.0)),
    };
    notify(tx, &notice)
}
