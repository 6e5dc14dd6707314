//! The sends of one run against a scripted provider.

mod frozen;
mod no_code;

use std::sync::Arc;
use std::time::Duration;

use super::Sender;
use crate::engine::channel::Channels;
use crate::engine::channel::tests::provider::{Provider, Reply};
use crate::engine::signal::Signal;
use crate::error::Result;
use crate::model::id::Held;
use crate::model::send::ability::Abilities;
use crate::model::send::class::Refusal;
use crate::model::send::error::{SendError, Told, end_of};
use crate::model::send::receipt::Receipt;
use crate::model::verdict::End;
use crate::store::jobs::{Ended, Jobs};
use crate::store::ledger::Ledger;
use crate::store::ledger::tests::world::{DEDUPE, LOOKUP, NEITHER, PATIENCE, SETTLE, World};

const TO: &str = "+4915112345678";

/// A world with one channel of which the provider is at hand.
struct Shop {
    w: World,
    provider: Arc<Provider>,
    channels: Channels,
    signal: Arc<Signal>,
}

impl Shop {
    fn new(abilities: Abilities) -> Shop {
        let w = World::new();
        let provider = Arc::new(Provider::new(abilities));
        let mut channels = Channels::default();
        channels.add("whatsapp", provider.clone()).expect("the only one");
        w.job("ann");
        Shop { w, provider, channels, signal: Arc::default() }
    }

    fn sender(&self, held: Held) -> Sender<'_> {
        Sender::new(&*self.w.store, &self.w.env, &self.channels, held, "acme", &self.signal)
    }

    /// Ends a run with what its handler's `?` gave back.
    fn fails(&self, held: Held, error: &SendError) -> Option<Ended> {
        match end_of(error, 5_000).expect("an answer of ours") {
            Told::End(end) => Some(self.w.end(held, end)),
            Told::Drop => None,
        }
    }

    fn attempts(&self) -> i64 {
        self.w.ask("SELECT attempts FROM lanebox_tried")
    }
}

fn hello(sender: &Sender<'_>) -> std::result::Result<Receipt, SendError> {
    sender.send("whatsapp", TO, "hello")
}

// fault: call-before-intent
#[test]
fn e70_the_intent_is_committed_before_the_call_and_no_transaction_is_open_during_it() {
    let shop = Shop::new(NEITHER);
    let (store, path) = (shop.w.store.clone(), shop.w.path.clone());
    shop.provider.then(Reply::While(Box::new(move || {
        let other = rusqlite::Connection::open(path).expect("another program");
        let intended = "SELECT count(*) FROM lanebox_send_try WHERE state = 'intended'";
        assert_eq!(other.query_row(intended, [], |row| row.get::<_, i64>(0)), Ok(1));
        other.execute_batch("BEGIN IMMEDIATE; ROLLBACK").expect("nobody holds the write lock");
        store.set_hold(None, "ann").expect("and this handle can write");
    })));
    let held = shop.w.claim();
    let receipt = hello(&shop.sender(held)).expect("accepted");
    assert_eq!((receipt.id(), receipt.is_fresh()), (Some("wamid.1"), true));
    assert_eq!(shop.provider.log()[0].key, receipt.key());
    assert_eq!(shop.w.done(held), Ended::Done);
    shop.w.sound();
}

#[test]
fn a_later_run_gets_the_same_receipts_and_sends_only_what_is_new() {
    let shop = Shop::new(NEITHER);
    let held = shop.w.claim();
    let sender = shop.sender(held);
    let first: Vec<Receipt> = (0..2)
        .map(|i| sender.send("whatsapp", TO, &format!("bubble {i}")).expect("sent"))
        .collect();
    let named = sender.send_named("note", "whatsapp", TO, "by name").expect("sent");
    assert!(matches!(shop.w.retry(held), Ended::Waits { .. }));
    let held = shop.w.claim();
    let sender = shop.sender(held);
    let again = sender.send_named("note", "whatsapp", TO, "by name").expect("remembered");
    assert_eq!((again.key(), again.is_fresh()), (named.key(), false));
    for (i, before) in first.iter().enumerate() {
        let now = sender.send("whatsapp", TO, &format!("bubble {i}")).expect("remembered");
        assert_eq!((now.key(), now.id(), now.is_fresh()), (before.key(), before.id(), false));
    }
    sender.send("whatsapp", TO, "bubble 2").expect("sent");
    assert_eq!(shop.provider.texts(), ["bubble 0", "bubble 1", "by name", "bubble 2"]);
    assert_eq!(shop.w.done(held), Ended::Done);
    shop.w.sound();
}

