//! The store on one SQLite file: a file per verb, SQL beside the function that runs it.

mod again;
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
mod ledger;
mod migrate;
mod names;
mod notify;
mod pause;
mod place;
mod process;
mod promote;
mod reap;
mod renew;
mod requeue;
mod round;
mod row;
mod settle;
mod tx;
mod writer;

use std::path::{Path, PathBuf};

use rusqlite::Connection;

pub use connection::Durability;

use crate::env::Env;
use crate::error::{Error, Result};
use crate::model::id::ProcessNo;
use crate::model::job::{Enqueued, NewJob};
use crate::store::{Round, Rounded};
use process::Lock;
use tx::Secret;
use writer::Writer;

/// A store on one file: the write connection with its queue. Readers come from a pool beside it.
pub(crate) struct SqliteStore {
    path: PathBuf,
    env: Env,
    writer: Writer,
}

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
        let writer = Writer::new(conn, env.clone(), secret, busy_ms);
        Ok(SqliteStore {
            path: path.to_owned(),
            env,
            writer,
        })
    }

    /// Registers this process as a holder of leases.
    pub(crate) fn register(&self) -> Result<(ProcessNo, Lock)> {
        let uuid = self.env.uuid();
        let lock = Lock::make(&self.path, uuid)?;
        let no = self.writer.write(move |tx| process::register(tx, uuid))?;
        Ok((no, lock))
    }

    /// Accepts jobs in one commit.
    pub(crate) fn enqueue(&self, jobs: Vec<NewJob>) -> Result<Vec<Enqueued>> {
        jobs.iter().try_for_each(NewJob::check)?;
        self.writer
            .write(move |tx| jobs.iter().map(|job| enqueue::enqueue(tx, job)).collect())
    }

    /// One engine pass.
    pub(crate) fn round(&self, pass: Round) -> Result<Rounded> {
        self.writer.write(move |tx| round::round(tx, &pass))
    }

    /// The row number of a kind, made if it is new.
    pub(crate) fn kind(&self, name: &str) -> Result<crate::model::id::KindNo> {
        let name = name.to_owned();
        self.writer.write(move |tx| names::kind(tx, &name))
    }

    /// Commits of this handle so far.
    pub(crate) fn commits(&self) -> u64 {
        self.writer.commits()
    }
}

fn secret(conn: &Connection) -> Result<Secret> {
    let row = "SELECT secret FROM lanebox_meta WHERE id = 1";
    let secret: Vec<u8> = conn.query_row(row, [], |row| row.get(0))?;
    let secret = secret
        .try_into()
        .map_err(|_| Error::invalid("secret of the file", "32 bytes"))?;
    Ok(Secret(secret))
}
