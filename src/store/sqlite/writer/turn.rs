//! One leader's turn on the connection: begin, run, commit. However it ends, no transaction stays
//! open.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rusqlite::Connection;

use super::faults::Point;
use super::manners::Manners;
use super::seat::Aboard;
use super::{Durability, First, Operation, Tx, Writer};
use crate::error::{Error, Result};
use crate::store::sqlite::connection;
use crate::store::sqlite::wait::while_locked;
use crate::sync::MutexGuard;

/// The write connection, and what is known about it.
pub(super) struct Held {
    conn: Connection,
    /// How often a transaction was committed and rolled back on it.
    committed: Arc<AtomicU64>,
    rolled_back: Arc<AtomicU64>,
    manners: Manners,
    durability: Durability,
    doubtful: Cell<bool>,
    /// Of what others had committed when it was last asked. Means nothing on another connection.
    version: Cell<Option<i64>>,
}

impl Held {
    #[cfg(test)]
    pub(super) fn connection(&self) -> &Connection {
        &self.conn
    }

    pub(super) fn new(conn: Connection) -> Result<Held> {
        // From here on the only wait for other programs is our own.
        conn.busy_timeout(Duration::ZERO)?;
        let (committed, rolled_back) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
        let (commits, rollbacks) = (committed.clone(), rolled_back.clone());
        conn.commit_hook(Some(move || {
            commits.fetch_add(1, Ordering::Relaxed);
            false
        }))?;
        conn.rollback_hook(Some(move || {
            rollbacks.fetch_add(1, Ordering::Relaxed);
        }))?;
        let manners = Manners::watch(&conn)?;
        let (doubtful, version) = (Cell::new(false), Cell::new(None));
        let durability = Durability::Full;
        Ok(Held { conn, committed, rolled_back, manners, durability, doubtful, version })
    }

    pub(super) fn changed_elsewhere(&self) -> Result<bool> {
        let mut asked = self.conn.prepare_cached("PRAGMA data_version")?;
        match asked.query_row([], |row| row.get(0)) {
            Ok(now) => Ok(self.version.replace(Some(now)) != Some(now)),
            // Somebody does something to the file: whoever asks looks, and hears it again.
            Err(error) if connection::is_busy(&error) => Ok(true),
            Err(error) => Err(error.into()),
        }
    }

    /// It is opened anew before it is used again.
    pub(super) fn distrust(&self) {
        self.doubtful.set(true);
    }

    fn ends(&self) -> (u64, u64) {
        (self.committed.load(Ordering::Relaxed), self.rolled_back.load(Ordering::Relaxed))
    }
}

pub(super) struct Turn<'w> {
    writer: &'w Writer,
    held: MutexGuard<'w, Held>,
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        if self.held.conn.is_autocommit() {
            return;
        }
        if let Err(error) = self.held.conn.execute_batch("ROLLBACK") {
            tracing::warn!(%error, "rollback reported an error; the connection is opened anew");
            self.held.distrust();
        }
    }
}

