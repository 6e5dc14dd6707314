//! Caps, turns and many claimers at once.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;

use super::world::{World, lane_less, laned};
use crate::model::id::JobNo;
use crate::model::job::NewJob;
use crate::model::lane::Lane;
use crate::model::verdict::End;
use crate::store::jobs::{Ask, Finish, Jobs, Round};
use crate::store::processes::Processes;
use crate::store::sqlite::SqliteStore;

// fault: cap-of-file
#[test]
fn e35_with_5_of_8_running_exactly_3_of_10_are_taken() {
    for cap in [
        "lanebox_counter SET cap = 8 WHERE one = 1",
        "lanebox_org SET cap = 8 WHERE id = 2",
        "lanebox_kind SET cap = 8 WHERE id = 1",
    ] {
        let world = World::new();
        for _ in 0..15 {
            world.enqueue(lane_less());
        }
        assert_eq!(world.claim(5).len(), 5);
        world.sql(&format!("UPDATE {cap}"));
        assert_eq!(world.claim(10).len(), 3, "{cap}");
        assert_eq!(world.claim(10).len(), 0, "{cap}");
        world.is_sound();
    }
}

// fault: more-than-asked
#[test]
fn e38_no_more_are_taken_than_were_asked_for() {
    let world = World::new();
    for _ in 0..10 {
        world.enqueue(lane_less());
    }
    assert_eq!(world.claim(4).len(), 4);
    assert_eq!(world.claim(0).len(), 0);
}

// A maximum of 1 asked never to be started twice: it is not taken before a worker is free for it.
#[test]
fn what_is_taken_ahead_is_short_and_may_be_started_twice() {
    let world = World::new();
    let once = world.enqueue(lane_less().max_attempts(1));
    world.enqueue(NewJob::raw("long", "{}", Lane::NONE).org("acme"));
    let short = world.enqueue(NewJob::raw("short", "{}", Lane::NONE).org("acme"));
    let mut ask = world.ask(0);
    ask.ahead = 8;
    ask.kinds[1].short = false;
    let taken: Vec<JobNo> = world.claim_as(ask).iter().map(|taken| taken.held.job).collect();
    assert_eq!(taken, [short]);
    assert_eq!(world.taken(1), [once]);
}

/// Four threads on two handles claim and finish until nothing is left; every look sees the rules.
fn claimed_by_many(world: &World, other: &SqliteStore, cap: usize, seen: &Mutex<Vec<JobNo>>) {
    let left = AtomicUsize::new(world.one("SELECT count(*) FROM lanebox_job"));
    std::thread::scope(|scope| {
        for store in [&world.store, &world.store, other, other] {
            let ask = Ask { process: store.register().expect("registers"), ..world.ask(3) };
            let left = &left;
            scope.spawn(move || {
                let mut finish = Vec::new();
                while left.load(Ordering::SeqCst) > 0 {
                    let claim = Some(ask.clone());
                    let round = Round { finish, claim, ..Round::default() };
                    let done = store.round(round).expect("a pass");
                    left.fetch_sub(done.finished.len(), Ordering::SeqCst);
                    let running: usize = store.count("SELECT count(*) FROM lanebox_running");
                    assert!(running <= cap, "{running} run, {cap} may");
                    seen.lock().extend(done.claimed.iter().map(|claimed| claimed.held.job));
                    let end = |held| {
                        let end = End::Done { result: None };
                        Finish { held, end, outbox: Vec::new() }
                    };
                    finish = done.claimed.iter().map(|claimed| end(claimed.held)).collect();
                }
            });
        }
    });
}

// fault: cap-of-file
#[test]
fn e15_e36_r24_many_claimers_take_each_job_once_inside_the_cap_and_one_of_a_contact() {
    let world = World::unguarded();
    let other = world.beside_unguarded();
    const JOBS: usize = 300;
    for n in 0..JOBS {
        world.enqueue(laned(&format!("contact {}", n % 20)));
    }
    world.sql("UPDATE lanebox_counter SET cap = 8 WHERE one = 1");
    let seen = Mutex::new(Vec::new());
    claimed_by_many(&world, &other, 8, &seen);
    let taken = seen.into_inner();
    let each: BTreeSet<i64> = taken.iter().map(|job| job.0).collect();
    assert_eq!((taken.len(), each.len()), (JOBS, JOBS));
    assert_eq!(world.all::<String>("SELECT DISTINCT state FROM lanebox_job_state"), ["done"]);
    // No two runs of a lane overlapped: their tokens are in the order of their places.
    let overtaken = "SELECT count(*) FROM lanebox_job a JOIN lanebox_job b ON b.lane = a.lane AND b.id > a.id \
         JOIN lanebox_finished fa ON fa.id = a.id JOIN lanebox_finished fb ON fb.id = b.id WHERE fb.token < fa.token";
    assert_eq!(world.one::<i64>(overtaken), 0);
    world.is_sound();
}

fn of(org: &str, kind: &str) -> NewJob {
    NewJob::raw(kind, "{}", Lane::NONE).org(org)
}

