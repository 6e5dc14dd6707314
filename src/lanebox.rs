//! The public handle: open a file, publish, enqueue, start.

use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::engine::dispatcher::Dispatcher;
use crate::engine::peers::Peers;
use crate::engine::reactions::Reactions;
use crate::engine::{Engine, Settings};
use crate::env::Env;
use crate::error::{Error, Result};
use crate::hook::Hooks;
use crate::model::event::{NewEvent, Published};
use crate::model::id::ProcessNo;
use crate::model::job::{Enqueued, NewJob};
use crate::model::outcome::BoxError;
use crate::runtime::Running;
use crate::store::Store;
use crate::store::bus::Bus;
use crate::store::jobs::{Jobs, Within};
use crate::store::processes::Processes;
use crate::store::sqlite::{Checkpoint, Durability, Opening, SqliteStore};

/// The longest that a setting may make others wait for what has died.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

/// How much of the machine Lanebox may use, and how it leases work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Preset {
    /// A service on a small server: 8 workers, lease 60 s.
    Server,
    /// A desktop or edge app: 2 workers, lease 60 s.
    Desktop,
}

/// A file of events, jobs and sends, open in this process. Cheap to clone; every clone is the same
/// handle.
#[derive(Clone)]
pub struct Lanebox {
    inner: Arc<Inner>,
}

struct Inner {
    store: Arc<SqliteStore>,
    env: Env,
    settings: Settings,
    hooks: Hooks,
    engines: Arc<Peers>,
}

/// Settings of a handle before it is opened.
#[derive(Clone, Debug)]
#[must_use]
pub struct Builder {
    path: PathBuf,
    create: bool,
    durability: Durability,
    checkpoint: Checkpoint,
    workers: usize,
    lease: Duration,
    busy: Duration,
    suspect_wait: Duration,
    allow_filesystem: bool,
}

impl Builder {
    fn new(path: &Path) -> Builder {
        Builder {
            path: path.to_owned(),
            create: true,
            durability: Durability::Full,
            checkpoint: Checkpoint::Own,
            workers: 8,
            lease: Duration::from_secs(60),
            busy: Duration::from_secs(5),
            suspect_wait: Duration::from_secs(30),
            allow_filesystem: false,
        }
    }

    /// A set of settings that fits together.
    pub fn preset(self, preset: Preset) -> Builder {
        let workers = match preset {
            Preset::Server => 8,
            Preset::Desktop => 2,
        };
        Builder { workers, ..self }
    }

    /// Refuses to make a file that is not there.
    pub fn must_exist(self) -> Builder {
        Builder { create: false, ..self }
    }

    /// `Relaxed` gives up the last commits on a power cut for fewer flushes.
    pub fn durability(self, durability: Durability) -> Builder {
        Builder { durability, ..self }
    }

    /// Who takes the write-ahead log over into the file. `External` leaves it to a program such as
    /// Litestream, and the log to grow without limit while that does not run.
    ///
    /// ```no_run
    /// use lanebox::{Checkpoint, Lanebox};
    ///
    /// let lanebox = Lanebox::builder("crm.db").checkpoint(Checkpoint::External).open()?;
    /// # Ok::<(), lanebox::Error>(())
    /// ```
    pub fn checkpoint(self, checkpoint: Checkpoint) -> Builder {
        Builder { checkpoint, ..self }
    }

    /// Worker threads of a started engine, 1 to 256.
    pub fn workers(self, workers: usize) -> Builder {
        Builder { workers, ..self }
    }

    /// How long a claim holds without renewal: at least ten busy deadlines and 200 ms, at most a
    /// day. Renewed at a third of it.
    pub fn lease(self, lease: Duration) -> Builder {
        Builder { lease, ..self }
    }

    /// How long a write waits for another program's lock before it is refused as busy.
    pub fn busy_deadline(self, busy: Duration) -> Builder {
        Builder { busy, ..self }
    }

    /// How long a job that may have killed its process waits for an idle process before a busy one
    /// runs empty for it: at most a day.
    pub fn suspect_wait(self, wait: Duration) -> Builder {
        Builder { suspect_wait: wait, ..self }
    }

    /// Opens the file on a network file system too, where locks and shared memory do not hold. It
    /// gives up two promises: accepted work may be lost, and one job may run twice at once.
    pub fn allow_filesystem(self) -> Builder {
        Builder { allow_filesystem: true, ..self }
    }

    /// Opens the file.
    ///
    /// # Errors
    /// [`Error::Setting`] for a setting out of its bounds, [`Error::Unusable`] if the file cannot
    /// be used; it was not changed then.
    pub fn open(self) -> Result<Lanebox> {
        self.open_in(Env::system())
    }

