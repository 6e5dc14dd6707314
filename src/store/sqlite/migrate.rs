//! Brings a file to the schema of this program: append-only steps, one transaction, never past a newer program's mark.

use std::path::Path;

use rusqlite::{Connection, OptionalExtension, TransactionBehavior};

use crate::env::Env;
use crate::error::{Error, Result};

/// Every step so far; a released one never changes.
const STEPS: [&str; 1] = [include_str!("../../../schema/sqlite/0001_first.sql")];

/// What the file says about its schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Version {
    schema: i64,
    min_reader: i64,
    min_writer: i64,
}

/// The newest schema that this program knows.
pub(crate) const NEWEST: i64 = STEPS.len() as i64;

/// Creates the tables in a new file, or brings an old one forward. Safe when several processes start at once.
pub(super) fn migrate(conn: &mut Connection, path: &Path, env: &Env, relaxed: bool) -> Result<()> {
    if version(conn)?.is_some_and(|v| v.schema == NEWEST) {
        return Ok(());
    }
    let tx = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Read again under the lock: another process may have been first.
    let from = match version(&tx)? {
        Some(v) if v.min_writer > NEWEST => return Err(newer(path, v)),
        Some(v) => v.schema,
        None => 0,
    };
    let steps = STEPS.iter().skip(usize::try_from(from).unwrap_or(usize::MAX));
    for step in steps {
        tx.execute_batch(step)?;
    }
    if from == 0 {
        stamp(&tx, env, relaxed)?;
    } else if from < NEWEST {
        tx.execute("UPDATE lanebox_meta SET schema_version = ?1 WHERE id = 1", [NEWEST])?;
    }
    tx.commit()?;
    Ok(())
}

/// Refuses a file that only a newer program may read (`write`: write).
pub(super) fn check(conn: &Connection, path: &Path, write: bool) -> Result<()> {
    match version(conn)? {
        None => Err(Error::Unusable {
            path: path.to_owned(),
            why: "it has no Lanebox tables (no lanebox_meta): run `lanebox init` on it first"
                .into(),
        }),
        Some(v) if v.min_reader > NEWEST || (write && v.min_writer > NEWEST) => Err(newer(path, v)),
        Some(_) => Ok(()),
    }
}

fn version(conn: &Connection) -> Result<Option<Version>> {
    let table = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'lanebox_meta'";
    if conn.query_row(table, [], |_| Ok(())).optional()?.is_none() {
        return Ok(None);
    }
    let row = "SELECT schema_version, min_reader, min_writer FROM lanebox_meta WHERE id = 1";
    let read = |row: &rusqlite::Row<'_>| {
        Ok(Version { schema: row.get(0)?, min_reader: row.get(1)?, min_writer: row.get(2)? })
    };
    Ok(Some(conn.query_row(row, [], read)?))
}

fn newer(path: &Path, v: Version) -> Error {
    let why = format!(
        "its schema {} needs a program that knows at least schema {} to read and {} to write; this one knows {NEWEST}: \
         use the newer lanebox",
        v.schema, v.min_reader, v.min_writer
    );
    Error::Unusable { path: path.to_owned(), why }
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
