//! Nobody else's triggers, columns or indexes on our tables, and all of our own: the file's schema
//! is compared with ours, statement by statement.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::OnceLock;

use rusqlite::Connection;

use super::migrate::STEPS;
use crate::error::{Error, Result};

const OURS: &str = "SELECT type, name, tbl_name, coalesce(sql, '') FROM sqlite_schema \
     WHERE tbl_name LIKE 'lanebox\\_%' ESCAPE '\\' OR name LIKE 'lanebox\\_%' ESCAPE '\\'";

/// What a schema says of our tables: (type, name) to (table, statement).
type Schema = BTreeMap<(String, String), (String, String)>;

/// Refuses what others put on our tables, and a file that lacks one of ours.
pub(super) fn check(conn: &Connection, path: &Path) -> Result<()> {
    let found = schema(conn)?;
    match difference(expected()?, &found) {
        None => Ok(()),
        Some(why) => Err(Error::unusable(path, why)),
    }
}

/// Whether there is anything that bears our name.
pub(super) fn any(conn: &Connection) -> Result<bool> {
    Ok(!schema(conn)?.is_empty())
}

// Made once for a process, in memory.
fn expected() -> Result<&'static Schema> {
    static EXPECTED: OnceLock<Schema> = OnceLock::new();
    if let Some(made) = EXPECTED.get() {
        return Ok(made);
    }
    let conn = Connection::open_in_memory()?;
    STEPS.iter().try_for_each(|step| conn.execute_batch(step))?;
    let made = schema(&conn)?;
    Ok(EXPECTED.get_or_init(|| made))
}

fn schema(conn: &Connection) -> Result<Schema> {
    let mut statement = conn.prepare(OURS)?;
    let rows = statement
        .query_map([], |row| Ok(((row.get(0)?, row.get(1)?), (row.get(2)?, row.get(3)?))))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

// The first difference as a sentence; missing tables first, because they explain the rest.
fn difference(expected: &Schema, found: &Schema) -> Option<String> {
    let missing = expected.keys().filter(|key| !found.contains_key(*key));
    let missing = missing.min_by_key(|(kind, _)| kind != "table");
    if let Some((kind, name)) = missing {
        return Some(format!(
            "its {kind} {name} is missing: something else removed it; restore the file from a backup"
        ));
    }
    for ((kind, name), (table, sql)) in found {
        match expected.get(&(kind.clone(), name.clone())) {
            Some((_, ours)) if ours == sql => {}
            Some(_) => {
                return Some(format!(
                    "its {kind} {name} is not as Lanebox made it (another program added to it or changed it): take that \
                     change back, or restore the file from a backup; keep your own columns in a table of your own"
                ));
            }
            None if kind == "trigger" || kind == "index" => {
                return Some(format!(
                    "the {kind} {name} on {table} is not Lanebox's: `DROP {} {name}`, and keep triggers and indexes of \
                     your own to your own tables",
                    kind.to_uppercase()
                ));
            }
            None => {
                return Some(format!(
                    "the {kind} {name} is not Lanebox's, but names that begin with lanebox_ are: rename it"
                ));
            }
        }
    }
    None
}
