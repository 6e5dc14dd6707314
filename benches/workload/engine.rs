//! Files full of jobs, and engines that work through them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use lanebox::{Ctx, Durability, Lane, Lanebox, NewJob, Outcome, Policy, Reactions, testing};

use super::{now, payload};

/// How fast jobs were done, and how many ends a commit had.
#[derive(Clone, Copy, Debug)]
pub struct Drained {
    pub rate: f64,
    pub batch: f64,
}

/// A new file in a directory that goes when it is dropped.
pub fn file(durability: Durability, workers: usize) -> (tempfile::TempDir, Lanebox) {
    let dir = super::place();
    let path = dir.path().join("lanebox.db");
    let builder = Lanebox::builder(path).durability(durability).workers(workers);
    (dir, builder.open().expect("a new file"))
}

/// Accepts jobs, 1,000 a call.
pub fn enqueue(lanebox: &Lanebox, jobs: usize, job: impl Fn(usize) -> NewJob) {
    for from in (0..jobs).step_by(1_000) {
        let some: Vec<NewJob> = (from..jobs.min(from + 1_000)).map(&job).collect();
        let asked = some.len();
        assert_eq!(lanebox.enqueue_all(some).expect("accepted").len(), asked);
    }
}

/// A job of the kind that [`counting`] runs.
pub fn noop(lane: Lane) -> NewJob {
    NewJob::raw("noop", payload(), lane).org("acme")
}

/// A handler that does nothing but count.
pub fn counting(
    done: &Arc<AtomicUsize>,
) -> impl Fn(&Ctx<'_>) -> std::io::Result<Outcome> + Send + Sync + 'static {
    let done = done.clone();
    move |_ctx| {
        done.fetch_add(1, Ordering::Relaxed);
        Ok(Outcome::Done)
    }
}

/// A no-op for jobs of [`noop`], and its count.
pub fn noops() -> (Reactions, Arc<AtomicUsize>) {
    let done = Arc::default();
    (Reactions::new().on_kind("noop", Policy::default(), counting(&done)), done)
}

/// Runs an engine until `done` says so many, and stops it: what counts is committed.
pub fn run(lanebox: &Lanebox, reactions: Reactions, done: &AtomicUsize, jobs: usize) -> Drained {
    let before = testing::commits(lanebox);
    let from = now();
    let running = lanebox.start(reactions).expect("started");
    wait(|| done.load(Ordering::Relaxed) >= jobs);
    let report = running.stop(Duration::from_secs(10));
    let took = from.elapsed().as_secs_f64();
    assert_eq!(report.still_running, 0);
    let commits = testing::commits(lanebox) - before;
    Drained { rate: jobs as f64 / took, batch: jobs as f64 / commits as f64 }
}

/// Waits for something that comes.
pub fn wait(until: impl Fn() -> bool) {
    let from = now();
    while !until() {
        assert!(from.elapsed() < Duration::from_secs(300), "it does not come");
        pause(Duration::from_millis(1));
    }
}

/// Lets time pass.
pub fn pause(time: Duration) {
    let from = now();
    while let Some(left) = time.checked_sub(from.elapsed()) {
        std::thread::park_timeout(left);
    }
}
