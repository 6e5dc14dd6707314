//! The floor of the whole way of an event: each commit ends the last batch, routes the next and
//! claims it.

use std::path::Path;

use lanebox::Durability;

use super::laned::{claim, end};
use super::publish::{BUS, record, route};
use super::{JOB, RUN, count, create, run};
use crate::workload::now;

/// Events per second from a log of so many until their jobs are done.
pub fn chain(
    path: &Path,
    durability: Durability,
    events: usize,
    batch: usize,
) -> rusqlite::Result<f64> {
    let conn = create(path, durability, &[JOB, RUN, BUS])?;
    run(&conn, "INSERT INTO consumer VALUES (1, 0)", [])?;
    record(&conn, events, 1_000)?;
    let (mut held, mut token, mut seq) = (Vec::new(), 0, 0);
    let from = now();
    loop {
        run(&conn, "BEGIN IMMEDIATE", [])?;
        end(&conn, &mut held)?;
        seq = route(&conn, seq, batch, 1)?;
        claim(&conn, &mut held, &mut token, batch)?;
        run(&conn, "COMMIT", [])?;
        if held.is_empty() {
            break;
        }
    }
    let took = from.elapsed().as_secs_f64();
    assert_eq!(count(&conn, "finished"), events);
    Ok(events as f64 / took)
}
