//! Connections: one sets WAL, once; every one sets its pragmas and reads them back, and refuses to go on if one did not take.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use crate::error::{Error, Result};

/// Oldest SQLite without the WAL-reset corruption, and the one release after it that has it again.
const OLDEST_SQLITE: i32 = 3_051_003;
const BAD_SQLITE: i32 = 3_052_000;

/// Pages of WAL after which a commit also checkpoints, passively.
const AUTOCHECKPOINT_PAGES: i64 = 4_000;

/// How durable a commit is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// `synchronous=FULL`: what was acknowledged survives a power cut. The default.
    #[default]
    Full,
    /// `synchronous=NORMAL`: a power cut may take back the last commits; the file is never damaged by it.
    Relaxed,
}

/// Refuses a linked SQLite that can damage WAL files.
pub(super) fn check_sqlite(version: i32) -> Result<()> {
    if version >= OLDEST_SQLITE && version != BAD_SQLITE {
        return Ok(());
    }
    let why = format!(
        "the linked SQLite is {}.{}.{}; releases before 3.51.3 (and 3.52.0) can damage a WAL file: \
         link a newer one, or use the feature `bundled`",
        version / 1_000_000,
        version / 1_000 % 1_000,
        version % 1_000
    );
    Err(Error::Setting { what: "sqlite version", why })
}

/// Opens the write connection; creates the file if `create`.
pub(super) fn open_writer(path: &Path, create: bool, durability: Durability) -> Result<Connection> {
    check_sqlite(rusqlite::version_number())?;
    let mut flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    flags.set(OpenFlags::SQLITE_OPEN_CREATE, create);
    let conn = Connection::open_with_flags(path, flags).map_err(|e| unusable(path, &e))?;
    // Files of several processes that start at once wait here for each other, not at the first statement.
    conn.busy_timeout(Duration::from_secs(5))?;
    set_wal(&conn, path)?;
    settle_pragmas(&conn, path, durability)?;
    set(&conn, path, "wal_autocheckpoint", AUTOCHECKPOINT_PAGES)?;
    set(&conn, path, "journal_size_limit", 64 << 20)?;
    Ok(conn)
}

/// What the pool makes: connections that can only read.
pub(super) type Readers = r2d2_sqlite::SqliteConnectionManager;

/// A small pool of connections that can only read; their prepared statements live as long as the pool.
pub(super) fn pool(path: &Path) -> Result<r2d2::Pool<Readers>> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let file = path.to_owned();
    let readers = Readers::file(path).with_flags(flags).with_init(move |conn| {
        conn.busy_timeout(Duration::from_secs(5))?;
        let settled = settle_pragmas(conn, &file, Durability::Full)
            .and_then(|()| set(conn, &file, "query_only", 1));
        settled.map_err(|error| {
            let misuse = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_MISUSE);
            rusqlite::Error::SqliteFailure(misuse, Some(error.to_string()))
        })
    });
    r2d2::Pool::builder()
        .max_size(4)
        .min_idle(Some(0))
        .test_on_check_out(false)
        .idle_timeout(None)
        .max_lifetime(None)
        .connection_timeout(Duration::from_secs(1))
        .build(readers)
        .map_err(|error| Error::NoReader { why: error.to_string() })
}

fn set_wal(conn: &Connection, path: &Path) -> Result<()> {
    let mode = |sql: &str| conn.query_row(sql, [], |row| row.get::<_, String>(0));
    let now = mode("PRAGMA journal_mode").map_err(|e| unusable(path, &e))?;
    if now == "wal" {
        return Ok(());
    }
    let now = mode("PRAGMA journal_mode = WAL").map_err(|e| unusable(path, &e))?;
    if now == "wal" {
        return Ok(());
    }
    Err(Error::Unusable {
        path: path.to_owned(),
        why: format!(
            "SQLite keeps journal mode {now} instead of WAL (a network file system, or :memory:?)"
        ),
    })
}

fn settle_pragmas(conn: &Connection, path: &Path, durability: Durability) -> Result<()> {
    let synchronous = match durability {
        Durability::Full => 2,
        Durability::Relaxed => 1,
    };
    set(conn, path, "synchronous", synchronous)?;
    set(conn, path, "foreign_keys", 1)?;
    set(conn, path, "secure_delete", 1)?;
    set(conn, path, "trusted_schema", 0)?;
    set(conn, path, "cell_size_check", 1)?;
    set(conn, path, "mmap_size", 0)?;
    set(conn, path, "temp_store", 2)?;
    conn.set_prepared_statement_cache_capacity(256);
    Ok(())
}

/// Sets a pragma and reads it back.
fn set(conn: &Connection, path: &Path, pragma: &str, value: i64) -> Result<()> {
    conn.pragma_update(None, pragma, value).map_err(|e| unusable(path, &e))?;
    let now = conn.query_row(&format!("PRAGMA {pragma}"), [], |row| row.get::<_, i64>(0));
    match now {
        Ok(now) if now == value => Ok(()),
        // Compiled out (mmap_size without mmap): there is nothing to switch off.
        Err(rusqlite::Error::QueryReturnedNoRows) if value == 0 => Ok(()),
        now => Err(Error::Unusable {
            path: path.to_owned(),
            why: format!("PRAGMA {pragma} = {value} did not take (it reads {now:?})"),
        }),
    }
}

fn unusable(path: &Path, error: &rusqlite::Error) -> Error {
    use rusqlite::ErrorCode::{CannotOpen, DatabaseBusy, DatabaseCorrupt, NotADatabase, ReadOnly};
    let hint = match error.sqlite_error_code() {
        Some(NotADatabase | DatabaseCorrupt) => "it is not an SQLite database, or it is damaged",
        Some(CannotOpen) => {
            "it cannot be opened: does its directory exist, and may this user write there?"
        }
        Some(ReadOnly) => {
            "it is read-only for this user: check the owner and mode of file and directory"
        }
        Some(DatabaseBusy) => "another program holds it locked",
        _ => "SQLite refused it",
    };
    Error::Unusable { path: path.to_owned(), why: format!("{hint} ({error})") }
}
