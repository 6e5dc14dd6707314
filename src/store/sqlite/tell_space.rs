//! What people are told of the disk: that it fills up, and that the write-ahead log grows. Told
//! once, and taken back by itself.

use rusqlite::{Connection, params};

use super::handles::PLATFORM;
use super::notify::{Notice, notify};
use super::tx::Tx;
use crate::error::Result;
use crate::model::room::RoomMode;
use crate::store::space::{LogHealth, RoomHealth};

/// Kinds of notices.
const ROOM: &str = "disk.room";
const LOG: &str = "disk.log";

const OPEN: &str = "SELECT 1 FROM lanebox_notice WHERE org = 1 AND kind = ?1 AND cause = ?2 AND state <> 'resolved'";
const OTHERS_OPEN: &str = "SELECT 1 FROM lanebox_notice WHERE org = 1 AND kind = ?1 AND cause <> ?2 AND state <> 'resolved' LIMIT 1";
const TAKE_BACK: &str = "UPDATE lanebox_notice SET state = 'resolved', resolved_at = ?3, resolved_by = 'lanebox' \
     WHERE org = 1 AND kind = ?1 AND cause <> ?2 AND state <> 'resolved'";

/// What a handle has told last, or would tell now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Told {
    pub(super) room: RoomMode,
    pub(super) log: bool,
    /// Another program empties the log.
    pub(super) external: bool,
}

impl Told {
    // The cause that should be open of each kind; none for the empty one.
    fn causes(self) -> [(&'static str, &'static str); 2] {
        let room = match self.room {
            RoomMode::Plenty => "",
            low_or_full => low_or_full.as_str(),
        };
        [(ROOM, room), (LOG, if self.log { "large" } else { "" })]
    }
}

/// Whether what is open is something else. Another process may have told it.
pub(super) fn is_news(conn: &Connection, now: Told) -> Result<bool> {
    for (kind, cause) in now.causes() {
        let told = cause.is_empty() || conn.prepare_cached(OPEN)?.exists([kind, cause])?;
        if !told || conn.prepare_cached(OTHERS_OPEN)?.exists([kind, cause])? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Takes back what does not hold any more, and tells what holds now; once.
pub(super) fn tell(tx: &Tx<'_>, now: Told, room: &RoomHealth, log: &LogHealth) -> Result<()> {
    for (kind, cause) in now.causes() {
        tx.run(TAKE_BACK, params![kind, cause, tx.now])?;
        if !cause.is_empty() && !tx.has(OPEN, [kind, cause])? {
            notify(tx, &notice(kind, cause, now, room, log))?;
        }
    }
    Ok(())
}

fn notice(
    kind: &'static str,
    cause: &str,
    now: Told,
    room: &RoomHealth,
    log: &LogHealth,
) -> Notice {
    let (severity, reason, next_step) = match (kind, now.room) {
        (ROOM, RoomMode::Full) => (
            "critical",
            "the disk is full: no event or job is accepted, none is begun; what runs is still recorded".to_owned(),
            free_up(room),
        ),
        (ROOM, _) => (
            "warn",
            "the disk is filling up: no job is begun and no event dispatched; both are still accepted".to_owned(),
            free_up(room),
        ),
        _ => ("warn", too_large(log), mend_log(now).to_owned()),
    };
    let org = PLATFORM;
    Notice { org, kind, cause: cause.to_owned(), severity, reason, next_step, about: None }
}

fn free_up(room: &RoomHealth) -> String {
    let (needed, free) = ((2 * room.low_water_bytes) >> 20, room.free_bytes.unwrap_or(0) >> 20);
    if free >= needed {
        return "a write found no room although the disk shows some: raise the quota of this user; then all goes on by itself"
            .to_owned();
    }
    format!(
        "free some space where the file lies ({free} MiB were free, {needed} must be); then all goes on by itself"
    )
}

fn too_large(log: &LogHealth) -> String {
    let (now, limit) = (log.bytes >> 20, log.limit_bytes >> 20);
    format!("the write-ahead log has grown to {now} MiB; it should stay near {limit} MiB")
}

fn mend_log(now: Told) -> &'static str {
    match now.external {
        true => "see that the program that is to empty it runs (checkpoint = external)",
        false => {
            "end what reads the file for long: other tools, exports, stopped processes; then it shrinks by itself"
        }
    }
}
