//! Jobs per second of the raw acceptance: one job a commit, or many.

use std::path::Path;

use super::super::clock::now;
use super::{Sync, accept, open, payload};

/// Jobs per second, in commits of `batch`.
pub fn enqueue(path: &Path, sync: Sync, jobs: usize, batch: usize) -> rusqlite::Result<f64> {
    let conn = open(path, sync)?;
    let payload = payload();
    let mut begin = conn.prepare("BEGIN IMMEDIATE")?;
    let mut commit = conn.prepare("COMMIT")?;
    let begun = now();
    for from in (0..jobs).step_by(batch) {
        begin.execute([])?;
        accept(&conn, from..jobs.min(from + batch), &payload)?;
        commit.execute([])?;
    }
    Ok(jobs as f64 / begun.elapsed().as_secs_f64())
}
