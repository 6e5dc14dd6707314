//! What an engine does when there is little to do: next to nothing, and yet it hears of everything.

use std::time::Duration;

use lanebox::{Ctx, Lanebox, Outcome, Reactions, Running, testing};
use time::OffsetDateTime;

use crate::scene::{Answer, Gate, Opens, Scene, enqueue, held_turns, job, job_in, quick, until};

fn ok(_ctx: &Ctx<'_>) -> Answer {
    Ok(Outcome::Done)
}

fn reactions() -> Reactions {
    Reactions::new().on_kind("turn", quick(), ok)
}

/// Waits until every loop has done its work a few times more.
fn until_loops_turned(running: &Running) {
    let at = || running.health().loops.into_iter().map(|one| one.last_good_at).collect::<Vec<_>>();
    for _ in 0..3 {
        let before = at();
        until("every loop has turned", || {
            at().iter().zip(&before).all(|(now, before)| now > before)
        });
    }
}

/// Waits until the loop that looks for others' commits has found nothing a few times.
fn until_at_rest(running: &Running) {
    let watch = || running.health().loops.into_iter().find(|one| one.name == "watch");
    for _ in 0..3 {
        let before = watch().and_then(|one| one.last_good_at);
        until("it has looked", || watch().and_then(|one| one.last_good_at) > before);
    }
}

fn commits_while_loops_turn(lanebox: &Lanebox, running: &Running) -> u64 {
    let before = testing::commits(lanebox);
    until_loops_turned(running);
    testing::commits(lanebox) - before
}

// fault: always-due
#[test]
fn r28_j39_an_idle_engine_writes_nothing() {
    let scene = Scene::new();
    let lanebox = scene.open();
    let running = lanebox.start(reactions()).expect("started");
    let id = enqueue(&lanebox, job("turn"));
    scene.until_state(id, "done");
    until_loops_turned(&running);
    assert_eq!(commits_while_loops_turn(&lanebox, &running), 0);
    assert!(running.health().is_good());
    drop(running);
}

// fault: always-due
#[test]
fn r28_e47_jobs_that_are_all_blocked_by_their_lane_cost_nothing_while_they_wait() {
    let scene = Scene::new();
    let lanebox = scene.open();
    let gate = Gate::default();
    let _opens = Opens(gate.clone());
    let reactions = held_turns(&gate);
    let running = lanebox.start(reactions).expect("started");
    let _jobs =
        lanebox.enqueue_all((0..1_000).map(|_| job_in("turn", "ann")).collect()).expect("accepted");
    gate.until_reached();
    until_loops_turned(&running);
    // Its lease is a minute: not even a renewal is due.
    assert!(commits_while_loops_turn(&lanebox, &running) <= 1);
    gate.open();
    scene.until_ended(1_000);
    drop(running);
}

#[test]
fn a_bell_that_nobody_needs_costs_no_renewal() {
    let scene = Scene::new();
    let lanebox = scene.open();
    let gate = Gate::default();
    let _opens = Opens(gate.clone());
    let reactions = held_turns(&gate);
    let running = lanebox.start(reactions).expect("started");
    enqueue(&lanebox, job("turn"));
    gate.until_reached();
    until_loops_turned(&running);
    let before = testing::commits(&lanebox);
    for _ in 0..200 {
        lanebox.bell();
        crate::scene::rest();
    }
    let commits = testing::commits(&lanebox) - before;
    assert!(commits <= 201, "one look a ring at most, and no renewal: {commits}");
    drop((running, gate.open()));
}

// fault: due-time-is-forgotten
#[test]
fn e41_a_scheduled_job_runs_at_its_time_and_not_before() {
    let scene = Scene::new();
    let lanebox = scene.open();
    let running = lanebox.start(reactions()).expect("started");
    let at = OffsetDateTime::now_utc() + Duration::from_millis(400);
    let id = enqueue(&lanebox, job("turn").at(at));
    assert_eq!(scene.state(id), "pending");
    scene.until_state(id, "done");
    let started = scene.number("SELECT started_at FROM lanebox_finished", []);
    assert!(i128::from(started) >= at.unix_timestamp_nanos() / 1_000_000);
    drop(running);
}

#[test]
fn e42_a_job_that_is_overdue_runs_at_once() {
    let scene = Scene::new();
    let lanebox = scene.open();
    let id =
        enqueue(&lanebox, job("turn").at(OffsetDateTime::now_utc() - Duration::from_secs(3_600)));
    let running = lanebox.start(reactions()).expect("started");
    scene.until_state(id, "done");
    drop(running);
}

// What is due and cannot run is looked at once, not again and again.
// fault: always-due
#[test]
fn e42_an_overdue_job_that_may_not_run_now_is_not_asked_for_again_and_again() {
    let scene = Scene::new();
    let lanebox = scene.open();
    let hour = Duration::from_secs(3_600);
    let id = enqueue(&lanebox, job("turn").at(OffsetDateTime::now_utc() - hour));
    let cap = |cap: &str| {
        let sql = format!("UPDATE lanebox_kind SET cap = {cap} WHERE name = 'turn'");
        scene.sql().execute_batch(&sql).expect("a cap");
    };
    cap("0");
    let running = lanebox.start(reactions()).expect("started");
    until_loops_turned(&running);
    assert_eq!(commits_while_loops_turn(&lanebox, &running), 0);
    assert_eq!(scene.state(id), "pending");
    cap("NULL");
    scene.until_state(id, "done");
    drop(running);
}

