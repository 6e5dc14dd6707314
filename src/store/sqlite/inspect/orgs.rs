//! Whether anything in the file is of an org: orgs need no registration, so a misspelt one is not
//! refused anywhere.

use rusqlite::{Connection, params};

use super::query::one;
use super::trace::LOOKED_AT;
use crate::error::Result;

const NAMED: &str = "SELECT EXISTS (SELECT 1 FROM lanebox_org WHERE name = ?1) OR EXISTS (SELECT 1 FROM lanebox_event_key WHERE org = ?1)";
// An event alone names its org nowhere else.
const OF_EVENTS: &str = "SELECT 1 FROM lanebox_event \
WHERE seq > (SELECT coalesce(max(seq), 0) - ?2 FROM lanebox_event) AND org = ?1 LIMIT 1";

/// Looks at the newest events only.
pub(in super::super) fn has_org(conn: &Connection, name: &str) -> Result<bool> {
    if one(conn, NAMED, [name], |row| row.get(0))?.unwrap_or(false) {
        return Ok(true);
    }
    Ok(one(conn, OF_EVENTS, params![name, LOOKED_AT], |_| Ok(()))?.is_some())
}
