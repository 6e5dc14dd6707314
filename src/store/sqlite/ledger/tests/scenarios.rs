//! The scenarios of the send ledger, E70 to E82, and what stands beside them.

use crate::model::id::SendKey;
use crate::model::send::class::Refusal;
use crate::model::send::{ChannelState, Slot};
use crate::model::verdict::End;
use crate::store::jobs::{Cancelled, Ended, Jobs};
use crate::store::ledger::tests::world::{
    BOTH, DEDUPE, LEASE, LOOKUP, NEITHER, PATIENCE, TIMEOUT, World,
};
use crate::store::ledger::{
    Accepted, Begun, ChannelChange, Intent, Ledger, LookedAnswer, NotSent, Rejected, Rejection,
};

fn channel(w: &World, state: ChannelState, reason: Option<&str>) {
    let change = ChannelChange {
        org: "acme".to_owned(),
        channel: "whatsapp".to_owned(),
        state,
        reason: reason.map(str::to_owned),
        who: "ann".to_owned(),
    };
    w.store.set_channel(change).expect("changed");
}

fn receipt(begun: &Begun) -> Option<&str> {
    match begun {
        Begun::Accepted { receipt, .. } => receipt.as_deref(),
        other => panic!("expected a receipt, got {other:?}"),
    }
}

fn sends(w: &World) -> i64 {
    w.ask("SELECT count(*) FROM lanebox_send")
}

// fault: receipt-is-not-kept
#[test]
fn e70_the_intent_is_on_the_file_before_the_call_and_the_receipt_after_it() {
    let w = World::new();
    let job = w.job("ann");
    let held = w.claim();
    let key = w.go(held, NEITHER);
    assert_eq!(w.state_of(key), "intended");
    assert_eq!(w.answered(key, "wamid.1"), Accepted::Now);
    assert_eq!(w.state_of(key), "accepted");
    assert_eq!(w.ask::<String>("SELECT receipt FROM lanebox_send_try"), "wamid.1");
    assert_eq!(w.done(held), Ended::Done);
    assert_eq!(w.place_of(job), "done");
    w.sound();
}

// fault: receipt-is-forgotten
#[test]
fn a_later_run_gets_the_receipt_and_nothing_is_intended() {
    let w = World::new();
    w.job("ann");
    let held = w.claim();
    let key = w.go(held, NEITHER);
    assert_eq!(w.answered(key, "wamid.1"), Accepted::Now);
    assert!(matches!(w.retry(held), Ended::Waits { .. }));
    let again = w.begin(w.claim(), 1, NEITHER);
    assert_eq!(receipt(&again), Some("wamid.1"));
    assert_eq!(w.ask::<i64>("SELECT count(*) FROM lanebox_send_try"), 1);
    w.sound();
}

#[test]
fn e71_a_crash_before_the_call_leads_to_one_call_with_the_same_key_where_the_provider_dedupes() {
    let mut w = World::new();
    let job = w.job("ann");
    let key = w.go(w.claim(), DEDUPE);
    w.crash();
    assert_eq!((w.state_of(key).as_str(), w.place_of(job).as_str()), ("unknown", "unknown"));
    w.advance(TIMEOUT + PATIENCE / 32);
    assert_eq!(w.look(false), [LookedAnswer::Permitted]);
    let held = w.claim();
    assert_eq!(w.go(held, DEDUPE), key, "the same try, the same key");
    assert_eq!(w.ask::<i64>("SELECT calls FROM lanebox_send_try"), 2);
    assert_eq!(w.answered(key, "wamid.1"), Accepted::Now);
    assert_eq!(w.done(held), Ended::Done);
    w.sound();
}

// fault: accept-wakes-nobody
#[test]
fn e72_a_crash_after_the_accept_is_settled_by_its_echo_without_a_second_call() {
    let mut w = World::new();
    w.job("ann");
    let key = w.go(w.claim(), LOOKUP);
    w.crash();
    assert_eq!(w.try_claim(), None, "nobody runs it meanwhile");
    assert_eq!(w.echo(key, "wamid.1"), Accepted::Now);
    let held = w.claim();
    assert_eq!(receipt(&w.begin(held, 1, LOOKUP)), Some("wamid.1"));
    assert_eq!(w.done(held), Ended::Done);
    w.sound();
}

