//! One run after another: what a handler sees, says and leaves behind.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use lanebox::{Job, Lane, NewJob, Outcome, Policy, Reactions};

use crate::scene::{Answer, Scene, enqueue, job, quick};

type Shared<T> = Arc<Mutex<T>>;

// fault: payload-is-lost
#[test]
fn j40_a_handler_gets_its_job_and_the_job_is_done() {
    let scene = Scene::new();
    let lanebox = scene.open();
    let seen: Shared<Vec<String>> = Arc::default();
    let saw = seen.clone();
    let reactions = Reactions::new().on_kind("turn", quick(), move |ctx| -> Answer {
        let (job, org, attempt) = (ctx.job(), ctx.org(), ctx.attempt());
        let subject = ctx.subject().unwrap_or("nobody");
        let line =
            format!("{job} {org} {subject} {attempt}/{} {}", ctx.max_attempts(), ctx.payload());
        saw.lock().expect("no panic").push(line);
        Ok(Outcome::done_with(42))
    });
    let running = lanebox.start(reactions).expect("started");
    let new = NewJob::raw("turn", r#"{"a":1}"#, Lane::of("ann")).org("acme").subject("ann");
    let id = enqueue(&lanebox, new.max_attempts(3));
    scene.until_state(id, "done");
    assert_eq!(*seen.lock().expect("no panic"), [format!("{id} acme ann 1/3 {{\"a\":1}}")]);
    assert_eq!(scene.number("SELECT CAST(result AS INTEGER) FROM lanebox_result", []), 42);
    assert_eq!(scene.running(), 0, "J22");
    drop(running);
}

// fault: payload-is-reformatted
#[test]
fn j21_the_payload_is_byte_for_byte_what_was_enqueued() {
    let scene = Scene::new();
    let lanebox = scene.open();
    let payload =
        "{ \"b\" : 1.0e0,\r\n\t\"a\":[ \"\\u00e9é\\\\u0000\" ],\"b\":12345678901234567890123 }\n";
    let seen: Shared<Vec<u8>> = Arc::default();
    let saw = seen.clone();
    let reactions = Reactions::new().on_kind("turn", quick(), move |ctx| -> Answer {
        saw.lock().expect("no panic").extend(ctx.payload().as_bytes());
        Ok(Outcome::Done)
    });
    let running = lanebox.start(reactions).expect("started");
    let id = enqueue(&lanebox, NewJob::raw("turn", payload, Lane::NONE).org("acme"));
    scene.until_state(id, "done");
    assert_eq!(*seen.lock().expect("no panic"), payload.as_bytes());
    drop(running);
}

#[test]
fn j26_j23_a_failure_is_remembered_until_a_later_attempt_succeeds() {
    let scene = Scene::new();
    let lanebox = scene.open();
    let attempts: Shared<Vec<u32>> = Arc::default();
    let saw = attempts.clone();
    let reactions = Reactions::new().on_kind("turn", quick(), move |ctx| -> Answer {
        saw.lock().expect("no panic").push(ctx.attempt());
        match ctx.attempt() {
            1 => Err("first trouble".into()),
            2 => Ok(Outcome::retry("second trouble")),
            _ => Ok(Outcome::Done),
        }
    });
    let running = lanebox.start(reactions).expect("started");
    let id = enqueue(&lanebox, job("turn"));
    scene.until_state(id, "done");
    assert_eq!(*attempts.lock().expect("no panic"), [1, 2, 3]);
    let seen = scene.see(id);
    assert_eq!((seen.attempts, seen.error), (3, None));
    let told =
        "SELECT count(*) FROM lanebox_attempt WHERE ended = 'failed' AND error LIKE '%trouble'";
    assert_eq!(scene.number(told, []), 2);
    drop(running);
}

#[test]
fn j23_while_it_waits_a_job_shows_its_newest_error() {
    let scene = Scene::new();
    let lanebox = scene.open();
    let later = lanebox::Backoff::exponential(Duration::from_secs(600), Duration::from_secs(600));
    let reactions =
        Reactions::new().on_kind("turn", Policy::default().backoff(later), |_ctx| -> Answer {
            Err("trouble".into())
        });
    let running = lanebox.start(reactions).expect("started");
    let id = enqueue(&lanebox, job("turn"));
    crate::scene::until("it has failed once", || scene.see(id).error.is_some());
    let seen = scene.see(id);
    assert_eq!((seen.state.as_str(), seen.attempts), ("pending", 1));
    assert_eq!(seen.error.as_deref(), Some("trouble"));
    assert_eq!(scene.running(), 0, "J22: a failure ends the lease");
    drop(running);
}

// fault: attempts-without-end
#[test]
fn j24_j41_the_last_attempt_that_fails_makes_it_dead_with_a_notice() {
    let scene = Scene::new();
    let lanebox = scene.open();
    let reactions = Reactions::new()
        .on_kind("error", quick(), |_ctx| -> Answer { Err("no such contact".into()) })
        .on_kind("panic", quick(), |_ctx| -> Answer { panic!("index out of bounds") });
    let running = lanebox.start(reactions).expect("started");
    let error = enqueue(&lanebox, job("error").max_attempts(2));
    let panic = enqueue(&lanebox, job("panic").max_attempts(2));
    scene.until_ended(2);
    for (id, text) in [(error, "no such contact"), (panic, "it panicked: index out of bounds")] {
        let seen = scene.see(id);
        assert_eq!((seen.state.as_str(), seen.attempts), ("dead", 2));
        assert_eq!(seen.error.as_deref(), Some(text));
    }
    assert_eq!(scene.number("SELECT count(*) FROM lanebox_notice WHERE kind = 'job.dead'", []), 2);
    assert_eq!(scene.number("SELECT min(finished_at > 0) FROM lanebox_finished", []), 1);
    drop(running);
}

#[test]
fn e9_what_a_consumer_skips_is_marked_with_its_reason_and_does_not_run_again() {
    let scene = Scene::new();
    let lanebox = scene.open();
    scene.host_table();
    let runs = Arc::new(AtomicUsize::new(0));
    let count = runs.clone();
    let picky = lanebox::Consumer::new("picky", "a.b");
    let reactions = Reactions::new().consume(picky, move |ctx, event| -> Answer {
        count.fetch_add(1, Ordering::SeqCst);
        ctx.finish_in(|conn| conn.execute("INSERT INTO host (what) VALUES ('x')", []).map(|_| ()));
        ctx.publish(lanebox::NewEvent::new("acme", "b.c"))?;
        Ok(Outcome::skip(format!("not for us:\n{}", event.payload_json())))
    });
    let running = lanebox.start(reactions).expect("started");
    let event = lanebox::NewEvent::new("acme", "a.b").payload_json(r#"{"text":"secret words"}"#);
    let id = lanebox.publish(event).expect("recorded").id();
    scene.until_ended(1);
    running.stop(Duration::from_secs(10));
    let again = lanebox::Consumer::new("picky", "a.b");
    let ok = |_ctx: &lanebox::Ctx<'_>, _event: &lanebox::Event| -> Answer { Ok(Outcome::Done) };
    let running = lanebox.start(Reactions::new().consume(again, ok)).expect("started");
    let trace = lanebox.trace(&id.to_string()).expect("a trace");
    let delivery = &trace.events[0].deliveries[0];
    let shown = (delivery.state.as_str(), delivery.reason.as_deref());
    assert_eq!(shown, ("skipped", Some("not for us:")));
    let job = &delivery.jobs[0].job;
    let shown = (job.state.as_str(), job.reason.as_deref(), job.error.as_deref());
    assert_eq!(shown, ("done", Some("skipped"), Some("not for us:")));
    let why = lanebox.explain(job.id).expect("an explanation").sentence;
    assert!(why.starts_with("it was skipped at") && why.ends_with("without work: not for us:"));
    assert_eq!(trace.events[0].event.state, "done");
    assert_eq!(runs.load(Ordering::SeqCst), 1);
    assert_eq!(scene.host_rows(), [""; 0], "without work: no rows");
    assert_eq!(scene.number("SELECT count(*) FROM lanebox_event", []), 1, "and no events");
    drop(running);
}

// fault: permanent-is-tried-again
#[test]
fn j50_a_definite_end_uses_no_further_attempt_and_a_veto_raises_no_alarm() {
    let scene = Scene::new();
    let lanebox = scene.open();
    let reactions = Reactions::new()
        .on_kind("dead", quick(), |_ctx| -> Answer { Ok(Outcome::dead("gone for good")) })
        .on_kind("veto", quick(), |_ctx| -> Answer { Ok(Outcome::veto("conversation closed")) });
    let running = lanebox.start(reactions).expect("started");
    let dead = enqueue(&lanebox, job("dead"));
    scene.until_ended(1);
    assert_eq!(scene.number("SELECT count(*) FROM lanebox_notice", []), 1);
    let veto = enqueue(&lanebox, job("veto"));
    scene.until_ended(2);
    let (dead, veto) = (scene.see(dead), scene.see(veto));
    assert_eq!((dead.state.as_str(), dead.attempts), ("dead", 1));
    assert_eq!((veto.state.as_str(), veto.reason.as_deref()), ("cancelled", Some("vetoed")), "E53");
    assert_eq!(veto.error.as_deref(), Some("conversation closed"));
    assert_eq!(scene.number("SELECT count(*) FROM lanebox_notice", []), 1);
    drop(running);
}

// fault: postpone-uses-an-attempt
#[test]
fn e13_a_postponement_waits_and_uses_no_attempt() {
    let scene = Scene::new();
    let lanebox = scene.open();
    let runs = Arc::new(AtomicUsize::new(0));
    let count = runs.clone();
    let reactions = Reactions::new().on_kind("turn", quick(), move |ctx| -> Answer {
        assert_eq!(ctx.attempt(), 1);
        if count.fetch_add(1, Ordering::SeqCst) < 3 {
            let until = ctx.now() + Duration::from_millis(5);
            return Ok(Outcome::postpone(until, "media is not there yet"));
        }
        Ok(Outcome::Done)
    });
    let running = lanebox.start(reactions).expect("started");
    let id = enqueue(&lanebox, job("turn").max_attempts(1));
    scene.until_state(id, "done");
    assert_eq!(runs.load(Ordering::SeqCst), 4);
    assert_eq!(scene.see(id).attempts, 1);
    drop(running);
}

// As an agent waits for the transcript of a voice message; its 45 s and 4 s are shorter here.
// fault: postpone-at-once
#[test]
fn e27_a_consumer_that_waits_for_media_postpones_until_the_event_is_old_enough() {
    const AGE: Duration = Duration::from_millis(450);
    const STEP: Duration = Duration::from_millis(40);
    let scene = Scene::new();
    let lanebox = scene.open();
    let ages: Shared<Vec<time::Duration>> = Arc::default();
    let saw = ages.clone();
    let drain = lanebox::Consumer::new("drain", "agent.dispatch_requested");
    let drain = drain.policy(quick().max_attempts(1));
    let reactions = Reactions::new().consume(drain, move |ctx, event| -> Answer {
        let age = ctx.now() - event.recorded_at();
        saw.lock().expect("no panic").push(age);
        if age < AGE {
            return Ok(Outcome::postpone(ctx.now() + STEP, "its media is not derived yet"));
        }
        Ok(Outcome::Done)
    });
    let running = lanebox.start(reactions).expect("started");
    let event = lanebox::NewEvent::new("acme", "agent.dispatch_requested");
    let _recorded = lanebox.publish(event).expect("recorded");
    scene.until_ended(1);
    let ages = ages.lock().expect("no panic").clone();
    let (last, before) = ages.split_last().expect("it ran");
    assert!(*last >= AGE && before.iter().all(|age| *age < AGE), "{ages:?}");
    assert!(!before.is_empty() && before.len() <= 12, "not again and again: {ages:?}");
    let postponed = "SELECT count(*) FROM lanebox_attempt WHERE ended = 'postponed'";
    assert_eq!(scene.number(postponed, []), i64::try_from(before.len()).expect("few"));
    assert_eq!(scene.number("SELECT attempts FROM lanebox_finished WHERE state = 'done'", []), 1);
    drop(running);
}

#[test]
fn j47_an_error_of_100_kb_is_cut_and_the_outcome_saved() {
    let scene = Scene::new();
    let lanebox = scene.open();
    let reactions = Reactions::new()
        .on_kind("turn", quick(), |_ctx| -> Answer { Err("ä€".repeat(20_000).into()) });
    let running = lanebox.start(reactions).expect("started");
    let id = enqueue(&lanebox, job("turn").max_attempts(1));
    scene.until_state(id, "dead");
    assert_eq!(scene.see(id).error.map(|error| error.chars().count()), Some(300));
    drop(running);
}

/// An error whose own text cannot be made.
#[derive(Debug)]
struct Hostile;

impl std::fmt::Display for Hostile {
    fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        panic!("no words")
    }
}

impl std::error::Error for Hostile {}

// fault: panic-kills-the-worker
#[test]
fn e56_jobs_that_fail_in_every_way_cost_the_others_nothing() {
    let scene = Scene::new();
    let lanebox = scene.builder().workers(2).open().expect("the file opens");
    let reactions = Reactions::new()
        .on_kind("good", quick(), |_ctx| -> Answer { Ok(Outcome::Done) })
        .on_kind("error", quick(), |_ctx| -> Answer { Err("no".into()) })
        .on_kind("panic", quick(), |_ctx| -> Answer { std::panic::panic_any(7_u8) })
        .on_kind("hostile", quick(), |_ctx| -> Answer { Err(Box::new(Hostile)) });
    let running = lanebox.start(reactions).expect("started");
    let kinds = ["good", "error", "panic", "hostile"];
    for i in 0..80 {
        enqueue(&lanebox, job(kinds[i % 4]).max_attempts(2));
    }
    scene.until_ended(80);
    let of = |state: &str| {
        scene.number("SELECT count(*) FROM lanebox_finished WHERE state = ?1", [state])
    };
    assert_eq!((of("done"), of("dead")), (20, 60));
    assert!(running.health().is_good());
    drop(running);
}

// fault: unknown-kinds-are-taken
#[test]
fn e55_j42_r22_an_unknown_kind_is_left_and_told_of_until_somebody_has_code_for_it() {
    let scene = Scene::new();
    let lanebox = scene.open();
    let ok = |_ctx: &lanebox::Ctx<'_>| -> Answer { Ok(Outcome::Done) };
    let running = lanebox.start(Reactions::new().on_kind("known", quick(), ok)).expect("started");
    let future = enqueue(&lanebox, job("future"));
    for _ in 0..20 {
        enqueue(&lanebox, job("known"));
    }
    scene.until_ended(20);
    let seen = scene.see(future);
    assert_eq!((seen.state.as_str(), seen.attempts, seen.error), ("pending", 0, None));
    let why = lanebox.explain(future).expect("an explanation").sentence;
    assert!(why.contains("no running process has code for kind future"), "{why}");
    // As if it had waited for longer than a deploy takes.
    let sql = "UPDATE lanebox_ready SET run_at = run_at - 600001";
    scene.sql().execute_batch(sql).expect("an older job");
    let told = "SELECT count(*) FROM lanebox_notice WHERE kind = 'kind.unhandled' AND state = ?1";
    crate::scene::until("a person is told", || scene.number(told, ["open"]) == 1);
    let other = scene.open();
    let newer = other.start(Reactions::new().on_kind("future", quick(), ok)).expect("started");
    assert_eq!(scene.number(told, ["resolved"]), 1, "somebody has code for it");
    scene.until_state(future, "done");
    drop((running, newer));
}

struct Typed(u32);

impl serde::Serialize for Typed {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str("not a number")
    }
}