// fault: same-name-is-the-same-send
#[test]
fn two_messages_of_a_run_by_one_name_are_a_mistake_of_the_handler() {
    let shop = Shop::new(NEITHER);
    let held = shop.w.claim();
    let sender = shop.sender(held);
    let note = |body| sender.send_named("note", "whatsapp", TO, body);
    let first = note("to ann").expect("sent");
    let error = note("to bob").expect_err("refused");
    assert!(matches!(end_of(&error, 0), Some(Told::End(End::Dead(_)))), "{error}");
    // The same once more is the same.
    assert_eq!(note("to ann").expect("remembered").key(), first.key());
    assert_eq!(shop.provider.texts(), ["to ann"]);
    assert_eq!(shop.w.notices(), [""; 0], "nobody is told of a change that is none");
    shop.w.sound();
}

#[test]
fn a_run_that_says_something_else_hears_that_it_changed() {
    let shop = Shop::new(NEITHER);
    let held = shop.w.claim();
    hello(&shop.sender(held)).expect("sent");
    let receipt = shop.sender(held).send("whatsapp", TO, "hi").expect("remembered");
    assert!(receipt.changed() && !receipt.is_fresh());
    assert_eq!(shop.provider.texts(), ["hello"]);
    let json = serde_json::to_value(&receipt).expect("a receipt is JSON");
    assert_eq!(json["id"], "wamid.1");
    assert_eq!(json["key"], receipt.key().to_string());
}

// fault: unknown-is-failed, run-goes-on-after-unknown
#[test]
fn e73_a_lost_answer_is_unknown_and_so_is_every_later_send_of_the_run() {
    let shop = Shop::new(NEITHER);
    shop.provider.then(Reply::LoseTheAnswer);
    let held = shop.w.claim();
    let sender = shop.sender(held);
    let error = hello(&sender).expect_err("nobody knows");
    assert!(matches!(error, SendError::Unknown));
    assert!(matches!(sender.send("whatsapp", TO, "bubble 2"), Err(SendError::Unknown)));
    let named = sender.send_named("note", "whatsapp", TO, "by name");
    assert!(matches!(named, Err(SendError::Unknown)));
    assert_eq!(shop.provider.texts(), ["hello"]);
    assert_eq!(shop.fails(held, &error), Some(Ended::Holds));
    shop.w.sound();
}

#[test]
fn a_swallowed_unknown_still_holds_the_job() {
    let shop = Shop::new(NEITHER);
    shop.provider.then(Reply::LoseTheRequest);
    let held = shop.w.claim();
    let _swallowed = hello(&shop.sender(held));
    assert_eq!(shop.w.done(held), Ended::Holds);
    shop.w.sound();
}

#[test]
fn a_channel_that_panics_leaves_it_unknown() {
    let shop = Shop::new(NEITHER);
    shop.provider.then(Reply::Panic);
    let held = shop.w.claim();
    let sender = shop.sender(held);
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| hello(&sender)));
    assert!(panicked.is_err());
    assert!(matches!(hello(&sender), Err(SendError::Unknown)), "a handler that catches it");
    assert!(matches!(shop.w.retry(held), Ended::Holds));
    shop.w.sound();
}

#[test]
fn what_a_channel_says_when_it_does_not_know_is_kept_with_the_try() {
    let shop = Shop::new(NEITHER);
    shop.provider.then(Reply::Mumble("502 for 4915112345678: hello\nsecond line"));
    let held = shop.w.claim();
    let error = hello(&shop.sender(held)).expect_err("nobody knows");
    assert_eq!(shop.fails(held, &error), Some(Ended::Holds));
    let said = shop.w.ask::<String>("SELECT state || ': ' || reason FROM lanebox_send_try");
    assert_eq!(said, "unknown: 502 for […]: […]");
    shop.w.sound();
}

#[test]
fn a_second_call_of_a_try_forgets_what_was_said_of_the_first() {
    let shop = Shop::new(DEDUPE);
    shop.provider.then(Reply::Mumble("502"));
    let held = shop.w.claim();
    let error = hello(&shop.sender(held)).expect_err("nobody knows");
    assert_eq!(shop.fails(held, &error), Some(Ended::Holds));
    shop.w.advance(PATIENCE / 2);
    let _permitted = crate::engine::resolver::tick(&*shop.w.store, &shop.channels);
    let held = shop.w.claim();
    hello(&shop.sender(held)).expect("the same key, and it answers");
    let said = "SELECT state || ' ' || calls || coalesce(reason, '') FROM lanebox_send_try";
    assert_eq!(shop.w.ask::<String>(said), "accepted 2");
    shop.w.sound();
}

