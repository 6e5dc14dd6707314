//! What a run can still do once its job is another run's: nothing.

use super::world::{LEASE_MS, World, lane_less, laned, retry};
use crate::model::id::{Held, Token};
use crate::model::verdict::End;
use crate::store::jobs::{Ended, Finish, Jobs, Renewed, Round, Stepped};

/// A run that stood still past its lease, and the one that has its job now.
fn overtaken(world: &World) -> (Held, Held) {
    world.enqueue(laned("ann"));
    let lost = world.take();
    let _reaped = world.lose();
    let holder = world.take();
    assert_eq!(holder.job, lost.job);
    (lost, holder)
}

fn step(world: &World, held: Held, result: &str) -> Stepped {
    let kept = world.store.finish_step(held, "think".to_owned(), result.to_owned());
    kept.expect("an answer")
}

// fault: renew-without-token
#[test]
fn e62_who_comes_back_too_late_renews_nobody_elses_lease() {
    let world = World::new();
    let (lost, _holder) = overtaken(&world);
    let lease = || world.one::<i64>("SELECT lease_until FROM lanebox_running");
    let before = lease();
    world.clock.advance(LEASE_MS / 2);
    let round = Round { renew: vec![lost], lease_ms: LEASE_MS, ..Round::default() };
    let answer = world.store.round(round).expect("a pass").renewed;
    assert_eq!((answer, lease()), (vec![Renewed::LeaseLost], before));
}

// fault: lost-run-writes-a-step, second-step-stands
#[test]
fn a_step_is_what_the_run_that_holds_the_job_said_of_it_first() {
    let world = World::new();
    let (lost, holder) = overtaken(&world);
    let known = || world.store.step_result(holder.job, "think").expect("an answer");
    assert_eq!((step(&world, lost, "1"), known()), (Stepped::LeaseLost, None));
    assert_eq!(step(&world, holder, "2"), Stepped::Kept);
    assert_eq!(step(&world, holder, "3"), Stepped::Kept);
    assert_eq!(step(&world, lost, "4"), Stepped::LeaseLost);
    assert_eq!(known().as_deref(), Some("2"));
}

// fault: lost-run-says-how-far
#[test]
fn only_the_run_that_holds_the_job_says_how_far_it_is() {
    let world = World::new();
    let (lost, holder) = overtaken(&world);
    for (held, line) in [(holder, "half of it"), (lost, "all of it")] {
        world.store.progress(held, line.to_owned()).expect("an answer");
    }
    assert_eq!(world.one::<String>("SELECT progress FROM lanebox_running"), "half of it");
}

// fault: end-without-token, claim-forgets-its-owner, ends-together-are-forgotten
#[test]
fn runs_that_begin_and_end_together_are_each_held_to_their_own_token() {
    let world = World::new();
    for _ in 0..21 {
        world.enqueue(lane_less());
    }
    let held: Vec<Held> = world.claim(21).iter().map(|claimed| claimed.held).collect();
    assert_eq!(world.held(), held);
    let end = |(n, &held): (usize, &Held)| {
        let done = End::Done { result: (n % 2 == 0).then(|| n.to_string()) };
        let (held, end) = match n {
            9 => (held, End::Dead("no such number".to_owned())),
            12 => (held, retry(5_000)),
            15 => (Held { token: Token(held.token.0 + 1_000), ..held }, done),
            _ => (held, done),
        };
        Finish { held, end, outbox: Vec::new() }
    };
    let mut finish: Vec<Finish> = held.iter().enumerate().map(end).collect();
    // The same end once more changes nothing.
    finish.push(end((3, &held[3])));
    let ended = world.store.round(Round { finish, ..Round::default() }).expect("a pass").finished;
    for (n, ended) in ended.iter().enumerate() {
        match n {
            9 => assert_eq!(*ended, Ended::Dead),
            12 => assert!(matches!(ended, Ended::Waits { .. }), "{ended:?}"),
            15 | 21 => assert_eq!(*ended, Ended::LeaseLost),
            _ => assert_eq!(*ended, Ended::Done),
        }
    }
    assert_eq!(world.held(), [held[15]]);
    let done = "SELECT count(*) || ' ' || count(DISTINCT token) FROM lanebox_finished WHERE state = 'done'";
    assert_eq!(world.one::<String>(done), "18 18");
    assert_eq!(world.one::<i64>("SELECT count(*) FROM lanebox_result"), 10);
    world.is_sound();
}
