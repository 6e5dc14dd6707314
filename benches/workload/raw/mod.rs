//! Floors that only benches need, of questions that `lanebox bench` does not ask: the minimal SQL
//! of the same durable rows, without a constraint, a fence or a fair turn.

use std::path::Path;

use lanebox::Durability;
use rusqlite::Connection;

use super::beside::sync;
use super::floor;

pub mod chain;
pub mod group;
pub mod laned;
pub mod publish;
pub mod send;

/// When the jobs of a raw file were made and fall due.
pub const NOW: i64 = 1_700_000_000_000;

pub const JOB: &str = "
CREATE TABLE job (id INTEGER PRIMARY KEY AUTOINCREMENT, uuid BLOB NOT NULL UNIQUE, org INTEGER, kind INTEGER, version INTEGER, lane INTEGER, subject TEXT, priority INTEGER, run_at INTEGER, max_attempts INTEGER, expires_at INTEGER, source_event INTEGER, consumer INTEGER, ordinal INTEGER, created_at INTEGER, payload TEXT, forgotten_at INTEGER) STRICT;
CREATE UNIQUE INDEX job_origin ON job(source_event, consumer, ordinal) WHERE consumer IS NOT NULL;
CREATE TABLE ready (alone INTEGER, kind INTEGER, org INTEGER, priority INTEGER, run_at INTEGER, id INTEGER, PRIMARY KEY (alone, kind, org, priority, run_at, id)) STRICT, WITHOUT ROWID;
CREATE TABLE open (lane INTEGER, priority INTEGER, run_at INTEGER, id INTEGER, kind INTEGER, PRIMARY KEY (lane, priority, run_at, id)) STRICT, WITHOUT ROWID;";

pub const RUN: &str = "
CREATE TABLE running (id INTEGER PRIMARY KEY, org INTEGER, kind INTEGER, lane INTEGER, run_at INTEGER, token INTEGER, process INTEGER, holder TEXT, lease_until INTEGER, started_at INTEGER, series INTEGER, attempts INTEGER, max_attempts INTEGER, lost INTEGER, lost_alone INTEGER, postponed INTEGER, unknowns INTEGER, alone INTEGER, kept_lane INTEGER, cancel_asked INTEGER, sent INTEGER, progress TEXT) STRICT;
CREATE UNIQUE INDEX running_lane ON running(lane) WHERE lane IS NOT NULL;
CREATE TABLE finished (id INTEGER PRIMARY KEY, state TEXT, reason TEXT, finished_at INTEGER, started_at INTEGER, token INTEGER, process INTEGER, series INTEGER, attempts INTEGER, lost INTEGER, error TEXT, notice INTEGER) STRICT;
CREATE TABLE counter (one INTEGER PRIMARY KEY, token INTEGER NOT NULL) STRICT;
INSERT INTO counter VALUES (1, 0);";

pub const JOB_NEW: &str = "INSERT INTO job(uuid, org, kind, version, lane, priority, run_at, max_attempts, source_event, consumer, ordinal, created_at, payload) \
     VALUES (?1, 2, 1, 1, ?2, 500, ?3, 10, ?4, ?5, ?6, ?3, ?7)";
pub const READY_NEW: &str = "INSERT INTO ready VALUES (0, 1, 2, 500, ?1, ?2)";
pub const RUNNING_NEW: &str = "INSERT INTO running VALUES (?1, 2, 1, ?2, ?3, ?4, 1, 'thread', 60000, ?3, 1, 1, 10, 0, 0, 0, 0, 0, 0, 0, 0, NULL)";
pub const RUNNING_DEL: &str = "DELETE FROM running WHERE id = ?1 AND token = ?2";
pub const FINISHED_NEW: &str =
    "INSERT INTO finished VALUES (?1, 'done', NULL, ?2, ?2, ?3, 1, 1, 1, 0, NULL, NULL)";
pub const COUNTER_SET: &str = "UPDATE counter SET token = ?1";
pub const READY_PICK: &str = "SELECT run_at, id FROM ready WHERE alone = 0 AND kind = 1 AND org = 2 AND priority = 500 ORDER BY run_at, id LIMIT ?1";
pub const READY_DEL: &str = "DELETE FROM ready WHERE alone = 0 AND kind = 1 AND org = 2 AND priority = 500 AND run_at = ?1 AND id = ?2";

/// A new raw file with these tables.
pub fn create(
    path: &Path,
    durability: Durability,
    tables: &[&str],
) -> rusqlite::Result<Connection> {
    let conn = floor::create(path, sync(durability))?;
    conn.execute_batch(&tables.concat())?;
    conn.set_prepared_statement_cache_capacity(64);
    Ok(conn)
}

/// Runs a statement that is kept prepared.
pub fn run(conn: &Connection, sql: &str, params: impl rusqlite::Params) -> rusqlite::Result<()> {
    conn.prepare_cached(sql)?.execute(params).map(drop)
}

/// Each sorts after the one before, as ids of Lanebox do.
pub fn uuid(n: i64) -> [u8; 16] {
    let at = u128::from((NOW + n).unsigned_abs());
    (at << 80 | u128::from(n.unsigned_abs())).to_be_bytes()
}

/// What a raw file holds must be what was asked of it.
pub fn count(conn: &Connection, table: &str) -> usize {
    let sql = format!("SELECT count(*) FROM {table}");
    conn.query_row(&sql, [], |row| row.get(0)).expect("a table of the floor")
}