#[test]
fn e73_a_timeout_is_unknown_not_failed() {
    let w = World::new();
    let job = w.job("ann");
    let held = w.claim();
    let key = w.go(held, NEITHER);
    // Whatever the handler makes of it: nothing was written, and the end decides.
    assert!(matches!(w.retry(held), Ended::Holds));
    assert_eq!((w.state_of(key).as_str(), w.place_of(job).as_str()), ("unknown", "unknown"));
    assert_eq!(w.ask::<i64>("SELECT attempts FROM lanebox_tried"), 0, "the attempt is given back");
    w.sound();
}

// fault: retry-keeps-the-key
#[test]
fn e74_a_refusal_is_a_rejection_and_a_retry_is_a_new_try_with_a_new_key() {
    let w = World::new();
    w.job("ann");
    let held = w.claim();
    let first = w.go(held, NEITHER);
    let refused = w.reject(held, first, NotSent::Refused(Refusal::ForGood));
    assert_eq!(refused, Rejected::Now);
    assert!(matches!(w.retry(held), Ended::Waits { .. }));
    let second = w.go(w.claim(), NEITHER);
    assert_ne!(first, second);
    assert_eq!(sends(&w), 1, "the same send");
    assert_eq!(w.ask::<String>("SELECT after FROM lanebox_send_try WHERE n = 2"), "rejected");
    assert_eq!(w.ask::<String>("SELECT class FROM lanebox_send_try WHERE n = 1"), "good");
    w.sound();
}

// fault: gate-uses-a-number
#[test]
fn e76_a_gate_that_refuses_or_waits_writes_nothing_and_uses_no_number() {
    let w = World::new();
    w.job("ann");
    let held = w.claim();
    w.consent(false);
    assert!(matches!(w.begin(held, 1, NEITHER), Begun::Veto(why) if why.contains("wamid.7")));
    channel(&w, ChannelState::Down, Some("the number is blocked"));
    assert!(
        matches!(w.begin(held, 1, NEITHER), Begun::Wait { why, .. } if why.contains("blocked"))
    );
    w.store.set_hold(Some("wrong text".to_owned()), "ann").expect("held");
    assert!(
        matches!(w.begin(held, 1, NEITHER), Begun::Wait { why, .. } if why.contains("wrong text"))
    );
    assert_eq!(sends(&w), 0);
    assert_eq!(w.ask::<i64>("SELECT sent FROM lanebox_running"), 0);
    w.store.set_hold(None, "ann").expect("lifted");
    channel(&w, ChannelState::Open, None);
    w.consent(true);
    assert!(matches!(w.begin(held, 1, NEITHER), Begun::Go { .. }));
    assert_eq!(w.ask::<i64>("SELECT seq FROM lanebox_send"), 1);
    w.sound();
}

// fault: other-body-is-sent
#[test]
fn e77_another_body_after_the_accept_is_recorded_once_and_not_sent() {
    let w = World::new();
    w.job("ann");
    let held = w.claim();
    let key = w.go(held, NEITHER);
    assert_eq!(w.answered(key, "wamid.1"), Accepted::Now);
    let other = || Intent { body: "hello again".to_owned(), ..w.intent(held, 1, NEITHER) };
    for _ in 0..3 {
        let answer = w.store.begin(other()).expect("an answer");
        let expected = Begun::Accepted { key, receipt: Some("wamid.1".to_owned()), changed: true };
        assert_eq!(answer, expected);
    }
    assert_eq!(w.notices(), ["send.changed 1"]);
    let severity: String = w.ask("SELECT severity FROM lanebox_notice");
    assert_eq!(severity, "info");
    w.sound();
}

#[test]
fn e77_another_body_is_refused_while_unknown_and_sent_after_a_rejection() {
    let w = World::new();
    w.job("ann");
    let held = w.claim();
    let key = w.go(held, BOTH);
    let other = |held| Intent { body: "hello again".to_owned(), ..w.intent(held, 1, BOTH) };
    assert_eq!(w.store.begin(other(held)).expect("an answer"), Begun::Unknown);
    assert_eq!(w.refused(held, key), Rejected::Now);
    assert!(matches!(w.store.begin(other(held)).expect("an answer"), Begun::Go { .. }));
    w.sound();
}

// fault: second-intent
#[test]
fn e79_two_workers_for_one_job_and_only_one_call() {
    let w = World::new();
    w.job("ann");
    let frozen = w.claim();
    w.advance(LEASE + 1);
    assert_eq!(w.reap().len(), 1);
    let second = w.claim();
    assert_eq!(w.begin(frozen, 1, NEITHER), Begun::LeaseLost);
    let key = w.go(second, NEITHER);
    assert_eq!(w.begin(frozen, 1, NEITHER), Begun::LeaseLost);
    assert_eq!(w.begin(second, 1, NEITHER), Begun::Unknown, "one undecided try per send");
    assert_eq!(w.answered(key, "wamid.1"), Accepted::Now);
    assert_eq!(w.done(frozen), Ended::LeaseLost);
    assert_eq!(w.done(second), Ended::Done);
    w.sound();
}