/// Claims one, finishes it, claims the next: how often each org was served with each kind.
fn served(world: &World, claims: usize, count: &[(&str, &str)]) -> Vec<usize> {
    let mut served = vec![0; count.len()];
    let mut running = Vec::new();
    for turn in 0..claims {
        // A claim for each of two workers, so that the cap is full at every second one.
        if turn % 2 == 0 {
            for held in running.drain(..) {
                let _done = world.done(held);
            }
        }
        for claimed in world.claim(1) {
            let kind: String =
                world.one(&format!("SELECT name FROM lanebox_kind WHERE id = {}", claimed.kind));
            let at = count.iter().position(|(org, of)| **org == *claimed.org_name && *of == kind);
            served[at.expect("counted")] += 1;
            running.push(claimed.held);
        }
    }
    served
}

// Trap 2: without `owed` X gets 150 of 300 and Y none, although orgs take turns.
#[test]
fn a_capped_kind_serves_both_orgs_that_have_it_alike() {
    let world = World::unguarded();
    let pairs = [("x", "k"), ("y", "k"), ("z", "j")];
    for (org, kind) in pairs {
        let some: Vec<NewJob> = (0..400).map(|_| of(org, kind)).collect();
        let _new = world.store.enqueue(some).expect("accepted");
    }
    world.sql("UPDATE lanebox_kind SET cap = 1 WHERE name = 'k'");
    assert_eq!(served(&world, 300, &pairs), [75, 75, 150]);
}

// An org that takes something else only because the kind is full is still owed its turn.
#[test]
fn an_org_that_had_no_choice_is_still_owed_its_turn() {
    let world = World::unguarded();
    let pairs = [("x", "k"), ("y", "k"), ("y", "j")];
    for (org, kind) in pairs {
        let priority = if kind == "j" { 900 } else { 500 };
        let some = (0..400).map(|_| of(org, kind).priority(priority)).collect();
        let _new = world.store.enqueue(some).expect("accepted");
    }
    world.sql("UPDATE lanebox_kind SET cap = 1 WHERE name = 'k'");
    let mut counts = [0, 0];
    for _ in 0..100 {
        let taken = world.claim(2);
        for claimed in taken {
            match (&*claimed.org_name, claimed.kind.0) {
                ("x", _) => counts[0] += 1,
                ("y", 1) => counts[1] += 1,
                _ => {}
            }
            let _done = world.done(claimed.held);
        }
    }
    assert_eq!(counts, [50, 50], "of the capped kind");
}

// fault: first-org-first
#[test]
fn e20_a_poisonous_backlog_of_one_org_does_not_keep_another_waiting() {
    let world = World::unguarded();
    let poison: Vec<NewJob> = (0..1_000).map(|_| of("acme", "poison").priority(0)).collect();
    let _new = world.store.enqueue(poison).expect("accepted");
    let other = world.enqueue(of("globex", "reply"));
    assert!(world.taken(2).contains(&other), "in the same pass");
}

// A busy process waits, then runs empty; an idle one takes the suspect first, and nothing beside
// it.
#[test]
fn a_suspect_runs_with_nothing_beside_it() {
    let world = World::new();
    let suspect = world.enqueue(laned("ann"));
    for _ in 0..2 {
        let _lost = (world.take(), world.lose());
    }
    let others = [0, 1].map(|_| world.enqueue(lane_less()));
    let busy = Ask { process: world.store.register().expect("registers"), ..world.ask(1) };
    let idle = world.ask(5);
    let alone = world.claim_as(idle.clone());
    assert_eq!(alone.iter().map(|taken| taken.held.job).collect::<Vec<_>>(), [suspect]);
    assert_eq!(world.claim_as(idle), [], "nothing beside it in its process");
    let beside = world.claim_as(busy);
    assert_eq!(beside[0].held.job, others[0], "another process is free to work");
    world.is_sound();
}

#[test]
fn a_busy_process_runs_empty_for_a_suspect_that_has_waited_long_enough() {
    let world = World::new();
    let suspect = world.enqueue(laned("ann"));
    for _ in 0..2 {
        let _lost = (world.take(), world.lose());
    }
    // The process is busy with something that began before.
    world.sql("UPDATE lanebox_kind SET paused = 1 WHERE id = 1");
    world.enqueue(of("acme", "note"));
    let busy = world.take();
    world.sql("UPDATE lanebox_kind SET paused = 0 WHERE id = 1");
    let note = world.enqueue(of("acme", "note"));
    assert_eq!(world.taken(1), [note], "the suspect waits while others pass");
    world.enqueue(of("acme", "note"));
    world.clock.advance(super::world::SUSPECT_WAIT_MS);
    assert_eq!(world.taken(1), [], "the process runs empty");
    let _done = world.done(busy);
    assert_eq!(world.taken(1), [], "not yet empty");
    for held in world.held() {
        let _done = world.done(held);
    }
    assert_eq!(world.taken(5), [suspect]);
}
