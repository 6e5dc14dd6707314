//! Engines of one process of the system, what each has code for, and work that nobody has code for.

use super::world::{SUSPECT_WAIT_MS, World, lane_less, laned};
use crate::model::id::{JobNo, KindNo, ProcessNo};
use crate::model::job::NewJob;
use crate::model::lane::Lane;
use crate::store::jobs::{Ask, Handled};
use crate::store::processes::{Announced, Processes};

const TEN_MINUTES: i64 = 600_000;

fn announce(world: &World, process: ProcessNo, kinds: &[&str]) -> Vec<KindNo> {
    let announced = |kind: &&str| Announced { kind: (*kind).to_owned(), yields: false };
    let kinds = kinds.iter().map(announced).collect();
    world.store.announce(process, kinds).expect("a living process")
}

/// Another engine of the first one's process.
fn twin(world: &World) -> ProcessNo {
    let twin = world.store.register().expect("registers");
    world.sql(&format!(
        "UPDATE lanebox_process SET os = (SELECT os FROM lanebox_process WHERE id = {}) WHERE id = {twin}",
        world.me
    ));
    twin
}

/// A job of kind `reply` that was lost twice.
fn suspect(world: &World) -> JobNo {
    let suspect = world.enqueue(laned("ann"));
    for _ in 0..2 {
        let _lost = (world.take(), world.lose());
    }
    suspect
}

fn taken_by(world: &World, process: ProcessNo, kinds: &[KindNo]) -> Vec<JobNo> {
    let kinds = kinds.iter().map(|&kind| Handled { kind, short: false }).collect();
    let taken = world.claim_as(Ask { process, kinds, ..world.ask(5) });
    taken.iter().map(|claimed| claimed.held.job).collect()
}

fn note() -> NewJob {
    NewJob::raw("note", "{}", Lane::NONE).org("acme")
}

// What kills one engine kills those beside it: alone means alone in the process of the system.
// fault: suspects-in-company
#[test]
fn e133_a_suspect_runs_with_nothing_beside_it_in_any_engine_of_its_process() {
    let world = World::new();
    let (me, twin) = (world.me, twin(&world));
    let replies = announce(&world, me, &["reply"]);
    let suspect = suspect(&world);
    let notes = announce(&world, twin, &["note"]);
    let first = world.enqueue(note());
    assert_eq!(taken_by(&world, twin, &notes), [first]);
    assert_eq!(taken_by(&world, me, &replies), [], "the engine beside it is at work");
    let second = world.enqueue(note());
    assert_eq!(taken_by(&world, twin, &notes), [second], "and goes on for a while");
    world.clock.advance(SUSPECT_WAIT_MS);
    let third = world.enqueue(note());
    assert_eq!(taken_by(&world, twin, &notes), [], "then it runs empty, without code for it");
    let elsewhere = world.store.register().expect("registers");
    let other = announce(&world, elsewhere, &["note"]);
    assert_eq!(taken_by(&world, elsewhere, &other), [third], "another process is free to work");
    for held in world.held() {
        let _done = world.done(held);
    }
    world.enqueue(note());
    assert_eq!(taken_by(&world, me, &replies), [suspect]);
    world.enqueue(lane_less());
    assert_eq!(taken_by(&world, me, &replies), []);
    assert_eq!(taken_by(&world, twin, &notes), [], "nothing begins beside it");
    world.is_sound();
}

// A suspect that nobody in this process may run holds up nobody here.
#[test]
fn a_suspect_of_a_paused_kind_or_of_other_code_lets_everybody_work() {
    let world = World::new();
    let suspect = suspect(&world);
    world.clock.advance(SUSPECT_WAIT_MS);
    let notes = announce(&world, world.me, &["note"]);
    let first = world.enqueue(note());
    assert_eq!(taken_by(&world, world.me, &notes), [first]);
    announce(&world, world.me, &["reply"]);
    world.sql("UPDATE lanebox_kind SET paused = 1 WHERE name = 'reply'");
    let second = world.enqueue(note());
    assert_eq!(taken_by(&world, world.me, &notes), [second]);
    assert_eq!(world.state(suspect), "pending");
    world.is_sound();
}

fn notices(world: &World) -> Vec<String> {
    world.all("SELECT kind || ' ' || cause || ' ' || state || ' ' || count FROM lanebox_notice ORDER BY id")
}

// fault: nobody-has-code-is-silent
#[test]
fn r22_a_kind_without_code_is_left_and_a_person_is_told_once_after_a_deploys_time() {
    let world = World::new();
    let tell = || world.store.tell_unhandled().expect("looked");
    let job = world.enqueue(NewJob::raw("future", "{}", Lane::of("ann")).org("acme"));
    let known = announce(&world, world.me, &["reply"]);
    world.clock.advance(TEN_MINUTES - 1);
    assert_eq!((taken_by(&world, world.me, &known), tell()), (vec![], 0), "a deploy");
    world.clock.advance(1);
    let before = world.store.commits();
    assert_eq!(tell(), 1);
    assert_eq!(notices(&world), ["kind.unhandled future open 1"]);
    for _ in 0..5 {
        world.clock.advance(TEN_MINUTES);
        assert_eq!((taken_by(&world, world.me, &known), tell()), (vec![], 0), "told once");
    }
    assert_eq!(world.store.commits() - before, 6, "the notice, and five claims");
    assert_eq!(world.state(job), "pending", "never dead");
    assert_eq!(world.one::<i64>("SELECT attempts FROM lanebox_job_state"), 0);
    // Somebody has code for it: the trouble is over. When that one is gone, it is another one.
    let newer = world.store.register().expect("registers");
    let future = announce(&world, newer, &["future"]);
    assert_eq!(notices(&world), ["kind.unhandled future resolved 1"]);
    assert_eq!(tell(), 0);
    world.store.leave(newer).expect("it leaves");
    assert_eq!(world.one::<i64>("SELECT count(*) FROM lanebox_handles"), 1);
    assert_eq!(tell(), 1);
    assert_eq!(notices(&world).len(), 2);
    world.is_sound();
    let last = world.store.register().expect("registers");
    assert_eq!(announce(&world, last, &["future"]), future);
    assert_eq!(taken_by(&world, last, &future), [job]);
}

#[test]
fn nobody_is_told_of_a_kind_that_is_paused_or_that_somebody_is_busy_with() {
    let world = World::new();
    announce(&world, world.me, &["reply"]);
    world.enqueue(lane_less());
    world.enqueue(note());
    world.sql("UPDATE lanebox_kind SET paused = 1 WHERE name = 'note'");
    world.clock.advance(10 * TEN_MINUTES);
    assert_eq!(world.store.tell_unhandled().expect("looked"), 0);
    assert_eq!(notices(&world), [""; 0]);
}
