//! What a publish costs: alone, many in one call, and with consumers whose routes make a job of
//! each event, until all jobs are enqueued. Beside it the raw rows in as many commits.

mod workload;

use std::cell::Cell;
use std::time::Duration;

use lanebox::{Consumer, Durability, Lane, Lanebox, NewEvent, NewJob, Reactions, Start, testing};
use rusqlite::Connection;
use workload::beside::{Beside, DURABILITIES, size, whole};
use workload::{engine, now, payload, raw};

fn event() -> NewEvent {
    NewEvent::new("acme", "message.received").subject("+49151").payload_json(payload())
}

fn publish(lanebox: &Lanebox, mut events: Vec<NewEvent>, a_call: usize) {
    while !events.is_empty() {
        let some = events.split_off(events.len() - a_call);
        assert_eq!(lanebox.publish_all(some).expect("recorded").len(), a_call);
    }
}

/// Events per second until each consumer has made its job of the last one, and the events that one
/// commit routed.
fn rate(durability: Durability, events: usize, a_call: usize, consumers: usize) -> (f64, f64) {
    let (dir, lanebox) = engine::file(durability, 8);
    let look = Connection::open(dir.path().join("lanebox.db")).expect("the same file");
    let running = (consumers > 0).then(|| {
        let all = (0..consumers).fold(Reactions::new(), |reactions, i| {
            let consumer = Consumer::new(format!("c{i}"), "message.*").start(Start::Beginning);
            // Nobody has code for its jobs: they are enqueued and wait.
            reactions.route(consumer, |event| {
                Ok(vec![NewJob::raw("turn", event.payload_json(), Lane::NONE).org("acme")])
            })
        });
        lanebox.start(all).expect("started")
    });
    // Made before: the floor has its payload at hand too.
    let made = (0..events).map(|_| event()).collect();
    let before = testing::commits(&lanebox);
    let from = now();
    publish(&lanebox, made, a_call);
    let position = "SELECT coalesce(min(position), ?1) >= ?1 FROM lanebox_consumer";
    engine::wait(|| look.query_row(position, [events], |row| row.get(0)).expect("positions"));
    let took = from.elapsed().as_secs_f64();
    let routing = (testing::commits(&lanebox) - before) as f64 - (events / a_call) as f64;
    if let Some(running) = running {
        assert_eq!(running.stop(Duration::from_secs(5)).still_running, 0);
    }
    assert_eq!(raw::count(&look, "lanebox_event"), events);
    assert_eq!(raw::count(&look, "lanebox_ready"), events * consumers);
    (events as f64 / took, events as f64 / routing.max(1.0))
}

fn beside(name: &str, durability: Durability, events: usize, a_call: usize, consumers: usize) {
    let routed = Cell::new(1.0);
    let value = || {
        let (rate, a_commit) = rate(durability, events, a_call, consumers);
        routed.set(a_commit);
        rate
    };
    let floor = || {
        let dir = workload::place();
        let path = dir.path().join("raw.db");
        let a_commit = whole(routed.get());
        raw::publish::publish(&path, durability, events, a_call, consumers, a_commit)
            .expect("the floor")
    };
    Beside::measure(5, value, floor).say(
        &format!("publish, {name}, {a_call} a call, {consumers} consumers"),
        "events/s",
        "floor",
    );
    if consumers > 0 {
        println!("  events routed in one commit: {:.1}", routed.get());
    }
}

fn main() {
    for (name, durability) in DURABILITIES {
        let alone = size(if durability == Durability::Full { 1_000 } else { 10_000 }, 20);
        beside(name, durability, alone, 1, 0);
        for consumers in [0, 1, 5] {
            beside(name, durability, size(20_000, 1_000), 1_000, consumers);
        }
    }
}
