//! A scratch file for tests: a clock that stands still, stores as several processes open them, and
//! the hands of another program on the same file.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rusqlite::Connection;
use rusqlite::types::FromSql;

use super::audit::audit;
use super::{Durability, Opening, SqliteStore};
use crate::env::{Env, ManualClock};

/// 2026-01-01, so that times look like times.
const NOW: i64 = 1_767_225_600_000;

pub(crate) struct Scratch {
    dir: tempfile::TempDir,
    durability: Durability,
    pub(crate) clock: Arc<ManualClock>,
    seed: AtomicU64,
}

impl Scratch {
    /// A file that does not wait for the disk.
    pub(crate) fn new() -> Scratch {
        Scratch::with(Durability::Relaxed)
    }

    pub(crate) fn with(durability: Durability) -> Scratch {
        let dir = tempfile::tempdir().expect("a directory for the test");
        let clock = Arc::new(ManualClock::at(NOW));
        let scratch = Scratch { dir, durability, clock, seed: AtomicU64::new(1) };
        drop(scratch.store());
        scratch
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.dir.path().join("crm.db")
    }

    /// The file as one more process opens it.
    pub(crate) fn store(&self) -> SqliteStore {
        self.store_at(self.clock.clone())
    }

    /// The same, with another clock: of another boot.
    pub(crate) fn store_at(&self, clock: Arc<ManualClock>) -> SqliteStore {
        let env = Env::new(clock, self.seed.fetch_add(1, Ordering::Relaxed));
        let how = Opening { durability: self.durability, busy_ms: 2_000, ..Opening::default() };
        SqliteStore::open(&self.path(), env, &how).expect("the file opens")
    }

    /// The file as another program opens it: no pragma of ours.
    pub(crate) fn raw(&self) -> Connection {
        let conn = Connection::open(self.path()).expect("the file opens");
        conn.busy_timeout(std::time::Duration::from_secs(2)).expect("a timeout");
        conn
    }

    pub(crate) fn run(&self, sql: &str) {
        self.raw().execute_batch(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    }

    pub(crate) fn all<T: FromSql>(&self, sql: &str) -> Vec<T> {
        let conn = self.raw();
        let mut statement = conn.prepare(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
        let rows = statement.query_map([], |row| row.get(0)).expect("it runs");
        rows.collect::<Result<_, _>>().unwrap_or_else(|error| panic!("{sql}: {error}"))
    }

    pub(crate) fn one<T: FromSql>(&self, sql: &str) -> T {
        let mut rows = self.all(sql);
        assert_eq!(rows.len(), 1, "rows of {sql}");
        rows.remove(0)
    }

    /// Every audit of the file, and SQLite's own.
    pub(crate) fn assert_sound(&self) {
        let findings = audit(&self.raw()).expect("every audit runs");
        let found: Vec<_> = findings.iter().filter(|finding| finding.count > 0).collect();
        assert!(found.is_empty(), "{found:?}");
        assert_eq!(self.one::<String>("PRAGMA integrity_check"), "ok");
        assert!(self.all::<String>("PRAGMA foreign_key_check").is_empty());
    }
}
