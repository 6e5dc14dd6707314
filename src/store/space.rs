//! The seam of the disk: how much room there is, and how far the write-ahead log has been taken
//! over into the file.

use std::time::Duration;

use crate::error::Result;
use crate::model::id::ProcessNo;
use crate::model::room::RoomMode;

/// What looks after the disk. Losing a lock to a reader or to another program is an answer.
pub(crate) trait Space {
    /// Looks at the free room and at the log, without a write to the file. With plenty of room a
    /// ballast is laid aside, if there is none.
    fn look_at_space(&self) -> RoomMode;

    /// The mode as it was last seen. A write that finds no room changes it at once.
    fn room_mode(&self) -> RoomMode;

    /// Tells a person of a disk that is filling up and of a log that grows, and takes back what was
    /// told once that is mended; whether anything was written. Nothing is if nothing has changed.
    fn tell_space(&self) -> Result<bool>;

    /// Takes the log over into the file, if enough of it waits and it is this process's turn. Holds
    /// up no writer and waits for no reader.
    fn checkpoint(&self, me: ProcessNo) -> Result<Checkpointed>;

    /// What was seen at the last looks.
    fn space(&self) -> (RoomHealth, LogHealth);
}

/// How a checkpoint went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Checkpointed {
    /// Too little waits, or it is another process's turn.
    NotDue,
    /// The same, and nobody has written since the last look.
    Quiet,
    /// All that was in the log is in the file.
    Done,
    /// A reader or another program was in the way: some of it is not, or the log is not empty.
    NotDone,
}

/// The room of the disk that the file is on.
///
/// ```no_run
/// # fn f(running: &lanebox::Running) {
/// let room = running.health().room;
/// if room.mode != lanebox::RoomMode::Plenty {
///     eprintln!("disk {}: {:?} bytes free", room.mode.as_str(), room.free_bytes);
/// }
/// # }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RoomHealth {
    /// What this handle does with the room that there is.
    pub mode: RoomMode,
    /// Bytes that this user may still fill, at most a second ago; `None` where the system does not
    /// tell.
    pub free_bytes: Option<u64>,
    /// The low-water mark in bytes: below it nothing new is begun. A twentieth of the file system,
    /// at least 4 MiB and at most 64 MiB; everything is as usual again at twice as much.
    pub low_water_bytes: u64,
}

/// The write-ahead log beside the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LogHealth {
    /// Its size in bytes, at most a second ago.
    pub bytes: u64,
    /// What it is cut back to when it is emptied, in bytes: 64 MiB.
    pub limit_bytes: u64,
    /// It has grown beyond twice its limit and is not back below it yet.
    pub alarm: bool,
    /// Frames (changed pages) in it that are not in the file yet.
    pub frames_behind: u64,
    /// For how long nothing of it could be taken over although enough of it waits: an old reader
    /// keeps it, in this process or in another.
    pub stuck_for: Duration,
    /// How long the oldest read of this handle has been under way.
    pub oldest_read: Duration,
    /// The last checkpoint of this handle could not finish.
    pub unfinished: bool,
}
