//! The same verbs inside a transaction that the host has open on a connection of its own: its rows,
//! facts and jobs together or not at all. What would make that unsafe is refused before anything is
//! written.

use rusqlite::{Connection, ErrorCode, MAIN_DB, TransactionState};

use super::tx::Tx;
use super::{SqliteStore, enqueue, publish};
use crate::error::{Error, Result};
use crate::model::event::{NewEvent, Published};
use crate::model::job::{Enqueued, NewJob};

const FILE: &str = "SELECT file_uuid FROM main.lanebox_meta WHERE id = 1";
const SYNCHRONOUS: &str = "PRAGMA main.synchronous";
// Changes nothing, and takes the write lock that a deferred transaction does not have yet.
const LOCK: &str = "UPDATE main.lanebox_counter SET one = 1 WHERE one = 0";
// A temporary table of the name of one of ours would take what is written to it.
const HIDES: &str = "SELECT 1 FROM temp.sqlite_schema WHERE name LIKE 'lanebox!_%' ESCAPE '!'";

/// `synchronous=FULL`.
const FULL: i64 = 2;

impl SqliteStore {
    /// Records a fact in the host's transaction.
    pub(crate) fn publish_in(&self, conn: &Connection, event: &NewEvent) -> Result<Published> {
        event.check()?;
        self.in_host(conn, |tx| publish::publish(tx, event))
    }

    /// Accepts a job in the host's transaction.
    pub(crate) fn enqueue_in(&self, conn: &Connection, job: &NewJob) -> Result<Enqueued> {
        job.check()?;
        self.in_host(conn, |tx| enqueue::enqueue(tx, job))
    }

    // A verb that fails takes back what it did: the host's transaction stays usable.
    fn in_host<T>(&self, conn: &Connection, verb: impl FnOnce(&Tx<'_>) -> Result<T>) -> Result<T> {
        self.disk.admit(&self.env)?;
        if conn.is_autocommit() {
            return Err(refused(
                "its connection has no transaction open: begin one with IMMEDIATE",
            ));
        }
        // An attached file would get neither the lock nor the flush that are asked for here.
        if !conn.table_exists(Some(MAIN_DB), c"lanebox_meta")? {
            return Err(refused("its connection has no Lanebox file as its main one"));
        }
        take_lock(conn)?;
        self.check_connection(conn)?;
        let tx = Tx::new(conn, &self.env, &self.meta.secret);
        tx.savepoint(|| verb(&tx)).inspect_err(|error| {
            if error.is_disk_full() {
                self.disk.is_full(&self.env);
            }
        })
    }

    fn check_connection(&self, conn: &Connection) -> Result<()> {
        if conn.prepare_cached(HIDES)?.exists([])? {
            return Err(refused("a temporary table of its connection has the name of one of ours"));
        }
        let file: [u8; 16] = conn.prepare_cached(FILE)?.query_row([], |row| row.get(0))?;
        if file != *self.meta.uuid.as_bytes() {
            return Err(refused("its connection is open on another file than this handle"));
        }
        let synchronous: i64 = conn.query_row(SYNCHRONOUS, [], |row| row.get(0))?;
        if synchronous < FULL && !self.meta.relaxed {
            let why = "its connection would lose the commit in a power cut: set PRAGMA synchronous = FULL on it";
            return Err(refused(why));
        }
        Ok(())
    }
}

// A transaction that has only read can get the lock as long as nobody else wrote since, which is
// luck: under load it would fail, and without waiting. So it is refused always, and seen in tests.
fn take_lock(conn: &Connection) -> Result<()> {
    match conn.transaction_state(Some(MAIN_DB))? {
        TransactionState::Write => return Ok(()),
        TransactionState::Read => {
            return Err(refused(
                "its transaction has read without the write lock, so it may be too late to get it: begin with IMMEDIATE",
            ));
        }
        _ => {}
    }
    let locked = conn.prepare_cached(LOCK).and_then(|mut lock| lock.execute([]));
    match locked {
        Ok(_) => Ok(()),
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) => Err(refused(
            "its transaction has no write lock and cannot get it now: begin with IMMEDIATE, so that it waits at its start",
        )),
        Err(error) => Err(error.into()),
    }
}

fn refused(why: &str) -> Error {
    Error::Refused { what: "writing in the host's transaction".to_owned(), why: why.to_owned() }
}
