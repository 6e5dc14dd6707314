//! Drain of no-op jobs by a started engine at FULL, as a share of the raw floor at the mean batch
//! that it reached.

mod workload;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use lanebox::{Lane, Lanebox, NewJob, Outcome, Policy, Reactions, testing};
use workload::floor::Sync;

const JOBS: usize = 60_000;

/// Jobs per second, and the mean batch of a commit.
fn drain(path: &std::path::Path, workers: usize, lane: fn(usize) -> Lane) -> (f64, f64) {
    let lanebox = Lanebox::builder(path).workers(workers).open().expect("a new file");
    let payload = workload::payload();
    let jobs: Vec<NewJob> =
        (0..JOBS).map(|i| NewJob::raw("noop", payload.clone(), lane(i)).org("acme")).collect();
    for some in jobs.chunks(1_000) {
        let _accepted = lanebox.enqueue_all(some.to_vec()).expect("accepted");
    }
    let done = Arc::new(AtomicUsize::new(0));
    let count = done.clone();
    let reactions = Reactions::new().on_kind("noop", Policy::default(), move |_ctx| {
        count.fetch_add(1, Ordering::Relaxed);
        Ok::<_, std::io::Error>(Outcome::Done)
    });
    let before = testing::commits(&lanebox);
    let from = workload::now();
    let running = lanebox.start(reactions).expect("started");
    while done.load(Ordering::Relaxed) < JOBS {
        std::thread::park_timeout(Duration::from_millis(1));
    }
    // Done means committed.
    let report = running.stop(Duration::from_secs(10));
    let took = from.elapsed().as_secs_f64();
    assert_eq!(report.still_running, 0);
    assert_eq!(testing::finished(&lanebox), JOBS);
    let commits = testing::commits(&lanebox) - before;
    (JOBS as f64 / took, JOBS as f64 / commits as f64)
}

fn main() {
    let dir = workload::place();
    for workers in [1, 8] {
        let (mut rates, mut floors, mut batches) = (Vec::new(), Vec::new(), Vec::new());
        for i in 0..workload::repetitions(5) {
            let path = dir.path().join(format!("drain-{workers}-{i}.db"));
            let (rate, batch) = drain(&path, workers, |_| Lane::NONE);
            let floor = dir.path().join(format!("floor-{workers}-{i}.db"));
            let floor = workload::floor::drain(&floor, Sync::Full, JOBS, batch.round() as usize);
            floors.push(floor.expect("floor"));
            rates.push(rate);
            batches.push(batch);
        }
        let (rate, floor) = (workload::median(rates), workload::median(floors));
        let batch = workload::median(batches);
        println!(
            "drain, {workers} workers, FULL: {rate:>8.0} jobs/s at a mean batch of {batch:.1}; floor there {floor:>8.0}; ratio {:.2}",
            rate / floor
        );
    }
}
