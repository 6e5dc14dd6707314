//! The whole way of an event: published, routed to a job, run, done. From a log of events, beside
//! the raw rows in as many commits; and live from eight publishing threads, with the age of each
//! event when its handler starts.

mod workload;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use lanebox::{
    Consumer, Durability, Lane, Lanebox, NewEvent, NewJob, Outcome, Policy, Reactions, Start,
    testing,
};
use workload::beside::{self, DURABILITIES, size};
use workload::engine::{self, Drained};
use workload::raw::chain;
use workload::times::{Times, mono_ns};
use workload::{now, payload};

const WORKERS: usize = 8;
const PUBLISHERS: usize = 8;

fn event(i: usize, payload: String) -> NewEvent {
    NewEvent::new("acme", "message.received").subject(format!("+49{i}")).payload_json(payload)
}

fn turns() -> (Reactions, Arc<AtomicUsize>, Arc<Mutex<Times>>) {
    let (done, ages) = (Arc::new(AtomicUsize::new(0)), Arc::<Mutex<Times>>::default());
    let (count, record) = (done.clone(), ages.clone());
    let received = Consumer::new("turns", "message.received").start(Start::Beginning);
    let reactions = Reactions::new()
        .route(received, |event| {
            Ok(vec![NewJob::raw("turn", event.payload_json(), Lane::NONE).org(event.org())])
        })
        .on_kind("turn", Policy::default(), move |ctx| {
            if let Some(at) = ctx.payload().strip_prefix("{\"at\":") {
                let at = at.trim_end_matches('}').trim().parse::<i64>()?;
                record.lock().expect("no run panics").record(mono_ns() - at);
            }
            count.fetch_add(1, Ordering::Relaxed);
            Ok::<_, std::num::ParseIntError>(Outcome::Done)
        });
    (reactions, done, ages)
}

fn from_log(durability: Durability, events: usize) -> Drained {
    let (_dir, lanebox) = engine::file(durability, WORKERS);
    for from in (0..events).step_by(500) {
        let some = (from..events.min(from + 500)).map(|i| event(i, payload())).collect();
        let _ids = lanebox.publish_all(some).expect("recorded");
    }
    let (reactions, done, _) = turns();
    let drained = engine::run(&lanebox, reactions, &done, events);
    assert_eq!(testing::finished(&lanebox), events);
    drained
}

/// Events per second from the first call of eight threads to the last job's end, and their ages.
fn live(durability: Durability, events: usize) -> (f64, Times) {
    let (_dir, lanebox) = engine::file(durability, WORKERS);
    let (reactions, done, ages) = turns();
    let running = lanebox.start(reactions).expect("started");
    let publish = |lanebox: &Lanebox| {
        for i in 0..events / PUBLISHERS {
            let payload = format!("{{\"at\":{}}}", mono_ns());
            let _id = lanebox.publish(event(i, payload)).expect("recorded");
        }
    };
    let from = now();
    std::thread::scope(|scope| {
        for _ in 0..PUBLISHERS {
            scope.spawn(|| publish(&lanebox));
        }
    });
    engine::wait(|| done.load(Ordering::Relaxed) >= events);
    assert_eq!(running.stop(Duration::from_secs(10)).still_running, 0);
    let took = from.elapsed().as_secs_f64();
    assert_eq!(testing::finished(&lanebox), events);
    let ages = std::mem::take(&mut *ages.lock().expect("no run panics"));
    assert_eq!(ages.count(), events);
    (events as f64 / took, ages)
}

fn main() {
    for (name, durability) in DURABILITIES {
        let events = size(20_000, 200);
        let what = format!("event to done from a log, {name}");
        let ours = || from_log(durability, events);
        beside::drained(5, (&what, "events/s"), ours, |path, batch| {
            chain::chain(path, durability, events, batch)
        });

        let events = size(8_000, 80);
        let turns = size(workload::repetitions(5), 1);
        let (rates, ages): (Vec<f64>, Vec<_>) =
            (0..turns).map(|_| live(durability, events)).unzip();
        let rate = workload::median(rates);
        let us = |quantile| workload::median(ages.iter().map(|ages| ages.us(quantile)).collect());
        println!(
            "{:<50} {rate:>9.0} events/s  publish to handler p50 {:.1} ms, p99 {:.1} ms",
            format!("event to done, {PUBLISHERS} publishers, {name}"),
            us(0.5) / 1e3,
            us(0.99) / 1e3
        );
    }
}
