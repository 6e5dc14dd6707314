//! What a pass makes of what its claim answered.

use std::sync::Arc;

use crate::engine::reactions::Reactions;
use crate::engine::{Engine, Settings};
use crate::store::jobs::Rounded;
use crate::store::ledger::tests::world::{LEASE, World};
use crate::store::processes::Processes;
use crate::{BoxError, Outcome, Policy};

fn two_workers(w: &World) -> Engine {
    let turn = |_: &crate::Ctx<'_>| Ok::<_, BoxError>(Outcome::Done);
    let reactions = Reactions::new().on_kind("turn", Policy::default(), turn);
    let process = w.store.register().expect("registered");
    let settings = Settings { workers: 2, lease_ms: LEASE, suspect_wait_ms: 0 };
    let (store, env) = (w.store.clone(), w.env.clone());
    Engine::new(store, env, process, settings, &reactions, Arc::default()).expect("made")
}

// fault: full-answer-is-all
#[test]
fn who_got_all_it_asked_for_looks_again_and_who_got_less_does_not() {
    for (jobs, again) in [(3, true), (2, true), (1, false), (0, false)] {
        let w = World::new();
        let engine = two_workers(&w);
        for n in 0..jobs {
            w.job(&format!("contact {n}"));
        }
        engine.desk.lock().leading = true;
        engine.lead().expect("a pass");
        let desk = engine.desk.lock();
        assert_eq!((desk.queue.len(), desk.rung), (jobs.min(2), again), "{jobs} jobs");
    }
}

// fault: stop-keeps-what-comes
#[test]
fn what_a_claim_brings_after_the_stop_began_goes_back_unstarted() {
    let w = World::new();
    let engine = two_workers(&w);
    w.job("ann");
    let claimed = w.claim_many(engine.process, 1);
    engine.stop_taking();
    engine.hand_out(Rounded { claimed, ..Rounded::default() }, None, w.env.mono_us());
    let desk = engine.desk.lock();
    assert_eq!((desk.queue.len(), desk.reports.len()), (0, 1));
}
