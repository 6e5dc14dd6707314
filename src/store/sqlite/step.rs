//! What a handler finished once and does not do again, and how far it is.

use rusqlite::{Connection, OptionalExtension, params};

use super::tx::Tx;
use crate::error::Result;
use crate::model::id::{Held, JobNo};
use crate::store::jobs::Stepped;

const STEP_GET: &str = "SELECT result FROM lanebox_step WHERE job = ?1 AND name = ?2";
// Only who holds the job may say what a step of it answered.
const STEP_SET: &str = "INSERT INTO lanebox_step(job, name, result, finished_at, token) \
     SELECT ?1, ?2, ?3, ?4, ?5 WHERE EXISTS (SELECT 1 FROM lanebox_running WHERE id = ?1 AND token = ?5) \
     ON CONFLICT(job, name) DO NOTHING";
const STEP_HELD: &str = "SELECT 1 FROM lanebox_running WHERE id = ?1 AND token = ?2";
const PROGRESS: &str = "UPDATE lanebox_running SET progress = ?3 WHERE id = ?1 AND token = ?2";

/// What a finished step answered.
pub(super) fn result(conn: &Connection, job: JobNo, name: &str) -> Result<Option<String>> {
    let mut statement = conn.prepare_cached(STEP_GET)?;
    Ok(statement.query_row(params![job, name], |row| row.get(0)).optional()?)
}

/// Remembers a finished step; the first answer stands.
pub(super) fn finish(tx: &Tx<'_>, held: Held, name: &str, result: &str) -> Result<Stepped> {
    tx.run(STEP_SET, params![held.job, name, result, tx.now, held.token])?;
    let held = tx.has(STEP_HELD, params![held.job, held.token])?;
    Ok(if held { Stepped::Kept } else { Stepped::LeaseLost })
}

/// Remembers how far a run is.
pub(super) fn progress(tx: &Tx<'_>, held: Held, line: &str) -> Result<()> {
    tx.run(PROGRESS, params![held.job, held.token, line])?;
    Ok(())
}
