//! What others feel: jobs beside a backlog of a kind at its cap, and an org beside the urgent
//! backlog of another one.

mod workload;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use lanebox::{Durability, Lane, NewJob, Outcome, Policy, Reactions, testing};
use workload::beside::{Beside, DURABILITIES, size};
use workload::engine;
use workload::{now, payload};

const WORKERS: usize = 8;

/// Jobs per second of a kind beside so many jobs of another one that may run one at a time, and
/// whose one run takes as long as all this.
fn beside_capped(durability: Durability, capped: usize, jobs: usize) -> f64 {
    let (dir, lanebox) = engine::file(durability, WORKERS);
    engine::enqueue(&lanebox, capped, |_| NewJob::raw("capped", payload(), Lane::NONE).org("acme"));
    let conn = rusqlite::Connection::open(dir.path().join("lanebox.db")).expect("the same file");
    let cap = "UPDATE lanebox_kind SET cap = 1 WHERE name = 'capped'";
    assert_eq!(conn.execute(cap, []).expect("a cap"), 1);
    drop(conn);
    engine::enqueue(&lanebox, jobs, |_| engine::noop(Lane::NONE));
    let (reactions, done) = engine::noops();
    let over = done.clone();
    let reactions = reactions.on_kind("capped", Policy::default(), move |ctx| {
        while !ctx.cancelled() && over.load(Ordering::Relaxed) < jobs {
            ctx.wait(Duration::from_millis(5));
        }
        Ok::<_, std::io::Error>(Outcome::Done)
    });
    let rate = engine::run(&lanebox, reactions, &done, jobs).rate;
    assert!(testing::finished(&lanebox) >= jobs);
    rate
}

/// Milliseconds until the jobs of one org were served, beside so many urgent jobs of another org
/// that came before.
fn served(durability: Durability, urgent: usize, jobs: usize) -> f64 {
    let (_dir, lanebox) = engine::file(durability, WORKERS);
    engine::enqueue(&lanebox, urgent, |_| engine::noop(Lane::NONE).org("loud").priority(0));
    engine::enqueue(&lanebox, jobs, |_| engine::noop(Lane::NONE).org("quiet"));
    let times: Arc<Mutex<Vec<f64>>> = Arc::default();
    let done = Arc::new(AtomicUsize::new(0));
    let (ours, count) = (times.clone(), done.clone());
    let from = now();
    let reactions = Reactions::new().on_kind("noop", Policy::default(), move |ctx| {
        if ctx.org() == "quiet" {
            ours.lock().expect("no run panics").push(from.elapsed().as_secs_f64() * 1e3);
            count.fetch_add(1, Ordering::Relaxed);
        }
        Ok::<_, std::io::Error>(Outcome::Done)
    });
    engine::run(&lanebox, reactions, &done, jobs);
    let times = times.lock().expect("no run panics");
    assert_eq!(times.len(), jobs);
    times[jobs - 1]
}

fn main() {
    for (name, durability) in DURABILITIES {
        let (capped, jobs) = (size(200_000, 1_000), size(20_000, 200));
        let value = || beside_capped(durability, capped, jobs);
        Beside::measure(3, value, || beside_capped(durability, 1, jobs)).say(
            &format!("beside {capped} ready of a capped kind, {name}"),
            "jobs/s",
            "beside one of them",
        );

        let (urgent, jobs) = (size(100_000, 1_000), size(2_000, 50));
        let value = || served(durability, urgent, jobs);
        // Every second turn is another org's, so twice as long is the fair share.
        Beside::measure(3, value, || served(durability, 0, jobs)).say(
            &format!("last of {jobs} of an org beside {urgent}, {name}"),
            "ms",
            "alone",
        );
    }
}
