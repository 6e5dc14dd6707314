//! Threads that stand still: between the intent and the call, and during the call.

use std::sync::Arc;

use super::{Shop, TO, hello};
use crate::engine::channel::tests::provider::Reply;
use crate::engine::sender::{Message, Sender};
use crate::engine::signal::Stop;
use crate::env::{Env, ManualClock};
use crate::model::send::class::Refusal;
use crate::model::send::error::SendError;
use crate::store::jobs::{Ended, Jobs, Reap, Round};
use crate::store::ledger::Begun;
use crate::store::ledger::tests::world::{DEDUPE, LEASE, LOOKUP, NEITHER, PATIENCE, TIMEOUT};

/// A clock that is ahead of the store's: as if the thread had stood still since the intent.
fn later(shop: &Shop, ms: i64) -> Env {
    let clock = ManualClock::at(shop.w.now());
    let passed = shop.w.env.mono_ms() - Env::new(Arc::new(ManualClock::at(0)), 1).mono_ms();
    clock.advance(passed + ms);
    clock.step_wall(-passed);
    Env::new(Arc::new(clock), 1)
}

#[test]
fn trap_11_a_thread_that_stood_still_since_the_intent_does_not_call() {
    let shop = Shop::new(NEITHER);
    let held = shop.w.claim();
    let env = later(&shop, 5_001);
    let sender = Sender::new(&*shop.w.store, &env, &shop.channels, held, "acme", &shop.signal);
    let error = hello(&sender).expect_err("too late to call");
    assert!(matches!(error, SendError::LeaseShort { .. }));
    assert_eq!(shop.provider.texts(), [""; 0]);
    let row = "SELECT state || ' ' || class FROM lanebox_send_try";
    assert_eq!(shop.w.ask::<String>(row), "rejected not_called");
    assert!(matches!(shop.fails(held, &error), Some(Ended::Waits { .. })));
    assert_eq!(shop.attempts(), 0, "it is tried again without using an attempt");
    shop.w.sound();
}

// fault: late-call
#[test]
fn a_resend_that_stood_still_stays_unknown_because_its_first_call_may_have_gone_out() {
    let shop = Shop::new(DEDUPE);
    shop.provider.then(Reply::LoseTheAnswer);
    let held = shop.w.claim();
    let error = hello(&shop.sender(held)).expect_err("unknown");
    assert_eq!(shop.fails(held, &error), Some(Ended::Holds));
    shop.w.advance(TIMEOUT + PATIENCE / 32);
    shop.w.look(false);
    let held = shop.w.claim();
    let env = later(&shop, 5_001);
    let sender = Sender::new(&*shop.w.store, &env, &shop.channels, held, "acme", &shop.signal);
    assert!(matches!(hello(&sender), Err(SendError::Unknown)));
    assert_eq!(shop.provider.log().len(), 1);
    shop.w.sound();
}

/// During the call the lease runs out, and another worker takes the job.
fn frozen_in_its_call(shop: &Shop, then: Reply) -> Result<crate::Receipt, SendError> {
    let (store, clock) = (shop.w.store.clone(), shop.w.clock.clone());
    shop.provider.then(Reply::While(Box::new(move || {
        clock.advance(LEASE + 1);
        let reap = Round { reap: Some(Reap::Expired), ..Round::default() };
        assert_eq!(store.round(reap).expect("a reaper's pass").reaped.len(), 1);
    })));
    shop.provider.then(then);
    let held = shop.w.claim();
    let answer = hello(&shop.sender(held));
    assert_eq!(shop.w.done(held), Ended::LeaseLost, "an old worker never commits late");
    answer
}

// fault: late-accept-is-dropped
#[test]
fn r16_a_fact_of_a_lost_lease_is_recorded_and_the_next_run_sends_nothing() {
    let shop = Shop::new(NEITHER);
    let receipt = frozen_in_its_call(&shop, Reply::Accept).expect("accepted, if late");
    assert_eq!(shop.w.ask::<String>("SELECT settled_by FROM lanebox_send_try"), "late");
    let held = shop.w.claim();
    let again = hello(&shop.sender(held)).expect("remembered");
    assert_eq!((again.key(), again.is_fresh()), (receipt.key(), false));
    assert_eq!(shop.w.done(held), Ended::Done);
    assert_eq!(shop.provider.texts(), ["hello"]);
    shop.w.sound();
}

