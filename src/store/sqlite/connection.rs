//! Connections: one sets WAL, once; every one sets its pragmas and reads them back, and refuses to
//! go on if one did not take.

#[cfg(test)]
mod tests;

use std::ops::Deref;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use r2d2::ManageConnection;
use r2d2_sqlite::SqliteConnectionManager;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use super::guard::Admitted;
use super::space::{Disk, LOG_LIMIT};
use super::wait::{OPENING_MS, shortly, while_busy};
use crate::env::Env;
use crate::error::{Error, Result};

/// Oldest SQLite without the WAL-reset corruption, and the one release after it that has it again.
const OLDEST_SQLITE: i32 = 3_051_003;
const BAD_SQLITE: i32 = 3_052_000;

/// Pages of WAL after which a commit also checkpoints, passively. The loop of a started engine
/// normally comes before; a handle without one has nothing else.
const AUTOCHECKPOINT_PAGES: i64 = 4_000;

/// No symbolic link: the path was resolved when it was admitted. No creation: only the guard makes
/// files.
const FLAGS: OpenFlags = OpenFlags::SQLITE_OPEN_READ_WRITE
    .union(OpenFlags::SQLITE_OPEN_NO_MUTEX)
    .union(OpenFlags::SQLITE_OPEN_NOFOLLOW);

/// How durable a commit is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// `synchronous=FULL`: what was acknowledged survives a power cut. The default.
    #[default]
    Full,
    /// `synchronous=NORMAL`: a power cut may take back the last commits; the file is never damaged
    /// by it. What the send ledger depends on is committed at FULL even so.
    Relaxed,
}

/// Who takes the write-ahead log over into the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Checkpoint {
    /// This handle: a loop of its started engine, beside the commits, and without an engine now and
    /// then a commit. The default.
    #[default]
    Own,
    /// Another program, such as Litestream: this handle never does, not even when it is closed.
    /// The cost: while that program does not run, the log grows without limit and reads become
    /// slower with it; `doctor` and a notice tell when it is beyond 128 MiB. It holds for this
    /// handle only: whoever opens the same file without it, the command line too, takes the log
    /// over.
    External,
}

/// VM instructions of a read between two looks at how long it has taken: about a millisecond.
const LOOK_OPS: i32 = 20_000;

/// Where the write connection comes from, now and again after a storage error.
pub(super) struct Source {
    pub(super) file: Admitted,
    pub(super) durability: Durability,
    pub(super) checkpoint: Checkpoint,
    pub(super) era: Era,
    pub(super) disk: Arc<Disk>,
}

impl Source {
    /// Opens the write connection anew, if the file is still the one that it was.
    pub(super) fn reopen(&self, env: &Env) -> Result<Connection> {
        self.file.is_still_there()?;
        let conn = open(&self.file, env)?;
        while_busy(env, OPENING_MS, || settle_writer(&conn, &self.file.path, self.checkpoint))?;
        Ok(conn)
    }

    /// No connection opened before this is to be trusted.
    pub(super) fn distrust(&self) {
        self.era.fetch_add(1, Ordering::SeqCst);
    }
}

/// What every connection sets for itself.
const PRAGMAS: [(&str, i64); 6] = [
    ("foreign_keys", 1),
    ("secure_delete", 1),
    ("trusted_schema", 0),
    ("cell_size_check", 1),
    ("mmap_size", 0),
    ("temp_store", 2),
];

/// Refuses a linked SQLite that can damage WAL files.
pub(super) fn check_sqlite(version: i32) -> Result<()> {
    if version >= OLDEST_SQLITE && version != BAD_SQLITE {
        return Ok(());
    }
    let why = format!(
        "the linked SQLite is {}.{}.{}; releases before 3.51.3 (and 3.52.0) can damage a WAL file, so no file was opened: \
         link a newer one, or use the feature `bundled`",
        version / 1_000_000,
        version / 1_000 % 1_000,
        version % 1_000
    );
    Err(Error::Setting { what: "sqlite version", why })
}

