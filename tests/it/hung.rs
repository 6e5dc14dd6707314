//! Handlers and calls that hang: the job and its lane go on without them, and they send nothing
//! more.

use std::collections::HashSet;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use lanebox::{Abilities, Channel, Delivery, Lanebox, Letter, Outcome, Reactions, SendError};

use crate::child::Child;
use crate::scene::{
    Answer, Gate, LONG, Opens, Scene, count, enqueue, hasty, job_in, quick, threads_now, until,
};

const HANGS: usize = 100;

/// Part: counts its threads while a hundred handlers hang, and when they come back.
pub fn count_threads(path: &Path) {
    let lanebox = hasty(Lanebox::builder(path).workers(16), Duration::from_secs(1));
    let before = threads_now();
    let gate = Gate::default();
    let (held, hung) = (gate.clone(), Mutex::new(HashSet::new()));
    let policy = quick().max_run(Duration::from_millis(1));
    let reactions = Reactions::new()
        .on_kind("hangs", policy, move |ctx| -> Answer {
            // Its first run hangs, on a thread that is lost to the workers.
            if hung.lock().expect("no panic").insert(ctx.job()) {
                held.wait();
            }
            Ok(Outcome::Done)
        })
        .on_kind("next", quick(), |_ctx| -> Answer { Ok(Outcome::Done) });
    let running = lanebox.start(reactions).expect("started");
    let whole = threads_now();
    for kind in ["hangs", "next"] {
        let jobs = (0..HANGS).map(|n| job_in(kind, &format!("lane {n}"))).collect();
        let _accepted = lanebox.enqueue_all(jobs).expect("accepted");
    }
    until("each is done at its second run, and the next of its lane too", || {
        count(path, "SELECT count(*) FROM lanebox_finished WHERE state = 'done'") == 200
    });
    assert_eq!(running.health().workers_lost, HANGS, "each is counted");
    assert_eq!(threads_now(), whole + HANGS, "and replaced by one thread");
    gate.open();
    until("the lost threads have ended", || threads_now() == whole);
    running.stop(LONG);
    until("no thread is left", || threads_now() == before);
}

// fault: hung-is-not-replaced
#[test]
fn r17_a_hundred_hung_handlers_cost_their_threads_and_no_lane_stands_still() {
    let scene = Scene::new();
    assert!(Child::start("count threads", &scene.path()).ended_well());
}

/// A provider that takes every message; its first call hangs at the gate if it is told to.
struct Provider {
    calls: Arc<AtomicUsize>,
    hangs: Option<Gate>,
}

impl Channel for Provider {
    fn abilities(&self) -> Abilities {
        Abilities::new(Duration::from_millis(50)).patience(Duration::from_millis(100))
    }

    fn deliver(&self, _letter: &Letter<'_>) -> Delivery {
        let call = self.calls.fetch_add(1, Ordering::SeqCst);
        if let (0, Some(gate)) = (call, &self.hangs) {
            gate.wait();
            return Delivery::Unknown { reason: "no answer".to_owned() };
        }
        Delivery::accepted(format!("wamid.{call}"))
    }
}

#[test]
fn r17_a_call_that_hangs_leaves_its_send_unknown_and_the_lane_goes_on() {
    let scene = Scene::new();
    let lanebox = scene.hasty(Duration::from_secs(3));
    let (gate, calls) = (Gate::default(), Arc::new(AtomicUsize::new(0)));
    let _opens = Opens(gate.clone());
    let provider = Provider { calls: calls.clone(), hangs: Some(gate.clone()) };
    let policy = quick().max_run(Duration::from_millis(20));
    let reactions = Reactions::new()
        .channel("whatsapp", provider)
        .on_kind("turn", policy, |ctx| -> Answer {
            ctx.send("whatsapp", "+49151", "hello")?;
            Ok(Outcome::Done)
        })
        .on_kind("next", quick(), |_ctx| -> Answer { Ok(Outcome::Done) });
    let running = lanebox.start(reactions).expect("started");
    let hangs = enqueue(&lanebox, job_in("turn", "ann"));
    gate.until_reached();
    let next = enqueue(&lanebox, job_in("next", "ann"));
    scene.until_state(next, "done");
    assert_eq!(scene.state(hangs), "pending");
    let unknown = "SELECT count(*) FROM lanebox_send_try WHERE state = 'unknown'";
    assert_eq!(scene.number(unknown, []), 1);
    let told = "SELECT count(*) FROM lanebox_notice WHERE kind = 'send.unknown'";
    assert_eq!(scene.number(told, []), 1, "a person was told");
    assert_eq!((calls.load(Ordering::SeqCst), running.health().workers_lost), (1, 1));
    gate.open();
    running.stop(LONG);
    assert_eq!(scene.number(unknown, []), 1, "what the call said late changes nothing");
}

