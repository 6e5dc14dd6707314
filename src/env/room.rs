//! The free room of the disk: other programs change it, so it is an input like time.

use std::path::Path;

/// The room of a file system, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Room {
    /// What this user may still fill.
    pub(crate) free: u64,
    pub(crate) total: u64,
}

/// Who is asked for it: the system, unless a test pretends.
#[derive(Default)]
pub(crate) struct Disk {
    #[cfg(any(test, feature = "testing"))]
    pretended: parking_lot::Mutex<Option<Room>>,
}

impl Disk {
    pub(super) fn room(&self, directory: &Path) -> Option<Room> {
        #[cfg(any(test, feature = "testing"))]
        if let Some(room) = *self.pretended.lock() {
            return Some(room);
        }
        of(directory)
    }

    #[cfg(any(test, feature = "testing"))]
    pub(super) fn pretend(&self, room: Option<Room>) {
        *self.pretended.lock() = room;
    }
}

#[cfg(unix)]
fn of(directory: &Path) -> Option<Room> {
    let found = rustix::fs::statvfs(directory).ok()?;
    let bytes = |blocks: u64| blocks.saturating_mul(found.f_frsize);
    let room = Room { free: bytes(found.f_bavail), total: bytes(found.f_blocks) };
    // Some file systems without a size of their own answer zeros.
    (room.total > 0).then_some(room)
}

#[cfg(not(unix))]
fn of(_: &Path) -> Option<Room> {
    None
}