#[test]
fn nothing_of_a_refused_message_is_in_what_people_read() {
    let shop = Shop::new(NEITHER);
    shop.provider.then(Reply::Refuse(Refusal::ForGood));
    let held = shop.w.claim();
    let error = shop.sender(held).send("whatsapp", TO, "nope, no").expect_err("refused");
    assert!(matches!(&error, SendError::Rejected { reason, .. } if reason == "no"), "{error}");
    shop.provider.then(Reply::NotCalled);
    let error = shop.sender(held).send_named("n", "whatsapp", TO, "connection");
    let Err(SendError::NotCalled { reason }) = error else { panic!("{error:?}") };
    assert_eq!(reason, "[…] refused");
    shop.w.sound();
}

#[test]
fn e74_e132_refusals_end_the_run_as_what_they_are_and_keep_their_number() {
    let shop = Shop::new(NEITHER);
    shop.provider.then(Reply::Refuse(Refusal::Transient));
    let held = shop.w.claim();
    let sender = shop.sender(held);
    let error = hello(&sender).expect_err("refused");
    sender.send("whatsapp", TO, "bubble 2").expect("the next keeps its own number");
    assert!(matches!(shop.fails(held, &error), Some(Ended::Waits { due }) if due > shop.w.now()));
    assert_eq!(shop.attempts(), 1, "a failure");
    shop.w.advance(5_000);
    shop.provider.then(Reply::Refuse(Refusal::ForGood));
    let held = shop.w.claim();
    let error = hello(&shop.sender(held)).expect_err("refused for good");
    assert_eq!(shop.fails(held, &error), Some(Ended::Dead));
    assert_eq!(shop.provider.texts(), ["bubble 2"]);
    shop.w.sound();
}

#[test]
fn retry_after_pauses_the_channel_and_uses_no_attempt() {
    let shop = Shop::new(NEITHER);
    shop.w.job("bob");
    shop.provider.then(Reply::RefuseFor(Duration::from_secs(30)));
    let held = shop.w.claim();
    let error = hello(&shop.sender(held)).expect_err("refused");
    let due = shop.w.now() + 30_000;
    assert_eq!(shop.fails(held, &error), Some(Ended::Waits { due }));
    assert_eq!(shop.attempts(), 0);
    // Another contact's job hears of it before any call.
    let held = shop.w.claim();
    let error = hello(&shop.sender(held)).expect_err("it waits");
    assert!(matches!(error, SendError::Postponed { .. }));
    assert_eq!(shop.fails(held, &error), Some(Ended::Waits { due }));
    shop.w.advance(30_000);
    for _ in 0..2 {
        let held = shop.w.claim();
        hello(&shop.sender(held)).expect("sent");
        assert_eq!(shop.w.done(held), Ended::Done);
    }
    assert_eq!(shop.provider.log().len(), 2);
    shop.w.sound();
}

// R58: what certainly did not leave is sent again by itself; with a new key, because nobody has the
// old one.
// fault: not-called-is-unknown
#[test]
fn r58_a_call_that_never_left_is_repeated_safely() {
    let shop = Shop::new(NEITHER);
    shop.provider.then(Reply::NotCalled);
    let held = shop.w.claim();
    let error = hello(&shop.sender(held)).expect_err("no connection");
    assert!(matches!(error, SendError::NotCalled { .. }));
    assert!(matches!(shop.fails(held, &error), Some(Ended::Waits { .. })));
    shop.w.advance(5_000);
    let held = shop.w.claim();
    hello(&shop.sender(held)).expect("sent");
    assert_eq!(shop.w.ask::<i64>("SELECT count(*) FROM lanebox_send_try"), 2);
    assert_eq!(shop.provider.texts(), ["hello"]);
    shop.w.sound();
}

