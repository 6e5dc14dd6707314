//! The raw floor: the minimal SQL of the same durable work, column for column the rows that Lanebox
//! keeps, without a constraint, a fence or a fair turn. `lanebox bench` and the benches of the
//! repository share it.

mod drain;
mod enqueue;
mod flush;

use std::path::Path;

use rusqlite::{Connection, params};

pub use drain::drain;
pub use enqueue::enqueue;
pub use flush::{append, overwrite};

/// What every commit waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sync {
    /// The disk has it.
    Full,
    /// The system has it: a power cut may lose the last commits.
    Normal,
}

const SQL: &str = "
CREATE TABLE job (id INTEGER PRIMARY KEY AUTOINCREMENT, uuid BLOB NOT NULL UNIQUE, org INTEGER, kind INTEGER, version INTEGER, lane INTEGER, subject TEXT, priority INTEGER, run_at INTEGER, max_attempts INTEGER, expires_at INTEGER, source_event INTEGER, consumer INTEGER, ordinal INTEGER, created_at INTEGER, payload TEXT, forgotten_at INTEGER) STRICT;
CREATE TABLE ready (alone INTEGER, kind INTEGER, org INTEGER, priority INTEGER, run_at INTEGER, id INTEGER, PRIMARY KEY (alone, kind, org, priority, run_at, id)) STRICT, WITHOUT ROWID;
CREATE TABLE running (id INTEGER PRIMARY KEY, org INTEGER, kind INTEGER, lane INTEGER, run_at INTEGER, token INTEGER, process INTEGER, holder TEXT, lease_until INTEGER, started_at INTEGER, series INTEGER, attempts INTEGER, max_attempts INTEGER, lost INTEGER, lost_alone INTEGER, postponed INTEGER, unknowns INTEGER, alone INTEGER, kept_lane INTEGER, cancel_asked INTEGER, sent INTEGER, progress TEXT) STRICT;
CREATE UNIQUE INDEX running_lane ON running(lane) WHERE lane IS NOT NULL;
CREATE TABLE finished (id INTEGER PRIMARY KEY, state TEXT, reason TEXT, finished_at INTEGER, started_at INTEGER, token INTEGER, process INTEGER, series INTEGER, attempts INTEGER, lost INTEGER, error TEXT, notice INTEGER) STRICT;
CREATE TABLE counter (one INTEGER PRIMARY KEY, token INTEGER NOT NULL) STRICT;
INSERT INTO counter VALUES (1, 0);";

/// The time of every row: no floor reads a clock inside its work.
const NOW_MS: i64 = 1_700_000_000_000;

/// A payload of about 200 bytes.
pub fn payload() -> String {
    format!("{{\"text\":\"{}\"}}", "x".repeat(188))
}

/// A new raw file, empty.
pub fn create(path: &Path, sync: Sync) -> rusqlite::Result<Connection> {
    let conn = Connection::open(path)?;
    let sync = match sync {
        Sync::Full => "FULL",
        Sync::Normal => "NORMAL",
    };
    conn.execute_batch(&format!(
        "PRAGMA journal_mode=WAL; PRAGMA synchronous={sync}; PRAGMA wal_autocheckpoint=4000;"
    ))?;
    Ok(conn)
}

fn open(path: &Path, sync: Sync) -> rusqlite::Result<Connection> {
    let conn = create(path, sync)?;
    conn.execute_batch(SQL)?;
    Ok(conn)
}

/// Accepts the jobs of this range in the open transaction.
fn accept(conn: &Connection, jobs: std::ops::Range<usize>, payload: &str) -> rusqlite::Result<()> {
    let mut job = conn.prepare_cached("INSERT INTO job(uuid, org, kind, version, lane, subject, priority, run_at, max_attempts, expires_at, source_event, consumer, ordinal, created_at, payload) VALUES (?1, 2, 1, 1, NULL, NULL, 500, ?2, 10, NULL, NULL, NULL, NULL, ?2, ?3)")?;
    let mut ready = conn.prepare_cached("INSERT INTO ready VALUES (0, 1, 2, 500, ?1, ?2)")?;
    for i in jobs {
        job.execute(params![uuid(i), NOW_MS, payload])?;
        ready.execute(params![NOW_MS, conn.last_insert_rowid()])?;
    }
    Ok(())
}

/// Time, then chance, as in the ids of Lanebox: each sorts after the one before.
fn uuid(i: usize) -> [u8; 16] {
    let mut chance = [0; 10];
    fastrand::fill(&mut chance);
    let at = NOW_MS.unsigned_abs() + i as u64;
    uuid::Builder::from_unix_timestamp_millis(at, &chance).into_uuid().into_bytes()
}
