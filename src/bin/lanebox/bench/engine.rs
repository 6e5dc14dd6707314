//! What Lanebox reaches, as a client of its public API. A job counts only once its commit is done,
//! and a count that does not come out is an error, not a figure.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use anyhow::{bail, ensure};
use lanebox::{Durability, Lane, Lanebox, NewJob, Outcome, Policy, Reactions, Running};

use super::clock::now;
use super::commits::Commits;
use super::figures::THREADS;
use super::floor::{Sync, payload};
use super::watch::Watch;

const KIND: &str = "noop";

/// Jobs of a call in bulk.
pub const BULK: usize = 1_000;

/// Longer than this no machine takes for one job: something is stuck.
const PATIENCE: Duration = Duration::from_secs(60);

/// Between two looks at whether anybody has interrupted it.
const LOOK: Duration = Duration::from_millis(100);

/// Between the end of one latency and the next, so that each begins with an idle engine.
const REST: Duration = Duration::from_millis(2);

/// A rate, and how many jobs shared a commit.
#[derive(Clone, Copy, Debug)]
pub struct Reached {
    pub per_s: f64,
    pub batch: f64,
}

fn open(db: &Path, sync: Sync, workers: usize) -> lanebox::Result<Lanebox> {
    let durability = match sync {
        Sync::Full => Durability::Full,
        Sync::Normal => Durability::Relaxed,
    };
    Lanebox::builder(db).durability(durability).workers(workers).open()
}

/// With its commits counted. The count stands first: it must be dropped after the file.
fn open_counted(db: &Path, sync: Sync, workers: usize) -> anyhow::Result<(Commits, Lanebox)> {
    let lanebox = open(db, sync, workers)?;
    Ok((Commits::of(db)?, lanebox))
}

fn job(payload: &str) -> NewJob {
    NewJob::raw(KIND, payload, Lane::NONE).org("acme")
}

fn per_s(jobs: usize, begun: Instant) -> f64 {
    jobs as f64 / begun.elapsed().as_secs_f64()
}

fn batch(jobs: usize, commits: u32) -> f64 {
    jobs as f64 / f64::from(commits.max(1))
}

/// Whether Lanebox takes this directory at all: it refuses a network file system, and says why.
pub fn try_out(db: &Path) -> anyhow::Result<()> {
    Ok(open(db, Sync::Full, 1).map(drop)?)
}

/// One client, one job a call.
pub fn enqueue(db: &Path, sync: Sync, jobs: usize) -> anyhow::Result<Reached> {
    let lanebox = open(db, sync, 1)?;
    let payload = payload();
    let begun = now();
    for _ in 0..jobs {
        let _accepted = lanebox.enqueue(job(&payload))?;
    }
    let per_s = per_s(jobs, begun);
    all_are_there(&lanebox, jobs)?;
    Ok(Reached { per_s, batch: 1.0 })
}

/// Many threads at once, one job a call: their commits are shared.
pub fn crowd(db: &Path, sync: Sync, jobs: usize) -> anyhow::Result<Reached> {
    let each = jobs.div_ceil(THREADS);
    let (mut commits, lanebox) = open_counted(db, sync, 1)?;
    let payload = payload();
    let client = || -> lanebox::Result<()> {
        (0..each).try_for_each(|_| lanebox.enqueue(job(&payload)).map(drop))
    };
    let before = commits.count()?;
    let begun = now();
    std::thread::scope(|scope| {
        let clients: Vec<_> = (0..THREADS).map(|_| scope.spawn(client)).collect();
        let ended = clients.into_iter().map(|client| match client.join() {
            Ok(answer) => answer.map_err(anyhow::Error::from),
            Err(_) => bail!("a thread that enqueued has panicked"),
        });
        ended.collect::<anyhow::Result<Vec<()>>>()
    })?;
    let per_s = per_s(each * THREADS, begun);
    let commits = commits.count()?.wrapping_sub(before);
    all_are_there(&lanebox, each * THREADS)?;
    Ok(Reached { per_s, batch: batch(each * THREADS, commits) })
}