// R16, R26: the gate looks at the lease, not only at the token.
// fault: lost-lease-intends
#[test]
fn r16_r26_a_run_past_its_lease_intends_nothing_even_before_the_reaper_came() {
    let w = World::new();
    w.job("ann");
    let held = w.claim();
    w.advance(LEASE);
    assert_eq!(w.begin(held, 1, NEITHER), Begun::LeaseLost);
    assert_eq!(sends(&w), 0);
}

// fault: gate-hears-no-cancel
#[test]
fn r26_a_person_who_cancels_is_heard_by_the_gate_at_once() {
    let w = World::new();
    let job = w.job("ann");
    let held = w.claim();
    assert_eq!(w.store.cancel(job, "ann").expect("asked"), Cancelled::Asked);
    assert_eq!(w.begin(held, 1, NEITHER), Begun::Cancelled);
    assert!(matches!(w.retry(held), Ended::Cancelled));
    assert_eq!(w.place_of(job), "operator");
    assert_eq!(sends(&w), 0);
}

// fault: echo-is-a-second
#[test]
fn e81_an_echo_of_our_own_send_makes_no_second_message() {
    let w = World::new();
    w.job("ann");
    let held = w.claim();
    let key = w.go(held, NEITHER);
    assert_eq!(w.echo(key, "wamid.1"), Accepted::Now, "the echo was faster than the answer");
    assert_eq!(w.answered(key, "wamid.1"), Accepted::Already);
    for _ in 0..3 {
        assert_eq!(w.echo(key, "wamid.1"), Accepted::Already);
    }
    assert_eq!(w.ask::<i64>("SELECT count(*) FROM lanebox_send_try"), 1);
    assert_eq!(w.notices(), [""; 0]);
    assert_eq!(w.done(held), Ended::Done);
    w.sound();
}

// fault: no-address-is-called
#[test]
fn e82_no_address_fails_before_any_call_and_its_number_is_used() {
    let w = World::new();
    w.job("ann");
    let held = w.claim();
    let nowhere = Intent { recipient: "  ".to_owned(), ..w.intent(held, 1, NEITHER) };
    let refused = w.store.begin(nowhere).expect("an answer");
    assert_eq!(refused, Begun::Refused("it has no address".to_owned()));
    assert_eq!(
        w.ask::<String>("SELECT state || ' ' || class FROM lanebox_send_try"),
        "rejected good"
    );
    assert!(matches!(w.begin(held, 2, NEITHER), Begun::Go { .. }), "the next one keeps its number");
    w.sound();
}

// fault: archived-is-open
#[test]
fn e82_an_archived_channel_fails_a_down_one_waits() {
    let w = World::new();
    w.job("ann");
    let held = w.claim();
    channel(&w, ChannelState::Archived, None);
    assert!(matches!(w.begin(held, 1, NEITHER), Begun::Refused(_)));
    channel(&w, ChannelState::Down, None);
    let Begun::Wait { until, .. } = w.begin(held, 2, NEITHER) else { panic!("it waits") };
    assert_eq!(until, w.now() + 60_000);
    w.sound();
}

#[test]
fn a_paused_channel_waits_until_its_time_and_then_takes_messages_by_itself() {
    let w = World::new();
    w.job("ann");
    let held = w.claim();
    let until = time::OffsetDateTime::from_unix_timestamp((w.now() + 30_000) / 1_000);
    channel(&w, ChannelState::Paused { until: Some(until.expect("a time")) }, None);
    let Begun::Wait { until, .. } = w.begin(held, 1, NEITHER) else { panic!("it waits") };
    assert_eq!(until, w.now() + 30_000);
    w.advance(30_000);
    assert!(matches!(w.begin(held, 1, NEITHER), Begun::Go { .. }));
}