#[test]
fn trap_7_a_refusal_of_a_lost_lease_leaves_no_needless_unknown() {
    let shop = Shop::new(NEITHER);
    let refused = frozen_in_its_call(&shop, Reply::Refuse(Refusal::Transient));
    assert!(matches!(refused, Err(SendError::Rejected { .. })));
    let held = shop.w.claim();
    hello(&shop.sender(held)).expect("sent by a new try");
    assert_eq!(shop.provider.texts(), ["hello"]);
    shop.w.sound();
}

#[test]
fn r26_a_run_whose_lease_is_lost_sends_nothing_more() {
    let shop = Shop::new(LOOKUP);
    let held = shop.w.claim();
    let sender = shop.sender(held);
    hello(&sender).expect("sent");
    shop.w.advance(LEASE + 1);
    let error = sender.send("whatsapp", TO, "bubble 2").expect_err("not ours any more");
    assert!(matches!(error, SendError::LeaseLost));
    assert_eq!(shop.fails(held, &error), None, "it is dropped: the reaper counts the loss");
    assert_eq!(shop.w.reap().len(), 1);
    let held = shop.w.claim();
    assert!(matches!(shop.w.begin(held, 2, LOOKUP), Begun::Go { .. }), "the new run has the lease");
    assert_eq!(shop.provider.texts(), ["hello"]);
    shop.w.sound();
}

// The handler does not listen: its kind's time is over, and its retry will send.
// fault: deaf-run-begins
#[test]
fn r26_a_run_over_its_time_sends_nothing_more_although_its_lease_still_holds() {
    let shop = Shop::new(LOOKUP);
    let held = shop.w.claim();
    let sender = shop.sender(held);
    hello(&sender).expect("sent");
    shop.signal.raise(Stop::Leaving);
    sender.send("whatsapp", TO, "bubble 2").expect("a stopping process lets it end");
    shop.signal.raise(Stop::Overrun);
    let error = sender.send("whatsapp", TO, "bubble 3").expect_err("over its time");
    assert!(matches!(error, SendError::OverTime));
    let named = sender.send_named("note", "whatsapp", TO, "by name");
    assert!(matches!(named, Err(SendError::OverTime)), "one answer for the rest of the run");
    assert!(matches!(shop.fails(held, &error), Some(Ended::Waits { .. })));
    assert_eq!(shop.attempts(), 1, "a failure like any other");
    assert_eq!(shop.w.ask::<i64>("SELECT count(*) FROM lanebox_send"), 2);
    assert_eq!(shop.provider.texts(), ["hello", "bubble 2"]);
    shop.w.sound();
}

// The last look: between the intent and the call somebody told the run to stop.
// fault: deaf-call
#[test]
fn r26_whoever_is_told_to_stop_after_the_intent_does_not_call() {
    for (why, ended) in
        [(Stop::Overrun, "waits"), (Stop::Cancelled, "waits"), (Stop::LeaseLost, "drops")]
    {
        let shop = Shop::new(NEITHER);
        let held = shop.w.claim();
        let begun = shop.w.begin(held, 1, NEITHER);
        let Begun::Go { key, call_by } = begun else { panic!("it goes: {begun:?}") };
        shop.signal.raise(why);
        let message = Message { channel: "whatsapp", recipient: TO, body: "hello" };
        let sender = shop.sender(held);
        let code = shop.channels.channel("whatsapp").expect("its code");
        let error = sender.call(code, message, key, call_by).expect_err("told to stop");
        let row = "SELECT state || ' ' || class FROM lanebox_send_try";
        assert_eq!(shop.w.ask::<String>(row), "rejected not_called", "{why:?}");
        let answer = if shop.fails(held, &error).is_some() { "waits" } else { "drops" };
        assert_eq!(answer, ended, "{why:?}");
        assert_eq!(shop.provider.texts(), [""; 0]);
        shop.w.sound();
    }
}
