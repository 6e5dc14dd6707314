//! A person's word about an unknown try: it went out, send it again, or leave it. Guarded by its
//! state, so that a second click changes nothing.

use rusqlite::params;

use super::accept::accept;
use super::audit_log::record;
use super::cancel::cancel;
use super::finished;
use super::sends::{self, TryRow};
use super::settle::{free, waiter};
use super::tx::Tx;
use super::undecided::close_notice;
use crate::error::Result;
use crate::model::id::SendKey;
use crate::model::send::Witness;
use crate::model::verdict::CancelReason;
use crate::store::ledger::{Fact, Resolved, Word};

const TRY_ABANDONED: &str = "UPDATE lanebox_send_try SET state = 'abandoned', how = ?3, settled_by = ?4, ended_at = ?5, next_look = NULL, resend = 0, notice = NULL \
     WHERE send = ?1 AND n = ?2 AND state = 'unknown'";
const ORDER_AGAIN: &str =
    "UPDATE lanebox_send SET order_by = ?2, orders = orders + 1 WHERE id = ?1";
const ORDER_GONE: &str = "UPDATE lanebox_send SET order_by = NULL WHERE id = ?1";

/// Does what a person says about the unknown try of this key, and writes it down.
pub(super) fn resolve(tx: &Tx<'_>, key: SendKey, word: Word, who: &str) -> Result<Resolved> {
    let Some(found) = sends::of_key(tx, key)? else {
        return Ok(Resolved::UnknownKey);
    };
    if found.state != "unknown" {
        return Ok(Resolved::NotUnknown);
    }
    if word == Word::SendAgain && finished::for_good(tx, found.job)? {
        return Ok(Resolved::JobEnded);
    }
    match word {
        Word::Sent => {
            record(tx, who, "send.sent", ("send", found.send.0), None)?;
            mark_sent(tx, key, who)?;
        }
        Word::SendAgain => {
            record(tx, who, "send.again", ("send", found.send.0), None)?;
            send_again(tx, &found, who)?;
        }
        Word::GiveUp => {
            record(tx, who, "send.give_up", ("send", found.send.0), None)?;
            give_up(tx, &found, who)?;
        }
    }
    Ok(Resolved::Now)
}

// A word is a fact like any other: if the send was accepted by another try, it is a duplicate.
fn mark_sent(tx: &Tx<'_>, key: SendKey, who: &str) -> Result<()> {
    let witness = Witness::Person(who.to_owned());
    let _recorded = accept(tx, &Fact { key, channel: None, receipt: None, witness })?;
    Ok(())
}

fn send_again(tx: &Tx<'_>, found: &TryRow, who: &str) -> Result<()> {
    abandon(tx, found, "send_again", who)?;
    tx.run(ORDER_AGAIN, params![found.send, who])?;
    free(tx, found.send)?;
    Ok(())
}

fn give_up(tx: &Tx<'_>, found: &TryRow, who: &str) -> Result<()> {
    abandon(tx, found, "given_up", who)?;
    tx.run(ORDER_GONE, [found.send])?;
    if let Some(job) = waiter(tx, found.send)? {
        // It waits for this send, so it is cancelled now.
        let _now = cancel(tx, job, CancelReason::GivenUp)?;
    }
    Ok(())
}

fn abandon(tx: &Tx<'_>, found: &TryRow, how: &str, who: &str) -> Result<()> {
    tx.run(TRY_ABANDONED, params![found.send, found.n, how, who, tx.now])?;
    close_notice(tx, found.notice, who)
}
