//! Random operations by two processes on one file, against a small reference: in the end every
//! consumer has exactly the deliveries that it should have, in the states that its routes and the
//! deaths of its processes made of them.
//!
//! `cargo rig bus --seed S --n FILES`.

use std::collections::{BTreeMap, HashSet};
use std::panic::{AssertUnwindSafe, catch_unwind};

use parking_lot::Mutex;
use serde_json::json;

use super::*;
use crate::say::Rig;

const FILES: u64 = 32;

/// Operations on one file.
const OPERATIONS: u64 = 120;

/// Key, pattern, whether it is a route.
const CONSUMERS: [(&str, &str, bool); 3] =
    [("below", "a.*", true), ("exact", "a.b", true), ("eats", "x.y", false)];
const NAMES: [&str; 4] = ["a.b", "a.c", "x.y", "z.nobody"];
const TRIES: u32 = 3;

/// What an event asks of the routes that meet it.
#[derive(serde::Deserialize)]
struct Ask {
    fails: u32,
    jobs: usize,
}

struct World {
    scratch: Scratch,
    random: fastrand::Rng,
    processes: Vec<Process>,
    version: u32,
    keys: u64,
    /// Deaths in a try again, and in a run alone, that are not forgiven or settled: (key, event) to
    /// how many.
    died_again: BTreeMap<(String, i64), u32>,
    died_alone: HashSet<(String, i64)>,
}

impl World {
    fn new(seed: u64) -> World {
        let scratch = Scratch::new();
        let mut world = World {
            scratch,
            random: fastrand::Rng::with_seed(seed),
            processes: Vec::new(),
            version: 1,
            keys: 0,
            died_again: BTreeMap::new(),
            died_alone: HashSet::new(),
        };
        for _ in 0..2 {
            let process = world.start();
            world.processes.push(process);
        }
        world
    }

    fn start(&self) -> Process {
        let subscriptions = CONSUMERS.iter().map(|&(key, pattern, is_route)| {
            let subscription =
                if is_route { route(key, pattern, self.obeys(key)) } else { consume(key, pattern) };
            with(|consumer| tries(TRIES)(consumer).version(self.version), subscription)
        });
        Process::start(&self.scratch, subscriptions.collect())
    }

