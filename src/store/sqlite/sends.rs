//! Rows of the ledger that several verbs read: a send, its tries, and whether a job must wait for
//! it.

use rusqlite::params;

use super::tx::Tx;
use crate::error::Result;
use crate::model::id::{ChannelNo, JobNo, NoticeNo, OrgNo, SendKey, SendNo};
use crate::model::send::Slot;
use crate::model::send::tries::{Try, TryState};

const SEND_BY_SEQ: &str =
    "SELECT id, order_by, orders, changed_hash FROM lanebox_send WHERE origin = ?1 AND seq = ?2";
const SEND_BY_NAME: &str =
    "SELECT id, order_by, orders, changed_hash FROM lanebox_send WHERE origin = ?1 AND name = ?2";
const SEND_NEW: &str = "INSERT INTO lanebox_send(org, origin, seq, name) VALUES (?1, ?2, ?3, ?4)";
const TRIES: &str = "SELECT n, key, state, how, hash, channel, receipt, resend, intended_at, wait_until, CASE WHEN intended_boot = ?2 THEN intended_mono END FROM lanebox_send_try WHERE send = ?1 ORDER BY n DESC";
const TRY_OF_KEY: &str = "SELECT t.send, t.n, t.state, t.receipt, t.order_no, t.notice, s.org, c.name, s.order_by, s.orders, t.job FROM lanebox_send_try t \
     CROSS JOIN lanebox_send s ON s.id = t.send CROSS JOIN lanebox_channel c ON c.id = t.channel WHERE t.key = ?1";
const BLOCKS: &str = "SELECT 1 FROM lanebox_send s CROSS JOIN lanebox_send_try t ON t.send = s.id AND t.state IN ('intended', 'unknown') \
     WHERE s.id = ?1 AND (s.order_by IS NOT NULL OR NOT EXISTS (SELECT 1 FROM lanebox_send_try a WHERE a.send = s.id AND a.state = 'accepted'))";

/// One logical send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SendRow {
    pub(super) id: SendNo,
    /// Who ordered it once more, while that is not fulfilled.
    pub(super) order_by: Option<String>,
    pub(super) orders: i64,
    pub(super) changed_hash: Option<[u8; 32]>,
}

/// A try as its key finds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TryRow {
    pub(super) send: SendNo,
    pub(super) n: i64,
    pub(super) state: String,
    pub(super) receipt: Option<String>,
    pub(super) order_no: i64,
    pub(super) notice: Option<NoticeNo>,
    pub(super) org: OrgNo,
    pub(super) channel: String,
    pub(super) order_by: Option<String>,
    pub(super) orders: i64,
    pub(super) job: JobNo,
}

pub(super) fn find(tx: &Tx<'_>, origin: &str, slot: &Slot) -> Result<Option<SendRow>> {
    let read = |row: &rusqlite::Row<'_>| {
        Ok(SendRow {
            id: row.get(0)?,
            order_by: row.get(1)?,
            orders: row.get(2)?,
            changed_hash: row.get(3)?,
        })
    };
    match slot {
        Slot::Seq(seq) => tx.one(SEND_BY_SEQ, params![origin, seq], read),
        Slot::Name(name) => tx.one(SEND_BY_NAME, params![origin, name], read),
    }
}

pub(super) fn make(tx: &Tx<'_>, org: OrgNo, origin: &str, slot: &Slot) -> Result<SendRow> {
    let (seq, name) = match slot {
        Slot::Seq(seq) => (Some(seq), None),
        Slot::Name(name) => (None, Some(name)),
    };
    tx.run(SEND_NEW, params![org, origin, seq, name])?;
    Ok(SendRow { id: SendNo(tx.last_row()), order_by: None, orders: 0, changed_hash: None })
}

/// All tries of a send, newest first.
pub(super) fn tries(tx: &Tx<'_>, send: SendNo) -> Result<Vec<Try>> {
    tx.all(TRIES, params![send, tx.env.boot()], |row| {
        let how = row.get_ref(3)?.as_str_or_null()?;
        Ok(Try {
            n: row.get(0)?,
            key: row.get(1)?,
            state: TryState::read(row.get_ref(2)?.as_str()?, how),
            hash: row.get(4)?,
            channel: row.get::<_, ChannelNo>(5)?,
            receipt: row.get(6)?,
            resend: row.get(7)?,
            intended_at: row.get(8)?,
            wait_until: row.get(9)?,
            intended_mono: row.get(10)?,
        })
    })
}

/// The try that was given this key.
pub(super) fn of_key(tx: &Tx<'_>, key: SendKey) -> Result<Option<TryRow>> {
    tx.one(TRY_OF_KEY, [key], |row| {
        Ok(TryRow {
            send: row.get(0)?,
            n: row.get(1)?,
            state: row.get(2)?,
            receipt: row.get(3)?,
            order_no: row.get(4)?,
            notice: row.get(5)?,
            org: row.get(6)?,
            channel: row.get(7)?,
            order_by: row.get(8)?,
            orders: row.get(9)?,
            job: row.get(10)?,
        })
    })
}

/// Whether its job must wait for this send: it is undecided, and has no accept or an order is
/// pending.
pub(super) fn blocks(tx: &Tx<'_>, send: SendNo) -> Result<bool> {
    tx.has(BLOCKS, [send])
}
