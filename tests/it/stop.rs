//! The end of an engine: in order, in time, and without harm to what it held.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use lanebox::{Ctx, Lanebox, Outcome, Reactions, Running};

use crate::child::Child;
use crate::scene::{
    Answer, Gate, LONG, Opens, Scene, enqueue, held_turns, job, quick, threads_now, until,
};

/// Part: stops while one job runs and another one comes.
pub fn stop(path: &Path) {
    let lanebox = Lanebox::builder(path).workers(2).open().expect("a file");
    let gate = Gate::default();
    let reactions = held_turns(&gate);
    let running = lanebox.start(reactions).expect("started");
    enqueue(&lanebox, job("turn"));
    gate.until_reached();
    let whole = threads_now();
    let stopping = std::thread::spawn(move || running.stop(LONG));
    // One thread more, and one less: the worker that had nothing to do has left.
    until("the stop has begun", || threads_now() == whole);
    enqueue(&lanebox, job("turn"));
    gate.open();
    let report = stopping.join().expect("no panic");
    assert_eq!((report.finished, report.handed_back, report.still_running), (1, 0, 0));
}

/// Part: stops at its deadline and ends, although its handler hears nothing.
pub fn leave(path: &Path) {
    let lanebox = Lanebox::builder(path).workers(1).open().expect("a file");
    let gate = Gate::default();
    let running = lanebox.start(stubborn(&gate)).expect("started");
    enqueue(&lanebox, job("turn"));
    gate.until_reached();
    assert_eq!(running.stop(Duration::ZERO).still_running, 1);
}

fn ok(_ctx: &Ctx<'_>) -> Answer {
    Ok(Outcome::Done)
}

/// A handler that waits at the gate, whoever tells it to stop.
fn stubborn(gate: &Gate) -> Reactions {
    let gate = gate.clone();
    Reactions::new().on_kind("turn", quick(), move |_ctx| -> Answer {
        gate.wait();
        Ok(Outcome::Done)
    })
}

/// A handler that works until it is told to stop.
fn obedient(begun: &Arc<AtomicUsize>) -> Reactions {
    let begun = begun.clone();
    Reactions::new().on_kind("turn", quick(), move |ctx| -> Answer {
        begun.fetch_add(1, Ordering::SeqCst);
        if ctx.wait(LONG) { Ok(Outcome::Done) } else { Err("told to stop".into()) }
    })
}

// fault: stop-is-a-failure
#[test]
fn j45_who_answers_the_signal_is_handed_back_without_using_an_attempt() {
    let scene = Scene::new();
    let lanebox = scene.open();
    let begun = Arc::new(AtomicUsize::new(0));
    let running = lanebox.start(obedient(&begun)).expect("started");
    let ids = [enqueue(&lanebox, job("turn").max_attempts(1)), enqueue(&lanebox, job("turn"))];
    until("both run", || begun.load(Ordering::SeqCst) == 2);
    let report = running.stop(Duration::ZERO);
    assert_eq!((report.finished, report.handed_back, report.still_running), (0, 2, 0));
    for id in ids {
        let seen = scene.see(id);
        assert_eq!((seen.state.as_str(), seen.attempts, seen.lost), ("pending", 0, 0));
    }
    let again = lanebox.start(Reactions::new().on_kind("turn", quick(), ok)).expect("started");
    scene.until_ended(2);
    assert!(ids.iter().all(|&id| scene.see(id).attempts == 1));
    drop(again);
}

#[test]
fn e65_a_stop_waits_for_what_runs_and_starts_nothing_new() {
    let scene = Scene::new();
    assert!(Child::start("stop", &scene.path()).ended_well());
    let of = |state: &str| {
        scene.number("SELECT count(*) FROM lanebox_job_state WHERE state = ?1", [state])
    };
    assert_eq!(
        (of("done"), of("pending")),
        (1, 1),
        "the end was committed before the stop returned"
    );
}

// fault: stop-keeps-the-queue
#[test]
fn e65_what_nobody_had_started_is_handed_back_untried() {
    let scene = Scene::new();
    let lanebox = scene.builder().workers(1).open().expect("the file opens");
    let gate = Gate::default();
    let _opens = Opens(gate.clone());
    let held = gate.clone();
    let blocks = Arc::new(AtomicUsize::new(0));
    let block = blocks.clone();
    let reactions = Reactions::new().on_kind("turn", quick(), move |_ctx| -> Answer {
        if block.swap(0, Ordering::SeqCst) == 1 {
            held.wait();
        }
        Ok(Outcome::Done)
    });
    let running = lanebox.start(reactions).expect("started");
    // Runs are known to be short: the next ones are taken ahead.
    let _warm = lanebox.enqueue_all((0..200).map(|_| job("turn")).collect()).expect("accepted");
    scene.until_ended(200);
    blocks.store(1, Ordering::SeqCst);
    let _more = lanebox.enqueue_all((0..20).map(|_| job("turn")).collect()).expect("accepted");
    gate.until_reached();
    let report = running.stop(Duration::ZERO);
    assert_eq!((report.finished, report.still_running), (0, 1));
    assert_eq!(scene.running(), 1, "the one that did not answer keeps its lease");
    let untouched = "SELECT count(*) FROM lanebox_job_state WHERE state = 'pending' AND attempts = 0 AND lost = 0";
    assert_eq!(scene.number(untouched, []), 19);
    gate.open();
    scene.until_ended(201);
}

