//! Doors for tests and benches.

use std::path::Path;

use crate::env::Env;
use crate::model::verdict::End;
use crate::store::jobs::{Ask, Claimed, Finish, Handled, Jobs, Round};
use crate::store::processes::Processes;
use crate::store::sqlite::{Opening, SqliteStore};
use crate::{Durability, Lane, NewJob, Result};

/// Commits of a handle so far: operations by this are the mean batch.
pub fn commits(lanebox: &crate::Lanebox) -> u64 {
    lanebox.store().commits()
}

/// Jobs that have ended.
pub fn finished(lanebox: &crate::Lanebox) -> usize {
    lanebox.store().count("SELECT count(*) FROM lanebox_finished")
}

/// The bare store, for benches of the write path.
pub struct Bare {
    store: SqliteStore,
    ask: Ask,
    held: Vec<Claimed>,
}

impl Bare {
    /// A new file.
    pub fn create(path: &Path, durability: Durability) -> Result<Bare> {
        let how = Opening { durability, ..Opening::default() };
        let store = SqliteStore::open(path, Env::system(), &how)?;
        let process = store.register()?;
        let kind = store.kind("noop")?;
        let ask = Ask {
            process,
            kinds: vec![Handled { kind, short: true }],
            idle: 0,
            ahead: 0,
            lease_ms: 60_000,
            suspect_wait_ms: 30_000,
        };
        Ok(Bare { store, ask, held: Vec::new() })
    }

    /// Enqueues `n` jobs, 500 a commit.
    pub fn enqueue(&self, n: usize, kind: &str, lane: impl Fn(usize) -> Lane) -> Result<()> {
        let payload = format!("{{\"text\":\"{}\"}}", "x".repeat(180));
        let jobs: Vec<NewJob> =
            (0..n).map(|i| NewJob::raw(kind, payload.clone(), lane(i)).org("acme")).collect();
        for some in jobs.chunks(500) {
            let _ = self.store.enqueue(some.to_vec())?;
        }
        Ok(())
    }

    /// One fused pass: what is held ends as done, up to `n` are taken. How many are held then.
    pub fn pass(&mut self, n: usize) -> Result<usize> {
        let done = |claimed: Claimed| Finish {
            held: claimed.held,
            end: End::Done { result: None },
            outbox: Vec::new(),
        };
        let finish = std::mem::take(&mut self.held).into_iter().map(done).collect();
        let claim = Some(Ask { idle: n, ..self.ask.clone() });
        let round = Round { finish, claim, ..Round::default() };
        self.held = self.store.round(round)?.claimed;
        Ok(self.held.len())
    }

    /// Commits so far.
    pub fn commits(&self) -> u64 {
        self.store.commits()
    }
}
