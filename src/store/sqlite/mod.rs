//! The store on one SQLite file: a file per verb, SQL beside the function that runs it.

mod again;
mod audit;
mod audit_log;
mod await_evidence;
mod cancel;
mod cascade;
mod claim;
mod connection;
mod dead;
mod end;
mod enqueue;
mod expire;
mod finished;
mod inspect;
mod jobs;
mod ledger;
mod migrate;
mod names;
mod notify;
mod order;
mod pause;
mod people;
mod place;
mod process;
mod processes;
mod promote;
mod reap;
mod renew;
mod requeue;
mod round;
mod row;
mod settle;
mod step;
mod tx;
mod writer;

use std::path::{Path, PathBuf};

use rusqlite::Connection;

pub use connection::Durability;

use crate::env::Env;
use crate::error::{Error, Result};
use crate::model::id::ProcessNo;
use crate::store::Store;
use process::Lock;
use tx::Secret;
use writer::Writer;

/// A store on one file: the write connection with its queue, and a small pool of readers beside it.
pub(crate) struct SqliteStore {
    path: PathBuf,
    env: Env,
    secret: Secret,
    writer: Writer,
    readers: r2d2::Pool<connection::Readers>,
    /// Locks of the holders that this handle registered.
    locks: parking_lot::Mutex<std::collections::HashMap<ProcessNo, Lock>>,
}

impl Store for SqliteStore {}

impl SqliteStore {
    /// Opens the file; makes it and its tables if `create`.
    pub(crate) fn open(
        path: &Path,
        env: Env,
        create: bool,
        durability: Durability,
        busy_ms: u64,
    ) -> Result<SqliteStore> {
        let mut conn = connection::open_writer(path, create, durability)?;
        if create {
            migrate::migrate(&mut conn, path, &env, durability == Durability::Relaxed)?;
        }
        migrate::check(&conn, path, true)?;
        let secret = secret(&conn)?;
        // From here on the only wait for other programs is the writer's own.
        conn.busy_timeout(std::time::Duration::ZERO)?;
        let writer = Writer::new(conn, env.clone(), secret.clone(), busy_ms);
        let readers = connection::pool(path)?;
        let locks = parking_lot::Mutex::default();
        Ok(SqliteStore { path: path.to_owned(), env, secret, writer, readers, locks })
    }

    /// Reads on a connection that cannot write; what one call reads is one snapshot only inside a transaction of its own.
    fn read<T>(&self, body: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        let conn =
            self.readers.get().map_err(|error| Error::NoReader { why: error.to_string() })?;
        body(&conn)
    }

    /// What a count answers.
    #[cfg(any(test, feature = "testing"))]
    pub(crate) fn count(&self, sql: &str) -> usize {
        let counted = self.read(|conn| Ok(conn.query_row(sql, [], |row| row.get::<_, usize>(0))?));
        counted.expect("a count of a table that exists")
    }

    /// Commits of this handle so far.
    pub(crate) fn commits(&self) -> u64 {
        self.writer.commits()
    }
}

fn secret(conn: &Connection) -> Result<Secret> {
    let row = "SELECT secret FROM lanebox_meta WHERE id = 1";
    let secret: Vec<u8> = conn.query_row(row, [], |row| row.get(0))?;
    let secret = secret.try_into().map_err(|_| Error::invalid("secret of the file", "32 bytes"))?;
    Ok(Secret(secret))
}
