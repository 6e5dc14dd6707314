//! When a lease that is over is taken back, and when its holder may renew it first.

use std::sync::Arc;

use super::Reaper;
use crate::engine::reactions::Reactions;
use crate::engine::{Engine, Settings};
use crate::model::id::Held;
use crate::store::jobs::{Jobs, Renewed, Round};
use crate::store::ledger::tests::world::{LEASE, World};
use crate::store::processes::Processes;

const RENEWAL: i64 = LEASE / 3;

/// An engine of another process, which only looks for what it can take back.
pub(crate) fn engine(w: &World) -> Engine {
    let process = w.store.register().expect("registered");
    let settings = Settings { workers: 1, lease_ms: LEASE, suspect_wait_ms: 0 };
    let (store, env) = (w.store.clone(), w.env.clone());
    Engine::new(store, env, process, settings, &Reactions::new(), Arc::default()).expect("made")
}

fn running(w: &World) -> i64 {
    w.ask("SELECT count(*) FROM lanebox_running")
}

fn renewed(w: &World, held: Held) -> Renewed {
    let round = Round { renew: vec![held], lease_ms: LEASE, ..Round::default() };
    w.store.round(round).expect("a pass").renewed[0]
}

/// Looks as often as it wants to for so long; whether the run is still there.
fn looks(w: &World, reaper: &mut Reaper, engine: &Engine, for_ms: i64) -> bool {
    let end = w.env.mono_ms() + for_ms;
    while w.env.mono_ms() < end {
        let pause = reaper.step(engine).expect("a look");
        w.advance(pause.min(end - w.env.mono_ms()));
    }
    running(w) == 1
}

#[test]
fn a_lease_that_is_over_is_taken_back_at_the_next_look() {
    let w = World::new();
    let _held = w.claim_of("ann");
    let engine = engine(&w);
    let mut reaper = Reaper::new(&engine);
    assert!(looks(&w, &mut reaper, &engine, LEASE));
    assert!(!looks(&w, &mut reaper, &engine, 2_000));
}

// R2: nobody could write, the reaper included; it comes first.
// fault: reaps-right-after-a-lock
#[test]
fn r2_after_a_time_in_which_nobody_could_write_a_holder_has_a_renewals_time_to_come_back() {
    for comes_back in [true, false] {
        let w = World::new();
        let held = w.claim_of("ann");
        let engine = engine(&w);
        let mut reaper = Reaper::new(&engine);
        assert!(looks(&w, &mut reaper, &engine, RENEWAL));
        w.advance(LEASE + 1);
        assert!(looks(&w, &mut reaper, &engine, RENEWAL - 1_000), "it may still come");
        if comes_back {
            assert_eq!(renewed(&w, held), Renewed::Held { cancel_asked: false });
        }
        assert_eq!(looks(&w, &mut reaper, &engine, 3_000), comes_back);
        assert!(!looks(&w, &mut reaper, &engine, LEASE), "whoever is silent is lost");
    }
}

// fault: reaps-its-own
#[test]
fn who_comes_late_to_renew_takes_back_what_others_held_and_nothing_of_its_own() {
    let w = World::new();
    let engine = engine(&w);
    w.job("ann");
    let mine = w.claim_many(engine.process, 1);
    engine.desk.lock().receive(mine, w.env.mono_us());
    let _theirs = w.claim_of("bob");
    w.advance(LEASE + 1);
    engine.reap(false).expect("a pass");
    let held: i64 = w.ask("SELECT process FROM lanebox_running");
    assert_eq!((running(&w), held), (1, engine.process.0));
}