/// Opens the file without changing it: whoever finds that it is not Lanebox's leaves it as it was.
pub(super) fn open(file: &Admitted, env: &Env) -> Result<Connection> {
    let path = &file.path;
    let conn = Connection::open_with_flags(path, FLAGS).map_err(|e| unusable(path, e))?;
    // SQLite asks its own handler not everywhere (recovery, the switch to WAL), so the only wait
    // for other programs is ours, around each step.
    conn.busy_timeout(Duration::ZERO).map_err(|e| unusable(path, e))?;
    while_busy(env, OPENING_MS, || {
        journal_mode(&conn, "PRAGMA journal_mode").map_err(|e| unusable(path, e))
    })?;
    Ok(conn)
}

/// Makes it the write connection. It may be done again from its beginning.
pub(super) fn settle_writer(conn: &Connection, path: &Path, checkpoint: Checkpoint) -> Result<()> {
    set_wal(conn, path)?;
    settle(conn, path)?;
    synchronous(conn, path, Durability::Full)?;
    let pages = if checkpoint == Checkpoint::Own { AUTOCHECKPOINT_PAGES } else { 0 };
    set(conn, path, "wal_autocheckpoint", pages)?;
    leave_log(conn, path, checkpoint)?;
    set(conn, path, "journal_size_limit", i64::try_from(LOG_LIMIT).unwrap_or(i64::MAX))
}

/// Makes it the connection that takes the log over; it never does so by itself.
pub(super) fn settle_checkpointer(conn: &Connection, path: &Path) -> Result<()> {
    settle(conn, path)?;
    synchronous(conn, path, Durability::Full)?;
    set(conn, path, "wal_autocheckpoint", 0)
}

// Else the last connection that is closed takes the log over and removes it.
fn leave_log(conn: &Connection, path: &Path, checkpoint: Checkpoint) -> Result<()> {
    let leave = checkpoint == Checkpoint::External;
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, leave)
        .map_err(|e| unusable(path, e))?;
    Ok(())
}

/// Sets how durable the next commits are.
pub(super) fn synchronous(conn: &Connection, path: &Path, durability: Durability) -> Result<()> {
    let level = match durability {
        Durability::Full => 2,
        Durability::Relaxed => 1,
    };
    set(conn, path, "synchronous", level)
}

/// Makes connections that can only read, and throws away those that were left in the middle of
/// something.
pub(super) struct Readers {
    inner: SqliteConnectionManager,
    era: Era,
    env: Env,
}

/// Grows when a storage error makes all older connections doubtful.
pub(super) type Era = Arc<AtomicU64>;

/// A connection that can only read.
pub(super) struct Reader {
    conn: Connection,
    era: u64,
    /// Whatever it reads is ended at this time of the monotonic clock, in milliseconds.
    until_ms: Arc<AtomicI64>,
}

impl Reader {
    /// An old reader keeps the log from being taken over, so each has an end.
    pub(super) fn ends_at(&self, until_ms: i64) {
        self.until_ms.store(until_ms, Ordering::Relaxed);
    }
}

impl Deref for Reader {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        &self.conn
    }
}

impl ManageConnection for Readers {
    type Connection = Reader;
    type Error = rusqlite::Error;

    fn connect(&self) -> rusqlite::Result<Reader> {
        let era = self.era.load(Ordering::SeqCst);
        let conn = self.inner.connect()?;
        let until_ms = Arc::new(AtomicI64::new(i64::MAX));
        let (until, env) = (until_ms.clone(), self.env.clone());
        let is_over = move || env.mono_ms() > until.load(Ordering::Relaxed);
        conn.progress_handler(LOOK_OPS, Some(is_over))?;
        Ok(Reader { conn, era, until_ms })
    }

    fn is_valid(&self, reader: &mut Reader) -> rusqlite::Result<()> {
        if reader.era == self.era.load(Ordering::SeqCst) {
            return Ok(());
        }
        Err(misuse("opened before a storage error"))
    }

    fn has_broken(&self, reader: &mut Reader) -> bool {
        // An open transaction would pin the WAL, a half-read statement its snapshot.
        self.is_valid(reader).is_err() || !reader.is_autocommit() || reader.is_busy()
    }
}

