//! The raw floor: the minimal SQL of the same durable work, column for column the rows that Lanebox
//! keeps, without a constraint, a fence or a fair turn.

use std::path::Path;

use rusqlite::{Connection, params};

use super::{now, payload};

const SQL: &str = "
CREATE TABLE job (id INTEGER PRIMARY KEY AUTOINCREMENT, uuid BLOB NOT NULL UNIQUE, org INTEGER, kind INTEGER, version INTEGER, lane INTEGER, subject TEXT, priority INTEGER, run_at INTEGER, max_attempts INTEGER, expires_at INTEGER, source_event INTEGER, consumer INTEGER, ordinal INTEGER, created_at INTEGER, payload TEXT, forgotten_at INTEGER) STRICT;
CREATE TABLE ready (alone INTEGER, kind INTEGER, org INTEGER, priority INTEGER, run_at INTEGER, id INTEGER, PRIMARY KEY (alone, kind, org, priority, run_at, id)) STRICT, WITHOUT ROWID;
CREATE TABLE running (id INTEGER PRIMARY KEY, org INTEGER, kind INTEGER, lane INTEGER, run_at INTEGER, token INTEGER, process INTEGER, holder TEXT, lease_until INTEGER, started_at INTEGER, series INTEGER, attempts INTEGER, max_attempts INTEGER, lost INTEGER, lost_alone INTEGER, postponed INTEGER, unknowns INTEGER, alone INTEGER, kept_lane INTEGER, cancel_asked INTEGER, sent INTEGER, progress TEXT) STRICT;
CREATE UNIQUE INDEX running_lane ON running(lane) WHERE lane IS NOT NULL;
CREATE TABLE finished (id INTEGER PRIMARY KEY, state TEXT, reason TEXT, finished_at INTEGER, started_at INTEGER, token INTEGER, process INTEGER, series INTEGER, attempts INTEGER, lost INTEGER, error TEXT, notice INTEGER) STRICT;
CREATE TABLE counter (one INTEGER PRIMARY KEY, token INTEGER NOT NULL) STRICT;
INSERT INTO counter VALUES (1, 0);";

/// Jobs per second of a fused drain: complete the last batch, take the next, commit.
pub fn drain(path: &Path, jobs: usize, batch: usize) -> rusqlite::Result<f64> {
    let conn = Connection::open(path)?;
    conn.execute_batch(
        "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA wal_autocheckpoint=4000;",
    )?;
    conn.execute_batch(SQL)?;
    let payload = payload();
    conn.execute_batch("BEGIN")?;
    for i in 0..jobs {
        let uuid = (i as u128).to_be_bytes();
        conn.prepare_cached("INSERT INTO job(uuid, org, kind, version, priority, run_at, max_attempts, created_at, payload) VALUES (?1, 2, 1, 1, 500, 1700000000000, 10, 1700000000000, ?2)")?
            .execute(params![uuid, payload])?;
        conn.prepare_cached("INSERT INTO ready VALUES (0, 1, 2, 500, ?1, ?2)")?
            .execute(params![1_700_000_000_000_i64, conn.last_insert_rowid()])?;
    }
    conn.execute_batch("COMMIT")?;
    let mut begin = conn.prepare("BEGIN IMMEDIATE")?;
    let mut commit = conn.prepare("COMMIT")?;
    let mut pick = conn
        .prepare("SELECT priority, run_at, id FROM ready WHERE alone = 0 AND kind = 1 AND org = 2 ORDER BY priority, run_at, id LIMIT ?1")?;
    let mut read = conn.prepare("SELECT payload FROM job WHERE id = ?1")?;
    let mut unready =
        conn.prepare("DELETE FROM ready WHERE alone = 0 AND kind = 1 AND org = 2 AND priority = ?1 AND run_at = ?2 AND id = ?3")?;
    let mut run = conn.prepare("INSERT INTO running VALUES (?1, 2, 1, NULL, ?4, ?2, 1, 'thread', ?3, ?4, 1, 1, 10, 0, 0, 0, 0, 0, 0, 0, 0, NULL)")?;
    let mut stop = conn.prepare("DELETE FROM running WHERE id = ?1 AND token = ?2")?;
    let mut finish = conn.prepare(
        "INSERT INTO finished VALUES (?1, 'done', NULL, ?2, ?2, ?3, 1, 1, 1, 0, NULL, NULL)",
    )?;
    let mut count = conn.prepare("UPDATE counter SET token = ?1")?;
    let mut held: Vec<(i64, i64)> = Vec::new();
    let mut token = 0_i64;
    let from = now();
    loop {
        begin.execute([])?;
        for (id, token) in held.drain(..) {
            stop.execute(params![id, token])?;
            finish.execute(params![id, 1_700_000_000_000_i64, token])?;
        }
        let heads: Vec<(i64, i64, i64)> = pick
            .query_map([batch as i64], |r| Ok((r.get(0)?, r.get(1)?, r.get(2)?)))?
            .collect::<Result<_, _>>()?;
        for (priority, run_at, id) in heads {
            let _payload: String = read.query_row([id], |r| r.get(0))?;
            unready.execute(params![priority, run_at, id])?;
            token += 1;
            run.execute(params![id, token, 60_000_i64, 1_700_000_000_000_i64])?;
            held.push((id, token));
        }
        count.execute([token])?;
        commit.execute([])?;
        if held.is_empty() {
            break;
        }
    }
    let rate = jobs as f64 / from.elapsed().as_secs_f64();
    Ok(rate)
}
