//! The floor of a drain by lanes: a claim takes the heads of lanes, an end lets the next one of its
//! lane forward.

use std::path::Path;

use lanebox::Durability;
use rusqlite::{Connection, params};

use super::{
    COUNTER_SET, FINISHED_NEW, JOB, JOB_NEW, NOW, READY_DEL, READY_NEW, READY_PICK, RUN,
    RUNNING_DEL, RUNNING_NEW, count, create, run, uuid,
};
use crate::workload::{now, payload};

const OPEN_NEW: &str = "INSERT INTO open VALUES (?1, 500, ?2, ?3, 1)";
const OPEN_DEL: &str =
    "DELETE FROM open WHERE lane = ?1 AND priority = 500 AND run_at = ?2 AND id = ?3";
const NEXT: &str = "INSERT INTO ready SELECT 0, kind, 2, priority, run_at, id FROM open WHERE lane = ?1 ORDER BY priority, run_at, id LIMIT 1";
const READ: &str = "SELECT lane, payload FROM job WHERE id = ?1";

/// A job that runs.
pub struct Held {
    pub id: i64,
    pub token: i64,
    pub lane: Option<i64>,
}

/// Jobs per second of a drain that ends the last batch, takes the next and commits; job `i` stands
/// in lane `i % lanes`.
pub fn drain(
    path: &Path,
    durability: Durability,
    jobs: usize,
    lanes: usize,
    batch: usize,
) -> rusqlite::Result<f64> {
    let conn = create(path, durability, &[JOB, RUN])?;
    fill(&conn, jobs, lanes)?;
    let (mut held, mut token) = (Vec::new(), 0);
    let from = now();
    loop {
        run(&conn, "BEGIN IMMEDIATE", [])?;
        end(&conn, &mut held)?;
        claim(&conn, &mut held, &mut token, batch)?;
        run(&conn, "COMMIT", [])?;
        if held.is_empty() {
            break;
        }
    }
    let took = from.elapsed().as_secs_f64();
    assert_eq!(count(&conn, "finished"), jobs);
    Ok(jobs as f64 / took)
}

/// So many jobs that wait.
pub fn fill(conn: &Connection, jobs: usize, lanes: usize) -> rusqlite::Result<()> {
    let (payload, nothing): (_, Option<i64>) = (payload(), None);
    run(conn, "BEGIN IMMEDIATE", [])?;
    for i in 0..jobs {
        let lane = (i % lanes) as i64;
        let row = params![uuid(i as i64), lane, NOW, nothing, nothing, nothing, payload];
        run(conn, JOB_NEW, row)?;
        let id = conn.last_insert_rowid();
        run(conn, OPEN_NEW, params![lane, NOW, id])?;
        if i < lanes {
            run(conn, READY_NEW, params![NOW, id])?;
        }
    }
    run(conn, "COMMIT", [])
}

/// What is held ends as done; the next of each lane comes forward.
pub fn end(conn: &Connection, held: &mut Vec<Held>) -> rusqlite::Result<()> {
    let mut stop = conn.prepare_cached(RUNNING_DEL)?;
    let mut finish = conn.prepare_cached(FINISHED_NEW)?;
    let mut next = conn.prepare_cached(NEXT)?;
    for Held { id, token, lane } in held.drain(..) {
        stop.execute([id, token])?;
        finish.execute([id, NOW, token])?;
        if let Some(lane) = lane {
            next.execute([lane])?;
        }
    }
    Ok(())
}

/// Takes up to a batch of what is ready.
pub fn claim(
    conn: &Connection,
    held: &mut Vec<Held>,
    token: &mut i64,
    batch: usize,
) -> rusqlite::Result<()> {
    let mut pick = conn.prepare_cached(READY_PICK)?;
    let heads: Vec<(i64, i64)> =
        pick.query_map([batch], |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<Result<_, _>>()?;
    let mut unready = conn.prepare_cached(READY_DEL)?;
    let mut begin = conn.prepare_cached(RUNNING_NEW)?;
    let mut read = conn.prepare_cached(READ)?;
    let mut leave = conn.prepare_cached(OPEN_DEL)?;
    for (run_at, id) in heads {
        let (lane, _payload): (Option<i64>, String) =
            read.query_row([id], |row| Ok((row.get(0)?, row.get(1)?)))?;
        unready.execute([run_at, id])?;
        *token += 1;
        begin.execute(params![id, lane, run_at, *token])?;
        if let Some(lane) = lane {
            leave.execute([lane, run_at, id])?;
        }
        held.push(Held { id, token: *token, lane });
    }
    run(conn, COUNTER_SET, [*token])
}