#[test]
fn retry_after_pauses_the_channel_but_never_shortens_a_pause_or_opens_what_a_person_closed() {
    let w = World::new();
    w.job("ann");
    let held = w.claim();
    let pause = |n: u32, pause_ms| {
        let key = match w.begin(held, n, NEITHER) {
            Begun::Go { key, .. } => key,
            other => panic!("{other:?}"),
        };
        let why = NotSent::Refused(Refusal::Transient);
        let reason = "429".to_owned();
        Rejection { key, held, why, reason, pause_ms: Some(pause_ms) }
    };
    let first = pause(1, 30_000);
    let second = pause(2, 10_000);
    assert_eq!(w.store.reject(first).expect("recorded"), Rejected::Now);
    assert_eq!(w.store.reject(second).expect("recorded"), Rejected::Now);
    assert_eq!(w.ask::<String>("SELECT state FROM lanebox_channel"), "paused");
    assert_eq!(w.ask::<i64>("SELECT until FROM lanebox_channel"), w.now() + 30_000);
    channel(&w, ChannelState::Open, None);
    let third = pause(3, i64::MAX);
    channel(&w, ChannelState::Down, None);
    assert_eq!(w.store.reject(third).expect("recorded"), Rejected::Now);
    assert_eq!(w.ask::<String>("SELECT state FROM lanebox_channel"), "down");
    w.sound();
}

// fault: short-lease-calls
#[test]
fn a_call_begins_only_if_the_lease_outlives_it() {
    let w = World::new();
    w.job("ann");
    let held = w.claim();
    let Begun::Go { call_by, .. } = w.begin(held, 1, NEITHER) else { panic!("it goes") };
    assert_eq!(call_by, w.env.mono_ms() + 5_000, "the gate's answer is fresh for 5 s");
    w.advance(LEASE - TIMEOUT - 1_000);
    let Begun::Go { call_by, .. } = w.begin(held, 2, NEITHER) else { panic!("it goes") };
    assert_eq!(call_by, w.env.mono_ms() + 1_000, "and not longer than the lease");
    w.advance(1_000);
    assert_eq!(w.begin(held, 3, NEITHER), Begun::Short);
    assert_eq!(sends(&w), 2);
}

// fault: patience-keeps-the-lane, unknown-uses-an-attempt, unknown-is-silent
#[test]
fn e131_an_hour_unknown_holds_nothing_but_the_lane_for_the_patience() {
    let w = World::new();
    let (first, second) = (w.job("ann"), w.job("ann"));
    let held = w.claim();
    w.go(held, NEITHER);
    assert_eq!(w.end(held, End::Unknown), Ended::Holds);
    assert_eq!(w.ask::<i64>("SELECT count(*) FROM lanebox_running"), 0);
    assert_eq!(w.try_claim(), None, "its lane waits for it");
    w.advance(PATIENCE);
    assert_eq!(w.claim().job.0, 2, "its lane went on");
    assert_eq!(w.place_of(first), "parked");
    assert_eq!(w.notices(), ["send.unknown 1"]);
    assert_eq!(w.place_of(second), "running");
    w.advance(3_600_000 - PATIENCE);
    assert_eq!(w.look(false), [LookedAnswer::Told { next_look: None }]);
    assert_eq!(w.ask::<i64>("SELECT attempts + unknowns * 10 FROM lanebox_tried"), 10);
    w.sound();
}

#[test]
fn a_send_of_a_name_is_found_by_its_name_whatever_was_sent_before_it() {
    let w = World::new();
    w.job("ann");
    let held = w.claim();
    let named = |held| Intent {
        slot: Slot::named("welcome").expect("a name"),
        ..w.intent(held, 1, NEITHER)
    };
    let Begun::Go { key, .. } = w.store.begin(named(held)).expect("an answer") else {
        panic!("it goes")
    };
    assert_eq!(w.answered(key, "wamid.1"), Accepted::Now);
    let first = w.go(held, NEITHER);
    assert_ne!(first, key, "the first unnamed send is number 1");
    assert_eq!(receipt(&w.store.begin(named(held)).expect("an answer")), Some("wamid.1"));
    w.sound();
}

#[test]
fn evidence_of_an_unknown_key_or_of_another_channel_changes_nothing() {
    let w = World::new();
    w.job("ann");
    let key = w.go(w.claim(), NEITHER);
    let nobody = SendKey(uuid::Uuid::from_u128(9));
    assert_eq!(w.echo(nobody, "x"), Accepted::UnknownKey);
    let fact = crate::store::ledger::Fact {
        key,
        channel: Some("mail".to_owned()),
        receipt: Some("x".to_owned()),
        witness: crate::model::send::Witness::Lookup,
    };
    assert_eq!(w.store.accept(fact).expect("an answer"), Accepted::OtherChannel);
    assert_eq!(w.state_of(key), "intended");
    w.sound();
}
