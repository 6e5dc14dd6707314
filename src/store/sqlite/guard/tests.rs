//! What is refused before SQLite sees the file, and that nothing is left behind by it.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};

use crate::env::Env;
use crate::error::{Error, Result};
use crate::store::processes::Processes;
use crate::store::sqlite::{Opening, SqliteStore};

fn open(path: &Path) -> Result<SqliteStore> {
    SqliteStore::open(path, Env::system(), &Opening::default())
}

/// Opens, expects a refusal that says `part`, and that the directory is as it was.
#[track_caller]
fn refused(path: &Path, part: &str) {
    let directory = path.parent().filter(|parent| parent.is_dir());
    let before = directory.map(listing);
    let why = open(path).err().expect("refused").to_string();
    assert!(why.contains(part), "{why}");
    assert!(
        why.ends_with("the file was not changed") || why.ends_with("nothing was stored"),
        "{why}"
    );
    assert_eq!(directory.map(listing), before, "something was left behind");
}

fn listing(directory: &Path) -> Vec<(PathBuf, u32, u64)> {
    let mut all: Vec<_> = fs::read_dir(directory)
        .expect("listed")
        .map(|entry| {
            let path = entry.expect("an entry").path();
            let found = fs::symlink_metadata(&path).expect("stat");
            (path, found.mode(), found.len())
        })
        .collect();
    all.sort();
    all
}

fn directory() -> tempfile::TempDir {
    tempfile::tempdir().expect("a directory")
}

// fault: memory-is-taken
#[test]
fn r4_a_database_in_memory_is_refused() {
    refused(Path::new(":memory:"), "in memory is lost");
    refused(Path::new("file::memory:?cache=shared"), "in memory is lost");
    refused(Path::new("file:crm.db?mode=memory"), "in memory is lost");
    refused(Path::new("file:crm.db"), "plain path");
}

#[test]
fn a_path_that_names_no_file_is_refused() {
    let dir = directory();
    refused(Path::new(""), "it is empty");
    fs::create_dir(dir.path().join("inner")).expect("made");
    refused(&dir.path().join("inner"), "is a directory");
    refused(&dir.path().join("new/"), "names a directory");
    refused(&dir.path().join(".."), "names a directory");
    refused(&dir.path().join("no/such/crm.db"), "does not exist: make it first");
    let file = dir.path().join("plain");
    fs::write(&file, "x").expect("written");
    refused(&file.join("crm.db"), "is not a directory");
    refused(&dir.path().join("nul\0.db"), "cannot be looked at");
}

#[test]
fn what_is_not_a_regular_file_is_refused_without_waiting_for_it() {
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    let dir = directory();
    let path = dir.path().join("crm.db");
    mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).expect("a fifo");
    refused(&path, "not a regular file");
}

#[test]
fn a_second_name_is_refused() {
    let dir = directory();
    let (path, other) = (dir.path().join("crm.db"), dir.path().join("other.db"));
    drop(open(&path).expect("made"));
    symlink(&path, &other).expect("linked");
    refused(&other, "symbolic link");
    fs::remove_file(&other).expect("removed");
    fs::hard_link(&path, &other).expect("linked");
    refused(&other, "2 names (hard links)");
    refused(&path, "2 names (hard links)");
}

#[test]
fn a_link_instead_of_a_side_file_is_refused() {
    for suffix in super::BESIDE {
        let dir = directory();
        let path = dir.path().join("crm.db");
        drop(open(&path).expect("made"));
        symlink(dir.path().join("elsewhere"), super::beside(&path, suffix)).expect("linked");
        refused(&path, &format!("its {suffix} is a symbolic link"));
    }
}

/// A file of another user: root makes one, anybody else finds one.
fn foreign(dir: &Path) -> PathBuf {
    let path = dir.join("crm.db");
    if rustix::process::geteuid().is_root() {
        fs::write(&path, "").expect("written");
        chown(&path, Some(65534), None).expect("given away");
        path
    } else {
        PathBuf::from("/etc/passwd")
    }
}