// Trap 3: A is accepted (1), B is vetoed and swallowed, C must not take B's number.
#[test]
fn a_veto_that_the_handler_swallows_stops_the_sends_of_the_run() {
    let shop = Shop::new(NEITHER);
    let held = shop.w.claim();
    let sender = shop.sender(held);
    sender.send("whatsapp", TO, "A").expect("sent");
    shop.w.consent(false);
    assert!(matches!(sender.send("whatsapp", TO, "B"), Err(SendError::Vetoed { .. })));
    let c = sender.send("whatsapp", "+4915199999999", "C");
    assert!(matches!(c, Err(SendError::Vetoed { .. })), "though its own gate is open");
    assert!(matches!(shop.w.retry(held), Ended::Waits { .. }));
    shop.w.consent(true);
    let held = shop.w.claim();
    let sender = shop.sender(held);
    assert!(!sender.send("whatsapp", TO, "A").expect("remembered").is_fresh());
    assert!(sender.send("whatsapp", TO, "B").expect("sent").is_fresh());
    sender.send("whatsapp", "+4915199999999", "C").expect("sent");
    assert_eq!(shop.provider.texts(), ["A", "B", "C"]);
    shop.w.sound();
}

// fault: no-address-is-called
#[test]
fn e82_no_address_is_dead_before_the_network() {
    let shop = Shop::new(NEITHER);
    let held = shop.w.claim();
    let error = shop.sender(held).send("whatsapp", "", "hello").expect_err("no address");
    assert_eq!(shop.fails(held, &error), Some(Ended::Dead));
    assert_eq!(shop.provider.texts(), [""; 0]);
    shop.w.sound();
}

// fault: told-ends-are-failures
#[test]
fn e132_a_veto_a_cancel_and_a_give_up_are_no_failures() {
    let shop = Shop::new(NEITHER);
    shop.w.consent(false);
    let held = shop.w.claim();
    let error = hello(&shop.sender(held)).expect_err("vetoed");
    assert_eq!(shop.fails(held, &error), Some(Ended::Cancelled));
    let reason = "SELECT reason FROM lanebox_finished ORDER BY id DESC";
    assert_eq!(shop.w.ask::<String>(reason), "vetoed");

    shop.w.consent(true);
    let job = shop.w.job("bob");
    let held = shop.w.claim();
    let _asked = shop.w.store.cancel(job, "ann").expect("asked");
    let error = hello(&shop.sender(held)).expect_err("cancelled");
    assert_eq!(shop.fails(held, &error), Some(Ended::Cancelled));
    assert_eq!(shop.w.ask::<String>(reason), "operator");

    let end = end_of(&SendError::GivenUp, 0).expect("an answer of ours");
    assert!(matches!(end, Told::End(End::GivenUp(_))));
    let held = shop.w.claim_of("eve");
    let Told::End(end) = end else { panic!("it ends") };
    assert_eq!(shop.w.end(held, end), Ended::Cancelled);
    assert_eq!(shop.w.ask::<String>(reason), "given_up");
    assert_eq!(shop.w.notices(), [""; 0], "nobody is alarmed");
    shop.w.sound();
}

#[test]
fn a_name_that_breaks_a_rule_is_the_handlers_mistake_and_uses_nothing() -> Result<()> {
    let shop = Shop::new(NEITHER);
    let held = shop.w.claim();
    let sender = shop.sender(held);
    for name in ["", "a\0b", &"x".repeat(129)] {
        let error = sender.send_named(name, "whatsapp", TO, "hello").expect_err("refused");
        assert!(matches!(end_of(&error, 0), Some(Told::End(End::Dead(_)))), "{error}");
    }
    hello(&sender).expect("sent");
    shop.w.sound();
    Ok(())
}

// fault: receipt-is-forgotten
#[test]
fn e71_e72_after_a_crash_at_any_point_of_the_call_one_message_is_out() {
    for (abilities, reply) in [
        (DEDUPE, Reply::LoseTheRequest),
        (DEDUPE, Reply::LoseTheAnswer),
        (LOOKUP, Reply::LoseTheRequest),
        (LOOKUP, Reply::LoseTheAnswer),
    ] {
        let mut shop = Shop::new(abilities);
        shop.provider.then(reply);
        let held = shop.w.claim();
        let _lost = hello(&shop.sender(held));
        shop.w.crash();
        for _ in 0..20 {
            shop.w.advance(PATIENCE / 32 + SETTLE);
            let _again = crate::engine::resolver::tick(&*shop.w.store, &shop.channels)
                .expect("the resolver's pass");
            if let Some(held) = shop.w.try_claim() {
                hello(&shop.sender(held)).expect("settled by now");
                assert_eq!(shop.w.done(held), Ended::Done);
            }
        }
        assert_eq!(shop.provider.texts(), ["hello"], "{abilities:?}");
        assert_eq!(shop.w.ask::<i64>("SELECT count(*) FROM lanebox_finished"), 1);
        shop.w.sound();
    }
}
