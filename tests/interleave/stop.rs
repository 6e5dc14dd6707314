//! The stop of an engine: whatever was claimed ends or goes back, exactly once; the last commit is
//! waited for; every thread ends.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use parking_lot::Mutex;
use shuttle::thread;

use super::commit::place;
use crate::engine::reactions::Reactions;
use crate::engine::{Engine, Settings};
use crate::env::{Clock, Env};
use crate::model::event::NewEvent;
use crate::runtime::Running;
use crate::store::jobs::Jobs;
use crate::store::processes::Processes;
use crate::store::sqlite::{Durability, Opening, SqliteStore};
use crate::{BoxError, Ctx, Lane, NewJob, Outcome, Policy};

const NOW: i64 = 1_700_000_000_000;
const LONG: Duration = Duration::from_secs(600);
const JOBS: usize = 5;

/// A clock that moves on whenever it is read.
struct Ticking(AtomicI64);

impl Clock for Ticking {
    fn now_ms(&self) -> i64 {
        NOW + self.mono_us() / 1_000
    }

    fn mono_us(&self) -> i64 {
        self.0.fetch_add(200, Ordering::SeqCst)
    }

    fn boot(&self) -> &'static str {
        "boot-1"
    }
}

/// A file with jobs that wait, of which each order has a copy.
static PREPARED: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let (_dir, path) = place();
    let store = open(&path, 1);
    let job = |n: usize| NewJob::raw("turn", "{}", Lane::of(format!("lane {}", n % 3))).org("acme");
    let _accepted = store.enqueue((0..JOBS).map(job).collect()).expect("accepted");
    let log = "PRAGMA wal_checkpoint(TRUNCATE)";
    store.on_writer(|conn| conn.execute_batch(log)).expect("written");
    drop(store);
    std::fs::read(&path).expect("it is there")
});

pub(super) fn prepare() {
    LazyLock::force(&PREPARED);
}

fn open(path: &std::path::Path, seed: u64) -> SqliteStore {
    let env = Env::new(Arc::new(Ticking(AtomicI64::new(1_000_000))), seed);
    let how = Opening { durability: Durability::Relaxed, busy_ms: 20, ..Opening::default() };
    SqliteStore::open(path, env, &how).expect("the file opens")
}

/// How often each job began and ended by an answer of its own.
type Runs = Arc<Mutex<BTreeMap<String, (u32, u32)>>>;

pub(super) fn an_engine_ends_in_order(seed: u64) {
    let mut random = fastrand::Rng::with_seed(seed);
    let (_dir, path) = place();
    std::fs::write(&path, &*PREPARED).expect("a copy");
    let store = Arc::new(open(&path, seed));
    let process = store.register().expect("a process");
    let env = Env::new(Arc::new(Ticking(AtomicI64::new(2_000_000))), seed);
    let settings = Settings { workers: random.usize(1..4), lease_ms: 60_000, suspect_wait_ms: 0 };
    let runs = Runs::default();
    let reactions = reactions(&runs, &mut random);
    let engine = Engine::new(store.clone(), env, process, settings, &reactions, Arc::default());
    let engine = Arc::new(engine.expect("made"));
    let running = Running::start(engine.clone(), Vec::new()).expect("started");
    for _ in 0..random.usize(..60) {
        thread::yield_now();
    }
    let deadline = if random.bool() { Duration::ZERO } else { Duration::from_millis(10) };
    let report = running.stop(deadline);
    assert_eq!((report.still_running, engine.running()), (0, 0));
    let all = || -> (u32, u32) {
        runs.lock().values().fold((0, 0), |all, run| (all.0 + run.0, all.1 + run.1))
    };
    let (begun, ended) = all();
    thread::yield_now();
    assert_eq!((begun, ended), all(), "it ran after the stop");
    judge(&store, begun, ended);
}

fn reactions(runs: &Runs, random: &mut fastrand::Rng) -> Reactions {
    let (runs, waits) = (runs.clone(), random.bool());
    let turn = move |ctx: &Ctx<'_>| {
        runs.lock().entry(ctx.job().to_string()).or_default().0 += 1;
        thread::yield_now();
        // Some wait until they are told to stop.
        if waits && !ctx.wait(LONG) {
            return Err(BoxError::from("told to stop"));
        }
        ctx.publish(NewEvent::new("acme", "turn.done"))?;
        runs.lock().entry(ctx.job().to_string()).or_default().1 += 1;
        Ok(Outcome::Done)
    };
    Reactions::new().on_kind("turn", Policy::default(), turn)
}

// What ended is written, what did not waits as before, and nobody holds anything.
fn judge(store: &SqliteStore, begun: u32, ended: u32) {
    let number = |sql: &'static str| {
        store.look(move |conn| {
            conn.query_row(sql, [], |row| row.get::<_, u32>(0)).expect("a number")
        })
    };
    assert!(begun >= ended);
    assert_eq!(number("SELECT count(*) FROM lanebox_running"), 0, "something is still held");
    assert_eq!(number("SELECT count(*) FROM lanebox_finished WHERE state = 'done'"), ended);
    assert_eq!(number("SELECT count(*) FROM lanebox_event"), ended, "each said so once");
    assert_eq!(number("SELECT count(*) FROM lanebox_process WHERE gone = 0"), 0);
    assert_eq!(number("SELECT count(*) FROM lanebox_job_state WHERE lost > 0"), 0);
    let finding = store.audit();
    assert!(finding.is_empty(), "{finding:?}");
}
