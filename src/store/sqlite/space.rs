//! The room of the disk and the size of the write-ahead log: what was seen of them last, and what
//! follows for new work.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use rusqlite::Connection;

use super::checkpoint::{self, Checkpointer, Frames};
use super::{Checkpoint, SqliteStore, ballast, tell_space};
use crate::env::{Env, Room};
use crate::error::{Error, Result};
use crate::model::id::ProcessNo;
use crate::model::room::{Marks, RoomMode, judge};
use crate::store::space::{Checkpointed, LogHealth, RoomHealth, Space};

/// What the log is cut back to when it is emptied.
pub(super) const LOG_LIMIT: u64 = 64 << 20;

/// Beyond this a person is told.
pub(super) const LOG_ALARM: u64 = 2 * LOG_LIMIT;

/// A write that found no room counts for this long, whatever the file system says of itself.
const FAILED_MS: i64 = 2_000;

/// Whoever accepts new work does not look at the room more often than this.
const LOOK_MS: i64 = 250;

/// What a handle knows of the disk. Its writer is the first to hear that it is full.
pub(super) struct Disk {
    pub(super) database: PathBuf,
    /// A number for [`RoomMode`]: it is asked on every path.
    mode: AtomicU8,
    seen: Mutex<Seen>,
    log: Mutex<Log>,
    /// Reads under way, and since when.
    reads: Mutex<Reads>,
    pub(super) checkpointer: Mutex<Checkpointer>,
    pub(super) told: Mutex<Option<tell_space::Told>>,
}

#[derive(Default)]
struct Seen {
    room: Option<Room>,
    looked_ms: Option<i64>,
    failed_ms: Option<i64>,
    /// The ballast was looked at closely.
    laid: bool,
}

#[derive(Default)]
struct Log {
    bytes: u64,
    alarm: bool,
    frames: Frames,
    /// When something was last taken over, or nothing waited.
    moved_ms: Option<i64>,
    unfinished: bool,
}

#[derive(Default)]
struct Reads {
    since_ms: BTreeMap<u64, i64>,
    begun: u64,
}

/// A read under way.
pub(super) struct Reading<'d> {
    disk: &'d Disk,
    number: u64,
}

impl Drop for Reading<'_> {
    fn drop(&mut self) {
        self.disk.reads.lock().since_ms.remove(&self.number);
    }
}

impl Disk {
    pub(super) fn new(database: PathBuf) -> Disk {
        Disk {
            database,
            mode: AtomicU8::new(0),
            seen: Mutex::default(),
            log: Mutex::default(),
            reads: Mutex::default(),
            checkpointer: Mutex::default(),
            told: Mutex::default(),
        }
    }

    pub(super) fn mode(&self) -> RoomMode {
        match self.mode.load(Ordering::Relaxed) {
            0 => RoomMode::Plenty,
            1 => RoomMode::Low,
            _ => RoomMode::Full,
        }
    }

    fn set_mode(&self, mode: RoomMode) {
        let before = self.mode();
        if before != mode {
            let (was, now) = (before.as_str(), mode.as_str());
            tracing::warn!(was, now, "the room on the disk changed what is done");
        }
        let number = match mode {
            RoomMode::Plenty => 0,
            RoomMode::Low => 1,
            RoomMode::Full => 2,
        };
        self.mode.store(number, Ordering::Relaxed);
    }

    /// A write found no room: what the ballast kept is for what runs.
    pub(super) fn is_full(&self, env: &Env) {
        let mut seen = self.seen.lock();
        seen.failed_ms = Some(env.mono_ms());
        ballast::remove(&self.database);
        self.set_mode(RoomMode::Full);
    }

    pub(super) fn look(&self, env: &Env) -> Option<Room> {
        let mut seen = self.seen.lock();
        let now = env.mono_ms();
        let room = env.room(self.database.parent().unwrap_or(&self.database));
        (seen.room, seen.looked_ms) = (room, Some(now));
        // Where the system does not tell, only a write that fails does.
        let Room { free, total } = room.unwrap_or(Room { free: u64::MAX, total: u64::MAX });
        let failed = seen.failed_ms.is_some_and(|at| now - at < FAILED_MS);
        let ballast = ballast::is_there(&self.database);
        self.set_mode(judge(self.mode(), free, &Marks::of(total), ballast, failed));
        room
    }

    /// Refuses something new while the disk is full. Looks itself, so that a handle without an
    /// engine knows too, and goes on at once when there is room.
    pub(super) fn admit(&self, env: &Env) -> Result<()> {
        let looked = self.seen.lock().looked_ms;
        let fresh = looked.is_some_and(|at| env.mono_ms() - at < LOOK_MS);
        if fresh && self.mode() != RoomMode::Full {
            return Ok(());
        }
        let Some(room) = self.look(env) else { return Ok(()) };
        let needed = Marks::of(room.total).plenty;
        // A write that failed although the file system shows room may find some now.
        if self.mode() != RoomMode::Full || room.free >= needed {
            return Ok(());
        }
        Err(Error::NoRoom { free: room.free, needed })
    }