// fault: always-due
#[test]
fn e43_a_job_in_the_far_future_neither_runs_nor_keeps_the_engine_awake() {
    let scene = Scene::new();
    let lanebox = scene.open();
    let far = OffsetDateTime::from_unix_timestamp(253_402_300_799).expect("the year 9999");
    let id = enqueue(&lanebox, job("turn").at(far));
    let running = lanebox.start(reactions()).expect("started");
    until_loops_turned(&running);
    assert_eq!(commits_while_loops_turn(&lanebox, &running), 0);
    assert_eq!(scene.state(id), "pending");
    let near = enqueue(&lanebox, job("turn"));
    scene.until_state(near, "done");
    drop(running);
}

#[test]
fn e48_every_engine_of_a_handle_hears_what_another_handle_commits() {
    let scene = Scene::new();
    let (lanebox, other) = (scene.open(), scene.open());
    let kinds = ["a", "b", "c"];
    let running = kinds
        .map(|kind| lanebox.start(Reactions::new().on_kind(kind, quick(), ok)).expect("started"));
    for round in 1..=30 {
        for kind in kinds {
            enqueue(&other, job(kind));
        }
        scene.until_ended(3 * round);
    }
    drop(running);
}

// Its own commits are not among those that a handle sees in the file: only the bell tells of them.
#[test]
fn e48_whatever_a_handle_commits_wakes_its_own_engine() {
    let scene = Scene::new();
    let lanebox = scene.open();
    let every = lanebox::Consumer::new("every", "a.b");
    let reactions = reactions().consume(every, |_ctx, _event| -> Answer { Ok(Outcome::Done) });
    let running = lanebox.start(reactions).expect("started");
    let event = || lanebox::NewEvent::new("acme", "a.b");
    let host = scene.sql();
    host.execute_batch("PRAGMA synchronous = FULL").expect("as Lanebox asks for");
    let ways: [&dyn Fn() -> lanebox::Result<bool>; 6] = [
        &|| lanebox.enqueue(job("turn")).map(|_| true),
        &|| lanebox.enqueue_all(vec![job("turn")]).map(|_| true),
        &|| lanebox.transaction(|tx| tx.enqueue(job("turn"))).map(|_| true),
        &|| lanebox.publish(event()).map(|_| true),
        &|| lanebox.transaction(|tx| tx.publish(event())).map(|_| true),
        &|| {
            host.execute_batch("BEGIN IMMEDIATE").expect("begun");
            let _accepted = lanebox.enqueue_in(&host, job("turn"))?;
            host.execute_batch("COMMIT").expect("committed");
            lanebox.bell();
            Ok(true)
        },
    ];
    for (done, way) in (1..).zip(ways) {
        until_at_rest(&running);
        assert!(way().expect("accepted"));
        scene.until_ended(done);
    }
    drop(running);
}

// fault: lost-ends-are-dropped
#[test]
fn j48_a_file_that_is_locked_for_a_while_stops_nothing_for_good() {
    let scene = Scene::new();
    let lanebox = scene.hasty(Duration::from_secs(60));
    let gate = Gate::default();
    let _opens = Opens(gate.clone());
    let reactions = held_turns(&gate);
    let running = lanebox.start(reactions).expect("started");
    let _jobs = lanebox.enqueue_all((0..20).map(|_| job("turn")).collect()).expect("accepted");
    gate.until_reached();
    let stranger = scene.sql();
    stranger.execute_batch("BEGIN IMMEDIATE").expect("the lock");
    gate.open();
    until("it is seen that nothing can be written", || {
        running.health().loops.iter().any(|one| one.failures_in_a_row >= 3)
    });
    let error = running.health().loops.into_iter().find_map(|one| one.last_error);
    assert!(error.is_some_and(|error| error.contains("locked by another program")));
    assert_eq!(scene.finished(), 0);
    stranger.execute_batch("ROLLBACK").expect("unlocked");
    scene.until_ended(20);
    until("all is well again", || running.health().is_good());
    assert_eq!(scene.number("SELECT sum(attempts) + sum(lost) FROM lanebox_finished", []), 20);
    drop(running);
}

// fault: moved-file-is-well
#[test]
fn an_engine_with_nothing_to_do_says_that_its_file_was_moved_away() {
    let scene = Scene::new();
    let lanebox = scene.open();
    let running = lanebox.start(reactions()).expect("started");
    until_at_rest(&running);
    let away = scene.path().with_extension("away");
    std::fs::rename(scene.path(), &away).expect("moved");
    until("it is not well", || !running.health().is_good());
    let error = running.health().loops.into_iter().find_map(|one| one.last_error);
    assert!(error.as_ref().is_some_and(|error| error.contains("moved or replaced")), "{error:?}");
    std::fs::rename(&away, scene.path()).expect("moved back");
    until("all is well again", || running.health().is_good());
    drop(running);
}