impl<'d> serde::Deserialize<'d> for Typed {
    fn deserialize<D: serde::Deserializer<'d>>(from: D) -> Result<Typed, D::Error> {
        u32::deserialize(from).map(Typed)
    }
}

impl Job for Typed {
    const KIND: &'static str = "typed";
    fn lane(&self) -> Lane {
        Lane::NONE
    }
}

#[test]
fn an_undecodable_payload_ends_that_job_alone_and_shows_nothing_of_it() {
    let scene = Scene::new();
    let lanebox = scene.open();
    let reactions = Reactions::new().on(|_ctx, Typed(n)| -> Answer {
        assert_eq!(n, 7);
        Ok(Outcome::Done)
    });
    let running = lanebox.start(reactions).expect("started");
    let id = enqueue(&lanebox, NewJob::new(&Typed(7)).org("acme"));
    let good = enqueue(&lanebox, NewJob::raw("typed", "7", Lane::NONE).org("acme"));
    scene.until_ended(2);
    assert_eq!(scene.state(good), "done");
    let seen = scene.see(id);
    assert_eq!((seen.state.as_str(), seen.attempts), ("dead", 1));
    let error = seen.error.expect("a reason");
    assert!(error.starts_with("undecodable payload") && !error.contains("not a number"), "{error}");
    drop(running);
}

// fault: one-worker-one-nap
#[test]
fn j49_a_backlog_is_drained_without_pauses_between_jobs() {
    let scene = Scene::new();
    // One worker, and runs that are never short: nothing is taken ahead, so each job is a pass of
    // its own.
    let lanebox = scene.builder().workers(1).open().expect("the file opens");
    let reactions = Reactions::new().on_kind("turn", quick(), |ctx| -> Answer {
        ctx.wait(Duration::from_micros(1_500));
        Ok(Outcome::Done)
    });
    let jobs = (0..2_000).map(|_| job("turn")).collect();
    let _accepted = lanebox.enqueue_all(jobs).expect("accepted");
    let running = lanebox.start(reactions).expect("started");
    // With a poll of 20 ms between two jobs this would take longer than anybody here waits.
    scene.until_ended(2_000);
    drop(running);
}
