//! Sends as people see them: a list, and one in full. Recipients are masked in the file already.

use rusqlite::{Connection, Row};

use super::query::{Query, all, one};
use super::span::{Span, Walked, page_of};
use crate::error::{Error, Result};
use crate::model::id::SendKey;
use crate::store::people::{Filter, Page, SendDetail, SendView, TryView};

const TABLE: Walked = Walked {
    below: "SELECT id FROM lanebox_send WHERE id < ?1 ORDER BY id DESC LIMIT 1",
    since: "SELECT send FROM lanebox_send_try WHERE key >= ?1 ORDER BY key LIMIT 1",
};

/// States that a list of sends can be narrowed to.
pub(crate) const STATES: [&str; 6] =
    ["intended", "unknown", "accepted", "rejected", "abandoned", "duplicate"];

const HEAD: &str = "SELECT s.id, o.name AS org, s.seq, s.name, c.name AS channel, t.recipient_mask, t.state AS state, t.n AS tries, \
  j.uuid AS job, s.order_by, t.intended_at, t.ended_at, t.wait_until, t.receipt, t.reason, t.notice \
FROM lanebox_send s CROSS JOIN lanebox_org o ON o.id = s.org \
CROSS JOIN lanebox_send_try t ON t.send = s.id AND t.n = (SELECT max(m.n) FROM lanebox_send_try m WHERE m.send = s.id) \
CROSS JOIN lanebox_channel c ON c.id = t.channel \
LEFT JOIN lanebox_job j ON j.id = t.job LEFT JOIN lanebox_lane l ON l.id = j.lane";

const UNDECIDED: &str =
    "s.id IN (SELECT send FROM lanebox_send_try WHERE state IN ('intended', 'unknown'))";
const FIRST_INTENDED: &str =
    "(SELECT a.intended_at FROM lanebox_send_try a WHERE a.send = s.id AND a.n = 1) >= ?";

/// Sends, newest first.
pub(in super::super) fn sends(conn: &Connection, filter: &Filter) -> Result<Page<SendView>> {
    let limit = filter.rows()?;
    let state = filter.state_of(&STATES)?;
    let query = Query::new(HEAD)
        .maybe("c.name = ?", filter.kind.clone())
        .maybe("o.name = ?", filter.org.clone())
        .maybe("l.name = ?", filter.lane.clone())
        .maybe("j.lane = ?", filter.lane_number()?)
        .maybe(FIRST_INTENDED, filter.since)
        .maybe("t.state = ?", state.map(str::to_owned));
    const NEWEST: &str = " ORDER BY s.id DESC";
    let numbered = |row: &Row<'_>| Ok((row.get("id")?, view(row)?));
    if let Some("intended" | "unknown") = state {
        let below = filter.cursor()?.unwrap_or(i64::MAX);
        let query = query.only(UNDECIDED).with("+s.id < ?", below);
        return Ok(page_of(query.rows(conn, NEWEST, limit + 1, numbered)?, limit));
    }
    let span = Span::of(conn, &TABLE, filter)?;
    let query = query.with("s.id < ?", span.top).with("s.id >= ?", span.floor);
    Ok(span.page(query.rows(conn, NEWEST, limit + 1, numbered)?, limit))
}

fn view(row: &Row<'_>) -> rusqlite::Result<SendView> {
    let (id, notice): (i64, Option<i64>) = (row.get("id")?, row.get("notice")?);
    Ok(SendView {
        id: id.to_string(),
        org: row.get("org")?,
        seq: row.get("seq")?,
        name: row.get("name")?,
        channel: row.get("channel")?,
        recipient: row.get("recipient_mask")?,
        state: row.get("state")?,
        tries: row.get("tries")?,
        job: row.get("job")?,
        order_by: row.get("order_by")?,
        intended_at: row.get("intended_at")?,
        ended_at: row.get("ended_at")?,
        wait_until: row.get("wait_until")?,
        receipt: row.get("receipt")?,
        reason: row.get("reason")?,
        notice: notice.map(|no| no.to_string()),
    })
}

// What the sends of a job are known by: the delivery that it was born of, else the job itself.
const ORIGIN: &str = "SELECT CASE WHEN consumer IS NULL THEN 'j' || id ELSE 'e' || source_event || '.c' || consumer || '.' || ordinal END \
FROM lanebox_job WHERE id = ?1";

/// The sends of a job, in their order.
pub(super) fn sends_of(conn: &Connection, job: i64) -> Result<Vec<SendView>> {
    let origin: Option<String> = one(conn, ORIGIN, [job], |row| row.get(0))?;
    Query::new(HEAD).maybe("s.origin = ?", origin).rows(conn, " ORDER BY s.id", 1_000, view)
}

/// The send of a try's key.
pub(super) fn of_key(conn: &Connection, key: SendKey) -> Result<Option<i64>> {
    one(conn, "SELECT send FROM lanebox_send_try WHERE key = ?1", [key], |row| row.get(0))
}

/// The job that made the newest try of a send, by its row.
pub(super) fn job_of(conn: &Connection, send: i64) -> Result<Option<i64>> {
    let sql = "SELECT job FROM lanebox_send_try WHERE send = ?1 ORDER BY n DESC LIMIT 1";
    one(conn, sql, [send], |row| row.get(0))
}

const TRIES: &str = "SELECT n, key, state, calls, after, ordered_by, intended_at, ended_at, next_look, receipt, class, reason, how, settled_by \
FROM lanebox_send_try WHERE send = ?1 ORDER BY n";

/// The tries of a send, oldest first.
pub(super) fn tries(conn: &Connection, send: i64) -> Result<Vec<TryView>> {
    all(conn, TRIES, [send], |row| {
        Ok(TryView {
            n: row.get(0)?,
            key: row.get(1)?,
            state: row.get(2)?,
            calls: row.get(3)?,
            after: row.get(4)?,
            ordered_by: row.get(5)?,
            intended_at: row.get(6)?,
            ended_at: row.get(7)?,
            next_look: row.get(8)?,
            receipt: row.get(9)?,
            class: row.get(10)?,
            reason: row.get(11)?,
            how: row.get(12)?,
            settled_by: row.get(13)?,
        })
    })
}

/// One send in full.
pub(in super::super) fn send(conn: &Connection, id: i64) -> Result<SendDetail> {
    let unknown = || Error::NotFound { what: "send", id: id.to_string() };
    let found = Query::new(HEAD).with("s.id = ?", id).rows(conn, "", 1, view)?;
    let send = found.into_iter().next().ok_or_else(unknown)?;
    let history = tries(conn, id)?;
    let origin = "SELECT origin, orders FROM lanebox_send WHERE id = ?1";
    let detail = one(conn, origin, [id], |row| {
        Ok(SendDetail { send, origin: row.get(0)?, orders: row.get(1)?, history })
    })?;
    detail.ok_or_else(unknown)
}
