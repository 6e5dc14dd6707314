//! The right to work: kept while it is used, lost when it is not, and never had twice.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use lanebox::{Ctx, Lanebox, Outcome, Reactions};
use rustix::process::Signal;

use crate::child::{Child, say, wait};
use crate::scene::{Answer, Gate, LONG, Opens, Scene, enqueue, hasty, job, job_in, quick, until};

fn ok(_ctx: &Ctx<'_>) -> Answer {
    Ok(Outcome::Done)
}

/// Part: holds its job until it is nudged, then finishes it.
pub fn freeze(path: &Path) {
    let lanebox = Lanebox::builder(path).workers(1).open().expect("a file");
    let over = Gate::default();
    let end = over.clone();
    let reactions = Reactions::new().on_kind("turn", quick(), move |ctx| -> Answer {
        say("begun");
        wait();
        ctx.finish_in(|conn| {
            conn.execute("INSERT INTO host (what) VALUES ('frozen')", []).map(|_| ())
        });
        end.open();
        Ok(Outcome::Done)
    });
    let running = lanebox.start(reactions).expect("started");
    over.wait();
    running.stop(LONG);
}

/// The clock of leases.
pub fn mono_ms() -> i64 {
    let at = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    at.tv_sec * 1_000 + at.tv_nsec / 1_000_000
}

fn lease_until(scene: &Scene) -> i64 {
    scene.number("SELECT lease_until FROM lanebox_running", [])
}

#[test]
fn e61_a_run_that_takes_longer_than_its_lease_keeps_it() {
    let scene = Scene::new();
    let (lanebox, other) =
        (scene.hasty(Duration::from_secs(1)), scene.hasty(Duration::from_secs(1)));
    let gate = Gate::default();
    let _opens = Opens(gate.clone());
    let (held, runs) = (gate.clone(), Arc::new(AtomicUsize::new(0)));
    let count = runs.clone();
    let reactions = move || {
        let (held, count) = (held.clone(), count.clone());
        Reactions::new().on_kind("turn", quick(), move |_ctx| -> Answer {
            count.fetch_add(1, Ordering::SeqCst);
            held.wait();
            Ok(Outcome::Done)
        })
    };
    let running =
        [lanebox.start(reactions()).expect("started"), other.start(reactions()).expect("started")];
    let id = enqueue(&lanebox, job("turn"));
    gate.until_reached();
    let first = lease_until(&scene);
    until("its first lease would be over twice", || mono_ms() > first + 1_000);
    gate.open();
    scene.until_state(id, "done");
    assert_eq!(runs.load(Ordering::SeqCst), 1);
    drop(running);
}

// fault: lost-lease-is-not-told
#[test]
fn j37_e62_when_a_renewal_is_refused_the_handler_hears_of_it() {
    let scene = Scene::new();
    // One worker: it cannot take the lost job again itself.
    let lanebox = hasty(scene.builder().workers(1), Duration::from_secs(3));
    let other = scene.hasty(Duration::from_secs(3));
    let (begun, heard) = (Gate::default(), Arc::new(AtomicBool::new(false)));
    let _opens = Opens(begun.clone());
    let (started, told) = (begun.clone(), heard.clone());
    let reactions = Reactions::new().on_kind("turn", quick(), move |ctx| -> Answer {
        started.open();
        started.wait();
        told.store(!ctx.wait(LONG) && ctx.cancelled(), Ordering::SeqCst);
        Ok(Outcome::Done)
    });
    let running = lanebox.start(reactions).expect("started");
    let id = enqueue(&lanebox, job("turn"));
    begun.until_reached();
    let second = other.start(Reactions::new().on_kind("turn", quick(), ok)).expect("started");
    // Its holder may renew in between; then it is made to end once more.
    until("the other one has run it", || {
        scene.lease_is_over();
        scene.state(id) == "done"
    });
    until("the first one has heard", || heard.load(Ordering::SeqCst));
    drop((running, second));
}

#[test]
fn a_person_who_asks_a_run_to_stop_is_heard() {
    let scene = Scene::new();
    let lanebox = scene.open();
    let begun = Gate::default();
    begun.open();
    let started = begun.clone();
    let reactions = Reactions::new().on_kind("turn", quick(), move |ctx| -> Answer {
        started.wait();
        if ctx.wait(LONG) { Ok(Outcome::Done) } else { Err("asked to stop".into()) }
    });
    let running = lanebox.start(reactions).expect("started");
    let id = enqueue(&lanebox, job("turn"));
    begun.until_reached();
    scene.sql().execute("UPDATE lanebox_running SET cancel_asked = 1", []).expect("asked");
    scene.until_state(id, "cancelled");
    assert_eq!(scene.see(id).reason.as_deref(), Some("operator"));
    drop(running);
}

