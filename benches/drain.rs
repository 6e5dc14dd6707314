//! Drain of no-op jobs by a started engine, beside the raw rows at the mean batch that it reached.

mod workload;

use lanebox::{Durability, Lane, NewJob, testing};
use workload::beside::{self, DURABILITIES, size, sync};
use workload::engine::{self, Drained};

fn drain(durability: Durability, workers: usize, jobs: usize, strict: bool) -> Drained {
    let (_dir, lanebox) = engine::file(durability, workers);
    // What may be started only once is not taken before a worker is free for it.
    let job = |job: NewJob| if strict { job.max_attempts(1) } else { job };
    engine::enqueue(&lanebox, jobs, |_| job(engine::noop(Lane::NONE)));
    let (reactions, done) = engine::noops();
    let drained = engine::run(&lanebox, reactions, &done, jobs);
    assert_eq!(testing::finished(&lanebox), jobs);
    drained
}

fn beside(name: &str, durability: Durability, workers: usize, jobs: usize, strict: bool) {
    let taken = if strict { ", strict" } else { "" };
    let what = format!("drain, {name}, {workers} workers{taken}");
    let ours = || drain(durability, workers, jobs, strict);
    beside::drained(5, (&what, "jobs/s"), ours, |path, batch| {
        workload::floor::drain(path, sync(durability), jobs, batch)
    });
}

fn main() {
    for (name, durability) in DURABILITIES {
        let few = if durability == Durability::Full { 5_000 } else { 20_000 };
        beside(name, durability, 1, size(few, 50), true);
        beside(name, durability, 1, size(20_000, 200), false);
        beside(name, durability, 8, size(60_000, 500), false);
        beside(name, durability, 32, size(60_000, 500), false);
    }
}
