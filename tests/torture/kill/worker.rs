//! A worker: the engine with handlers that write down when they begin and end, and send letters.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use lanebox::{
    Backoff, BoxError, Consumer, Ctx, Error, Event, NewEvent, Outcome, Policy, Reactions, Running,
    Start,
};

use super::facts::{Fact, LEASE, ORG, open};
use super::post::{POST, Post};
use crate::clock::{now, pass, rest};
use crate::dice::roll;
use crate::lines::Log;
use crate::part::{Order, fail, hear, is_set, say, told_to_stop};

/// `begin TOKEN LANE JOB TIME LIFE`, `end TOKEN TIME`, `stall LIFE FROM TO`.
pub fn log(dir: &Path) -> PathBuf {
    dir.join("runs.log")
}

/// Part: works until SIGTERM.
pub fn work(order: &Order) {
    let (told, _leash) = (told_to_stop(), hear());
    say("opening");
    let runs = Arc::new(Log::open(&log(&order.dir)));
    watch_stalls(order.life, runs.clone());
    let lanebox = open(order);
    say("open");
    let running = start(&lanebox, || reactions(order, &runs));
    say("started");
    while !is_set(&told) {
        rest();
    }
    say("stopping");
    running.stop(Duration::from_millis(300));
    drop(lanebox);
    say("stopped");
}

fn start(lanebox: &lanebox::Lanebox, reactions: impl Fn() -> Reactions) -> Running {
    loop {
        match lanebox.start(reactions()) {
            Ok(running) => return running,
            Err(Error::Busy { .. } | Error::RolledBack) => rest(),
            Err(error) => fail(&format!("to start: {error}")),
        }
    }
}

fn quick() -> Policy {
    let backoff = Backoff::exponential(Duration::from_millis(20), Duration::from_millis(200));
    Policy::default().backoff(backoff)
}

fn reactions(order: &Order, runs: &Arc<Log>) -> Reactions {
    let hears =
        |key: &str, event: &str| Consumer::new(key, event).start(Start::Beginning).policy(quick());
    let (seed, life) = (order.seed, order.life.to_string());
    let (log, name) = (runs.clone(), life.clone());
    let shipped = runs.clone();
    Reactions::new()
        .channel(POST, Post::new(order))
        .route(hears("ships", "order.placed"), |event| Ok(vec![event.payload_as::<Fact>()?.job()]))
        .on_kind("ship", quick(), move |ctx| {
            let fact: Fact = serde_json::from_str(ctx.payload())?;
            logged(&log, &name, ctx, &fact.contact, || ship(ctx, &fact, seed))
        })
        .consume(hears("counts", "order.shipped"), move |ctx, event: &Event| {
            let lane = format!("counts {}", event.subject().unwrap_or_default());
            logged(&shipped, &life, ctx, &lane, || {
                let dice = roll(seed, format_args!("counts {}", ctx.token()));
                pass(Duration::from_millis(dice % 30));
                Ok(finish(ctx, Outcome::Done))
            })
        })
}

/// Runs it between two lines of the log.
fn logged(
    runs: &Log,
    life: &str,
    ctx: &Ctx<'_>,
    lane: &str,
    body: impl FnOnce() -> Result<Outcome, BoxError>,
) -> Result<Outcome, BoxError> {
    let token = ctx.token().to_string();
    let begun = now().to_string();
    runs.add(&["begin", &token, lane, &ctx.job().to_string(), &begun, life]);
    let answer = body();
    runs.add(&["end", &token, &now().to_string()]);
    answer
}

fn ship(ctx: &Ctx<'_>, fact: &Fact, seed: u64) -> Result<Outcome, BoxError> {
    let dice = roll(seed, format_args!("ship {} {}", fact.key, ctx.token()));
    match dice % 100 {
        0..5 => return Err("on purpose".into()),
        5..8 => {
            let until = ctx.now() + Duration::from_millis(30);
            return Ok(Outcome::Postpone { until, why: "later".to_owned(), keep_lane: None });
        }
        _ => {}
    }
    let thought = ctx.step("think", || {
        pass(Duration::from_millis(dice / 100 % 12));
        Ok::<_, BoxError>(fact.letters)
    })?;
    for n in 0..thought {
        let _receipt = ctx.send(POST, &fact.contact, &fact.letter(n))?;
    }
    // What is frozen here meets no check but that of its end.
    pass(Duration::from_millis(dice / 10_000 % 40));
    ctx.publish(
        NewEvent::new(ORG, "order.shipped").entity("order", &fact.key).subject(&fact.contact),
    )?;
    Ok(finish(ctx, Outcome::Done))
}

/// A row of the host's in the transaction that ends the job, with the time of that transaction.
fn finish(ctx: &Ctx<'_>, outcome: Outcome) -> Outcome {
    let (job, token) = (ctx.job(), ctx.token());
    ctx.finish_in(move |conn| {
        let at = i64::try_from(now()).expect("a time");
        let sql = "INSERT INTO torture_done (job, token, at) VALUES (?1, ?2, ?3)";
        conn.execute(sql, rusqlite::params![job.0.as_bytes(), token, at]).map(|_| ())
    });
    outcome
}

/// A process that the machine did not let run is as one that was frozen: it says so itself.
fn watch_stalls(life: u32, runs: Arc<Log>) {
    std::thread::spawn(move || {
        let mut last = now();
        loop {
            rest();
            let next = now();
            if Duration::from_nanos(next - last) > LEASE / 3 {
                runs.add(&["stall", &life.to_string(), &last.to_string(), &next.to_string()]);
            }
            last = next;
        }
    });
}
