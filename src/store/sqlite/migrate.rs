//! Brings a file to the schema of this program: append-only steps, one transaction, never past a
//! newer program's mark.

#[cfg(test)]
mod tests;

use std::path::Path;

use rusqlite::{Connection, OptionalExtension, TransactionBehavior};

use super::connection::unusable;
use super::foreign;
use crate::env::Env;
use crate::error::{Error, Result};

/// Every step so far; a released one never changes.
pub(super) const STEPS: [&str; 2] = [
    include_str!("../../../schema/sqlite/0001_first.sql"),
    include_str!("../../../schema/sqlite/0002_send_clock.sql"),
];

/// What the file says about its schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Version {
    pub(super) schema: i64,
    pub(super) min_reader: i64,
    pub(super) min_writer: i64,
}

/// The newest schema that this program knows.
pub(crate) const NEWEST: i64 = STEPS.len() as i64;

/// Refuses a file that this program must not touch, before anything in it was changed.
pub(super) fn admit(conn: &Connection, path: &Path, create: bool) -> Result<()> {
    match version(conn, path)? {
        Some(v) if v.min_reader > NEWEST || v.min_writer > NEWEST => Err(newer(path, v)),
        Some(v) if v.schema < NEWEST && !create => {
            let why = format!(
                "its schema {} is older than this program's {NEWEST}: `lanebox init` brings it forward",
                v.schema
            );
            Err(Error::unusable(path, why))
        }
        Some(_) => Ok(()),
        None if foreign::any(conn)? => match version(conn, path)? {
            // Another process has made them all between the two looks.
            Some(_) => admit(conn, path, create),
            None => Err(Error::unusable(
                path,
                "its table lanebox_meta is missing though others of Lanebox are there: restore it from a backup",
            )),
        },
        None if create => Ok(()),
        None => Err(Error::unusable(
            path,
            "it has no Lanebox tables (lanebox_meta is missing): run `lanebox init` on it first, or check the path",
        )),
    }
}

/// Creates the tables in a new file, or brings an old one forward. Safe when several processes
/// start at once.
pub(super) fn migrate(conn: &mut Connection, path: &Path, env: &Env, relaxed: bool) -> Result<()> {
    if version(conn, path)?.is_some_and(|v| v.schema >= NEWEST) {
        return Ok(());
    }
    let tx = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Read again under the lock: another process may have been first.
    admit(&tx, path, true)?;
    let from = version(&tx, path)?.map_or(0, |v| v.schema);
    let steps = STEPS.iter().skip(usize::try_from(from).unwrap_or(usize::MAX));
    for step in steps {
        tx.execute_batch(step)?;
    }
    if from == 0 {
        stamp(&tx, env, relaxed)?;
    } else if from < NEWEST {
        tx.execute("UPDATE lanebox_meta SET schema_version = ?1 WHERE id = 1", [NEWEST])?;
    }
    foreign::check(&tx, path)?;
    tx.commit()?;
    Ok(())
}

/// Refuses a file whose tables are not all there and ours alone. Of a newer schema that this
/// program may write, only the newer program can tell.
pub(super) fn check(conn: &Connection, path: &Path) -> Result<()> {
    match version(conn, path)? {
        Some(v) if v.schema > NEWEST => Ok(()),
        _ => foreign::check(conn, path),
    }
}

/// The versions that the file names, or none if it has no Lanebox tables.
pub(super) fn version(conn: &Connection, path: &Path) -> Result<Option<Version>> {
    let table = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'lanebox_meta'";
    let has = conn.query_row(table, [], |_| Ok(())).optional();
    if has.map_err(|error| unusable(path, error))?.is_none() {
        return Ok(None);
    }
    let row = "SELECT schema_version, min_reader, min_writer FROM lanebox_meta WHERE id = 1";
    let read = |row: &rusqlite::Row<'_>| {
        Ok(Version { schema: row.get(0)?, min_reader: row.get(1)?, min_writer: row.get(2)? })
    };
    match conn.query_row(row, [], read) {
        Ok(version) => Ok(Some(version)),
        Err(error) if !tells_of_the_file(&error) => Err(unusable(path, error)),
        Err(error) => {
            let why = format!(
                "its schema version cannot be read from lanebox_meta ({error}): restore it from a backup"
            );
            Err(Error::unusable(path, why))
        }
    }
}

// A row that is not there or not as it should be; a disk that fails says nothing of the file.
fn tells_of_the_file(error: &rusqlite::Error) -> bool {
    use rusqlite::ErrorCode::{DatabaseCorrupt, NotADatabase, Unknown};
    let code = error.sqlite_error_code();
    code.is_none_or(|code| matches!(code, DatabaseCorrupt | NotADatabase | Unknown))
}

fn newer(path: &Path, v: Version) -> Error {
    let why = format!(
        "its schema {} needs a program that knows at least schema {} to read and {} to write; this one knows {NEWEST}: \
         use the newer program",
        v.schema, v.min_reader, v.min_writer
    );
    Error::unusable(path, why)
}

fn stamp(conn: &Connection, env: &Env, relaxed: bool) -> Result<()> {
    conn.execute(
        "INSERT INTO lanebox_meta(id, schema_version, min_reader, min_writer, file_uuid, secret, relaxed, created_by, created_at)
         VALUES (1, ?1, 1, 1, ?2, ?3, ?4, ?5, ?6)",
        rusqlite::params![
            NEWEST,
            env.uuid().as_bytes(),
            env.secret(),
            relaxed,
            concat!("lanebox ", env!("CARGO_PKG_VERSION")),
            env.now_ms()
        ],
    )?;
    Ok(())
}
