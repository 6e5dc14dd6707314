//! What is renewed is held for longer, also while it waits for a worker.

use super::Renewer;
use crate::engine::desk::Turn;
use crate::engine::reaper::tests::engine;
use crate::store::ledger::tests::world::{LEASE, World};

#[test]
fn what_waits_for_a_worker_is_begun_under_its_renewed_lease_and_not_after_it() {
    let w = World::new();
    let engine = engine(&w);
    w.job("ann");
    w.job("bob");
    let claimed = w.claim_many(engine.process, 2);
    engine.desk.lock().receive(claimed, w.env.mono_us());
    w.advance(LEASE / 2);
    engine.renew().expect("renewed");
    w.advance(LEASE / 2);
    let turn = || engine.turn(&mut engine.desk.lock());
    // Another thread leads.
    engine.desk.lock().leading = true;
    assert!(matches!(turn(), Turn::Run(_)), "the first lease is over, the renewed one is not");
    w.advance(LEASE / 2);
    assert!(matches!(turn(), Turn::Wait), "it is another's by now");
    assert_eq!(engine.desk.lock().reports.len(), 1, "and goes back");
}

// fault: renews-late
#[test]
fn a_lease_is_renewed_long_before_it_is_over() {
    let w = World::new();
    let engine = engine(&w);
    w.job("ann");
    let claimed = w.claim_many(engine.process, 1);
    engine.desk.lock().receive(claimed, w.env.mono_us());
    let mut renewer = Renewer::default();
    let end = w.env.mono_ms() + 2 * LEASE;
    while w.env.mono_ms() < end {
        renewer.step(&engine).expect("a look");
        w.advance(renewer.pause_ms(&engine));
        let until: i64 = w.ask("SELECT lease_until FROM lanebox_running");
        assert!(until - w.env.mono_ms() >= LEASE / 2, "half of it may be lost to a slow disk");
    }
}
