//! A file of reserved blocks beside the database. On a full disk even a deletion and a checkpoint
//! need room: then this file is removed, and what runs can still be recorded.

use std::fs::{File, OpenOptions, symlink_metadata};
use std::path::{Path, PathBuf};

use super::guard::beside;

fn path_of(database: &Path) -> PathBuf {
    beside(database, "-ballast")
}

/// Whether there is one.
pub(super) fn is_there(database: &Path) -> bool {
    symlink_metadata(path_of(database)).is_ok_and(|found| found.is_file())
}

/// Reserves this many bytes, unless that was done before. Whatever prevents it is no reason not to
/// work.
pub(super) fn lay(database: &Path, bytes: u64) {
    let path = path_of(database);
    match symlink_metadata(&path) {
        // Not to its end: whoever made it died over it.
        Ok(found) if found.is_file() && !is_whole(&found, bytes) => remove(database),
        Ok(_) => return,
        Err(_) => {}
    }
    if !may_write(bytes) {
        return;
    }
    // Another process may be making it at this moment.
    let Ok(file) = new_file(&path) else { return };
    if let Err(error) = reserve(&file, bytes) {
        tracing::debug!(%error, "no ballast could be reserved; it is tried again");
        remove(database);
    }
}

/// Gives its room back.
pub(super) fn remove(database: &Path) {
    // It may be gone already: several processes meet a full disk at once.
    if is_there(database)
        && let Err(error) = std::fs::remove_file(path_of(database))
        && error.kind() != std::io::ErrorKind::NotFound
    {
        tracing::warn!(%error, "the ballast file could not be removed to make room");
    }
}

fn new_file(path: &Path) -> std::io::Result<File> {
    let mut how = OpenOptions::new();
    how.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut how, 0o600);
    how.open(path)
}

// A file beyond the limit of this process would end it by a signal, unless its host has thought of
// that.
#[cfg(unix)]
fn may_write(bytes: u64) -> bool {
    use rustix::process::{Resource, getrlimit};
    getrlimit(Resource::Fsize).current.is_none_or(|limit| limit >= bytes)
}

#[cfg(not(unix))]
fn may_write(_: u64) -> bool {
    true
}

// Another size than today's was asked for when the disk was larger or smaller: that is as good. A
// file with a hole reserves nothing.
#[cfg(unix)]
fn is_whole(found: &std::fs::Metadata, bytes: u64) -> bool {
    use std::os::unix::fs::MetadataExt;
    found.len() >= bytes / 2 && found.blocks().saturating_mul(512) >= found.len()
}

#[cfg(not(unix))]
fn is_whole(found: &std::fs::Metadata, bytes: u64) -> bool {
    found.len() >= bytes / 2
}

#[cfg(target_os = "linux")]
fn reserve(file: &File, bytes: u64) -> std::io::Result<()> {
    use rustix::fs::{FallocateFlags, fallocate};
    use rustix::io::Errno;
    match fallocate(file, FallocateFlags::empty(), 0, bytes) {
        Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => write_zeros(file, bytes),
        answer => answer.map_err(Into::into),
    }
}

#[cfg(not(target_os = "linux"))]
fn reserve(file: &File, bytes: u64) -> std::io::Result<()> {
    write_zeros(file, bytes)
}

fn write_zeros(mut file: &File, bytes: u64) -> std::io::Result<()> {
    use std::io::Write;
    let block = [0; 64 << 10];
    let mut left = bytes;
    while left > 0 {
        let now = left.min(block.len() as u64);
        file.write_all(&block[..usize::try_from(now).unwrap_or(block.len())])?;
        left -= now;
    }
    file.sync_data()
}

#[cfg(test)]
mod tests {
    use super::*;

    const BYTES: u64 = 1 << 20;

    #[test]
    fn it_reserves_blocks_of_its_own_and_gives_them_back() {
        let dir = tempfile::tempdir().expect("a directory");
        let database = dir.path().join("crm.db");
        assert!(!is_there(&database));
        for _ in 0..2 {
            lay(&database, BYTES);
            assert!(is_there(&database));
        }
        let found = symlink_metadata(path_of(&database)).expect("the file");
        assert!(found.len() == BYTES && is_whole(&found, BYTES), "{found:?}");
        remove(&database);
        remove(&database);
        assert!(!is_there(&database));
    }

    #[test]
    fn what_was_left_half_made_is_made_anew() {
        let dir = tempfile::tempdir().expect("a directory");
        let database = dir.path().join("crm.db");
        let holes = File::create(path_of(&database)).expect("a file");
        holes.set_len(BYTES).expect("a hole");
        drop(holes);
        lay(&database, BYTES);
        let found = symlink_metadata(path_of(&database)).expect("the file");
        assert!(is_whole(&found, BYTES), "{found:?}");
    }

    #[test]
    fn zeros_reserve_as_well() {
        let file = tempfile::tempfile().expect("a file");
        write_zeros(&file, 100_000).expect("written");
        assert_eq!(file.metadata().expect("its size").len(), 100_000);
    }

    #[cfg(unix)]
    #[test]
    fn what_is_not_ours_is_left_alone() {
        let dir = tempfile::tempdir().expect("a directory");
        let (database, theirs) = (dir.path().join("crm.db"), dir.path().join("theirs"));
        std::fs::write(&theirs, "theirs").expect("a file");
        std::os::unix::fs::symlink(&theirs, path_of(&database)).expect("a link");
        lay(&database, BYTES);
        remove(&database);
        assert_eq!(std::fs::read_to_string(&theirs).expect("there"), "theirs");
        assert!(path_of(&database).is_symlink());
    }
}
