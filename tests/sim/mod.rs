//! Whole engines in virtual time: several processes on one real file, stepped from one thread in an
//! order that a seed chooses, with everything that can happen to a process, a file, a clock and a
//! provider. The steps, the store and its only write path are the real ones. After every step the
//! file is sound and nothing is lost, done twice or sent twice; once nothing disturbs any more,
//! everything comes to its end.
//!
//! `cargo rig sim --seed S --n WORLDS`. The same seed is the same run.
//!
//! A new kind of work joins in `work`, a new fault in `faults`, a new rule in `oracle`; what needs
//! more than a few lines gets a file of its own.

mod drive;
mod faults;
mod fence;
mod mortal;
mod oracle;
mod outside;
mod people;
mod process;
mod report;
mod work;
mod world;

use std::collections::BTreeMap;
use std::num::NonZero;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::{panic, thread};

use crate::model::send::ability::Abilities;
use crate::say::Rig;
use report::Report;
use world::World;

const LEASE_MS: i64 = 10_000;
const TIMEOUT_MS: i64 = 1_000;
const SETTLE_MS: i64 = 500;
const PATIENCE_MS: i64 = 60_000;

/// How deep steps of others may lie in a step.
const NESTING: usize = 3;

/// Steps of one world, before it comes to rest. What grows shows in a long life, what meets by
/// chance in many short ones.
const fn steps(seed: u64) -> u64 {
    if seed.is_multiple_of(10) { 1_000 } else { 200 }
}

const WORLDS: u64 = 1_000;

/// What the files must have come to, and what the outside must have done, over all seeds.
const MUST_SEE: [&str; 52] = [
    "job done",
    "job dead",
    "job vetoed",
    "job operator",
    "job expired",
    "job given_up",
    "waiting",
    "unknown",
    "parked",
    "attempt failed",
    "attempt lost",
    "attempt postponed",
    "attempt handed_back",
    "attempt unknown",
    "attempt dead",
    "delivery job",
    "delivery routed",
    "delivery skipped",
    "delivery retry",
    "delivery dead",
    "try intended",
    "try accepted",
    "try rejected",
    "try unknown",
    "try not_found",
    "try send_again",
    "try given_up",
    "try called again",
    "try after rejected",
    "try after abandoned",
    "try after order",
    "notice job.dead",
    "notice delivery.dead",
    "notice send.unknown",
    "notice send.twice",
    "notice send.unfulfilled",
    "notice disk.room",
    "a person was told of a send",
    "consent withdrawn",
    "sends held",
    "everybody stood still",
    "a request vanishes",
    "a request is delayed",
    "an answer is lost",
    "a repeat is recognised",
    "a lease ran out",
    "a job kills its process",
    "a route kills its process",
    "an end came too late",
    "an end with rows came too late",
    "an intent came too late",
    "a renewal came too late",
];

/// What the provider can do differs by seed: neither lookup nor dedupe, one of them, both.
fn abilities(seed: u64) -> Abilities {
    Abilities {
        timeout_ms: TIMEOUT_MS,
        patience_ms: PATIENCE_MS,
        lookup_settle_ms: (seed & 1 == 1).then_some(SETTLE_MS),
        dedupe_ms: (seed & 2 == 2).then_some(600_000),
    }
}

fn run(seed: u64) -> Report {
    let world = World::new(seed, abilities(seed));
    while world.start_missing() {}
    for step in 0..steps(seed) {
        if world.has_failed() {
            break;
        }
        world.note(&format!("step {step}"));
        world.turn();
        world.bury();
        world.check();
        if step % 10 == 9 {
            world.see_states();
        }
    }
    if !world.has_failed() {
        world.settle();
    }
    world.report()
}

/// A world is one thread's, and knows nothing of the others: as many at once as there are cores.
fn each_world(seeds: Range<u64>, mut hear: impl FnMut(u64, Report)) {
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    let (next, (tell, reports)) = (AtomicU64::new(seeds.start), mpsc::channel());
    thread::scope(|scope| {
        for _ in 0..cores {
            let (next, tell, end) = (&next, tell.clone(), seeds.end);
            scope.spawn(move || {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= end {
                        break;
                    }
                    let ran = panic::catch_unwind(|| run(seed));
                    let report = ran.unwrap_or_else(|_| Report::broken_off());
                    // Nobody hears any more once a planted fault is seen.
                    if tell.send((seed, report)).is_err() {
                        break;
                    }
                }
            });
        }
        drop(tell);
        for (seed, report) in reports {
            hear(seed, report);
        }
    });
}

// fault: end-without-token, receipt-is-forgotten, dead-is-silent, position-is-ahead
// fault: host-rows-are-dropped, lane-does-not-go-on, no-lane-index, poison-for-ever
// fault: nobody-dies-in-a-route, nobody-is-buried-first, half-an-end
#[test]
fn whatever_happens_nothing_is_lost_done_twice_or_left() {
    let mut rig = Rig::new("sim", WORLDS);
    let mut seen = BTreeMap::new();
    each_world(rig.seed..rig.seed + rig.n, |seed, report| {
        match report.failure() {
            Some(why) => rig.fail(why, seed, 1),
            None => rig.pass(1),
        }
        for (what, times) in report.seen {
            *seen.entry(what).or_insert(0) += times;
        }
    });
    let must = faults::MUST_MEET.iter().chain(&MUST_SEE);
    for what in must {
        rig.must_meet(what, seen.contains_key(*what));
    }
    let made = (rig.seed..rig.seed + rig.n).map(steps).sum();
    let figures = [("worlds", rig.n), ("steps", made), ("kinds met", seen.len() as u64)];
    rig.end(&figures);
}

#[test]
fn the_same_seed_is_the_same_run() {
    for seed in [3, 6] {
        let (once, twice) = (run(seed), run(seed));
        assert_eq!(once.trace(), twice.trace(), "seed {seed}");
        assert_eq!(once.seen, twice.seen, "seed {seed}");
    }
    assert_ne!(run(3).trace(), run(6).trace(), "another seed is another run");
}
