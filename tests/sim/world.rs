//! One file, the processes on it, the clock in hand, and chance from one seed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering};

use parking_lot::Mutex;
use rusqlite::Connection;

use super::faults::Swarm;
use super::outside::Outside;
use super::process::Process;
use super::report::Report;
use super::work::Accepted;
use crate::Durability;
use crate::env::{Clock, Env, ManualClock};
use crate::model::send::ability::Abilities;
use crate::store::sqlite::{Opening, SqliteStore};

/// Monday, 2026-01-05, 08:00 UTC.
const MORNING: i64 = 1_767_600_000_000;

/// A job is never in two places: these triggers say so between any two statements.
const GUARDS: &str = include_str!("../../schema/sqlite/guards.sql");

/// Processes that a world has when all of them live.
pub(super) const PROCESSES: usize = 3;

pub(super) struct World {
    pub(super) seed: u64,
    pub(super) clock: Arc<ManualClock>,
    pub(super) swarm: Swarm,
    pub(super) outside: Outside,
    pub(super) accepted: Mutex<Accepted>,
    /// Reads, and never writes.
    pub(super) observer: SqliteStore,
    /// As another program writes.
    pub(super) raw: Mutex<Connection>,
    pub(super) depth: AtomicUsize,
    /// Milliseconds that have passed outside, but not by the monotonic clock of this boot.
    pub(super) before_boot: AtomicI64,
    /// What of the file was looked at last.
    pub(super) checked: AtomicI64,
    chance: Mutex<fastrand::Rng>,
    quiet: AtomicBool,
    processes: Mutex<Vec<Arc<Process>>>,
    opened: AtomicUsize,
    report: Mutex<Report>,
    dir: tempfile::TempDir,
}

impl World {
    pub(super) fn new(seed: u64, abilities: Abilities) -> Arc<World> {
        let clock = Arc::new(ManualClock::at(MORNING));
        let dir = directory();
        let mut chance = fastrand::Rng::with_seed(seed);
        let observer = opened(&dir, clock.clone(), seed * 1_000);
        let raw = Connection::open(dir.path().join("crm.db")).expect("another program's");
        raw.execute_batch("CREATE TABLE effect (job INTEGER NOT NULL, token INTEGER NOT NULL)")
            .expect("a table of the host's");
        // Every rule is asked after every step.
        raw.set_prepared_statement_cache_capacity(64);
        Arc::new(World {
            seed,
            swarm: Swarm::new(&mut chance),
            outside: Outside::new(abilities),
            accepted: Mutex::default(),
            observer,
            raw: Mutex::new(raw),
            depth: AtomicUsize::new(0),
            before_boot: AtomicI64::new(0),
            checked: AtomicI64::new(-1),
            chance: Mutex::new(chance),
            quiet: AtomicBool::new(false),
            processes: Mutex::default(),
            opened: AtomicUsize::new(1),
            report: Mutex::default(),
            clock,
            dir,
        })
    }

    // Chance: one stream for everything, so that a seed is the whole story.

    pub(super) fn below(&self, n: usize) -> usize {
        self.chance.lock().usize(0..n)
    }

    pub(super) fn between(&self, low: i64, high: i64) -> i64 {
        self.chance.lock().i64(low..=high)
    }

    // Processes.

    /// The file as one more process opens it, with chance of its own.
    pub(super) fn open(&self) -> (usize, SqliteStore, Env) {
        let name = self.opened.fetch_add(1, Ordering::SeqCst);
        let seed = self.seed * 1_000 + u64::try_from(name).expect("few");
        let store = opened(&self.dir, self.clock.clone(), seed);
        store.on_writer(|conn| conn.execute_batch(GUARDS)).expect("temporary triggers");
        (name, store, Env::new(self.clock.clone(), seed + 500))
    }

    /// Starts one more process if one is missing.
    pub(super) fn start_missing(self: &Arc<World>) -> bool {
        self.bury();
        if self.processes.lock().len() >= PROCESSES {
            return false;
        }
        if let Some(process) = Process::start(self) {
            self.processes.lock().push(Arc::new(process));
        }
        true
    }

    /// Takes away who has died, once nothing of it is under way.
    pub(super) fn bury(&self) {
        self.processes.lock().retain(|process| {
            let gone = process.life.is_dead() && !process.life.is_entered();
            !gone
        });
    }

    pub(super) fn living(&self) -> Vec<Arc<Process>> {
        let mut living = self.processes.lock().clone();
        living.retain(|process| !process.life.is_dead());
        living
    }

    pub(super) fn any_process(&self) -> Option<Arc<Process>> {
        let mut living = self.living();
        (!living.is_empty()).then(|| living.swap_remove(self.below(living.len())))
    }

    // Faults.

    pub(super) fn is_quiet(&self) -> bool {
        self.quiet.load(Ordering::SeqCst)
    }

    pub(super) fn no_more_faults(&self) {
        self.quiet.store(true, Ordering::SeqCst);
        self.living().iter().for_each(|process| process.life.freeze(false));
    }

    pub(super) fn depth(&self) -> usize {
        self.depth.load(Ordering::SeqCst)
    }

    // What happened.

    pub(super) fn mono_ms(&self) -> i64 {
        self.clock.mono_us() / 1_000
    }

    pub(super) fn note(&self, line: &str) {
        self.report.lock().note(self.mono_ms(), line);
    }

    pub(super) fn see(&self, what: &str) {
        self.report.lock().see(what);
    }

    pub(super) fn fail(&self, why: String) {
        self.report.lock().fail(why);
    }

    pub(super) fn has_failed(&self) -> bool {
        self.report.lock().has_failed()
    }

    pub(super) fn report(&self) -> Report {
        self.report.lock().clone()
    }
}

// Nobody cuts the power here: a file in memory is as good, and does not wait for a disk.
fn directory() -> tempfile::TempDir {
    let memory = std::path::Path::new("/dev/shm");
    let made = match memory.is_dir() {
        true => tempfile::tempdir_in(memory),
        false => tempfile::tempdir(),
    };
    made.expect("a directory")
}

fn opened(dir: &tempfile::TempDir, clock: Arc<ManualClock>, seed: u64) -> SqliteStore {
    let how = Opening { durability: Durability::Relaxed, busy_ms: 0, ..Opening::default() };
    let path = dir.path().join("crm.db");
    SqliteStore::open(&path, Env::new(clock, seed), &how).expect("it opens")
}
