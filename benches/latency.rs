//! How long a single job or event of an idle engine waits: from the call that commits it to the
//! start of its handler, beside the two commits of the raw rows (its own, and the claim's) in the
//! same minutes. In one process, and from one process to another.

mod workload;

use std::path::Path;
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use lanebox::{
    Consumer, Durability, Lane, Lanebox, NewEvent, NewJob, Outcome, Policy, Reactions, Start,
};
use rusqlite::Connection;
use workload::beside::{DURABILITIES, size};
use workload::child::{self, Other};
use workload::engine::pause;
use workload::raw::{self, JOB, RUN, group, laned, run};
use workload::times::{Times, mono_ns};

const WORKERS: usize = 8;
const REST: Duration = Duration::from_millis(4);

/// A file with the raw rows.
struct Raw {
    conn: Connection,
    n: i64,
    token: i64,
    held: Vec<laned::Held>,
}

impl Raw {
    fn create(path: &Path, durability: Durability) -> Raw {
        let conn = raw::create(path, durability, &[JOB, RUN]).expect("a new file");
        Raw { conn, n: 0, token: 0, held: Vec::new() }
    }

    /// Nanoseconds of the commit of a job and of the commit that claims it.
    fn step(&mut self) -> rusqlite::Result<i64> {
        let (conn, payload) = (&self.conn, payload());
        self.n += 1;
        let from = mono_ns();
        run(conn, "BEGIN IMMEDIATE", [])?;
        group::add(conn, self.n, &payload)?;
        run(conn, "COMMIT", [])?;
        run(conn, "BEGIN IMMEDIATE", [])?;
        laned::claim(conn, &mut self.held, &mut self.token, 1)?;
        run(conn, "COMMIT", [])?;
        let took = mono_ns() - from;
        assert_eq!(self.held.len(), 1);
        run(conn, "BEGIN IMMEDIATE", [])?;
        laned::end(conn, &mut self.held)?;
        run(conn, "COMMIT", [])?;
        Ok(took)
    }
}

// About 200 bytes, with the time of the call.
fn payload() -> String {
    format!("{{\"at\":{:>20},\"text\":\"{}\"}}", mono_ns(), "x".repeat(160))
}

fn at(payload: &str) -> i64 {
    let parsed: serde_json::Value = serde_json::from_str(payload).expect("JSON");
    parsed["at"].as_i64().expect("a time")
}

/// A handler that says how old its job is when it starts.
fn reactions(say: impl Fn(i64) + Send + Sync + 'static) -> Reactions {
    let received = Consumer::new("turns", "message.received").start(Start::Beginning);
    Reactions::new()
        .on_kind("turn", Policy::default(), move |ctx| {
            let now = mono_ns();
            say(now - at(ctx.payload()));
            Ok::<_, std::io::Error>(Outcome::Done)
        })
        .route(received, |event| {
            Ok(vec![NewJob::raw("turn", event.payload_json(), Lane::NONE).org("acme")])
        })
}

fn heard(ages: &Receiver<i64>) -> i64 {
    ages.recv_timeout(Duration::from_secs(60)).expect("a handler runs")
}

fn in_process(name: &str, durability: Durability) {
    let dir = workload::place();
    let builder = Lanebox::builder(dir.path().join("lanebox.db")).durability(durability);
    let lanebox = builder.workers(WORKERS).open().expect("a new file");
    let mut raw = Raw::create(&dir.path().join("raw.db"), durability);
    let (told, ages) = mpsc::channel();
    let running = lanebox.start(reactions(move |age| {
        told.send(age).expect("the bench listens");
    }));
    let running = running.expect("started");
    let (mut jobs, mut events, mut commits) =
        (Times::default(), Times::default(), Times::default());
    for _ in 0..size(400, 5) {
        let job = NewJob::raw("turn", payload(), Lane::NONE).org("acme");
        let _new = lanebox.enqueue(job).expect("accepted");
        jobs.record(heard(&ages));
        pause(REST);
        commits.record(raw.step().expect("the raw rows"));
        pause(REST);
        let event = NewEvent::new("acme", "message.received").payload_json(payload());
        let _new = lanebox.publish(event).expect("recorded");
        events.record(heard(&ages));
        pause(REST);
    }
    assert_eq!(running.stop(Duration::from_secs(5)).still_running, 0);
    assert_eq!((jobs.count(), events.count()), (commits.count(), commits.count()));
    jobs.say(&format!("enqueue to handler, {name}, one process"), "two commits", &commits);
    events.say(&format!("publish to handler, {name}, one process"), "two commits", &commits);
}

fn role(durability: Durability) -> &'static str {
    match durability {
        Durability::Full => "work-full",
        Durability::Relaxed => "work-relaxed",
    }
}

/// The working process: says the age of each job.
fn work(path: &Path, durability: Durability) {
    let builder = Lanebox::builder(path).must_exist().durability(durability);
    let lanebox = builder.workers(WORKERS).open().expect("the file");
    let running = lanebox.start(reactions(child::say)).expect("started");
    child::say("ready");
    child::wait_for_end();
    child::say(running.stop(Duration::from_secs(5)).still_running);
}

fn across(name: &str, durability: Durability, jobs: usize, rest: impl Fn(usize) -> Duration) {
    let dir = workload::place();
    let path = dir.path().join("lanebox.db");
    let lanebox = Lanebox::builder(&path).durability(durability).open().expect("a new file");
    let mut raw = Raw::create(&dir.path().join("raw.db"), durability);
    let mut worker = Other::start(role(durability), &path);
    assert_eq!(worker.line(), "ready");
    let (mut ages, mut commits) = (Times::default(), Times::default());
    for i in 0..jobs {
        pause(rest(i));
        let _new = lanebox
            .enqueue(NewJob::raw("turn", payload(), Lane::NONE).org("acme"))
            .expect("accepted");
        ages.record(worker.line().parse().expect("an age"));
        commits.record(raw.step().expect("the raw rows"));
    }
    assert_eq!(worker.end(), "0");
    assert_eq!(ages.count(), jobs);
    ages.say(&format!("enqueue to handler, {name}"), "two commits", &commits);
}

fn main() {
    for (_, durability) in DURABILITIES {
        if let Some(path) = child::role(role(durability)) {
            return work(&path, durability);
        }
    }
    for (name, durability) in DURABILITIES {
        in_process(name, durability);
        let uneven = |i: usize| Duration::from_millis(3 + (i as u64 * 17) % 40);
        across(&format!("{name}, from another"), durability, size(300, 3), uneven);
        let seldom = |i: usize| Duration::from_millis(400 + (i as u64 * 17) % 40);
        let seldom = |i| if workload::beside::is_bench() { seldom(i) } else { Duration::ZERO };
        across(&format!("{name}, from another, seldom"), durability, size(25, 1), seldom);
    }
}
