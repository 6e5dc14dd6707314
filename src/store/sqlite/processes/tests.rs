//! Who is gone: whoever's lock can be taken, and nobody else.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::*;
use crate::env::{Env, ManualClock};
use crate::store::sqlite::Opening;
use crate::store::sqlite::writer::faults::{Fault, Point};

const GONE: &str = "SELECT count(*) FROM lanebox_process WHERE gone = 1";
const T0: i64 = 1_700_000_000_000;

struct Bench {
    dir: tempfile::TempDir,
}

impl Bench {
    fn new() -> Bench {
        Bench { dir: tempfile::tempdir().expect("a directory") }
    }

    fn open(&self, clock: ManualClock, seed: u64) -> SqliteStore {
        let path = self.dir.path().join("crm.db");
        SqliteStore::open(&path, Env::new(Arc::new(clock), seed), &Opening::default())
            .expect("opened")
    }

    fn here(&self, seed: u64) -> SqliteStore {
        self.open(ManualClock::at(T0), seed)
    }

    fn locks(&self) -> Vec<PathBuf> {
        let is_lock = |path: &Path| path.to_string_lossy().contains("-process-");
        let entries = std::fs::read_dir(self.dir.path()).expect("listed");
        entries.map(|entry| entry.expect("an entry").path()).filter(|path| is_lock(path)).collect()
    }
}

// fault: reap-is-blind
#[test]
fn e66_whoever_ended_without_a_word_is_found_once() {
    let bench = Bench::new();
    let (mine, other, ended) = (bench.here(1), bench.here(2), bench.here(3));
    for store in [&mine, &other, &ended] {
        store.register().expect("registered");
    }
    assert!(!mine.sweep().expect("swept"), "all three live");
    drop(ended);
    assert!(mine.sweep().expect("swept"));
    assert_eq!((mine.count(GONE), bench.locks().len()), (1, 2));
    assert!(!other.sweep().expect("swept"), "it was found already");
    assert!(!mine.sweep().expect("swept"));
}

#[test]
fn an_orderly_end_leaves_nothing_to_find() {
    let bench = Bench::new();
    let (mine, other) = (bench.here(1), bench.here(2));
    let process = other.register().expect("registered");
    other.leave(process).expect("left");
    assert_eq!((mine.count(GONE), bench.locks().len()), (1, 0));
    assert!(!mine.sweep().expect("swept"));
}

#[test]
fn of_whoever_has_lost_its_lock_file_only_the_leases_tell() {
    let bench = Bench::new();
    let (mine, other) = (bench.here(1), bench.here(2));
    other.register().expect("registered");
    std::fs::remove_file(&bench.locks()[0]).expect("somebody tidied up");
    assert!(!mine.sweep().expect("swept"), "it lives");
    drop(other);
    assert!(!mine.sweep().expect("swept"), "nobody can know");
    let later = bench.open(ManualClock::rebooted(T0, "boot-2"), 3);
    assert!(later.sweep().expect("swept"), "its boot has ended");
    assert_eq!(mine.count(GONE), 1);
}

#[test]
fn whoever_lives_under_another_boot_id_is_not_gone_and_not_joined() {
    let bench = Bench::new();
    let mine = bench.here(1);
    mine.register().expect("registered");
    let other = bench.open(ManualClock::rebooted(T0, "a container's own"), 2);
    let why = other.register().expect_err("it would take my leases").to_string();
    assert!(why.contains("under another boot id (boot-1, here a container's own"), "{why}");
    assert!(!other.sweep().expect("swept"), "I live");
    assert_eq!((mine.count(GONE), bench.locks().len()), (1, 1), "it has left again");
    drop(mine);
    assert!(other.sweep().expect("swept"), "that boot has ended");
    other.register().expect("alone now");
}

#[test]
fn a_registration_that_fails_leaves_no_lock_file() {
    let bench = Bench::new();
    let store = bench.here(1);
    store.writer.faults.order(Point::Commit, 0, Fault::Ended(rusqlite::ffi::SQLITE_FULL));
    store.register().expect_err("the disk is full");
    assert!(bench.locks().is_empty());
    store.register().expect("there is room again");
    assert_eq!(bench.locks().len(), 1);
}