impl<'w> Turn<'w> {
    pub(super) fn new(writer: &'w Writer) -> Turn<'w> {
        Turn { writer, held: writer.held.lock() }
    }

    /// Runs what comes first and what rides along, and commits. The answer is that of the first.
    pub(super) fn run(mut self, first: First<'_>, full: bool) -> Result<()> {
        let prepared = self.prepare(full);
        prepared.inspect_err(|error| self.note(error))?;
        let tx = Tx::new(&self.held.conn, &self.writer.env, &self.writer.secret);
        // Whoever waits has not been run yet: a failure of the first one's is its own alone.
        self.run_first(&tx, first).inspect_err(|error| self.note(error))?;
        let (riders, ended) = self.run_riders(&tx);
        drop(tx);
        self.settle(riders, ended)
    }

    // The connection as it must be, and the transaction.
    fn prepare(&mut self, full: bool) -> Result<()> {
        let writer = self.writer;
        writer.check_open()?;
        // What is written to a file that nobody can open any more is lost with this process.
        writer.source.file.is_still_there()?;
        if self.held.doubtful.get() {
            writer.faults.meet(Point::Open, &self.held.conn)?;
            // The old one is closed after the new one is open: the last to leave a file would
            // rewrite it.
            *self.held = Held::new(writer.source.reopen(&writer.env)?)?;
        }
        let path = &writer.source.file.path;
        let relaxed = writer.source.durability == Durability::Relaxed;
        let durability = match relaxed && !full && !writer.flush_wanted() {
            true => Durability::Relaxed,
            false => Durability::Full,
        };
        if durability != self.held.durability {
            connection::synchronous(&self.held.conn, path, durability)?;
            self.held.durability = durability;
        }
        self.begin()
    }

    fn begin(&self) -> Result<()> {
        let (writer, conn) = (self.writer, &self.held.conn);
        while_locked(&writer.env, writer.busy_ms, || {
            writer.faults.meet(Point::Begin, conn)?;
            conn.prepare_cached("BEGIN IMMEDIATE")?.execute([])
        })?;
        Ok(())
    }

    fn run_first(&self, tx: &Tx<'_>, first: First<'_>) -> Result<()> {
        match first {
            First::Ours(operation) => self.run_operation(tx, operation)?,
            First::Host(host) => self.run_host(tx, host)?,
        }
        if tx.conn.is_autocommit() { Err(Error::RolledBack) } else { Ok(()) }
    }

    // Each answer, and why SQLite ended the transaction of them all, if it did.
    fn run_riders(&self, tx: &Tx<'_>) -> (Vec<(Aboard, Result<()>)>, Option<Error>) {
        let mut ended = None;
        let mut riders = Vec::new();
        for (aboard, operation) in self.writer.riders(self.held.durability == Durability::Full) {
            let answer = match &ended {
                None => tx.savepoint(|| self.run_operation(tx, operation)),
                Some(cause) => Err(Error::again(cause)),
            };
            if let Err(error) = &answer
                && ended.is_none()
            {
                self.note(error);
                ended = tx.conn.is_autocommit().then(|| error.again());
            }
            riders.push((aboard, answer));
        }
        (riders, ended)
    }

    // One commit for all: who failed alone hears its own error, who rode along hears the commit's.
    fn settle(&self, mut riders: Vec<(Aboard, Result<()>)>, ended: Option<Error>) -> Result<()> {
        if ended.is_none() {
            // From here on a panic (in the host's log, say) does not mean that nothing was stored.
            let stored = riders.iter_mut().filter(|(_, answer)| answer.is_ok());
            stored.for_each(|(aboard, _)| aboard.is_being_committed());
        }
        let committed = match ended {
            Some(cause) => Err(cause),
            None => self.commit(),
        };
        // Before anybody hears of it: the next turn must not begin on what is doubtful now.
        let committed = committed.inspect_err(|error| self.note(error));
        for (aboard, answer) in riders {
            let told = match (&committed, answer) {
                (Err(error), Ok(())) => Err(error.again()),
                (_, answer) => answer,
            };
            aboard.settle(told);
        }
        committed
    }

    fn commit(&self) -> Result<()> {
        let (writer, conn) = (self.writer, &self.held.conn);
        let commit = || -> rusqlite::Result<()> {
            writer.faults.meet(Point::Commit, conn)?;
            conn.prepare_cached("COMMIT")?.execute([])?;
            writer.faults.meet(Point::Committed, conn)
        };
        match commit() {
            Ok(()) => {
                writer.commits.fetch_add(1, Ordering::Relaxed);
                Ok(())
            }
            // SQLite kept the transaction open (a deferred foreign key is broken): nothing of it
            // was stored.
            Err(error) if !conn.is_autocommit() => Err(error.into()),
            Err(error) => Err(Error::CommitUnknown(error)),
        }
    }

    fn run_operation(&self, tx: &Tx<'_>, operation: Operation) -> Result<()> {
        let body = || {
            operation(tx)?;
            Ok(self.writer.faults.meet(Point::Operation, tx.conn)?)
        };
        // A panic in our own code is a defect of ours: the others still ride.
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(body))
            .unwrap_or_else(|panic| Err(Error::Defect { what: panic_text(&*panic) }))
    }

    // The host's closure may have ended the transaction itself: then nothing of ours may follow it,
    // even if it began another.
    fn run_host(&self, tx: &Tx<'_>, host: &mut dyn FnMut(&Tx<'_>) -> Result<()>) -> Result<()> {
        let before = self.held.ends();
        let hosts_turn = self.held.manners.hosts_turn();
        let answer = host(tx);
        drop(hosts_turn);
        let now = self.held.ends();
        if now == before && !tx.conn.is_autocommit() {
            return answer;
        }
        match answer {
            // Nothing was committed: what the host says went wrong is the whole story.
            Err(error) if now.0 == before.0 => Err(error),
            _ => {
                self.held.distrust();
                Err(Error::TransactionEnded)
            }
        }
    }

    fn note(&self, error: &Error) {
        self.writer.note(error, &self.held);
    }
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default()
}