/// A backlog by bulk, drained by a started engine. Jobs per second of the bulk, then of the drain.
pub fn drain(
    db: &Path,
    sync: Sync,
    workers: usize,
    jobs: usize,
    watch: &Watch,
) -> anyhow::Result<(Reached, Reached)> {
    let (mut commits, lanebox) = open_counted(db, sync, workers)?;
    let payload = payload();
    let calls: Vec<Vec<NewJob>> = (0..jobs)
        .step_by(BULK)
        .map(|from| (from..jobs.min(from + BULK)).map(|_| job(&payload)).collect())
        .collect();
    let begun = now();
    for call in calls {
        let _accepted = lanebox.enqueue_all(call)?;
    }
    let bulk = Reached { per_s: per_s(jobs, begun), batch: jobs.min(BULK) as f64 };

    let (last, done) = mpsc::channel();
    let count = Arc::new(AtomicUsize::new(0));
    let counted = count.clone();
    let reactions = Reactions::new().on_kind(KIND, Policy::default(), move |_ctx| {
        if counted.fetch_add(1, Ordering::Relaxed) + 1 == jobs {
            // Who waits may have given up.
            let _ = last.send(());
        }
        Ok::<_, std::io::Error>(Outcome::Done)
    });
    let before = commits.count()?;
    let begun = now();
    let running = lanebox.start(reactions)?;
    wait(&done, &running, &count, watch)?;
    // Done means committed.
    let report = running.stop(PATIENCE);
    let drained = per_s(jobs, begun);
    let commits = commits.count()?.wrapping_sub(before);
    ensure!(report.still_running == 0, "{} handlers did not end", report.still_running);
    all_are_there(&lanebox, jobs)?;
    all_are_done(&lanebox, jobs)?;
    Ok((bulk, Reached { per_s: drained, batch: batch(jobs, commits) }))
}

/// From the return of an enqueue, when its commit is done, to the start of its handler: each in
/// microseconds.
pub fn latencies(
    db: &Path,
    sync: Sync,
    for_how_long: Duration,
    watch: &Watch,
) -> anyhow::Result<Vec<f64>> {
    let lanebox = open(db, sync, 8)?;
    let (starts, started) = mpsc::channel();
    let reactions = Reactions::new().on_kind(KIND, Policy::default(), move |_ctx| {
        // Who waits may have given up.
        let _ = starts.send(now());
        Ok::<_, std::io::Error>(Outcome::Done)
    });
    let count = AtomicUsize::new(0);
    let running = lanebox.start(reactions)?;
    let (payload, begun) = (payload(), now());
    let mut latencies = Vec::new();
    while latencies.is_empty() || begun.elapsed() < for_how_long {
        std::thread::park_timeout(REST);
        let _accepted = lanebox.enqueue(job(&payload))?;
        let committed = now();
        let at = wait(&started, &running, &count, watch)?;
        count.fetch_add(1, Ordering::Relaxed);
        // The handler may have begun before this thread had its answer.
        let passed = at.saturating_duration_since(committed);
        latencies.push(passed.as_secs_f64() * 1e6);
    }
    let report = running.stop(PATIENCE);
    ensure!(report.still_running == 0, "{} handlers did not end", report.still_running);
    all_are_done(&lanebox, latencies.len())?;
    Ok(latencies)
}

/// What a handler says, unless no handler begins for too long or the user has seen enough.
fn wait<T>(
    said: &mpsc::Receiver<T>,
    running: &Running,
    count: &AtomicUsize,
    watch: &Watch,
) -> anyhow::Result<T> {
    let (mut seen, mut since) = (count.load(Ordering::Relaxed), now());
    loop {
        match said.recv_timeout(LOOK) {
            Ok(said) => return Ok(said),
            Err(RecvTimeoutError::Disconnected) => bail!("the engine ended by itself"),
            Err(RecvTimeoutError::Timeout) => watch.go_on()?,
        }
        let count = count.load(Ordering::Relaxed);
        if count != seen {
            (seen, since) = (count, now());
        }
        if since.elapsed() > PATIENCE {
            let room = running.health().room.mode.as_str();
            bail!("no job was started for {PATIENCE:?}; the room on the disk is {room}");
        }
    }
}

fn all_are_there(lanebox: &Lanebox, jobs: usize) -> anyhow::Result<()> {
    let there = lanebox.stats()?.jobs;
    ensure!(usize::try_from(there) == Ok(jobs), "{jobs} jobs were accepted and {there} are there");
    Ok(())
}

fn all_are_done(lanebox: &Lanebox, jobs: usize) -> anyhow::Result<()> {
    let done = lanebox.stats()?.done.n;
    ensure!(usize::try_from(done) == Ok(jobs), "{jobs} jobs were handled and {done} are done");
    Ok(())
}
