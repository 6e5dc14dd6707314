//! Who comes next: within a lane, beside lanes, and when the clock does what it likes.

use super::world::{World, due, lane_less, laned, postpone, retry};
use crate::model::id::JobNo;
use crate::model::job::NewJob;
use crate::model::lane::Lane;
use crate::model::verdict::End;
use crate::store::jobs::Jobs;

/// Takes and finishes one job after the other.
fn drained(world: &World) -> Vec<JobNo> {
    let mut order = Vec::new();
    loop {
        let taken = world.claim(1);
        let Some(claimed) = taken.first() else { return order };
        order.push(claimed.held.job);
        let _done = world.done(claimed.held);
    }
}

// fault: newest-first
#[test]
fn e31_j31_r45_equal_priority_and_time_run_in_the_order_of_their_ids() {
    let world = World::new();
    let bulk: Vec<NewJob> = (0..100).map(|_| laned("ann")).collect();
    let ids = world.store.enqueue(bulk).expect("accepted");
    let jobs: Vec<JobNo> = ids.iter().map(|answer| world.number(answer.id())).collect();
    assert_eq!(drained(&world), jobs);
    let beside: Vec<JobNo> = (0..20).map(|_| world.enqueue(lane_less())).collect();
    assert_eq!(world.taken(20), beside);
}

// fault: newest-first
#[test]
fn e32_one_claim_takes_exactly_one_of_a_contact_and_the_better() {
    let world = World::new();
    world.enqueue(laned("ann"));
    let better = world.enqueue(laned("ann").priority(10));
    let other = world.enqueue(laned("bob"));
    assert_eq!(world.taken(10), [better, other]);
    assert_eq!(world.taken(10), [], "the lane is occupied");
}

// fault: no-lane-is-a-lane
#[test]
fn e33_jobs_without_a_lane_do_not_wait_for_one_another() {
    let world = World::new();
    let jobs: Vec<JobNo> = (0..5).map(|_| world.enqueue(lane_less())).collect();
    assert_eq!(world.taken(10), jobs);
}

// fault: early, not-at-its-instant
#[test]
fn e34_r44_what_is_not_due_is_not_claimed_and_at_its_instant_it_is() {
    let world = World::new();
    let job = world.enqueue(due(laned("ann"), world.now() + 1_000));
    world.clock.advance(999);
    assert_eq!(world.taken(1), []);
    world.clock.advance(1);
    assert_eq!(world.taken(1), [job]);
}

// fault: early
#[test]
fn j33_a_job_that_was_put_off_is_not_claimed() {
    let world = World::new();
    world.enqueue(laned("ann"));
    let held = world.take();
    let _waits = world.end(held, postpone(world.now() + 5_000));
    assert_eq!(world.taken(1), []);
    world.clock.advance(5_000);
    assert_eq!(world.taken(1), [held.job]);
}

// fault: paused-org-runs, paused-file-runs
#[test]
fn e34_a_paused_lane_org_or_file_is_not_claimed_from() {
    let world = World::new();
    let job = world.enqueue(laned("ann"));
    let lane = crate::model::id::LaneNo(1);
    world.pause(lane);
    assert_eq!(world.taken(1), []);
    world.resume(lane);
    for flag in [
        "lanebox_org SET paused = {} WHERE id = 2",
        "lanebox_counter SET paused = {} WHERE one = 1",
    ] {
        world.sql(&format!("UPDATE {}", flag.replace("{}", "1")));
        assert_eq!(world.taken(1), [], "{flag}");
        world.sql(&format!("UPDATE {}", flag.replace("{}", "0")));
    }
    assert_eq!(world.taken(1), [job]);
}

// fault: clock-orders-lanes
#[test]
fn e129_the_order_of_a_lane_does_not_follow_a_clock_that_steps_back() {
    let world = World::new();
    let mut jobs: Vec<JobNo> = (0..3)
        .map(|_| {
            world.clock.advance(1_000);
            world.enqueue(laned("ann"))
        })
        .collect();
    world.clock.step_wall(-3_600_000);
    jobs.push(world.enqueue(laned("ann")));
    assert_eq!(drained(&world), jobs);
}

#[test]
fn e129_a_job_handed_back_after_the_clock_stepped_back_keeps_its_place_in_its_lane() {
    let world = World::new();
    let first = world.enqueue(laned("ann"));
    let _second = world.enqueue(laned("ann"));
    let held = world.take();
    world.clock.step_wall(-3_600_000);
    let _back = world.end(held, End::HandBack { started: false });
    assert_eq!(world.taken(1), [first]);
}

#[test]
fn e129_a_scheduled_job_comes_before_what_is_enqueued_a_millisecond_after_it_was_due() {
    let world = World::new();
    let eight = world.now() + 60_000;
    let scheduled = world.enqueue(due(laned("ann"), eight));
    world.clock.advance(60_001);
    let fresh = world.enqueue(laned("ann"));
    assert_eq!(drained(&world), [scheduled, fresh]);
}