    pub(crate) fn open_in(self, env: Env) -> Result<Lanebox> {
        self.check()?;
        let ms = crate::model::job::duration_ms;
        let busy_ms = ms(self.busy).unsigned_abs();
        let how = Opening {
            create: self.create,
            durability: self.durability,
            checkpoint: self.checkpoint,
            busy_ms,
            allow_filesystem: self.allow_filesystem,
        };
        let store = SqliteStore::open(&self.path, env.clone(), &how)?;
        let settings = Settings {
            workers: self.workers,
            lease_ms: ms(self.lease),
            suspect_wait_ms: ms(self.suspect_wait),
        };
        let (store, hooks, engines) = (Arc::new(store), Hooks::default(), Arc::default());
        Ok(Lanebox { inner: Arc::new(Inner { store, env, settings, hooks, engines }) })
    }

    fn check(&self) -> Result<()> {
        let refuse = |what, why: String| Err(Error::Setting { what, why });
        if !(1..=256).contains(&self.workers) {
            return refuse("workers", format!("{} is not 1 to 256", self.workers));
        }
        if self.lease < Duration::from_millis(200) || self.lease < self.busy.saturating_mul(10) {
            let why = format!(
                "{:?} is shorter than 200 ms or ten busy deadlines of {:?}: a worker that waits for the lock would lose \
                 its lease",
                self.lease, self.busy
            );
            return refuse("lease", why);
        }
        for (what, time) in [("lease", self.lease), ("suspect wait", self.suspect_wait)] {
            if time > LONGEST {
                return refuse(
                    what,
                    format!("{time:?} is longer than a day: nobody looks so late"),
                );
            }
        }
        Ok(())
    }
}

impl Lanebox {
    /// Opens a file with the settings of [`Preset::Server`], making it if it is not there.
    ///
    /// # Errors
    /// As [`Builder::open`].
    pub fn open(path: impl AsRef<Path>) -> Result<Lanebox> {
        Lanebox::builder(path).open()
    }

    /// Settings to choose before the file is opened.
    pub fn builder(path: impl AsRef<Path>) -> Builder {
        Builder::new(path.as_ref())
    }

    /// Records a fact, or answers with the first one of its dedupe key. It is on the disk when this
    /// returns.
    ///
    /// # Errors
    /// [`Error::Invalid`] or [`Error::Conflict`] (the key was used with another payload); nothing
    /// was stored. [`Error::NoRoom`] while the disk is full. [`Error::CommitUnknown`]: call again
    /// with the same key.
    pub fn publish(&self, event: NewEvent) -> Result<Published> {
        Ok(self.publish_all(vec![event])?.remove(0))
    }

    /// Records many facts in one commit: all or none, answers in their order.
    ///
    /// # Errors
    /// As [`Lanebox::publish`].
    pub fn publish_all(&self, events: Vec<NewEvent>) -> Result<Vec<Published>> {
        let answers = self.inner.store.publish(events)?;
        self.bell();
        Ok(answers)
    }

    /// Accepts a job, or answers with the one that has its key. It is on the disk when this
    /// returns.
    ///
    /// # Errors
    /// [`Error::Invalid`] or [`Error::Conflict`]; nothing was stored. [`Error::NoRoom`] while the
    /// disk is full. [`Error::CommitUnknown`]: call again with the same key.
    pub fn enqueue(&self, job: NewJob) -> Result<Enqueued> {
        Ok(self.enqueue_all(vec![job])?.remove(0))
    }

    /// Accepts many jobs in one commit: all or none, answers in their order.
    ///
    /// # Errors
    /// As [`Lanebox::enqueue`].
    pub fn enqueue_all(&self, jobs: Vec<NewJob>) -> Result<Vec<Enqueued>> {
        let answers = self.inner.store.enqueue(jobs)?;
        self.bell();
        Ok(answers)
    }

