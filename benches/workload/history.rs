//! Files that have grown: many jobs that wait, many that have ended.

use std::path::Path;

use lanebox::{Durability, Lane, Lanebox, NewEvent, NewJob};
use rusqlite::{Connection, params};

use super::{engine, payload};

const ENDED: &str = "INSERT INTO lanebox_finished(id, state, finished_at, started_at, token, process, series, attempts, lost) \
     SELECT id, 'done', created_at, created_at, 1, 1, 1, 1, 0 FROM lanebox_job WHERE kind = ?1";
const UNREADY: &str = "DELETE FROM lanebox_ready WHERE kind = ?1";
const KIND: &str = "SELECT id FROM lanebox_kind WHERE name = 'past'";

/// A job that waits, as half of them do in a lane of ten.
fn waiting(i: usize) -> NewJob {
    let lane = if i.is_multiple_of(2) { Lane::NONE } else { Lane::of(format!("lane {}", i / 20)) };
    NewJob::raw("noop", payload(), lane).org("acme")
}

/// Makes a file with so many jobs of the kind `noop` that wait, and so many others that are done,
/// each of an event of its own if wanted. It is flushed once at the end only.
pub fn fill(path: &Path, pending: usize, finished: usize, events: usize) {
    let lanebox =
        Lanebox::builder(path).durability(Durability::Relaxed).open().expect("a new file");
    let past = |_| NewJob::raw("past", payload(), Lane::NONE).org("acme");
    engine::enqueue(&lanebox, finished, past);
    for from in (0..events).step_by(1_000) {
        let some = (from..events.min(from + 1_000)).map(event).collect();
        let _ids = lanebox.publish_all(some).expect("recorded");
    }
    engine::enqueue(&lanebox, pending, waiting);
    drop(lanebox);
    let conn = Connection::open(path).expect("the same file");
    let kind: i64 = conn.query_row(KIND, [], |row| row.get(0)).expect("the kind of the past");
    conn.execute_batch("BEGIN IMMEDIATE").expect("begun");
    assert_eq!(conn.execute(ENDED, params![kind]).expect("ended"), finished);
    assert_eq!(conn.execute(UNREADY, params![kind]).expect("not ready"), finished);
    conn.execute_batch("COMMIT; PRAGMA wal_checkpoint(TRUNCATE)").expect("committed");
}

fn event(i: usize) -> NewEvent {
    NewEvent::new("acme", "message.received")
        .entity("message", i)
        .subject(format!("+49{i}"))
        .payload_json(payload())
}
