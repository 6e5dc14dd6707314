//! Jobs as people see them: a row of a list, and one in full.

use rusqlite::{Connection, Row};

use super::attempts::history;
use super::explain::explain_row;
use super::query::{Query, all, one};
use super::sends::sends_of;
use crate::error::{Error, Result};
use crate::model::id::JobId;
use crate::store::people::{JobDetail, JobView, StepView};

/// States and places that a list of jobs can be narrowed to.
pub(crate) const STATES: [&str; 11] = [
    "pending",
    "scheduled",
    "queued",
    "ready",
    "backing_off",
    "waiting_for_send",
    "parked",
    "running",
    "done",
    "dead",
    "cancelled",
];

// A join by the whole key of each narrow table: every one is a seek. A new row's place follows from
// where it is found.
pub(super) const COLUMNS: &str = "SELECT j.id, j.uuid, o.name AS org, k.name AS kind, l.name AS lane, j.lane AS lane_no, j.subject, j.priority, \
  coalesce(t.run_at, j.run_at) AS due_at, \
  CASE WHEN f.id IS NOT NULL THEN f.state WHEN r.id IS NOT NULL THEN 'running' ELSE 'pending' END AS job_state, \
  CASE WHEN f.id IS NOT NULL OR r.id IS NOT NULL THEN NULL \
    WHEN t.phase = 'unknown' THEN 'waiting_for_send' WHEN t.phase = 'parked' THEN 'parked' WHEN y.id IS NOT NULL THEN 'ready' \
    WHEN s.id IS NULL THEN 'queued' \
    WHEN (SELECT a.ended FROM lanebox_attempt a WHERE a.job = j.id ORDER BY a.token DESC LIMIT 1) = 'failed' THEN 'backing_off' \
    ELSE 'scheduled' END AS place, \
  coalesce(r.attempts, t.attempts, f.attempts, 0) AS attempts, j.max_attempts, coalesce(r.lost, t.lost, f.lost, 0) AS lost, \
  coalesce(r.series, t.series, f.series, 1) AS series, j.created_at, coalesce(r.started_at, f.started_at) AS started_at, \
  f.finished_at, f.reason, coalesce(t.error, f.error) AS error, t.waits_send ";
/// Every job, whatever became of it.
pub(super) const OF_ALL: &str = "FROM lanebox_job j LEFT JOIN lanebox_finished f ON f.id = j.id";
// What tells a state stands before what only names the row: a walk passes rows of others early.
pub(super) const JOINS: &str = " LEFT JOIN lanebox_running r ON r.id = j.id LEFT JOIN lanebox_tried t ON t.id = j.id \
LEFT JOIN lanebox_scheduled s ON s.run_at = coalesce(t.run_at, j.run_at) AND s.id = j.id \
LEFT JOIN lanebox_ready y ON y.alone = (coalesce(t.lost, 0) >= 2) AND y.kind = j.kind AND y.org = j.org \
  AND y.priority = j.priority AND y.run_at = coalesce(t.run_at, j.run_at) AND y.id = j.id \
CROSS JOIN lanebox_org o ON o.id = j.org CROSS JOIN lanebox_kind k ON k.id = j.kind \
LEFT JOIN lanebox_lane l ON l.id = j.lane";

pub(super) fn numbered(row: &Row<'_>) -> rusqlite::Result<(i64, JobView)> {
    Ok((row.get("id")?, view(row)?))
}

pub(super) fn view(row: &Row<'_>) -> rusqlite::Result<JobView> {
    Ok(JobView {
        id: row.get("uuid")?,
        org: row.get("org")?,
        kind: row.get("kind")?,
        state: row.get("job_state")?,
        place: row.get("place")?,
        lane: row.get("lane")?,
        lane_no: row.get::<_, Option<i64>>("lane_no")?.map(|no| no.to_string()),
        subject: row.get("subject")?,
        priority: row.get("priority")?,
        due_at: row.get("due_at")?,
        attempts: row.get("attempts")?,
        max_attempts: row.get("max_attempts")?,
        lost: row.get("lost")?,
        series: row.get("series")?,
        created_at: row.get("created_at")?,
        started_at: row.get("started_at")?,
        finished_at: row.get("finished_at")?,
        reason: row.get("reason")?,
        error: row.get("error")?,
        waits_send: row.get::<_, Option<i64>>("waits_send")?.map(|no| no.to_string()),
    })
}

/// The row number of a job that people know by its id.
pub(super) fn number_of(conn: &Connection, id: JobId) -> Result<i64> {
    let found = one(conn, "SELECT id FROM lanebox_job WHERE uuid = ?1", [id], |row| row.get(0))?;
    found.ok_or_else(|| Error::NotFound { what: "job", id: id.to_string() })
}

/// The id that people know a job by.
pub(super) fn id_of(conn: &Connection, no: i64) -> Result<Option<JobId>> {
    one(conn, "SELECT uuid FROM lanebox_job WHERE id = ?1", [no], |row| row.get(0))
}

/// One job as in a list.
pub(super) fn by_number(conn: &Connection, no: i64) -> Result<JobView> {
    let found =
        Query::of(&[COLUMNS, OF_ALL, JOINS]).with("j.id = ?", no).rows(conn, "", 1, view)?;
    found.into_iter().next().ok_or_else(|| Error::NotFound { what: "job", id: no.to_string() })
}

const WRITTEN: &str = "SELECT j.payload, j.version, j.expires_at, e.uuid, c.key, x.result, r.progress \
FROM lanebox_job j LEFT JOIN lanebox_event e ON e.seq = j.source_event LEFT JOIN lanebox_consumer c ON c.id = j.consumer \
LEFT JOIN lanebox_result x ON x.job = j.id LEFT JOIN lanebox_running r ON r.id = j.id WHERE j.id = ?1";
const STEPS: &str =
    "SELECT name, finished_at, token FROM lanebox_step WHERE job = ?1 ORDER BY finished_at, name";

/// One job in full.
pub(in super::super) fn job(conn: &Connection, id: JobId) -> Result<JobDetail> {
    let no = number_of(conn, id)?;
    let steps = all(conn, STEPS, [no], |row| {
        let token: i64 = row.get(2)?;
        Ok(StepView { name: row.get(0)?, finished_at: row.get(1)?, token: token.to_string() })
    })?;
    let (job, explanation) = (by_number(conn, no)?, explain_row(conn, no)?);
    let (history, sends) = (history(conn, no)?, sends_of(conn, no)?);
    let detail = one(conn, WRITTEN, [no], |row| {
        Ok(JobDetail {
            job,
            explanation,
            payload: row.get(0)?,
            version: row.get(1)?,
            expires_at: row.get(2)?,
            source_event: row.get(3)?,
            consumer: row.get(4)?,
            result: row.get(5)?,
            progress: row.get(6)?,
            steps,
            history,
            sends,
        })
    })?;
    detail.ok_or_else(|| Error::NotFound { what: "job", id: id.to_string() })
}
