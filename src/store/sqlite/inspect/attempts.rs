//! The attempts at a job, from the three places that remember them.

use rusqlite::Connection;

use super::query::all;
use crate::error::Result;
use crate::store::people::AttemptView;

// Attempts that did not end the job; the one that did; the one under way.
const HISTORY: &str = "SELECT token, series, n, process, started_at, ended_at, ended, error FROM lanebox_attempt WHERE job = ?1 \
UNION ALL SELECT token, series, attempts, process, started_at, finished_at, state, error FROM lanebox_finished WHERE id = ?1 AND token IS NOT NULL \
UNION ALL SELECT token, series, attempts, process, started_at, NULL, 'running', NULL FROM lanebox_running WHERE id = ?1 \
ORDER BY token";

/// Oldest first.
pub(super) fn history(conn: &Connection, job: i64) -> Result<Vec<AttemptView>> {
    all(conn, HISTORY, [job], |row| {
        let (token, process): (i64, i64) = (row.get(0)?, row.get(3)?);
        Ok(AttemptView {
            token: token.to_string(),
            series: row.get(1)?,
            n: row.get(2)?,
            process: process.to_string(),
            started_at: row.get(4)?,
            ended_at: row.get(5)?,
            ended: row.get(6)?,
            error: row.get(7)?,
        })
    })
}