// fault: retry-overtaken
#[test]
fn r33_e52_nothing_overtakes_a_job_that_waits_to_be_tried_again() {
    let world = World::new();
    let jobs = [0, 1, 2].map(|_| world.enqueue(laned("ann")));
    let urgent = world.enqueue(laned("ann").priority(0));
    let first = world.take();
    assert_eq!(first.job, urgent);
    let _waits = world.end(first, retry(5_000));
    assert_eq!(world.taken(5), [], "strict: not even by a better priority");
    world.clock.advance(5_000);
    assert_eq!(drained(&world), [urgent, jobs[0], jobs[1], jobs[2]]);
}

// fault: yields-keeps
#[test]
fn e52_a_kind_that_yields_lets_the_lane_go_on_in_between() {
    let world = World::new();
    let kind = world.store.kind("note").expect("a kind");
    world.sql(&format!("UPDATE lanebox_kind SET yields = 1 WHERE id = {kind}"));
    let note = world.enqueue(NewJob::raw("note", "{}", Lane::of("ann")).org("acme"));
    let reply = world.enqueue(laned("ann"));
    let held = world.take();
    let _waits = world.end(held, retry(5_000));
    assert_eq!(drained(&world), [reply]);
    world.clock.advance(5_000);
    assert_eq!(drained(&world), [note]);
}

// A campaign parked until the morning must not silence the chat; a short wait keeps its place.
#[test]
fn a_postponement_of_a_minute_keeps_the_lane_and_a_longer_one_gives_it_back() {
    for (wait_ms, kept) in [(60_000, true), (60_001, false)] {
        let world = World::new();
        world.enqueue(laned("ann"));
        let next = world.enqueue(laned("ann"));
        let held = world.take();
        let _waits = world.end(held, postpone(world.now() + wait_ms));
        assert_eq!(world.taken(1), if kept { vec![] } else { vec![next] }, "{wait_ms} ms");
    }
}

#[test]
fn r32_a_lane_that_is_busy_holds_up_no_other() {
    let world = World::new();
    let line = (0..1_000).map(|_| laned("busy")).collect();
    let _new = world.store.enqueue(line).expect("accepted");
    let _busy = world.take();
    let other = world.enqueue(laned("bob"));
    assert_eq!(world.taken(10), [other]);
}

// Trap 4 and R32: the belt costs the one candidate that it stops, never the batch, and says so.
// fault: a-busy-lane-ends-the-claim
#[test]
fn j32_r32_a_second_occupant_is_left_out_and_the_next_job_is_taken_in_the_same_pass() {
    let world = World::unguarded();
    let jobs = ["ann", "bob", "eve"].map(|lane| world.enqueue(laned(lane)));
    // What no verb does: another job runs in bob's lane, and bob's own still counts as ready.
    let stray = world.enqueue(laned("bob"));
    world.sql(&format!(
        "INSERT INTO lanebox_running(id, org, kind, lane, run_at, token, process, lease_until, started_at, max_attempts) \
         SELECT id, org, kind, lane, run_at, 1, {}, 9999999999, 0, 10 FROM lanebox_job WHERE id = {stray}; \
         UPDATE lanebox_counter SET token = 1 WHERE one = 1; \
         DELETE FROM lanebox_open WHERE id = {stray};",
        world.me
    ));
    assert_eq!(world.taken(3), [jobs[0], jobs[2]]);
    assert_eq!(
        world.one::<i64>("SELECT count(*) FROM lanebox_notice WHERE kind = 'lane.collision'"),
        1
    );
    world.is_sound();
    // Nothing is lost: when the lane is free, its head is claimable again.
    world.sql("UPDATE lanebox_running SET lease_until = 0 WHERE token = 1");
    assert_eq!(world.lose().len(), 3);
    world.is_sound();
    assert!(drained(&world).contains(&jobs[1]));
}

// Trap 4: any other broken rule must not look like a busy lane.
#[test]
fn another_broken_rule_fails_the_claim_and_loses_no_job() {
    let world = World::unguarded();
    let job = world.enqueue(laned("ann"));
    let held = world.take();
    let _waits = world.end(held, retry(0));
    world.sql(&format!("UPDATE lanebox_tried SET attempts = 10 WHERE id = {job}"));
    let round = crate::store::jobs::Round { claim: Some(world.ask(1)), ..Default::default() };
    let refused = world.store.round(round).expect_err("attempts are used up");
    assert!(refused.to_string().contains("attempts BETWEEN 1 AND max_attempts"), "{refused}");
    world.sql(&format!("UPDATE lanebox_tried SET attempts = 1 WHERE id = {job}"));
    assert_eq!(world.taken(1), [job], "it was not lost");
}
