//! What stops a lane, and what waits there: each reason to stand still ends by itself alone.

use super::world::{World, laned};
use crate::model::id::{JobNo, LaneNo};
use crate::model::verdict::End;
use crate::store::jobs::{Jobs, Reap, Round};

/// The only lane of these worlds.
const LANE: LaneNo = LaneNo(1);

/// A world whose kind does this to a lane when a job of it dies.
fn on_dead(policy: &str) -> World {
    let world = World::new();
    let kind = world.store.kind("reply").expect("a kind");
    world.sql(&format!("UPDATE lanebox_kind SET on_dead = '{policy}' WHERE id = {kind}"));
    world
}

fn dies(world: &World) -> JobNo {
    let held = world.take();
    let _dead = world.end(held, End::Dead("no such number".to_owned()));
    held.job
}

/// One look of a reaper; whether something was cancelled behind a death.
fn cascades(world: &World) -> bool {
    let round = Round { reap: Some(Reap::Expired), ..Round::default() };
    world.store.round(round).expect("a pass").cascaded
}

// fault: death-in-a-paused-lane
#[test]
fn a_death_in_a_lane_that_a_person_paused_meanwhile_stops_it_as_well() {
    let world = on_dead("stop");
    world.enqueue(laned("ann"));
    let behind = world.enqueue(laned("ann"));
    let held = world.take();
    world.pause(LANE);
    let _dead = world.end(held, End::Dead("no such number".to_owned()));
    world.clock.advance(60_000);
    let _again = world.requeue(held.job);
    assert_eq!(world.taken(1), [], "the pause is still there");
    world.resume(LANE);
    let first = world.take();
    assert_eq!(first.job, held.job, "the lane had stopped for it: it has its old place");
    let _done = world.done(first);
    assert_eq!(world.taken(1), [behind]);
    world.is_sound();
}

// fault: cascade-ends-after-a-batch
#[test]
fn a_death_that_cancels_what_follows_cancels_all_of_a_long_line_before_the_lane_goes_on() {
    let world = on_dead("cancel");
    world.enqueue(laned("ann"));
    let line: Vec<_> = (0..450).map(|_| laned("ann")).collect();
    let _line = world.store.enqueue(line).expect("accepted");
    let _dead = dies(&world);
    let later = world.enqueue(laned("ann"));
    let mut passes = 0;
    while cascades(&world) {
        passes += 1;
        let left: i64 = world.one("SELECT count(*) FROM lanebox_pause");
        assert!(left == 0 || world.taken(1).is_empty(), "nothing runs while some is left");
    }
    assert_eq!(passes, 3);
    let cancelled = "SELECT count(*) FROM lanebox_finished WHERE state = 'cancelled'";
    assert_eq!(world.one::<i64>(cancelled), 450);
    assert_eq!(world.taken(5), [later]);
    world.is_sound();
}