    // Fails as often as the event asks for: tries whose results were thrown away do not count.
    fn obeys(
        &self,
        key: &'static str,
    ) -> impl Fn(&Event) -> Result<Vec<NewJob>, BoxError> + Send + Sync + 'static {
        let file = Mutex::new(self.scratch.raw());
        move |event| {
            let ask: Ask = event.payload_as()?;
            let attempts = "SELECT coalesce(max(d.attempts), 0) FROM lanebox_delivery d JOIN lanebox_consumer c ON c.id = d.consumer \
                            WHERE c.key = ?1 AND d.event = ?2";
            let attempts: u32 =
                file.lock().query_row(attempts, (key, event.seq()), |row| row.get(0))?;
            if attempts < ask.fails { Err("as asked".into()) } else { Ok(vec![turn(); ask.jobs]) }
        }
    }

    fn step(&mut self) {
        let (i, j) = if self.random.bool() { (0, 1) } else { (1, 0) };
        match self.random.u8(0..20) {
            0..=3 => self.publish(i),
            4..=5 => self.emit(),
            6..=9 => {
                let _when_next = self.processes[i].pass();
            }
            10..=11 => self.interleave(i, j),
            12..=14 => self.kill(i),
            15..=16 => self.scratch.clock.advance(self.random.i64(0..20_000)),
            17 => {
                let _found = self.processes[i].store.sweep().expect("swept");
            }
            18 => {
                let state = if self.random.bool() { "active" } else { "paused" };
                let id = self.random.usize(1..=3);
                self.scratch
                    .run(&format!("UPDATE lanebox_consumer SET state = '{state}' WHERE id = {id}"));
            }
            _ => self.redeploy(i),
        }
    }

    fn ask(&mut self) -> (String, serde_json::Value) {
        let fails = [0, 0, 0, 1, 2, 3][self.random.usize(0..6)];
        let name = NAMES[self.random.usize(0..4)].to_owned();
        (name, json!({ "fails": fails, "jobs": self.random.usize(0..3) }))
    }

    fn publish(&mut self, i: usize) {
        for _ in 0..self.random.usize(1..6) {
            let (name, payload) = self.ask();
            let mut new = event(&name).payload(&payload);
            if self.random.bool() {
                self.keys += 1;
                new = new.dedupe(format!("k{}", self.keys));
            }
            self.processes[i].publish([new.clone()]);
            if self.random.u8(0..4) == 0 {
                self.processes[1 - i].publish([new]);
            }
        }
    }

    fn emit(&mut self) {
        let (name, payload) = self.ask();
        self.keys += 1;
        let key = self.keys;
        self.scratch.run(&format!("INSERT INTO lanebox_event(org, name, dedupe_key, payload) VALUES ('acme', '{name}', 'k{key}', '{payload}')"));
        if self.random.bool() {
            // The same fact by another way in, before or after anybody adopted it.
            let again = event(&name).payload_json(payload.to_string()).dedupe(format!("k{key}"));
            self.processes[0].publish([again]);
        }
    }

    fn prepare(&mut self, i: usize) -> Option<Dispatch> {
        let Process { store, dispatcher, .. } = &mut self.processes[i];
        dispatcher.prepare(store).expect("ran")
    }

    fn interleave(&mut self, i: usize, j: usize) {
        let prepared = self.prepare(i);
        let _when_next = self.processes[j].pass();
        if let Some(prepared) = prepared {
            let _done = commit(&self.processes[i].store, prepared).expect("written");
        }
    }

    // Dies with its routes run, outside of them or in one of them.
    fn kill(&mut self, i: usize) {
        let prepared = self.prepare(i);
        if let Some(at) = prepared.and_then(|prepared| self.choose(&prepared)) {
            self.processes[i].store.note_route(self.processes[i].no, Some(&at)).expect("noted");
        }
        drop(self.processes.remove(i));
        let process = self.start();
        self.processes.insert(i, process);
        let _found = self.processes[self.random.usize(0..2)].store.sweep().expect("swept");
    }

    // Rather one that it died in before: two deaths are what ends a delivery.
    fn choose(&mut self, prepared: &Dispatch) -> Option<InRoute> {
        let candidates = candidates(prepared);
        let before =
            |(_, delivery): &&(InRoute, (String, i64))| self.died_again.contains_key(delivery);
        let again = candidates.iter().find(before);
        let (chosen, delivery) = match again {
            Some(again) => again.clone(),
            None => self.random.choice(candidates)?,
        };
        if self.random.u8(0..3) == 0 {
            return None;
        }
        match chosen.way {
            Way::Alone => {
                self.died_alone.insert(delivery);
            }
            Way::Again => *self.died_again.entry(delivery).or_default() += 1,
            Way::Range => {}
        }
        Some(chosen)
    }

    // New code, a fresh chance for whatever is not settled; the other process keeps the old one
    // until it restarts.
    fn redeploy(&mut self, i: usize) {
        self.version += 1;
        let settled: HashSet<String> = deliveries(&self.scratch).into_iter().collect();
        let is_dead =
            |(key, event): &(String, i64)| settled.contains(&format!("{key} {event} dead"));
        self.died_alone.retain(is_dead);
        self.died_again.retain(|delivery, _| is_dead(delivery));
        self.processes[i].store.leave(self.processes[i].no).expect("left");
        self.processes[i] = self.start();
    }

    fn settle(&mut self) {
        self.scratch.run("UPDATE lanebox_consumer SET state = 'active'");
        self.processes = vec![self.start(), self.start()];
        for _ in 0..=TRIES {
            self.processes.iter_mut().for_each(Process::drain);
            self.scratch.clock.advance(3_600_000);
        }
        assert!(self.processes.iter_mut().all(|process| process.rest() == Step::OnBell));
    }

    fn expected(&self) -> Vec<String> {
        let events = "SELECT json_array(seq, name, payload) FROM lanebox_event WHERE duplicate_of IS NULL ORDER BY seq";
        let mut expected = Vec::new();
        for row in self.scratch.all::<String>(events) {
            let (seq, name, payload): (i64, String, String) =
                serde_json::from_str(&row).expect("a row");
            let ask: Ask = serde_json::from_str(&payload).expect("an ask");
            for (key, pattern, is_route) in CONSUMERS {
                if crate::model::pattern::Pattern::parse(pattern)
                    .is_some_and(|pattern| pattern.matches(&name))
                {
                    expected.push(self.fate(key, seq, is_route, &ask));
                }
            }
        }
        expected.sort();
        expected
    }

    fn fate(&self, key: &str, seq: i64, is_route: bool, ask: &Ask) -> String {
        let delivery = (key.to_owned(), seq);
        let died = self.died_alone.contains(&delivery)
            || self.died_again.get(&delivery).is_some_and(|&n| n >= 2);
        let (state, jobs) = match ask.jobs {
            _ if !is_route => ("job", 1),
            _ if died || ask.fails >= TRIES => ("dead", 0),
            0 => ("skipped", 0),
            jobs => ("routed", jobs),
        };
        // How often it had failed before its process died of it depends on when that was.
        let attempts = if died {
            "-".to_owned()
        } else if is_route {
            ask.fails.to_string()
        } else {
            "0".to_owned()
        };
        format!("{key} {seq} {state} {attempts} {jobs}")
    }

    fn found(&self) -> Vec<String> {
        let found = "SELECT c.key || ' ' || d.event || ' ' || d.state || ' ' || d.attempts || ' ' || \
                     (SELECT count(*) FROM lanebox_job j WHERE j.source_event = d.event AND j.consumer = d.consumer) \
                     FROM lanebox_delivery d JOIN lanebox_consumer c ON c.id = d.consumer";
        let died = |row: &String| {
            let (key, rest) = row.split_once(' ').expect("a key");
            let delivery = (
                key.to_owned(),
                rest.split(' ').next().expect("an event").parse().expect("a number"),
            );
            self.died_alone.contains(&delivery)
                || self.died_again.get(&delivery).is_some_and(|&n| n >= 2)
        };
        let mut found: Vec<String> = self.scratch.all(found);
        for row in found.iter_mut().filter(|row| died(row)) {
            let mut words: Vec<&str> = row.split(' ').collect();
            words[3] = "-";
            *row = words.join(" ");
        }
        found.sort();
        found
    }
}

