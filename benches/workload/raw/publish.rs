//! The floor of a publish: event rows in as many commits, then a delivery with its job for each
//! consumer.

use std::path::Path;

use lanebox::Durability;
use rusqlite::{Connection, params};

use super::{JOB, JOB_NEW, NOW, READY_NEW, count, create, run, uuid};
use crate::workload::{now, payload};

pub const BUS: &str = "
CREATE TABLE event (seq INTEGER PRIMARY KEY AUTOINCREMENT, uuid BLOB UNIQUE, org TEXT, name TEXT, entity_type TEXT, entity_id TEXT, subject TEXT, payload TEXT, metadata TEXT, dedupe_key TEXT, cause_event INTEGER, cause_job INTEGER, depth INTEGER, occurred_at INTEGER, recorded_at INTEGER, duplicate_of BLOB, forgotten_at INTEGER) STRICT;
CREATE UNIQUE INDEX event_dedupe ON event(org, dedupe_key) WHERE dedupe_key IS NOT NULL;
CREATE TABLE consumer (id INTEGER PRIMARY KEY, position INTEGER) STRICT;
CREATE TABLE front (one INTEGER PRIMARY KEY, seq INTEGER) STRICT;
INSERT INTO front VALUES (1, 0);
CREATE TABLE delivery (consumer INTEGER, event INTEGER, state TEXT, series INTEGER, at INTEGER, job INTEGER, reason TEXT, attempts INTEGER, marks INTEGER, holder INTEGER, next_at INTEGER, last_error TEXT, notice INTEGER, PRIMARY KEY (consumer, event)) STRICT, WITHOUT ROWID;
CREATE INDEX delivery_event ON delivery(event);";
const EVENT_NEW: &str = "INSERT INTO event(uuid, org, name, subject, payload, metadata, depth, occurred_at, recorded_at) \
     VALUES (?1, 'acme', 'message.received', '+49151', ?2, '{}', 0, ?3, ?3)";
const EVENTS: &str = "SELECT seq, payload FROM event WHERE seq > ?1 ORDER BY seq LIMIT ?2";
const DELIVERY_NEW: &str =
    "INSERT INTO delivery VALUES (?1, ?2, 'routed', 1, ?3, ?4, NULL, 0, 0, NULL, NULL, NULL, NULL)";
const POSITION: &str = "UPDATE consumer SET position = ?2 WHERE id = ?1";
const FRONT: &str = "UPDATE front SET seq = ?1 WHERE one = 1";

/// Events per second until each has its jobs.
pub fn publish(
    path: &Path,
    durability: Durability,
    events: usize,
    a_commit: usize,
    consumers: usize,
    routed: usize,
) -> rusqlite::Result<f64> {
    let conn = create(path, durability, &[JOB, BUS])?;
    for consumer in 1..=consumers {
        run(&conn, "INSERT INTO consumer VALUES (?1, 0)", [consumer])?;
    }
    let from = now();
    record(&conn, events, a_commit)?;
    let mut seq = 0;
    while consumers > 0 && seq < events as i64 {
        run(&conn, "BEGIN IMMEDIATE", [])?;
        seq = route(&conn, seq, routed, consumers)?;
        run(&conn, "COMMIT", [])?;
    }
    let took = from.elapsed().as_secs_f64();
    assert_eq!(count(&conn, "event"), events);
    assert_eq!(count(&conn, "ready"), events * consumers);
    Ok(events as f64 / took)
}

/// Writes so many events, so many a commit.
pub fn record(conn: &Connection, events: usize, a_commit: usize) -> rusqlite::Result<()> {
    let payload = payload();
    let mut n = 0;
    while n < events {
        run(conn, "BEGIN IMMEDIATE", [])?;
        for _ in 0..a_commit.min(events - n) {
            run(conn, EVENT_NEW, params![uuid(n as i64), payload, NOW])?;
            n += 1;
        }
        run(conn, "COMMIT", [])?;
    }
    Ok(())
}

/// Makes the jobs of the next events of each consumer; the last event that has them.
pub fn route(
    conn: &Connection,
    after: i64,
    most: usize,
    consumers: usize,
) -> rusqlite::Result<i64> {
    let next: Vec<(i64, String)> = conn
        .prepare_cached(EVENTS)?
        .query_map(params![after, most], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<Result<_, _>>()?;
    let nothing: Option<i64> = None;
    let mut last = after;
    for (seq, payload) in next {
        for consumer in 1..=consumers as i64 {
            let id = uuid(seq * 8 + consumer);
            run(conn, JOB_NEW, params![id, nothing, NOW, seq, consumer, 0, payload])?;
            let job = conn.last_insert_rowid();
            run(conn, READY_NEW, [NOW, job])?;
            run(conn, DELIVERY_NEW, params![consumer, seq, NOW, job])?;
        }
        last = seq;
    }
    for consumer in 1..=consumers as i64 {
        run(conn, POSITION, [consumer, last])?;
    }
    run(conn, FRONT, [last])?;
    Ok(last)
}
