//! The jobs that reply to messages, what they meant to say, and their attempts at saying it.

use rusqlite::{Connection, Row};
use serde::Deserialize;
use uuid::Uuid;

use super::all;

// The origin as the ledger spells it: the delivery that the job was born of, else the job.
const TURNS: &str = "SELECT j.id, j.uuid, \
     CASE WHEN j.consumer IS NULL THEN 'j' || j.id \
       ELSE 'e' || j.source_event || '.c' || j.consumer || '.' || j.ordinal END, \
     j.payload, s.result, \
     f.state, f.reason, f.finished_at, coalesce(n.state <> 'resolved', 0), \
     (SELECT count(*) FROM lanebox_attempt a WHERE a.job = j.id AND a.ended = 'lost') \
     FROM lanebox_job j JOIN lanebox_kind k ON k.id = j.kind AND k.name = 'inbound_turn' \
     LEFT JOIN lanebox_step s ON s.job = j.id AND s.name = 'think' \
     LEFT JOIN lanebox_finished f ON f.id = j.id \
     LEFT JOIN lanebox_notice n ON n.id = f.notice ORDER BY j.id";
const TRIES: &str = "SELECT t.key, s.origin, s.seq, t.state, t.intended_at, \
     coalesce(n.state <> 'resolved', 0) \
     FROM lanebox_send_try t JOIN lanebox_send s ON s.id = t.send \
     LEFT JOIN lanebox_notice n ON n.id = t.notice";

/// One job of the kind `inbound_turn`.
#[derive(Debug, Clone)]
pub struct Turn {
    pub job: i64,
    pub id: Uuid,
    /// What its sends are known by.
    pub origin: String,
    /// The message that it replies to, and whose it is; `None` if its payload does not say.
    pub asked: Option<Asked>,
    /// The texts that its finished step recorded.
    pub bubbles: Option<Vec<String>>,
    /// `None` while it waits or runs.
    pub end: Option<TurnEnd>,
    /// How many of its runs vanished with their worker.
    pub losses: u64,
}

/// What its payload names.
#[derive(Debug, Clone, Deserialize)]
pub struct Asked {
    pub contact: String,
    pub message: String,
}

/// How it ended.
#[derive(Debug, Clone)]
pub struct TurnEnd {
    pub state: String,
    pub reason: Option<String>,
    pub at: i64,
    pub has_open_notice: bool,
}

/// One attempt at one send.
#[derive(Debug, Clone)]
pub struct Try {
    pub origin: String,
    /// The bubble, from 1; `None` for a send that has a name instead.
    pub bubble: Option<u32>,
    pub state: String,
    /// When its first intent was committed.
    pub intended_at: i64,
    pub has_open_notice: bool,
}

impl Try {
    /// A person was told that nobody knows whether it went out.
    pub fn is_unknown_to_a_person(&self) -> bool {
        self.state == "unknown" && self.has_open_notice
    }
}

pub fn turns(conn: &Connection) -> rusqlite::Result<Vec<Turn>> {
    all(conn, TURNS, |row| {
        let payload: Option<String> = row.get(3)?;
        let result: Option<String> = row.get(4)?;
        Ok(Turn {
            job: row.get(0)?,
            id: Uuid::from_bytes(row.get(1)?),
            origin: row.get(2)?,
            asked: payload.and_then(|payload| serde_json::from_str(&payload).ok()),
            bubbles: result.and_then(|result| bubbles(&result)),
            end: end(row)?,
            losses: row.get(9)?,
        })
    })
}

// A reply has a text or more: anything else is as if no step had finished.
fn bubbles(result: &str) -> Option<Vec<String>> {
    let texts: Option<Vec<String>> = serde_json::from_str(result).ok();
    texts.filter(|texts| !texts.is_empty())
}

fn end(row: &Row<'_>) -> rusqlite::Result<Option<TurnEnd>> {
    let Some(state) = row.get(5)? else {
        return Ok(None);
    };
    Ok(Some(TurnEnd { state, reason: row.get(6)?, at: row.get(7)?, has_open_notice: row.get(8)? }))
}

pub fn tries(conn: &Connection) -> rusqlite::Result<Vec<(Uuid, Try)>> {
    all(conn, TRIES, |row| {
        let attempt = Try {
            origin: row.get(1)?,
            bubble: row.get(2)?,
            state: row.get(3)?,
            intended_at: row.get(4)?,
            has_open_notice: row.get(5)?,
        };
        Ok((Uuid::from_bytes(row.get(0)?), attempt))
    })
}
