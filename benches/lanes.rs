//! Drain by lanes: many lanes, one job a lane, and the others beside one hot lane.

mod workload;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use lanebox::{Durability, Lane, Outcome, Policy, Reactions, testing};
use workload::beside::{self, Beside, DURABILITIES, size};
use workload::engine::{self, Drained};
use workload::raw::laned;

const WORKERS: usize = 8;

fn drain(durability: Durability, lanes: usize, each: usize) -> Drained {
    let (_dir, lanebox) = engine::file(durability, WORKERS);
    let jobs = lanes * each;
    engine::enqueue(&lanebox, jobs, |i| engine::noop(Lane::of(format!("lane {}", i % lanes))));
    let (reactions, done) = engine::noops();
    let drained = engine::run(&lanebox, reactions, &done, jobs);
    assert_eq!(testing::finished(&lanebox), jobs);
    drained
}

fn beside(name: &str, durability: Durability, lanes: usize, each: usize) {
    let what = format!("{lanes} lanes x {each}, {name}, {WORKERS} workers");
    let ours = || drain(durability, lanes, each);
    beside::drained(3, (&what, "jobs/s"), ours, |path, batch| {
        laned::drain(path, durability, lanes * each, lanes, batch)
    });
}

/// Jobs per second of 1,000 lanes beside a lane with so many jobs that came before.
fn others(durability: Durability, hot: usize, lanes: usize, each: usize) -> f64 {
    let (_dir, lanebox) = engine::file(durability, WORKERS);
    engine::enqueue(&lanebox, hot, |_| engine::noop(Lane::of("hot")));
    let other = |i| engine::noop(Lane::of(format!("lane {}", i % lanes))).subject("other");
    engine::enqueue(&lanebox, lanes * each, other);
    let done = Arc::new(AtomicUsize::new(0));
    let count = done.clone();
    let reactions = Reactions::new().on_kind("noop", Policy::default(), move |ctx| {
        count.fetch_add(usize::from(ctx.subject().is_some()), Ordering::Relaxed);
        Ok::<_, std::io::Error>(Outcome::Done)
    });
    let rate = engine::run(&lanebox, reactions, &done, lanes * each).rate;
    assert!(testing::finished(&lanebox) >= lanes * each);
    rate
}

fn main() {
    for (name, durability) in DURABILITIES {
        let lanes = size(1_000, 50);
        beside(name, durability, lanes, 20);
        beside(name, durability, size(100_000, 500), 1);
        let hot = size(200_000, 1_000);
        let value = || others(durability, hot, lanes, 20);
        Beside::measure(3, value, || others(durability, 0, lanes, 20)).say(
            &format!("{lanes} lanes x 20 beside a lane of {hot}, {name}"),
            "jobs/s",
            "without it",
        );
    }
}
