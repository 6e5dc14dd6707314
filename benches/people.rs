//! What people pay to look: lists, counts, a trace and an explanation of a file with a million jobs
//! and 100,000 events, beside the same of a small file.

mod workload;

use std::path::Path;

use lanebox::people::Filter;
use lanebox::{Consumer, EventId, JobId, Lane, Lanebox, NewEvent, NewJob, Reactions, Start};
use workload::beside::size;
use workload::times::{Times, mono_ns};
use workload::{engine, history};

/// A file, and something of it to ask for.
struct Asked {
    lanebox: Lanebox,
    event: EventId,
    job: JobId,
    /// The newest of its lanes, and an old entity: a list looks back so far at most.
    lane: String,
    entity: String,
}

fn open(path: &Path, jobs: usize, events: usize) -> Asked {
    let lanebox = Lanebox::builder(path).must_exist().open().expect("the file");
    // An event that became a job, with its delivery, behind all the others.
    let event = NewEvent::new("acme", "lead.won").entity("lead", 7).subject("+49151");
    let event = lanebox.publish(event).expect("recorded").id();
    let reactions = Reactions::new()
        .route(Consumer::new("turns", "lead.won").start(Start::Beginning), |event| {
            Ok(vec![NewJob::raw("turn", event.payload_json(), Lane::NONE).org("acme")])
        });
    let running = lanebox.start(reactions).expect("started");
    let turns = Filter::new().kind("turn");
    let turn = || lanebox.jobs(&turns).map_or(None, |page| page.rows.first().map(|row| row.id));
    engine::wait(|| turn().is_some());
    let job = turn().expect("it was there");
    drop(running);
    let (lane, entity) = (format!("lane {}", (jobs - 1) / 20), format!("message:{}", events / 5));
    Asked { lanebox, event, job, lane, entity }
}

type Question = fn(&Asked) -> usize;

const QUESTIONS: [(&str, Question); 12] = [
    ("jobs, the newest 50", |asked| jobs(asked, Filter::new())),
    ("jobs, 50 that wait", |asked| jobs(asked, Filter::new().state("pending"))),
    ("jobs, 50 done behind what waits", |asked| jobs(asked, Filter::new().state("done"))),
    ("jobs, scheduled (there is none)", |asked| 1 + jobs(asked, Filter::new().state("scheduled"))),
    ("jobs, dead (there is none)", |asked| 1 + jobs(asked, Filter::new().state("dead"))),
    ("jobs, the ten of a lane", |asked| jobs(asked, Filter::new().org("acme").lane(&asked.lane))),
    ("events, the newest 50", |asked| {
        asked.lanebox.events(&Filter::new()).expect("a list").rows.len()
    }),
    ("lanes, the first 50", |asked| {
        asked.lanebox.lanes(&Filter::new()).expect("a list").rows.len()
    }),
    ("trace of an event with its job", |asked| {
        asked.lanebox.trace(&asked.event.to_string()).map(|_| 1).expect("a trace")
    }),
    ("trace of the entity of an old event", |asked| {
        asked.lanebox.trace(&asked.entity).map(|_| 1).expect("a trace")
    }),
    ("explain a job that waits", |asked| {
        asked.lanebox.explain(asked.job).map(|_| 1).expect("an explanation")
    }),
    ("stats", |asked| asked.lanebox.stats().map(|_| 1).expect("numbers")),
];

fn jobs(asked: &Asked, filter: Filter) -> usize {
    asked.lanebox.jobs(&filter).expect("a list").rows.len()
}

fn main() {
    let dir = workload::place();
    let (small, large) = (dir.path().join("small.db"), dir.path().join("large.db"));
    let (few, many, events) = (size(5_000, 200), size(500_000, 400), size(100_000, 400));
    history::fill(&small, few, few, few);
    history::fill(&large, many, many, events);
    let files = [open(&large, many, events), open(&small, few, few)];
    for (what, question) in QUESTIONS {
        let mut times = [Times::default(), Times::default()];
        for _ in 0..size(40, 2) {
            for (asked, times) in files.iter().zip(&mut times) {
                let from = mono_ns();
                let found = question(asked);
                times.record(mono_ns() - from);
                assert!(found > 0, "{what}: nothing was found");
            }
        }
        let [large, small] = times;
        large.say(what, "small file", &small);
    }
}
