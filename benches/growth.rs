//! What growth costs: enqueue and drain on a file with so many jobs that wait and as many that have
//! ended, beside a file with 10,000 of each. `GROWTH=full` adds five million.

mod workload;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use lanebox::{Durability, Lane, Lanebox, Policy, Reactions, testing};
use workload::beside::{Beside, size};
use workload::{engine, history, now};

const WORKERS: usize = 8;

/// Jobs per second of an enqueue of 100 a call, and of a drain of as many from the backlog.
fn rates(path: &Path, jobs: usize) -> (f64, f64) {
    let builder = Lanebox::builder(path).must_exist().durability(Durability::Full);
    let lanebox = builder.workers(WORKERS).open().expect("the file");
    let from = now();
    for _ in 0..jobs / 100 {
        let some = (0..100).map(|_| engine::noop(Lane::NONE)).collect();
        assert_eq!(lanebox.enqueue_all(some).expect("accepted").len(), 100);
    }
    let enqueued = jobs as f64 / from.elapsed().as_secs_f64();
    let done = Arc::new(AtomicUsize::new(0));
    let reactions = Reactions::new().on_kind("noop", Policy::default(), engine::counting(&done));
    let drained = engine::run(&lanebox, reactions, &done, jobs).rate;
    assert!(done.load(Ordering::Relaxed) >= jobs);
    assert!(testing::finished(&lanebox) >= jobs);
    (enqueued, drained)
}

fn main() {
    let dir = workload::place();
    let jobs = size(20_000, 200);
    let small = dir.path().join("small.db");
    let few = size(10_000, 300);
    history::fill(&small, few, few, 0);
    let mut sizes = vec![size(1_000_000, 1_000)];
    if std::env::var("GROWTH").is_ok_and(|how| how == "full") {
        sizes.push(5_000_000);
    }
    for many in sizes {
        let large = dir.path().join(format!("{many}.db"));
        let from = now();
        history::fill(&large, many, many, 0);
        let mib = std::fs::metadata(&large).expect("the file").len() >> 20;
        println!("{many} pending and {many} finished: {mib} MiB, made in {:.0?}", from.elapsed());
        let (mut drains, mut others) = (Vec::new(), Vec::new());
        let value = || {
            let (enqueued, drained) = rates(&large, jobs);
            drains.push(drained);
            enqueued
        };
        let other = || {
            let (enqueued, drained) = rates(&small, jobs);
            others.push(drained);
            enqueued
        };
        let against = format!("with {few}");
        Beside::measure(5, value, other).say(
            &format!("enqueue 100 a call, FULL, with {many}"),
            "jobs/s",
            &against,
        );
        Beside::of(&drains, &others).say(
            &format!("drain, FULL, {WORKERS} workers, with {many}"),
            "jobs/s",
            &against,
        );
    }
}