    pub(super) fn reading(&self, env: &Env) -> Reading<'_> {
        let mut reads = self.reads.lock();
        reads.begun += 1;
        let number = reads.begun;
        reads.since_ms.insert(number, env.mono_ms());
        Reading { disk: self, number }
    }

    /// What a look at the log saw.
    pub(super) fn saw_log(&self, env: &Env, bytes: u64, frames: Frames) {
        let mut log = self.log.lock();
        let moves = frames.taken_over != log.frames.taken_over || !checkpoint::is_due(frames);
        if moves || log.moved_ms.is_none() {
            log.moved_ms = Some(env.mono_ms());
        }
        (log.bytes, log.frames) = (bytes, frames);
        log.alarm = bytes > LOG_ALARM || (log.alarm && bytes > LOG_LIMIT);
    }

    pub(super) fn checkpointed(&self, answer: Checkpointed) {
        if !matches!(answer, Checkpointed::NotDue | Checkpointed::Quiet) {
            self.log.lock().unfinished = answer == Checkpointed::NotDone;
        }
    }

    fn room_health(&self) -> RoomHealth {
        let room = self.seen.lock().room;
        let low_water_bytes = room.map_or(0, |room| Marks::of(room.total).low);
        RoomHealth { mode: self.mode(), free_bytes: room.map(|room| room.free), low_water_bytes }
    }

    pub(super) fn log_health(&self, env: &Env) -> LogHealth {
        let now = env.mono_ms();
        let since = |at: i64| Duration::from_millis((now - at).max(0).unsigned_abs());
        let oldest = self.reads.lock().since_ms.values().min().copied();
        let log = self.log.lock();
        let stuck = log.moved_ms.filter(|_| checkpoint::is_due(log.frames));
        LogHealth {
            bytes: log.bytes,
            limit_bytes: LOG_LIMIT,
            alarm: log.alarm,
            frames_behind: log.frames.behind(),
            stuck_for: stuck.map(since).unwrap_or_default(),
            oldest_read: oldest.map(since).unwrap_or_default(),
            unfinished: log.unfinished,
        }
    }
}

impl Space for SqliteStore {
    fn look_at_space(&self) -> RoomMode {
        let disk = &self.disk;
        let room = disk.look(&self.env);
        if let (RoomMode::Plenty, Some(room)) = (disk.mode(), room) {
            self.lay_ballast(room);
        }
        let bytes = checkpoint::log_bytes(&disk.database);
        match self.read(|conn: &Connection| checkpoint::frames(conn)) {
            Ok(frames) => disk.saw_log(&self.env, bytes, frames),
            Err(error) => tracing::debug!(%error, "the log could not be looked at"),
        }
        disk.mode()
    }

    fn room_mode(&self) -> RoomMode {
        self.disk.mode()
    }

    fn tell_space(&self) -> Result<bool> {
        // Nobody reads what is told in a file that was moved away; and who has nothing to write
        // would not notice.
        self.file.is_still_there()?;
        let now = tell_space::Told {
            room: self.disk.mode(),
            log: self.disk.log.lock().alarm,
            external: self.checkpoint == Checkpoint::External,
        };
        if *self.disk.told.lock() == Some(now) {
            return Ok(false);
        }
        let news = self.read(|conn| tell_space::is_news(conn, now))?;
        if news {
            let health = (self.disk.room_health(), self.disk.log_health(&self.env));
            self.writer.write(move |tx| tell_space::tell(tx, now, &health.0, &health.1))?;
        }
        *self.disk.told.lock() = Some(now);
        Ok(news)
    }

    fn checkpoint(&self, me: ProcessNo) -> Result<Checkpointed> {
        if self.checkpoint == Checkpoint::External {
            return Ok(Checkpointed::NotDue);
        }
        let answer = self.take_over(me).inspect_err(|error| self.writer.doubt(error))?;
        self.disk.checkpointed(answer);
        Ok(answer)
    }

    fn space(&self) -> (RoomHealth, LogHealth) {
        (self.disk.room_health(), self.disk.log_health(&self.env))
    }
}

impl SqliteStore {
    fn lay_ballast(&self, room: Room) {
        let closely = !std::mem::replace(&mut self.disk.seen.lock().laid, true);
        if closely || !ballast::is_there(&self.disk.database) {
            ballast::lay(&self.disk.database, Marks::of(room.total).ballast);
        }
    }
}