    /// Runs `body` on this thread inside a transaction of the file: host rows, facts and jobs
    /// together or not at all.
    ///
    /// # Errors
    /// The body's own error as [`Error::Host`] (or as it was, if it is ours): everything was rolled
    /// back. [`Error::TransactionEnded`] if the body ended the transaction itself. SQLite answers
    /// the body "not authorized" to what would outlive the transaction: a PRAGMA that sets
    /// something, a temporary table, view or trigger in the way of one of Lanebox's.
    pub fn transaction<T, E>(
        &self,
        body: impl FnOnce(&Transaction<'_>) -> std::result::Result<T, E>,
    ) -> Result<T>
    where
        E: Into<BoxError>,
    {
        let answer = self
            .inner
            .store
            .transaction(|tx| body(&Transaction { tx }).map_err(|e| host_error(e.into())))?;
        self.bell();
        Ok(answer)
    }

    /// Records a fact in a transaction that the host has open on a connection of its own: host rows
    /// and fact together or not at all. Ring the [`bell`](Lanebox::bell) after its commit.
    ///
    /// # Errors
    /// As [`Lanebox::publish`]. [`Error::Refused`] without an open transaction, at `synchronous`
    /// below FULL (unless the file is relaxed), or if a deferred transaction has read before: begin
    /// with IMMEDIATE.
    pub fn publish_in(&self, conn: &rusqlite::Connection, event: NewEvent) -> Result<Published> {
        self.inner.store.publish_in(conn, &event)
    }

    /// Accepts a job in a transaction that the host has open on a connection of its own.
    ///
    /// # Errors
    /// As [`Lanebox::publish_in`].
    pub fn enqueue_in(&self, conn: &rusqlite::Connection, job: NewJob) -> Result<Enqueued> {
        self.inner.store.enqueue_in(conn, &job)
    }

    /// Says that something was committed: workers and consumers of this process look at once. Only
    /// needed after a commit on a connection of the host's own; other processes see it within a
    /// moment by themselves: on Linux a write to the log wakes them, elsewhere they look every
    /// 20 ms.
    pub fn bell(&self) {
        self.inner.engines.ring();
    }

    pub(crate) fn store(&self) -> &SqliteStore {
        &self.inner.store
    }

    /// The time on this handle's clock: what times of rows are relative to.
    pub fn now(&self) -> time::OffsetDateTime {
        let ms = i128::from(self.inner.env.now_ms());
        let at = time::OffsetDateTime::from_unix_timestamp_nanos(ms * 1_000_000);
        at.unwrap_or(time::OffsetDateTime::UNIX_EPOCH)
    }

    /// The business bus of this handle.
    pub fn hooks(&self) -> &Hooks {
        &self.inner.hooks
    }

    /// Starts workers for what this process has code for.
    ///
    /// # Errors
    /// [`Error::Setting`] for a mistake in `reactions`; nothing was started.
    pub fn start(&self, mut reactions: Reactions) -> Result<Running> {
        reactions.check(self.inner.settings.lease_ms)?;
        let process = self.inner.store.register()?;
        let started = self.start_as(process, reactions);
        if started.is_err()
            && let Err(error) = self.inner.store.leave(process)
        {
            tracing::warn!(%error, "an engine that did not start is still listed as a process");
        }
        started
    }

    fn start_as(&self, process: ProcessNo, mut reactions: Reactions) -> Result<Running> {
        let (engine, dispatcher) = self.set_up(process, &mut reactions)?;
        let dispatch = crate::runtime::dispatch(engine.clone(), dispatcher);
        let resolve = crate::runtime::resolve(engine.clone());
        Running::start(engine, vec![dispatch, resolve])
    }

    /// An engine that nothing steps yet.
    pub(crate) fn set_up(
        &self,
        process: ProcessNo,
        reactions: &mut Reactions,
    ) -> Result<(Arc<Engine>, Dispatcher)> {
        let inner = &self.inner;
        let store: Arc<dyn Store> = inner.store.clone();
        let (env, settings, peers) = (inner.env.clone(), inner.settings, inner.engines.clone());
        let engine = Arc::new(Engine::new(store, env, process, settings, reactions, peers)?);
        inner.engines.join(&engine);
        let subscriptions = reactions.take_subscriptions();
        let dispatcher = Dispatcher::start(&*inner.store, process, subscriptions)?.0;
        Ok((engine, dispatcher))
    }
}

// An error of ours that travelled through the host's closure stays what it was.
fn host_error(error: BoxError) -> Error {
    match error.downcast::<Error>() {
        Ok(ours) => *ours,
        Err(theirs) => Error::Host(theirs),
    }
}

/// A write transaction of the file, for host rows, facts and jobs together. It derefs to the
/// connection; ending the transaction is Lanebox's to do.
pub struct Transaction<'t> {
    pub(crate) tx: &'t dyn Within,
}

impl Transaction<'_> {
    /// Records a fact in this transaction.
    ///
    /// # Errors
    /// As [`Lanebox::publish`]; the transaction remains usable.
    pub fn publish(&self, event: NewEvent) -> Result<Published> {
        self.tx.publish(&event)
    }

    /// Accepts a job in this transaction.
    ///
    /// # Errors
    /// As [`Lanebox::enqueue`]; the transaction remains usable.
    pub fn enqueue(&self, job: NewJob) -> Result<Enqueued> {
        self.tx.enqueue(&job)
    }
}

impl Deref for Transaction<'_> {
    type Target = rusqlite::Connection;

    fn deref(&self) -> &rusqlite::Connection {
        self.tx.connection()
    }
}