/// A small pool of connections that can only read; their prepared statements live as long as the
/// pool.
pub(super) fn pool(
    file: &Admitted,
    era: Era,
    env: Env,
    checkpoint: Checkpoint,
) -> Result<r2d2::Pool<Readers>> {
    let path = file.path.clone();
    let inner =
        SqliteConnectionManager::file(&file.path).with_flags(FLAGS).with_init(move |conn| {
            conn.busy_handler(Some(shortly))?;
            let settled = settle(conn, &path)
                .and_then(|()| synchronous(conn, &path, Durability::Full))
                .and_then(|()| leave_log(conn, &path, checkpoint))
                .and_then(|()| set(conn, &path, "query_only", 1));
            settled.map_err(|error| misuse(&error.to_string()))
        });
    r2d2::Pool::builder()
        .max_size(4)
        .min_idle(Some(0))
        .test_on_check_out(true)
        .idle_timeout(None)
        .max_lifetime(None)
        .connection_timeout(Duration::from_secs(1))
        .build(Readers { inner, era, env })
        .map_err(|error| Error::NoReader { why: error.to_string() })
}

fn misuse(why: &str) -> rusqlite::Error {
    let misuse = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_MISUSE);
    rusqlite::Error::SqliteFailure(misuse, Some(why.to_owned()))
}

fn journal_mode(conn: &Connection, sql: &str) -> rusqlite::Result<String> {
    conn.query_row(sql, [], |row| row.get(0))
}

// Switching needs the file alone.
fn set_wal(conn: &Connection, path: &Path) -> Result<()> {
    match journal_mode(conn, "PRAGMA journal_mode = WAL") {
        Ok(now) if now == "wal" => Ok(()),
        Ok(now) => Err(Error::unusable(
            path,
            format!(
                "SQLite keeps journal mode {now} instead of WAL: this file system cannot carry one"
            ),
        )),
        Err(error) => Err(unusable(path, error)),
    }
}

fn settle(conn: &Connection, path: &Path) -> Result<()> {
    for (pragma, value) in PRAGMAS {
        set(conn, path, pragma, value)?;
    }
    // Else a statement is planned anew for every new value of its LIMIT, and may be planned
    // differently from how it was tried.
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)
        .map_err(|e| unusable(path, e))?;
    conn.set_prepared_statement_cache_capacity(256);
    Ok(())
}

/// Sets a pragma and reads it back.
fn set(conn: &Connection, path: &Path, pragma: &str, value: i64) -> Result<()> {
    conn.pragma_update(None, pragma, value).map_err(|e| unusable(path, e))?;
    let now = conn.query_row(&format!("PRAGMA {pragma}"), [], |row| row.get::<_, i64>(0));
    match now {
        Ok(now) if now == value => Ok(()),
        // Compiled out (mmap_size without mmap): there is nothing to switch off.
        Err(rusqlite::Error::QueryReturnedNoRows) if value == 0 => Ok(()),
        Err(error) if is_busy(&error) => Err(error.into()),
        now => {
            let why = format!("PRAGMA {pragma} = {value} did not take (it reads {now:?})");
            Err(Error::unusable(path, why))
        }
    }
}

/// What SQLite says about a file that cannot be opened.
pub(super) fn unusable(path: &Path, error: rusqlite::Error) -> Error {
    use rusqlite::ErrorCode::{
        CannotOpen, DatabaseCorrupt, DiskFull, FileLockingProtocolFailed, NotADatabase, ReadOnly,
        SystemIoFailure,
    };
    if is_busy(&error) || error.sqlite_error_code() == Some(DiskFull) {
        return error.into();
    }
    let hint = match error.sqlite_error_code() {
        Some(NotADatabase) => {
            "it is not an SQLite database, or its first page is damaged: check the path, or restore a backup"
        }
        Some(DatabaseCorrupt) => "it is damaged: restore a backup",
        Some(CannotOpen) => {
            "it cannot be opened: check owner and mode of the file and its directory"
        }
        Some(ReadOnly) => {
            "it is read-only for this user: check owner and mode of the file and its directory"
        }
        // It says nothing of what is in the file.
        Some(SystemIoFailure) => "the disk failed: check it, then open the file again",
        Some(FileLockingProtocolFailed) => {
            "another program does not let go of its locks: end that one, then open the file again"
        }
        _ => "SQLite refused it",
    };
    Error::unusable(path, format!("{hint} ({error})"))
}

/// Another program holds the lock: that says nothing about the file.
pub(super) fn is_busy(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(rusqlite::ErrorCode::DatabaseBusy)
}
