//! Events as people see them: a list, and one in full.

use rusqlite::{Connection, Row};

use super::super::event_row::text;
use super::jobs::id_of;
use super::query::{Query, one};
use super::span::{Span, Walked};
use crate::error::{Error, Result};
use crate::model::id::EventId;
use crate::store::people::{EventDetail, EventView, Filter, Page};

const TABLE: Walked = Walked {
    below: "SELECT seq FROM lanebox_event WHERE seq < ?1 ORDER BY seq DESC LIMIT 1",
    since: "SELECT seq FROM lanebox_event WHERE uuid >= ?1 ORDER BY uuid LIMIT 1",
};

/// States that a list of events can be narrowed to.
pub(crate) const STATES: [&str; 5] = ["unhandled", "pending", "done", "dead", "duplicate"];

pub(super) const HEAD: &str = "SELECT e.seq, e.uuid, e.org, e.name, e.entity_type, e.entity_id, e.subject, e.occurred_at, e.recorded_at, \
x.state, x.attempts, x.next_at FROM lanebox_event e CROSS JOIN lanebox_event_state x ON x.seq = e.seq";

/// Events, newest first.
pub(in super::super) fn events(conn: &Connection, filter: &Filter) -> Result<Page<EventView>> {
    filter.without("events", &["lane"])?;
    let limit = filter.rows()?;
    let state = filter.state_of(&STATES)?.map(str::to_owned);
    let span = Span::of(conn, &TABLE, filter)?;
    let query = Query::new(HEAD)
        .with("e.seq < ?", span.top)
        .with("e.seq >= ?", span.floor)
        .maybe("e.org = ?", filter.org.clone())
        .maybe("e.recorded_at >= ?", filter.since);
    let query = named(query, filter.kind.as_deref()).maybe("x.state = ?", state);
    let rows = query
        .rows(conn, " ORDER BY e.seq DESC", limit + 1, |row| Ok((row.get("seq")?, view(row)?)))?;
    Ok(span.page(rows, limit))
}

// `prefix.*` is every name that begins with `prefix.`; '/' is the character after '.'.
fn named(query: Query, name: Option<&str>) -> Query {
    match name.map(|name| (name, name.strip_suffix(".*"))) {
        None | Some(("*", _)) => query,
        Some((_, Some(prefix))) => {
            query.with("e.name >= ?", format!("{prefix}.")).with("e.name < ?", format!("{prefix}/"))
        }
        Some((name, None)) => query.with("e.name = ?", name.to_owned()),
    }
}

pub(super) fn view(row: &Row<'_>) -> rusqlite::Result<EventView> {
    let seq: i64 = row.get("seq")?;
    Ok(EventView {
        id: row.get("uuid")?,
        seq: seq.to_string(),
        org: text(row, "org")?.unwrap_or_default(),
        name: row.get("name")?,
        entity_type: text(row, "entity_type")?,
        entity_id: text(row, "entity_id")?,
        subject: text(row, "subject")?,
        state: row.get("state")?,
        attempts: row.get("attempts")?,
        next_at: row.get("next_at")?,
        occurred_at: row.get("occurred_at")?,
        recorded_at: row.get("recorded_at")?,
    })
}

/// The sequence number of an event that people know by its id.
pub(super) fn seq_of(conn: &Connection, id: EventId) -> Result<Option<i64>> {
    one(conn, "SELECT seq FROM lanebox_event WHERE uuid = ?1", [id], |row| row.get(0))
}

/// One event as in a list; none if its body is gone.
pub(super) fn by_seq(conn: &Connection, seq: i64) -> Result<Option<EventView>> {
    Ok(Query::new(HEAD).with("e.seq = ?", seq).rows(conn, "", 1, view)?.pop())
}

const WRITTEN: &str = "SELECT e.payload, e.metadata, e.dedupe_key, e.duplicate_of, e.cause_event, c.uuid, e.cause_job, e.depth \
FROM lanebox_event e LEFT JOIN lanebox_event c ON c.seq = e.cause_event WHERE e.seq = ?1";

/// One event in full.
pub(in super::super) fn event(conn: &Connection, id: EventId) -> Result<EventDetail> {
    let unknown = || Error::NotFound { what: "event", id: id.to_string() };
    let seq = seq_of(conn, id)?.ok_or_else(unknown)?;
    let event = by_seq(conn, seq)?.ok_or_else(unknown)?;
    let cause = "SELECT cause_job FROM lanebox_event WHERE seq = ?1";
    let cause_job: Option<i64> = one(conn, cause, [seq], |row| row.get(0))?.flatten();
    let cause_job = cause_job.map(|no| id_of(conn, no)).transpose()?.flatten();
    let detail = one(conn, WRITTEN, [seq], |row| {
        let (number, cause): (Option<i64>, Option<EventId>) = (row.get(4)?, row.get(5)?);
        Ok(EventDetail {
            event,
            payload: text(row, 0)?,
            metadata: text(row, 1)?,
            dedupe_key: text(row, 2)?,
            duplicate_of: row.get(3)?,
            // What is left of a cause whose body is gone is its number.
            cause_event: cause.map(|id| id.to_string()).or(number.map(|seq| seq.to_string())),
            cause_job,
            depth: row.get(7)?,
        })
    })?;
    detail.ok_or_else(unknown)
}
