//! Notices as people see them. What nobody has resolved is found without a walk over what was.

use rusqlite::{Connection, Row};

use super::query::Query;
use super::span::{Span, Walked, page_of};
use crate::error::{Error, Result};
use crate::model::id::{EventId, JobId};
use crate::store::people::{Filter, NoticeView, Page};

const TABLE: Walked = Walked {
    below: "SELECT id FROM lanebox_notice WHERE id < ?1 ORDER BY id DESC LIMIT 1",
    // Notices have no key with a time in it; they are few, because equal ones are counted.
    since: "SELECT id FROM lanebox_notice WHERE ?1 IS NOT NULL ORDER BY id LIMIT 1",
};

/// States that a list of notices can be narrowed to; without one it shows what is not resolved.
pub(crate) const STATES: [&str; 4] = ["open", "acknowledged", "resolved", "all"];

const HEAD: &str = "SELECT n.id, o.name AS org, n.kind, n.severity, n.state, n.reason, n.next_step, n.count, n.ref_kind, n.ref_id, \
  CASE n.ref_kind WHEN 'job' THEN (SELECT j.uuid FROM lanebox_job j WHERE j.id = n.ref_id) \
    WHEN 'event' THEN (SELECT e.uuid FROM lanebox_event e WHERE e.seq = n.ref_id) END AS ref_uuid, \
  CASE n.ref_kind WHEN 'consumer' THEN (SELECT c.key FROM lanebox_consumer c WHERE c.id = n.ref_id) \
    WHEN 'kind' THEN (SELECT k.name FROM lanebox_kind k WHERE k.id = n.ref_id) \
    WHEN 'lane' THEN (SELECT l.name FROM lanebox_lane l WHERE l.id = n.ref_id) \
    WHEN 'channel' THEN (SELECT c.name FROM lanebox_channel c WHERE c.id = n.ref_id) END AS ref_name, \
  n.first_at, n.last_at, n.resolved_at, n.resolved_by \
FROM lanebox_notice n CROSS JOIN lanebox_org o ON o.id = n.org";

const UNRESOLVED: &str = "n.id IN (SELECT id FROM lanebox_notice WHERE state <> 'resolved')";

/// Notices, newest first.
pub(in super::super) fn notices(conn: &Connection, filter: &Filter) -> Result<Page<NoticeView>> {
    filter.without("notices", &["lane"])?;
    let limit = filter.rows()?;
    let state = filter.state_of(&STATES)?;
    let query = Query::new(HEAD)
        .maybe("n.kind = ?", filter.kind.clone())
        .maybe("o.name = ?", filter.org.clone())
        .maybe("n.last_at >= ?", filter.since)
        .maybe("n.state = ?", state.filter(|&state| state != "all").map(str::to_owned));
    const NEWEST: &str = " ORDER BY n.id DESC";
    let numbered = |row: &Row<'_>| Ok((row.get("id")?, view(row)?));
    if let None | Some("open" | "acknowledged") = state {
        let below = filter.cursor()?.unwrap_or(i64::MAX);
        let query = query.only(UNRESOLVED).with("+n.id < ?", below);
        return Ok(page_of(query.rows(conn, NEWEST, limit + 1, numbered)?, limit));
    }
    let span = Span::of(conn, &TABLE, filter)?;
    let query = query.with("n.id < ?", span.top).with("n.id >= ?", span.floor);
    Ok(span.page(query.rows(conn, NEWEST, limit + 1, numbered)?, limit))
}

/// One notice.
pub(in super::super) fn notice(conn: &Connection, id: i64) -> Result<NoticeView> {
    let found = by_number(conn, id)?;
    found.ok_or_else(|| Error::NotFound { what: "notice", id: id.to_string() })
}

pub(super) fn by_number(conn: &Connection, id: i64) -> Result<Option<NoticeView>> {
    Ok(Query::new(HEAD).with("n.id = ?", id).rows(conn, "", 1, view)?.pop())
}

fn view(row: &Row<'_>) -> rusqlite::Result<NoticeView> {
    let id: i64 = row.get("id")?;
    Ok(NoticeView {
        id: id.to_string(),
        org: row.get("org")?,
        kind: row.get("kind")?,
        severity: row.get("severity")?,
        state: row.get("state")?,
        reason: row.get("reason")?,
        next_step: row.get("next_step")?,
        count: row.get("count")?,
        about: row.get("ref_kind")?,
        about_id: about(row)?,
        first_at: row.get("first_at")?,
        last_at: row.get("last_at")?,
        resolved_at: row.get("resolved_at")?,
        resolved_by: row.get("resolved_by")?,
    })
}

// The id that the commands take: that of a job or event, a key or name, a send's number.
fn about(row: &Row<'_>) -> rusqlite::Result<Option<String>> {
    let kind: Option<String> = row.get("ref_kind")?;
    let number = || Ok(row.get::<_, Option<i64>>("ref_id")?.map(|no| no.to_string()));
    match kind.as_deref() {
        Some("job") => {
            Ok(row.get::<_, Option<JobId>>("ref_uuid")?.map(|id| id.to_string()).or(number()?))
        }
        Some("event") => {
            Ok(row.get::<_, Option<EventId>>("ref_uuid")?.map(|id| id.to_string()).or(number()?))
        }
        Some("consumer" | "kind" | "lane" | "channel") => row.get("ref_name"),
        _ => number(),
    }
}