// fault: owner-is-not-asked
#[test]
fn r10_a_file_of_another_user_is_refused_root_included() {
    let dir = directory();
    refused(&foreign(dir.path()), "belongs to user");
}

// fault: owner-is-not-asked
#[test]
fn r10_side_files_of_another_user_are_refused() {
    if !rustix::process::geteuid().is_root() {
        return; // Only root can give a file away.
    }
    for suffix in ["-wal", "-shm"] {
        let dir = directory();
        let path = dir.path().join("crm.db");
        drop(open(&path).expect("made"));
        let side = super::beside(&path, suffix);
        fs::write(&side, "").expect("written");
        chown(&side, Some(65534), None).expect("given away");
        refused(&path, &format!("its {suffix} belongs to user 65534"));
    }
}

#[test]
fn a_directory_where_everybody_may_replace_files_is_refused() {
    let dir = directory();
    let path = dir.path().join("crm.db");
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o777)).expect("opened up");
    refused(&path, "every user may replace files");
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o1777)).expect("sticky");
    open(&path).expect("as in /tmp");
}

#[test]
fn a_wal_without_its_file_is_kept() {
    let dir = directory();
    let path = dir.path().join("crm.db");
    fs::write(super::beside(&path, "-wal"), "accepted work").expect("written");
    refused(&path, "its -wal is there");
}

#[test]
fn a_missing_file_is_made_only_on_request() {
    let dir = directory();
    let path = dir.path().join("crm.db");
    let how = Opening { create: false, ..Opening::default() };
    let refused = SqliteStore::open(&path, Env::system(), &how).err().expect("refused");
    assert!(refused.to_string().contains("no such file"), "{refused}");
    assert!(listing(dir.path()).is_empty());
}

#[test]
fn what_is_made_is_for_its_owner_alone() {
    let dir = directory();
    let path = dir.path().join("crm.db");
    let store = open(&path).expect("made");
    store.register().expect("registered");
    let all = listing(dir.path());
    assert_eq!(all.len(), 4, "{all:?}: the file, -wal, -shm and a lock file");
    for (path, mode, _) in all {
        assert_eq!(mode & 0o777, 0o600, "{}", path.display());
    }
}

#[test]
fn a_file_that_is_no_database_stays_as_it_is() {
    let page = |header: &[u8]| [header, &[7; 4096]].concat();
    for bytes in [page(b"<html>"), page(b"SQLite format 3\0"), b"SQLite".to_vec()] {
        let dir = directory();
        let path = dir.path().join("crm.db");
        fs::write(&path, &bytes).expect("written");
        refused(&path, "");
        assert_eq!(fs::read(&path).expect("read"), bytes);
    }
}

#[test]
fn a_damaged_header_stays_as_it_is() {
    let dir = directory();
    let path = dir.path().join("crm.db");
    drop(open(&path).expect("made"));
    let mut bytes = fs::read(&path).expect("read");
    bytes[0..8].copy_from_slice(b"damaged!");
    fs::write(&path, &bytes).expect("written");
    refused(&path, "not an SQLite database, or its first page is damaged");
    assert_eq!(fs::read(&path).expect("read"), bytes);
}

// fault: moved-file-is-written
#[test]
fn r8_a_replaced_file_is_seen() {
    let dir = directory();
    let path = dir.path().join("crm.db");
    let admitted = super::admit(&path, true, false).expect("made");
    admitted.is_still_there().expect("it is");
    fs::remove_file(&path).expect("removed");
    assert!(matches!(admitted.is_still_there(), Err(Error::Unusable { .. })));
    fs::write(dir.path().join("keeps its inode busy"), "").expect("written");
    fs::write(&path, "another").expect("written");
    let why = admitted.is_still_there().expect_err("another file").to_string();
    assert!(why.contains("moved or replaced"), "{why}");
}
