//! Sends through the ledger by a channel that accepts at once: two commits a send, shared between
//! lanes. Beside it the raw rows in two commits for as many lanes as there are workers, and for as
//! many as shared a commit on the mean.

mod workload;

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use lanebox::people::Filter;
use lanebox::{
    Abilities, Channel, Delivery, Durability, Lane, Letter, Outcome, Policy, Reactions, SendError,
    testing,
};
use workload::beside::{Beside, DURABILITIES, size, whole};
use workload::engine::{self, Drained};
use workload::raw;

const LANES: usize = 1_000;

/// Takes every message.
struct Takes(Arc<AtomicUsize>);

impl Channel for Takes {
    fn abilities(&self) -> Abilities {
        Abilities::new(Duration::from_secs(10))
    }

    fn deliver(&self, _letter: &Letter<'_>) -> Delivery {
        self.0.fetch_add(1, Ordering::Relaxed);
        Delivery::accepted("receipt")
    }
}

fn send(durability: Durability, workers: usize, jobs: usize) -> Drained {
    let (dir, lanebox) = engine::file(durability, workers);
    engine::enqueue(&lanebox, jobs, |i| engine::noop(Lane::of(format!("lane {}", i % LANES))));
    let (calls, done) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let count = done.clone();
    let reactions = Reactions::new().channel("chat", Takes(calls.clone())).on_kind(
        "noop",
        Policy::default(),
        move |ctx| {
            let _receipt = ctx.send("chat", "+49 151 123", "hello")?;
            count.fetch_add(1, Ordering::Relaxed);
            Ok::<_, SendError>(Outcome::Done)
        },
    );
    let drained = engine::run(&lanebox, reactions, &done, jobs);
    assert_eq!((calls.load(Ordering::Relaxed), testing::finished(&lanebox)), (jobs, jobs));
    assert_eq!(lanebox.sends(&Filter::new().state("unknown")).expect("a list").rows.len(), 0);
    let conn = rusqlite::Connection::open(dir.path().join("lanebox.db")).expect("the same file");
    assert_eq!(raw::count(&conn, "lanebox_send_try WHERE state = 'accepted'"), jobs);
    drained
}

fn floor(durability: Durability, jobs: usize, batch: usize) -> f64 {
    let dir = workload::place();
    let path = dir.path().join("raw.db");
    raw::send::send(&path, durability, jobs, LANES, batch).expect("the floor")
}

fn beside(name: &str, durability: Durability, workers: usize) {
    let jobs = size(if workers == 1 { 1_500 } else { 8_000 }, 40);
    let (mut rates, mut reached) = (Vec::new(), Vec::new());
    let lanes = Cell::new(1.0);
    let value = || {
        let sent = send(durability, workers, jobs);
        // Two commits have a part in each send.
        lanes.set(sent.batch * 2.0);
        rates.push(sent.rate);
        sent.rate
    };
    let both = || {
        reached.push(floor(durability, jobs, whole(lanes.get())));
        floor(durability, jobs, workers)
    };
    let what = format!("send, {name}, {workers} workers");
    Beside::measure(5, value, both).say(
        &what,
        "sends/s",
        &format!("floor of {workers} lanes a commit"),
    );
    Beside::of(&rates, &reached).say(
        &format!("  at {:.1} lanes a commit", lanes.get()),
        "sends/s",
        &format!("floor of {} lanes a commit", whole(lanes.get())),
    );
}

fn main() {
    for (name, durability) in DURABILITIES {
        for workers in [1, 8, 32] {
            beside(name, durability, workers);
        }
    }
}