/// Every route of a pass in which its process could have died, with its delivery.
fn candidates(prepared: &Dispatch) -> Vec<(InRoute, (String, i64))> {
    let mut found = Vec::new();
    let mut add = |way, watch: &Watch, event: EventSeq| {
        let Watch { consumer, generation, .. } = *watch;
        if watch.key != "eats" {
            let at = InRoute { way, consumer, generation, event };
            found.push((at, (watch.key.clone(), event.0)));
        }
    };
    if let Some((suspect, Some(_))) = &prepared.suspect
        && let Next::Run { event, .. } = suspect.next
    {
        add(Way::Alone, &suspect.watch, event);
    }
    for (due, _) in prepared.retries.iter().filter(|(_, made)| made.is_some()) {
        add(Way::Again, &due.watch, due.event);
    }
    for made in prepared.batches.iter().flat_map(|batch| &batch.made) {
        add(Way::Range, &made.watch, made.event);
    }
    found
}

/// What a world came to, by kind.
type Seen = BTreeMap<&'static str, i64>;

fn run(seed: u64, seen: &mut Seen) {
    let mut world = World::new(seed);
    for _ in 0..OPERATIONS {
        world.step();
    }
    world.settle();
    let (expected, found) = (world.expected(), world.found());
    let wrong: Vec<_> = expected.iter().filter(|row| !found.contains(row)).collect();
    let extra: Vec<_> = found.iter().filter(|row| !expected.contains(row)).collect();
    assert!(expected == found, "seed {seed}: expected {wrong:?}, found {extra:?}");
    let nobody =
        "SELECT count(*) FROM lanebox_event WHERE name = 'z.nobody' AND duplicate_of IS NULL";
    let counted = "SELECT coalesce(sum(count), 0) FROM lanebox_unhandled";
    let (nobody, counted): (i64, i64) = (world.scratch.one(nobody), world.scratch.one(counted));
    assert_eq!(nobody, counted, "seed {seed}: unhandled");
    world.scratch.assert_sound();
    for state in ["job", "routed", "skipped", "dead"] {
        let count = format!("SELECT count(*) FROM lanebox_delivery WHERE state = '{state}'");
        *seen.entry(state).or_default() += world.scratch.one::<i64>(&count);
    }
    let alone = i64::try_from(world.died_alone.len()).expect("small");
    *seen.entry("died alone").or_default() += alone;
    let twice = world.died_again.values().filter(|&&deaths| deaths >= 2).count();
    *seen.entry("died twice").or_default() += i64::try_from(twice).expect("small");
}

#[test]
fn two_processes_deliver_every_event_exactly_once_to_everyone_who_wants_it() {
    let mut rig = Rig::new("bus", FILES);
    let mut seen = Seen::new();
    for seed in rig.seed..rig.seed + rig.n {
        match catch_unwind(AssertUnwindSafe(|| run(seed, &mut seen))) {
            Ok(()) => rig.pass(1),
            Err(_) => rig.fail("a delivery went wrong: see above", seed, 1),
        }
    }
    for (what, times) in seen {
        rig.must_meet(what, times > 0);
    }
    let (files, operations) = (rig.n, rig.n * OPERATIONS);
    rig.end(&[("files", files), ("operations", operations)]);
}