#[test]
fn r26_a_handler_that_ignores_its_signal_sends_nothing_beside_its_retry() {
    let scene = Scene::new();
    let lanebox = scene.hasty(Duration::from_secs(3));
    let (gate, calls) = (Gate::default(), Arc::new(AtomicUsize::new(0)));
    let _opens = Opens(gate.clone());
    let (held, runs) = (gate.clone(), AtomicUsize::new(0));
    let late: Arc<Mutex<Option<SendError>>> = Arc::default();
    let heard = late.clone();
    let policy = quick().max_run(Duration::from_millis(20));
    let reactions = Reactions::new()
        .channel("whatsapp", Provider { calls: calls.clone(), hangs: None })
        .on_kind("turn", policy, move |ctx| -> Answer {
            let first = runs.fetch_add(1, Ordering::SeqCst) == 0;
            if first {
                held.wait();
            }
            let answer = ctx.send("whatsapp", "+49151", "hello");
            if first {
                *heard.lock().expect("no panic") = answer.err();
                return Ok(Outcome::Done);
            }
            answer?;
            Ok(Outcome::Done)
        });
    let running = lanebox.start(reactions).expect("started");
    let id = enqueue(&lanebox, job_in("turn", "ann"));
    scene.until_state(id, "done");
    gate.open();
    until("the first run has come back", || late.lock().expect("no panic").is_some());
    let late = late.lock().expect("no panic").take();
    assert!(matches!(late, Some(SendError::OverTime | SendError::LeaseLost)), "{late:?}");
    assert_eq!(calls.load(Ordering::SeqCst), 1);
    assert_eq!(scene.see(id).lost, 1);
    running.stop(LONG);
}

/// Its first call hangs at the gate and is accepted late.
struct Late {
    gate: Gate,
}

impl Channel for Late {
    fn abilities(&self) -> Abilities {
        Abilities::new(Duration::from_millis(50)).patience(Duration::from_secs(600))
    }

    fn deliver(&self, _letter: &Letter<'_>) -> Delivery {
        self.gate.wait();
        Delivery::accepted("wamid.1")
    }
}

#[test]
fn a_late_accept_of_a_lost_run_wakes_the_job_that_waits_for_it() {
    let scene = Scene::new();
    let lanebox = scene.hasty(Duration::from_secs(1));
    let gate = Gate::default();
    let _opens = Opens(gate.clone());
    let policy = quick().max_run(Duration::from_millis(20));
    let reactions = Reactions::new().channel("whatsapp", Late { gate: gate.clone() }).on_kind(
        "turn",
        policy,
        |ctx| -> Answer {
            ctx.send("whatsapp", "+49151", "hello")?;
            ctx.step("after", || Ok::<_, lanebox::BoxError>(1))?;
            Ok(Outcome::Done)
        },
    );
    let running = lanebox.start(reactions).expect("started");
    let turn = enqueue(&lanebox, job_in("turn", "ann"));
    gate.until_reached();
    let unknown = "SELECT count(*) FROM lanebox_send_try WHERE state = 'unknown'";
    until("its lease is taken back", || scene.number(unknown, []) == 1);
    gate.open();
    scene.until_state(turn, "done");
    drop(running);
}
