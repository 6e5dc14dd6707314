//! The floor of the send ledger: the intents of a batch of lanes in one commit, their accepts in
//! the next, with the ends of the jobs and the next claim riding along.

use std::path::Path;

use lanebox::Durability;
use rusqlite::params;

use super::laned::{claim, end, fill};
use super::{JOB, NOW, RUN, count, create, run, uuid};
use crate::workload::now;

const LEDGER: &str = "
CREATE TABLE send (id INTEGER PRIMARY KEY AUTOINCREMENT, org INTEGER, origin TEXT, seq INTEGER, name TEXT, order_by TEXT, orders INTEGER, changed_hash BLOB) STRICT;
CREATE UNIQUE INDEX send_seq ON send(origin, seq);
CREATE UNIQUE INDEX send_name ON send(origin, name) WHERE name IS NOT NULL;
CREATE TABLE send_try (send INTEGER, n INTEGER, key BLOB, channel INTEGER, recipient_hmac BLOB, recipient_mask TEXT, hash BLOB, state TEXT, job INTEGER, token INTEGER, calls INTEGER, after TEXT, ordered_by TEXT, order_no INTEGER, intended_at INTEGER, ended_at INTEGER, unknown_at INTEGER, wait_until INTEGER, next_look INTEGER, resend INTEGER, receipt TEXT, class TEXT, reason TEXT, how TEXT, settled_by TEXT, notice INTEGER, PRIMARY KEY (send, n)) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX send_try_key ON send_try(key);
CREATE UNIQUE INDEX send_try_undecided ON send_try(send) WHERE state IN ('intended', 'unknown');
CREATE UNIQUE INDEX send_try_accepted ON send_try(send, order_no) WHERE state = 'accepted';";
const SEND_NEW: &str = "INSERT INTO send(org, origin, seq, orders) VALUES (2, ?1, 1, 0)";
const SENT: &str = "UPDATE running SET sent = 1 WHERE id = ?1 AND token = ?2";
const TRY_NEW: &str = "INSERT INTO send_try(send, n, key, channel, recipient_hmac, recipient_mask, hash, state, job, token, calls, order_no, intended_at, resend) \
     VALUES (?1, 1, ?2, 1, ?3, '+49*', ?3, 'intended', ?4, ?5, 1, 0, ?6, 0)";
const TRY_OF_KEY: &str = "SELECT send, n FROM send_try WHERE key = ?1";
const TRY_ACCEPTED: &str = "UPDATE send_try SET state = 'accepted', receipt = 'receipt', ended_at = ?3 WHERE send = ?1 AND n = ?2";

/// Sends per second, one a job, jobs in so many lanes, a batch of them at once.
pub fn send(
    path: &Path,
    durability: Durability,
    jobs: usize,
    lanes: usize,
    batch: usize,
) -> rusqlite::Result<f64> {
    let conn = create(path, durability, &[JOB, RUN, LEDGER])?;
    fill(&conn, jobs, lanes)?;
    let (mut held, mut token) = (Vec::new(), 0);
    let hash = [7_u8; 32];
    let from = now();
    run(&conn, "BEGIN IMMEDIATE", [])?;
    claim(&conn, &mut held, &mut token, batch)?;
    run(&conn, "COMMIT", [])?;
    // The ledger is flushed whatever the durability of the file: so it is in Lanebox.
    conn.pragma_update(None, "synchronous", "FULL")?;
    while !held.is_empty() {
        run(&conn, "BEGIN IMMEDIATE", [])?;
        for one in &held {
            run(&conn, SEND_NEW, [format!("job:{}", one.id)])?;
            let row = params![conn.last_insert_rowid(), uuid(one.id), hash, one.id, one.token, NOW];
            run(&conn, TRY_NEW, row)?;
            run(&conn, SENT, [one.id, one.token])?;
        }
        run(&conn, "COMMIT", [])?;
        run(&conn, "BEGIN IMMEDIATE", [])?;
        for one in &held {
            let (send, n): (i64, i64) = conn
                .prepare_cached(TRY_OF_KEY)?
                .query_row([uuid(one.id)], |row| Ok((row.get(0)?, row.get(1)?)))?;
            run(&conn, TRY_ACCEPTED, [send, n, NOW])?;
        }
        end(&conn, &mut held)?;
        claim(&conn, &mut held, &mut token, batch)?;
        run(&conn, "COMMIT", [])?;
    }
    let took = from.elapsed().as_secs_f64();
    assert_eq!(count(&conn, "send_try WHERE state = 'accepted'"), jobs);
    Ok(jobs as f64 / took)
}
