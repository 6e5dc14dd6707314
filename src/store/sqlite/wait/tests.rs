//! Another program holds the file while it is opened, and while an engine starts on it: whoever
//! waits goes on when the lock is let go, or hears `Busy`; never SQLite's own words.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::thread::ScopedJoinHandle;

use rusqlite::Connection;

use crate::env::{Clock, Env};
use crate::error::{Error, Result};
use crate::store::processes::Processes;
use crate::store::sqlite::{Opening, SqliteStore};

/// Each look at it takes a while, and it counts them: whoever waits for a lock looks at it.
#[derive(Debug)]
struct Impatient {
    looks: AtomicI64,
    step_ms: i64,
}

impl Clock for Impatient {
    fn now_ms(&self) -> i64 {
        1_767_225_600_000
    }

    fn mono_us(&self) -> i64 {
        self.looks.fetch_add(1, Ordering::SeqCst) * self.step_ms * 1_000
    }

    fn boot(&self) -> &str {
        "boot"
    }
}

/// What another program does to the file before we come.
type Hold = (&'static str, &'static str);

const HELD: [Hold; 5] = [
    ("a new file, alone", "BEGIN EXCLUSIVE; CREATE TABLE deal(id)"),
    ("a file of the host's, read", "CREATE TABLE deal(id); BEGIN; SELECT * FROM deal"),
    (
        "a file of the host's with a log, written",
        "PRAGMA journal_mode = WAL; CREATE TABLE deal(id); BEGIN IMMEDIATE",
    ),
    (
        "a file with a log, alone",
        "PRAGMA journal_mode = WAL; CREATE TABLE deal(id); PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE",
    ),
    (
        "a file without a log, alone",
        "PRAGMA journal_mode = DELETE; CREATE TABLE deal(id); BEGIN EXCLUSIVE",
    ),
];

fn held(path: &Path, sql: &str) -> Connection {
    let other = Connection::open(path).expect("another program");
    other.execute_batch(sql).expect("it holds the file");
    other
}

fn let_go(other: Connection) {
    other.execute_batch("COMMIT").expect("it lets go");
    other.close().expect("closed");
}

fn file() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("crm.db");
    (dir, path)
}

fn clock(step_ms: i64) -> Arc<Impatient> {
    Arc::new(Impatient { looks: AtomicI64::new(0), step_ms })
}

fn open(path: &Path, clock: &Arc<Impatient>) -> Result<SqliteStore> {
    SqliteStore::open(path, Env::new(clock.clone(), 7), &Opening::default())
}

/// Waits until this thread has found the lock taken a few times, or given up.
fn waits<T>(who: &ScopedJoinHandle<'_, T>, clock: &Impatient) {
    let from = clock.looks.load(Ordering::SeqCst);
    while clock.looks.load(Ordering::SeqCst) < from + 10 && !who.is_finished() {
        std::thread::yield_now();
    }
}

// fault: busy-at-once
#[test]
fn r14_opening_a_file_that_is_held_goes_on_when_it_is_let_go() {
    for (what, sql) in HELD {
        let (_dir, path) = file();
        let other = held(&path, sql);
        let clock = clock(0);
        let opened = std::thread::scope(|scope| {
            let opener = scope.spawn(|| open(&path, &clock));
            waits(&opener, &clock);
            let_go(other);
            opener.join().expect("no panic")
        });
        assert!(opened.is_ok(), "{what}: {:?}", opened.err());
    }
}

#[test]
fn r14_opening_a_file_that_is_never_let_go_is_busy() {
    for (what, sql) in HELD {
        let (_dir, path) = file();
        let other = held(&path, sql);
        match open(&path, &clock(1_000)).err() {
            Some(Error::Busy { waited_ms: 5_000.. }) => {}
            told => panic!("{what}: {told:?}"),
        }
        let_go(other);
        assert!(open(&path, &clock(0)).is_ok(), "{what}: it is as it was");
    }
}

// fault: busy-at-once
#[test]
fn r3_an_engine_that_starts_on_a_file_that_is_held_waits_for_its_turn() {
    let (_dir, path) = file();
    let patient = clock(0);
    let store = open(&path, &patient).expect("opened");
    let other = held(&path, "BEGIN IMMEDIATE");
    let process = std::thread::scope(|scope| {
        let starts = scope.spawn(|| store.register());
        waits(&starts, &patient);
        let_go(other);
        starts.join().expect("no panic")
    });
    assert!(process.is_ok(), "{process:?}");

    let hasty = open(&path, &clock(400)).expect("opened");
    let other = held(&path, "BEGIN IMMEDIATE");
    let told = hasty.register().expect_err("held");
    assert!(matches!(told, Error::Busy { waited_ms: 1_000.. }), "{told:?}");
    let_go(other);
    hasty.register().expect("it is free");
}