#[test]
fn r2_a_lock_held_across_renewals_makes_nobody_dead() {
    let scene = Scene::new();
    let lease = Duration::from_secs(3);
    let (lanebox, other) = (scene.hasty(lease), scene.hasty(lease));
    let gate = Gate::default();
    let _opens = Opens(gate.clone());
    let (held, runs) = (gate.clone(), Arc::new(AtomicUsize::new(0)));
    let count = runs.clone();
    let reactions = Reactions::new().on_kind("turn", quick(), move |_ctx| -> Answer {
        count.fetch_add(1, Ordering::SeqCst);
        held.wait();
        Ok(Outcome::Done)
    });
    let running = lanebox.start(reactions).expect("started");
    let id = enqueue(&lanebox, job("turn"));
    gate.until_reached();
    let reaper = other.start(Reactions::new().on_kind("turn", quick(), ok)).expect("started");
    let stranger = scene.sql();
    stranger.execute_batch("BEGIN IMMEDIATE").expect("the lock");
    until("the lease is over, and nobody could renew it", || mono_ms() > lease_until(&scene) + 100);
    assert!(!running.health().is_good() && !reaper.health().is_good(), "who cannot write says so");
    stranger.execute_batch("ROLLBACK").expect("unlocked");
    until("it is renewed", || lease_until(&scene) > mono_ms());
    until("all is well again", || running.health().is_good() && reaper.health().is_good());
    gate.open();
    scene.until_state(id, "done");
    assert_eq!(runs.load(Ordering::SeqCst), 1);
    assert_eq!(scene.see(id).lost, 0);
    drop((running, reaper));
}

#[test]
fn r16_a_frozen_worker_that_comes_back_changes_nothing() {
    for _ in 0..20 {
        frozen_and_back();
    }
}

fn frozen_and_back() {
    let scene = Scene::new();
    let lanebox = scene.open();
    scene.host_table();
    let id = enqueue(&lanebox, job_in("turn", "ann"));
    let next = enqueue(&lanebox, job_in("turn", "ann"));
    let mut child = Child::start("freeze", &scene.path());
    assert_eq!(child.hear().as_deref(), Some("begun"));
    child.freeze();
    // Frozen while it writes, it would keep everybody else from writing.
    while !scene.is_writable() {
        child.signal(Signal::CONT);
        child.freeze();
    }
    scene.lease_is_over();
    let mine = |ctx: &Ctx<'_>| -> Answer {
        ctx.finish_in(|conn| {
            conn.execute("INSERT INTO host (what) VALUES ('mine')", []).map(|_| ())
        });
        Ok(Outcome::Done)
    };
    let running = lanebox.start(Reactions::new().on_kind("turn", quick(), mine)).expect("started");
    scene.until_ended(2);
    child.nudge();
    child.signal(Signal::CONT);
    assert!(child.ended_well());
    assert_eq!(scene.host_rows(), ["mine", "mine"]);
    assert_eq!((scene.see(id).lost, scene.see(next).lost), (1, 0));
    assert_eq!((scene.finished(), scene.running()), (2, 0));
    let ends = "SELECT count(*) FROM lanebox_attempt WHERE ended <> 'lost'";
    assert_eq!(scene.number(ends, []), 0);
    drop(running);
}

// fault: hung-is-renewed
#[test]
fn r17_r26_a_hung_handler_loses_its_job_and_the_lane_goes_on() {
    let scene = Scene::new();
    let lanebox = hasty(scene.builder().workers(1), Duration::from_secs(1));
    scene.host_table();
    let gate = Gate::default();
    let _opens = Opens(gate.clone());
    let (held, runs) = (gate.clone(), Arc::new(AtomicUsize::new(0)));
    let policy = quick().max_run(Duration::from_millis(20));
    let reactions = Reactions::new().on_kind("turn", policy, move |ctx| -> Answer {
        let run = runs.fetch_add(1, Ordering::SeqCst);
        ctx.finish_in(move |conn| {
            conn.execute("INSERT INTO host (what) VALUES (?1)", [format!("run {run}")]).map(|_| ())
        });
        if run == 0 {
            held.wait();
            assert!(ctx.cancelled(), "it was told");
        }
        Ok(Outcome::Done)
    });
    let running = lanebox.start(reactions).expect("started");
    let ids = [enqueue(&lanebox, job_in("turn", "ann")), enqueue(&lanebox, job_in("turn", "ann"))];
    scene.until_ended(2);
    assert_eq!(running.health().workers_lost, 1);
    gate.open();
    let report = running.stop(LONG);
    assert_eq!(report.still_running, 0, "the hung thread came back and left");
    assert_eq!(scene.host_rows(), ["run 1", "run 2"], "what it answered late was dropped");
    assert_eq!((scene.see(ids[0]).lost, scene.see(ids[1]).lost), (1, 0));
}

#[test]
fn e57_an_end_that_cannot_be_written_costs_that_job_its_lease_and_the_others_nothing() {
    let scene = Scene::new();
    let lanebox = scene.hasty(Duration::from_secs(1));
    let runs = Arc::new(AtomicUsize::new(0));
    let count = runs.clone();
    let reactions = Reactions::new().on_kind("turn", quick(), move |_ctx| -> Answer {
        count.fetch_add(1, Ordering::SeqCst);
        Ok(Outcome::Done)
    });
    let bad = enqueue(&lanebox, job("turn"));
    let refuse = "CREATE TRIGGER refuse BEFORE INSERT ON lanebox_finished WHEN NEW.id = 1 BEGIN SELECT RAISE(ABORT, 'no'); END";
    scene.sql().execute_batch(refuse).expect("a fault");
    let running = lanebox.start(reactions).expect("started");
    let good = [enqueue(&lanebox, job("turn")), enqueue(&lanebox, job("turn"))];
    scene.until_ended(2);
    assert!(good.iter().all(|&id| scene.state(id) == "done"));
    until("it is tried again", || scene.see(bad).lost == 1);
    scene.sql().execute_batch("DROP TRIGGER refuse").expect("mended");
    scene.until_state(bad, "done");
    assert!(runs.load(Ordering::SeqCst) >= 4);
    drop(running);
}
