//! Taking the write-ahead log over into the file, beside the writers and never in their way.
//!
//! Most of it is done on a connection of its own while commits go on. Under steady load that alone
//! never ends: frames are added while others are taken over, and the log only begins anew once
//! nothing of it is left. So the few frames that came meanwhile are taken over between two commits
//! of this process. The log's file is cut only when it has outgrown its limit, and readers are not
//! waited for.

use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension};

use super::SqliteStore;
use super::connection;
use super::guard::beside;
use super::space::LOG_LIMIT;
use crate::error::Result;
use crate::model::id::ProcessNo;
use crate::model::room::RoomMode;
use crate::store::space::Checkpointed;

/// So many frames that wait are taken over. Fewer would be written to the file more often than they
/// need be: the same pages change again and again. Less than what the writer waits for
/// (`AUTOCHECKPOINT_PAGES`), so that hardly a commit must see to it.
const DUE_FRAMES: u64 = 3_000;

/// So much waits only if the process whose turn it is stands still.
const OVERDUE_FRAMES: u64 = 4 * DUE_FRAMES;

/// How long cutting the log may wait for a writer or a reader, while it keeps writers out.
const CUT_WAIT: Duration = Duration::from_millis(10);

const LOOK: &str = "PRAGMA wal_checkpoint(NOOP)";
const PASSIVE: &str = "PRAGMA wal_checkpoint(PASSIVE)";
const TRUNCATE: &str = "PRAGMA wal_checkpoint(TRUNCATE)";

/// The process that has lived longest, of those that live.
const FIRST: &str = "SELECT id FROM lanebox_process INDEXED BY lanebox_process_here WHERE gone = 0 ORDER BY id LIMIT 1";

/// The connection that it is done on, and of which era it is. Whoever has this lock checkpoints:
/// one thread of a handle at a time.
#[derive(Default)]
pub(super) struct Checkpointer {
    held: Option<(u64, Connection)>,
    /// What the last look saw.
    seen: Frames,
}

/// The log in frames: changed pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Frames {
    /// Since the log last began anew.
    pub(super) written: u64,
    /// Of these, what is in the file.
    pub(super) taken_over: u64,
    /// Somebody was in the way.
    busy: bool,
}

impl Frames {
    pub(super) fn behind(self) -> u64 {
        self.written.saturating_sub(self.taken_over)
    }

    fn is_done(self) -> bool {
        !self.busy && self.behind() == 0
    }
}

/// Whether enough waits to be taken over.
pub(super) fn is_due(frames: Frames) -> bool {
    frames.behind() >= DUE_FRAMES
}

/// Looks without doing anything.
pub(super) fn frames(conn: &Connection) -> Result<Frames> {
    run(conn, LOOK)
}

// SQLite answers -1 for what it could not look at.
fn run(conn: &Connection, mode: &'static str) -> Result<Frames> {
    let mut statement = conn.prepare_cached(mode)?;
    let frames = statement.query_row([], |row| {
        let number = |n: i64| u64::try_from(n).unwrap_or(0);
        let (written, taken_over) = (number(row.get(1)?), number(row.get(2)?));
        Ok(Frames { written, taken_over, busy: row.get(0)? })
    })?;
    Ok(frames)
}

/// `stat` only: opening the log with file calls of our own would drop SQLite's locks.
pub(super) fn log_bytes(database: &Path) -> u64 {
    std::fs::metadata(beside(database, "-wal")).map_or(0, |file| file.len())
}

impl SqliteStore {
    /// Takes the log over if it is time to.
    pub(super) fn take_over(&self, me: ProcessNo) -> Result<Checkpointed> {
        let mut checkpointer = self.disk.checkpointer.lock();
        let conn = self.checkpointing(&mut checkpointer)?;
        let frames = frames(conn)?;
        if !self.is_time(frames) || !self.is_turn_of(me, frames)? {
            let before = std::mem::replace(&mut checkpointer.seen, frames);
            return Ok(match before == frames {
                true => Checkpointed::Quiet,
                false => Checkpointed::NotDue,
            });
        }
        let mut taken = run(conn, PASSIVE)?;
        if taken.is_done() {
            // The host's commits wait for as long as the few frames take that came meanwhile.
            taken = self.writer.between_turns(|| run(conn, PASSIVE))?;
        }
        // While some of it waits for a reader, cutting it would keep writers out for nothing.
        if taken.is_done() && self.is_too_long() {
            taken = run(conn, TRUNCATE)?;
        }
        self.disk.saw_log(&self.env, log_bytes(&self.file.path), taken);
        Ok(if taken.is_done() { Checkpointed::Done } else { Checkpointed::NotDone })
    }

    fn is_time(&self, frames: Frames) -> bool {
        // On a full disk a log that begins anew is room for what runs.
        let short_of_room = self.disk.mode() != RoomMode::Plenty && frames.behind() > 0;
        is_due(frames) || short_of_room || self.is_too_long()
    }

    fn is_too_long(&self) -> bool {
        log_bytes(&self.file.path) > LOG_LIMIT
    }

    // Processes that share the file agree by the rows that they have in it anyway: the oldest one
    // that lives does it. Nothing depends on that but how often the work is done: SQLite's own lock
    // lets one checkpoint run at a time, so two that both think it is theirs, or one that came in
    // for another that stands still, lose a moment and no frame.
    fn is_turn_of(&self, me: ProcessNo, frames: Frames) -> Result<bool> {
        let first = self.read(|conn| {
            let first = conn.prepare_cached(FIRST)?.query_row([], |row| row.get(0)).optional()?;
            Ok(first)
        })?;
        Ok(first == Some(me) || frames.behind() >= OVERDUE_FRAMES)
    }

    fn checkpointing<'c>(&self, checkpointer: &'c mut Checkpointer) -> Result<&'c Connection> {
        let era = self.era.load(Ordering::SeqCst);
        let held = checkpointer.held.take().filter(|(of, _)| *of == era);
        let held = match held {
            Some(held) => held,
            None => {
                self.file.is_still_there()?;
                let conn = connection::open(&self.file, &self.env)?;
                connection::settle_checkpointer(&conn, &self.file.path)?;
                conn.busy_timeout(CUT_WAIT)?;
                (era, conn)
            }
        };
        let (_, conn) = checkpointer.held.insert(held);
        Ok(conn)
    }
}
