//! The store on one SQLite file: a file per verb, SQL beside the function that runs it.

mod accept;
mod adopt;
mod again;
mod audit;
mod audit_log;
mod await_evidence;
mod ballast;
mod bury;
mod bus;
mod cancel;
mod careful;
mod cascade;
mod channel;
mod checkpoint;
mod claim;
mod connection;
mod consent;
mod consumer;
mod dead;
mod deliver;
mod dispatch;
#[cfg(test)]
pub(crate) mod door;
mod end;
mod enqueue;
mod event_row;
mod expire;
mod facts;
mod finished;
mod foreign;
mod front;
mod gate;
mod guard;
mod handles;
mod hold;
mod host;
mod inspect;
mod intend;
mod job_rows;
mod jobs;
mod ledger;
mod look;
mod looked;
mod migrate;
mod names;
mod no_code;
mod notify;
mod once_more;
mod order;
mod outbox;
mod pause;
mod people;
mod place;
mod process;
mod processes;
mod promote;
mod publish;
mod reap;
mod reject;
mod renew;
mod requeue;
mod resolve;
mod round;
mod route_note;
mod route_retry;
mod row;
#[cfg(feature = "sabotage")]
pub(crate) mod sabotage;
#[cfg(test)]
pub(crate) mod scratch;
mod sends;
mod settle;
mod space;
mod step;
mod tell_space;
mod tx;
mod undecided;
mod unique;
mod wait;
mod writer;

use std::path::Path;
use std::sync::Arc;

use rusqlite::Connection;
use uuid::Uuid;

pub use connection::{Checkpoint, Durability};

use crate::env::Env;
use crate::error::{Error, Result};
use crate::model::id::ProcessNo;
use crate::store::Store;
use connection::Source;
use guard::Admitted;
use process::Lock;
use space::Disk;
use tx::Secret;
use wait::{OPENING_MS, while_busy};
use writer::Writer;

/// How a file is opened.
#[derive(Clone, Debug)]
pub(crate) struct Opening {
    /// Make the file and its tables, or bring an older schema forward. Else only a file that is
    /// ready is opened.
    pub(crate) create: bool,
    pub(crate) durability: Durability,
    pub(crate) checkpoint: Checkpoint,
    /// How long a write waits for another program's lock, in milliseconds.
    pub(crate) busy_ms: u64,
    /// Open it on a network file system too, and give up that accepted work is kept and that a lane
    /// runs one job.
    pub(crate) allow_filesystem: bool,
}

impl Default for Opening {
    fn default() -> Opening {
        let (durability, checkpoint) = (Durability::Full, Checkpoint::Own);
        Opening { create: true, durability, checkpoint, busy_ms: 1_000, allow_filesystem: false }
    }
}

/// The longest that one read may take, in milliseconds: while it is under way, the write-ahead log
/// cannot begin anew.
const LONGEST_READ_MS: i64 = 30_000;

/// A store on one file: the write connection with its queue, and a small pool of readers beside it.
pub(crate) struct SqliteStore {
    file: Admitted,
    env: Env,
    meta: Meta,
    writer: Writer,
    era: connection::Era,
    checkpoint: Checkpoint,
    disk: Arc<Disk>,
    readers: r2d2::Pool<connection::Readers>,
    live: look::Live,
    /// Grows with every commit of others that was seen.
    generation: std::sync::atomic::AtomicU64,
    /// Locks of the holders that this handle registered.
    locks: parking_lot::Mutex<std::collections::HashMap<ProcessNo, Lock>>,
}

impl Store for SqliteStore {}

