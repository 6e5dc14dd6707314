//! What people did to a job, a send or a notice, from the append-only record.

use rusqlite::{Connection, params};

use super::query::all;
use crate::error::Result;
use crate::store::people::AuditView;

const ABOUT: &str = "SELECT at, who, verb, detail FROM lanebox_audit WHERE ref_kind = ?1 AND ref_id = ?2 ORDER BY id LIMIT 1000";

/// Oldest first; `id` is what the commands know it by.
pub(super) fn audited(
    conn: &Connection,
    about: &'static str,
    no: i64,
    id: &str,
) -> Result<Vec<AuditView>> {
    all(conn, ABOUT, params![about, no], |row| {
        Ok(AuditView {
            at: row.get(0)?,
            who: row.get(1)?,
            verb: row.get(2)?,
            about: about.to_owned(),
            about_id: id.to_owned(),
            detail: row.get(3)?,
        })
    })
}
