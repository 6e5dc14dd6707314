//! Doors for tests and benches of Lanebox itself. Nothing here keeps its shape from one release to
//! the next.

mod stepped;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use time::OffsetDateTime;

use crate::env::{Env, ManualClock, Room};
use crate::store::jobs::{Ask, Claimed, Finish, Handled, Jobs, Reap, Round};
use crate::store::processes::{Announced, Processes};
use crate::store::sqlite::{Opening, SqliteStore};
use crate::{Durability, Lane, NewJob, Outcome, Result};

pub use stepped::{Step, Stepped};

/// Commits of a handle so far: operations by this are the mean batch.
pub fn commits(lanebox: &crate::Lanebox) -> u64 {
    lanebox.store().commits()
}

/// Runs `body` while every reader of the handle but one is in use.
///
/// # Errors
/// [`Error::NoReader`](crate::Error::NoReader) if they are in use already; it was not run then.
pub fn with_one_reader<T>(lanebox: &crate::Lanebox, body: impl FnOnce() -> T) -> Result<T> {
    lanebox.store().with_one_reader(body)
}

/// From now on the disk of the handle seems to have so many bytes free, of a hundred GiB; `None`:
/// what it really has.
pub fn pretend_room(lanebox: &crate::Lanebox, free: Option<u64>) {
    let total = 100 << 30;
    lanebox.store().pretend_room(free.map(|free| Room { free, total }));
}

/// Jobs that have ended.
pub fn finished(lanebox: &crate::Lanebox) -> usize {
    lanebox.store().count("SELECT count(*) FROM lanebox_finished")
}

/// Plants a fault in this process: a run ends its job although it does not hold it any more. The
/// judge of the demo must see it.
#[cfg(feature = "sabotage")]
pub fn ignore_tokens() {
    crate::store::sqlite::sabotage::IGNORE_TOKENS.store(true, std::sync::atomic::Ordering::SeqCst);
}

/// A clock that stands still until it is moved.
#[derive(Clone)]
pub struct Clock(Arc<ManualClock>);

impl Clock {
    /// At this time.
    #[must_use]
    pub fn at(now: OffsetDateTime) -> Clock {
        Clock(Arc::new(ManualClock::at(crate::model::job::millis(now))))
    }

    /// Lets this time pass.
    pub fn pass(&self, time: Duration) {
        self.0.advance(crate::model::job::duration_ms(time));
    }

    fn env(&self, seed: u64) -> Env {
        Env::new(self.0.clone(), seed)
    }
}

/// Opens a file in the time of this clock, and with the chance of a seed.
///
/// # Errors
/// As [`Builder::open`](crate::Builder::open).
pub fn open(builder: crate::Builder, clock: &Clock, seed: u64) -> Result<crate::Lanebox> {
    builder.open_in(clock.env(seed))
}

/// The bare store with one holder of leases and no threads, for benches of the write path.
pub struct Bare {
    store: SqliteStore,
    env: Env,
    ask: Ask,
    held: Vec<Claimed>,
}

impl Bare {
    /// A new file.
    ///
    /// # Errors
    /// As [`Lanebox::open`](crate::Lanebox::open).
    pub fn create(path: &Path, durability: Durability) -> Result<Bare> {
        Bare::open_in(path, durability, Env::system())
    }

    /// The same in the time of a clock.
    ///
    /// # Errors
    /// As [`Lanebox::open`](crate::Lanebox::open).
    pub fn open(path: &Path, clock: &Clock, seed: u64) -> Result<Bare> {
        Bare::open_in(path, Durability::Relaxed, clock.env(seed))
    }

    fn open_in(path: &Path, durability: Durability, env: Env) -> Result<Bare> {
        let how = Opening { durability, ..Opening::default() };
        let store = SqliteStore::open(path, env.clone(), &how)?;
        let process = store.register()?;
        let ask = Ask {
            process,
            kinds: Vec::new(),
            idle: 0,
            ahead: 0,
            lease_ms: 600_000,
            suspect_wait_ms: 30_000,
        };
        Ok(Bare { store, env, ask, held: Vec::new() })
    }

    /// From now on it has code for this kind.
    ///
    /// # Errors
    /// As [`Lanebox::enqueue`](crate::Lanebox::enqueue).
    pub fn handle(&mut self, kind: &str) -> Result<()> {
        // As an engine does.
        let kind = Announced { kind: kind.to_owned(), yields: false };
        let kinds = self.store.announce(self.ask.process, vec![kind])?;
        self.ask.kinds.extend(kinds.into_iter().map(|kind| Handled { kind, short: true }));
        Ok(())
    }

    /// Enqueues `n` jobs of this kind, 500 a commit.
    ///
    /// # Errors
    /// As [`Lanebox::enqueue`](crate::Lanebox::enqueue).
    pub fn enqueue(&self, n: usize, kind: &str, lane: impl Fn(usize) -> Lane) -> Result<()> {
        let payload = format!("{{\"text\":\"{}\"}}", "x".repeat(188));
        let job = |i| NewJob::raw(kind, payload.clone(), lane(i)).org("acme");
        for from in (0..n).step_by(500) {
            let _accepted = self.store.enqueue((from..n.min(from + 500)).map(job).collect())?;
        }
        Ok(())
    }

    /// One fused pass: what is held ends as done, up to `n` are taken. How many are held then.
    ///
    /// # Errors
    /// As the engine's own passes.
    pub fn pass(&mut self, n: usize) -> Result<usize> {
        self.pass_with(n, || Outcome::Done)
    }

    /// The same with another outcome of what is held.
    ///
    /// # Errors
    /// As the engine's own passes.
    pub fn pass_with(&mut self, n: usize, outcome: impl Fn() -> Outcome) -> Result<usize> {
        let end = || outcome().into_end(self.env.now_ms(), Duration::from_secs(1));
        let ended =
            |claimed: Claimed| Finish { held: claimed.held, end: end(), outbox: Vec::new() };
        let finish = std::mem::take(&mut self.held).into_iter().map(ended).collect();
        let claim = Some(Ask { idle: n, ..self.ask.clone() });
        let round = Round { finish, claim, ..Round::default() };
        self.held = self.store.round(round)?.claimed;
        Ok(self.held.len())
    }

    /// Takes back what others hold beyond their lease.
    ///
    /// # Errors
    /// As the engine's own passes.
    pub fn reap(&mut self) -> Result<()> {
        let round = Round { reap: Some(Reap::Expired), ..Round::default() };
        self.store.round(round).map(drop)
    }

    /// Keeps what is held running for ever.
    pub fn leave_running(&mut self) {
        self.held.clear();
    }

    /// Commits so far.
    pub fn commits(&self) -> u64 {
        self.store.commits()
    }
}