// fault: stop-waits-for-ever, leaves-while-it-runs
#[test]
fn j46_who_ignores_the_signal_keeps_its_lease_and_may_still_finish() {
    let scene = Scene::new();
    let lanebox = scene.open();
    let gate = Gate::default();
    let _opens = Opens(gate.clone());
    let running = lanebox.start(stubborn(&gate)).expect("started");
    let id = enqueue(&lanebox, job("turn"));
    gate.until_reached();
    let report = running.stop(Duration::ZERO);
    assert_eq!((report.finished, report.handed_back, report.still_running), (0, 0, 1));
    assert_eq!(scene.state(id), "running");
    let gone = scene.number("SELECT count(*) FROM lanebox_process WHERE gone = 1", []);
    assert_eq!(gone, 0, "who still runs something has not left");
    gate.open();
    scene.until_state(id, "done");
    assert_eq!(scene.see(id).attempts, 1);
}

#[test]
fn j46_a_process_ends_although_a_handler_hears_nothing_and_its_job_comes_back() {
    let scene = Scene::new();
    assert!(Child::start("leave", &scene.path()).ended_well());
    let lanebox = scene.open();
    assert_eq!(scene.running(), 1, "its lease covers it");
    let running = lanebox.start(Reactions::new().on_kind("turn", quick(), ok)).expect("started");
    scene.until_ended(1);
    let ended = "SELECT state || ' ' || attempts || ' ' || lost FROM lanebox_finished";
    let ended: String = scene.sql().query_row(ended, [], |row| row.get(0)).expect("its end");
    assert_eq!(ended, "done 1 1");
    drop(running);
}

#[test]
fn a_run_that_outlives_the_stop_is_renewed_until_it_ends() {
    let scene = Scene::new();
    let lanebox = scene.hasty(Duration::from_secs(1));
    let gate = Gate::default();
    let _opens = Opens(gate.clone());
    let running = lanebox.start(stubborn(&gate)).expect("started");
    let id = enqueue(&lanebox, job("turn"));
    gate.until_reached();
    assert_eq!(running.stop(Duration::ZERO).still_running, 1);
    let lease = || scene.number("SELECT lease_until FROM lanebox_running", []);
    for _ in 0..3 {
        let before = lease();
        until("it is renewed", || lease() > before);
    }
    gate.open();
    scene.until_state(id, "done");
}

/// Drops an engine on a thread of its own; it must not wait for what `meanwhile` still holds.
fn drop_returns(running: Running, meanwhile: impl FnOnce()) {
    let (said, dropped) = mpsc::channel();
    std::thread::spawn(move || {
        drop(running);
        said.send(())
    });
    dropped.recv_timeout(Duration::from_secs(30)).expect("it returned");
    meanwhile();
}

#[test]
fn drop_returns_although_a_handler_hangs() {
    let scene = Scene::new();
    let lanebox = scene.open();
    let gate = Gate::default();
    let _opens = Opens(gate.clone());
    let running = lanebox.start(stubborn(&gate)).expect("started");
    let id = enqueue(&lanebox, job("turn"));
    gate.until_reached();
    drop_returns(running, || assert_eq!(scene.state(id), "running"));
}

#[test]
fn drop_returns_although_another_program_holds_the_file_locked() {
    let scene = Scene::new();
    let lanebox = scene.builder().lease(LONG).busy_deadline(Duration::from_secs(60)).open();
    let lanebox = lanebox.expect("the file opens");
    let begun = Arc::new(AtomicUsize::new(0));
    let running = lanebox.start(obedient(&begun)).expect("started");
    let id = enqueue(&lanebox, job("turn"));
    until("it runs", || begun.load(Ordering::SeqCst) == 1);
    let stranger = scene.sql();
    stranger.execute_batch("BEGIN IMMEDIATE").expect("the lock");
    drop_returns(running, || {
        assert_eq!(scene.state(id), "running", "it answered, and could not be handed back yet");
        stranger.execute_batch("ROLLBACK").expect("unlocked");
    });
    scene.until_state(id, "pending");
}

#[test]
fn drop_returns_inside_a_transaction_and_inside_a_handler() {
    let scene = Scene::new();
    let lanebox = scene.open();
    let ok = || Reactions::new().on_kind("other", quick(), ok);
    let running = lanebox.start(ok()).expect("started");
    let answer = lanebox.transaction(|_tx| {
        drop(running);
        Ok::<_, lanebox::Error>(())
    });
    answer.expect("the transaction itself is well");
    let place: Arc<Mutex<Option<Running>>> = Arc::default();
    let inside = place.clone();
    let reactions = ok().on_kind("turn", quick(), move |_ctx| -> Answer {
        drop(inside.lock().expect("no panic").take());
        Ok(Outcome::Done)
    });
    let running = lanebox.start(reactions).expect("started");
    *place.lock().expect("no panic") = Some(running);
    let id = enqueue(&lanebox, job("turn"));
    scene.until_state(id, "done");
    assert!(place.lock().expect("no panic").is_none());
}

#[test]
fn a_stop_without_end_returns_at_once_when_nothing_runs() {
    let scene = Scene::new();
    let lanebox = scene.open();
    let running = lanebox.start(Reactions::new().on_kind("turn", quick(), ok)).expect("started");
    let report = running.stop(Duration::MAX);
    assert_eq!((report.finished, report.handed_back, report.still_running), (0, 0, 0));
    assert_eq!(scene.number("SELECT count(*) FROM lanebox_process WHERE gone = 0", []), 0);
}