impl SqliteStore {
    /// Opens the file. Whatever refuses it says so before the file is changed, and before anything
    /// is made beside it if `stat` can tell.
    pub(crate) fn open(path: &Path, env: Env, how: &Opening) -> Result<SqliteStore> {
        connection::check_sqlite(rusqlite::version_number())?;
        let file = guard::admit(path, how.create, how.allow_filesystem)?;
        let mut conn = connection::open(&file, &env)?;
        let meta = make_ready(&mut conn, &file.path, &env, how)?;
        if how.durability == Durability::Relaxed && !meta.relaxed {
            let why = "this file was made to keep every acknowledged commit: open it at `Full`, without `--relaxed`";
            return Err(Error::Setting { what: "durability", why: why.to_owned() });
        }
        let era = connection::Era::default();
        let (durability, checkpoint) = (how.durability, how.checkpoint);
        let readers = connection::pool(&file, era.clone(), env.clone(), checkpoint)?;
        let disk = Arc::new(Disk::new(file.path.clone()));
        let (of, on) = (era.clone(), disk.clone());
        let source = Source { file: file.clone(), durability, checkpoint, era: of, disk: on };
        let writer = Writer::new(conn, source, env.clone(), meta.secret.clone(), how.busy_ms)?;
        let (live, locks) = (look::Live::default(), parking_lot::Mutex::default());
        let generation = 0.into();
        Ok(SqliteStore {
            file,
            env,
            meta,
            writer,
            era,
            checkpoint,
            disk,
            readers,
            live,
            generation,
            locks,
        })
    }

    /// Reads on a connection that cannot write; what one call reads is one snapshot only inside a
    /// transaction of its own.
    fn read<T>(&self, body: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        self.read_for(LONGEST_READ_MS, body)
    }

    /// The same, ended after this long.
    fn read_for<T>(
        &self,
        longest_ms: i64,
        body: impl FnOnce(&Connection) -> Result<T>,
    ) -> Result<T> {
        self.writer.check_open()?;
        let conn =
            self.readers.get().map_err(|error| Error::NoReader { why: error.to_string() })?;
        let _reading = self.disk.reading(&self.env);
        conn.ends_at(self.env.mono_ms() + longest_ms);
        body(&conn).map_err(|error| error.of_read(longest_ms))
    }

    /// The row number of a kind, made if it is new.
    #[cfg(test)]
    pub(crate) fn kind(&self, name: &str) -> Result<crate::model::id::KindNo> {
        let name = name.to_owned();
        self.writer.write(move |tx| names::kind(tx, &name))
    }

    /// What a count answers.
    #[cfg(any(test, feature = "testing"))]
    pub(crate) fn count(&self, sql: &str) -> usize {
        let counted = self.read(|conn| Ok(conn.query_row(sql, [], |row| row.get::<_, usize>(0))?));
        counted.expect("a count of a table that exists")
    }

    /// Runs `body` while every reader but one is in use.
    #[cfg(feature = "testing")]
    pub(crate) fn with_one_reader<T>(&self, body: impl FnOnce() -> T) -> Result<T> {
        let taken = 1..self.readers.max_size();
        let taken: std::result::Result<Vec<_>, _> = taken.map(|_| self.readers.get()).collect();
        let _in_use = taken.map_err(|error| Error::NoReader { why: error.to_string() })?;
        Ok(body())
    }

    /// From now on the disk seems to have this room.
    #[cfg(any(test, feature = "testing"))]
    pub(crate) fn pretend_room(&self, room: Option<crate::env::Room>) {
        self.env.pretend_room(room);
    }

    /// Commits of this handle so far.
    #[cfg(any(test, feature = "testing"))]
    pub(crate) fn commits(&self) -> u64 {
        self.writer.commits()
    }
}

// Each step waits for programs that start, stop or write at the same moment, and is taken again
// from its beginning.
fn make_ready(conn: &mut Connection, path: &Path, env: &Env, how: &Opening) -> Result<Meta> {
    while_busy(env, OPENING_MS, || migrate::admit(conn, path, how.create))?;
    while_busy(env, OPENING_MS, || connection::settle_writer(conn, path, how.checkpoint))?;
    if how.create {
        let relaxed = how.durability == Durability::Relaxed;
        while_busy(env, OPENING_MS, || migrate::migrate(conn, path, env, relaxed))?;
    }
    while_busy(env, OPENING_MS, || migrate::check(conn, path))?;
    while_busy(env, OPENING_MS, || Meta::read(conn))
}

/// What the file says of itself.
struct Meta {
    uuid: Uuid,
    secret: Secret,
    relaxed: bool,
}

impl Meta {
    fn read(conn: &Connection) -> Result<Meta> {
        let row = "SELECT file_uuid, secret, relaxed FROM lanebox_meta WHERE id = 1";
        Ok(conn.query_row(row, [], |row| {
            let (uuid, secret) = (Uuid::from_bytes(row.get(0)?), Secret(row.get(1)?));
            Ok(Meta { uuid, secret, relaxed: row.get(2)? })
        })?)
    }
}
