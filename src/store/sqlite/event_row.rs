//! An event as it was recorded, for routes and handlers.

use std::sync::{Arc, OnceLock};

use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension, Row, RowIndex};

use crate::error::Result;
use crate::model::event::Event;
use crate::model::id::{EventId, EventSeq};

const EVENT_GET: &str = "SELECT uuid, org, name, entity_type, entity_id, subject, payload, metadata, cause_event, depth, occurred_at, recorded_at \
     FROM lanebox_event WHERE seq = ?1 AND payload IS NOT NULL";

/// The event of this number, under its own id or else this one; `None` if it was forgotten.
pub(super) fn event(conn: &Connection, seq: EventSeq, id: EventId) -> Result<Option<Arc<Event>>> {
    let mut get = conn.prepare_cached(EVENT_GET)?;
    Ok(get.query_row([seq], |row| read(row, seq, id)).optional()?.map(Arc::new))
}

fn read(row: &Row<'_>, seq: EventSeq, id: EventId) -> rusqlite::Result<Event> {
    Ok(Event {
        id: row.get::<_, Option<EventId>>(0)?.unwrap_or(id),
        seq,
        org: text(row, 1)?.unwrap_or_default(),
        name: text(row, 2)?.unwrap_or_default(),
        entity: text(row, 3)?.zip(text(row, 4)?),
        subject: text(row, 5)?,
        payload: text(row, 6)?.unwrap_or_default(),
        metadata: text(row, 7)?.unwrap_or_default(),
        cause: row.get(8)?,
        depth: row.get(9)?,
        occurred_at: row.get(10)?,
        recorded_at: row.get(11)?,
        parsed: OnceLock::new(),
    })
}

/// A text that another program may have written: what is not UTF-8 in it reads as replacement
/// characters, so that one such event stops nothing.
pub(super) fn text(row: &Row<'_>, i: impl RowIndex) -> rusqlite::Result<Option<String>> {
    Ok(match row.get_ref(i)? {
        ValueRef::Text(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
        _ => None,
    })
}
