//! What a pass asks about time, and clocks that do what they like.

use rusqlite::hooks::{AuthAction, AuthContext, Authorization};

use super::world::{LEASE_MS, World, due, lane_less, laned, retry};
use crate::model::id::JobNo;
use crate::model::job::NewJob;
use crate::model::lane::Lane;
use crate::store::jobs::{Jobs, Round};

fn claim(world: &World, most: usize) -> crate::store::jobs::Rounded {
    let round = Round { claim: Some(world.ask(most)), ..Round::default() };
    world.store.round(round).expect("a pass")
}

/// From now on the next claim may look at the schedule before it reads its counter, to move what is
/// due, and not after it, when it asks for the next due time.
fn no_second_look(world: &World) {
    let mut counted = false;
    let hook = move |at: AuthContext<'_>| match at.action {
        AuthAction::Read { table_name: "lanebox_scheduled", .. } if counted => Authorization::Deny,
        AuthAction::Read { table_name, .. } => {
            counted |= table_name == "lanebox_counter";
            Authorization::Allow
        }
        _ => Authorization::Allow,
    };
    world.store.on_writer(|conn| conn.authorizer(Some(hook))).expect("a hook");
}

// fault: blind-claim-fails
#[test]
fn e44_when_the_next_due_time_cannot_be_read_the_claim_stands_and_it_is_asked_again_soon() {
    let world = World::unguarded();
    let job = world.enqueue(laned("ann"));
    no_second_look(&world);
    let done = claim(&world, 4);
    assert_eq!(done.claimed.iter().map(|taken| taken.held.job).collect::<Vec<_>>(), [job]);
    assert_eq!(done.next_due, Some(world.now() + 1_000), "somebody looks again");
    assert_eq!(world.state(job), "running");
}

/// How often each statement of the writer that looks at the schedule was run so far.
fn looks_at_the_schedule(world: &World, what: impl FnOnce()) -> usize {
    use rusqlite::trace::{TraceEvent, TraceEventCodes};
    use std::cell::Cell;
    thread_local! {
        static LOOKS: Cell<usize> = const { Cell::new(0) };
    }
    fn count(event: TraceEvent<'_>) {
        if let TraceEvent::Profile(statement, _) = event
            && statement.sql().contains("FROM lanebox_scheduled WHERE run_at >= 0")
        {
            LOOKS.set(LOOKS.get() + 1);
        }
    }
    let codes = TraceEventCodes::SQLITE_TRACE_PROFILE;
    world.store.on_writer(|conn| conn.trace_v2(codes, Some(count)));
    let before = LOOKS.get();
    what();
    LOOKS.get() - before
}

// fault: due-is-asked-always
#[test]
fn e45_a_claim_that_got_all_it_wanted_does_not_ask_when_the_next_job_is_due() {
    let world = World::new();
    for _ in 0..9 {
        world.enqueue(lane_less());
    }
    world.enqueue(due(lane_less(), world.now() + 5_000));
    let busy = looks_at_the_schedule(&world, || {
        for _ in 0..3 {
            assert_eq!(claim(&world, 3).claimed.len(), 3);
        }
    });
    assert_eq!(busy, 0);
    let idle = looks_at_the_schedule(&world, || {
        assert_eq!(claim(&world, 3).next_due, Some(world.now() + 5_000));
    });
    assert_eq!(idle, 1, "the count sees it");
}

// J38: due times follow the wall clock by design, leases and places do not.
// fault: lease-by-the-wall-clock
#[test]
fn j38_a_clock_that_steps_back_an_hour_extends_no_lease_for_ever_and_loses_no_due_job() {
    let world = World::new();
    let running = world.enqueue(laned("ann"));
    let held = world.take();
    assert_eq!(held.job, running);
    let failed = world.enqueue(laned("bob"));
    let again = world.take();
    let _waits = world.end(again, retry(5_000));
    let ready = world.enqueue(lane_less());
    let scheduled = world.enqueue(due(laned("eve"), world.now() + 60_000));
    world.clock.step_wall(-3_600_000);
    assert_eq!(world.taken(5), [ready], "what was due stays so");
    world.clock.advance(LEASE_MS);
    assert_eq!(world.reap(), [], "no lease is cut short either");
    world.clock.advance(1);
    assert_eq!(world.reap().len(), 2, "by the time that passed, not by the clock on the wall");
    let left: Vec<JobNo> = world.taken(5);
    assert_eq!(left, [running, ready]);
    world.clock.advance(3_600_000);
    let mut later = world.taken(5);
    later.sort_unstable();
    assert_eq!(later, [failed, scheduled]);
    world.is_sound();
}

// What an engine goes by after a claim: if something is ready and nothing says "look again", every
// worker sleeps over it.
fn nobody_sleeps_over_what_is_ready(world: &World) {
    let done = claim(world, 4);
    assert!(world.one::<i64>("SELECT count(*) FROM lanebox_ready") > 0);
    assert!(done.more || done.next_due.is_some(), "{done:?}");
}

fn expiring(job: NewJob, at: i64) -> NewJob {
    NewJob { expires_at: Some(at), ..job }
}

// Its lane is busy: nothing but its last day would make anybody look at it.
// fault: expiry-wakes-nobody
#[test]
fn somebody_wakes_for_a_job_that_expires_while_it_waits_for_its_lane() {
    let world = World::new();
    let first = world.enqueue(laned("ann"));
    let until = world.now() + 5_000;
    let second = world.enqueue(expiring(laned("ann"), until));
    assert_eq!(world.taken(1), [first]);
    assert_eq!(claim(&world, 4).next_due, Some(until));
    world.clock.advance(5_000);
    assert_eq!(claim(&world, 4).next_due, None);
    assert_eq!(world.state(second), "cancelled");
}

#[test]
fn what_an_expired_candidate_makes_claimable_in_another_kind_is_not_slept_over() {
    let world = World::new();
    let soon = world.now() + 1_000;
    for _ in 0..200 {
        world.enqueue(expiring(lane_less(), soon));
    }
    world.enqueue(expiring(laned("ann"), soon + 1));
    world.enqueue(NewJob::raw("follow", "{}", Lane::of("ann")).org("acme"));
    world.clock.advance(5_000);
    nobody_sleeps_over_what_is_ready(&world);
}

#[test]
fn what_an_expired_candidate_makes_claimable_before_those_taken_stays_claimable() {
    let world = World::new();
    let at = world.now() + 10_000;
    world.enqueue(expiring(laned("ann"), at + 1));
    let held = world.take();
    let _keeps_its_lane = world.end(held, retry(8_000));
    let heir = world.enqueue(laned("ann"));
    world.clock.advance(1_000);
    let [one, other] = [world.enqueue(lane_less()), world.enqueue(lane_less())];
    for _ in 0..200 {
        world.enqueue(expiring(due(lane_less(), world.now() + 8_000), at));
    }
    world.clock.advance(20_000);
    assert_eq!(world.taken(4), [one, other, heir]);
    world.is_sound();
}

#[test]
fn an_expired_suspect_hides_nothing_that_is_ready() {
    let world = World::new();
    let at = world.now() + 300_000;
    let suspect = world.enqueue(expiring(laned("ann"), at));
    for _ in 0..2 {
        assert_eq!(world.take().job, suspect);
        world.lose();
    }
    for _ in 0..200 {
        world.enqueue(expiring(lane_less(), at - 1_000));
    }
    world.enqueue(lane_less());
    world.clock.advance(600_000);
    nobody_sleeps_over_what_is_ready(&world);
}
