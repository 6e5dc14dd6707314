//! A person's verbs: guarded, written down, and a second click changes nothing.

use crate::model::id::{Held, SendKey};
use crate::model::send::ChannelState;
use crate::model::verdict::End;
use crate::store::jobs::{Cancelled, Ended, Jobs, Requeued};
use crate::store::ledger::tests::world::{LEASE, NEITHER, World};
use crate::store::ledger::{
    Accepted, Begun, ChannelChange, Ledger, Ordered, Rejected, Resolved, Word,
};

fn unknown(w: &World) -> SendKey {
    w.job("ann");
    let held = w.claim();
    let key = w.go(held, NEITHER);
    assert_eq!(w.end(held, End::Unknown), Ended::Holds);
    key
}

fn audit(w: &World) -> Vec<String> {
    let sql = "SELECT who || ' ' || verb || ' ' || ref_kind || ' ' || ref_id FROM lanebox_audit ORDER BY id";
    let mut statement = w.raw.prepare(sql).expect("a statement");
    let rows = statement.query_map([], |row| row.get(0)).expect("rows");
    rows.collect::<Result<_, _>>().expect("texts")
}

// fault: word-is-taken-twice
#[test]
fn e131_each_of_the_three_buttons_does_what_it_says_once() {
    for (word, verb) in
        [(Word::Sent, "send.sent"), (Word::SendAgain, "send.again"), (Word::GiveUp, "send.give_up")]
    {
        let w = World::new();
        let key = unknown(&w);
        assert_eq!(w.store.resolve(key, word, "ann").expect("an answer"), Resolved::Now);
        for second in [word, Word::Sent, Word::SendAgain, Word::GiveUp] {
            let answer = w.store.resolve(key, second, "bob").expect("an answer");
            assert_eq!(answer, Resolved::NotUnknown, "{word:?}, then {second:?}");
        }
        assert_eq!(audit(&w), [format!("ann {verb} send 1")]);
        w.sound();
    }
}

// E131: the receipt of a person's word has no id of the provider's.
// fault: sent-word-calls
#[test]
fn e131_marked_as_sent_the_job_goes_on_without_a_call() {
    let w = World::new();
    let key = unknown(&w);
    assert_eq!(w.store.resolve(key, Word::Sent, "ann").expect("an answer"), Resolved::Now);
    let held = w.claim();
    let expected = Begun::Accepted { key, receipt: None, changed: false };
    assert_eq!(w.begin(held, 1, NEITHER), expected);
    assert_eq!(w.ask::<String>("SELECT settled_by FROM lanebox_send_try"), "ann");
    // The status comes after all: the id is filled in.
    assert_eq!(w.echo(key, "wamid.1"), Accepted::Already);
    assert_eq!(w.ask::<String>("SELECT receipt FROM lanebox_send_try"), "wamid.1");
    w.sound();
}

#[test]
fn e131_sent_again_by_a_person_a_new_key_goes_out_and_the_old_one_may_still_show_up() {
    let w = World::new();
    let old = unknown(&w);
    assert_eq!(w.store.resolve(old, Word::SendAgain, "ann").expect("an answer"), Resolved::Now);
    let held = w.claim();
    let new = w.go(held, NEITHER);
    assert_ne!(old, new);
    let row: String = w.ask(
        "SELECT after || ' ' || ordered_by || ' ' || order_no FROM lanebox_send_try WHERE n = 2",
    );
    assert_eq!(row, "order ann 1");
    assert_eq!(w.answered(new, "wamid.2"), Accepted::Now);
    assert_eq!(w.echo(old, "wamid.1"), Accepted::Now, "two messages, as ordered");
    assert_eq!(w.notices(), ["send.twice 1"]);
    w.sound();
}

// R66: a resend from each state, and a double click is one attempt.
// fault: second-click-counts
#[test]
fn r66_an_order_is_taken_only_from_settled_states_and_a_double_click_is_one() {
    let w = World::new();
    w.job("ann");
    let held = w.claim();
    let key = w.go(held, NEITHER);
    let order = |key| w.store.order(key, "ann").expect("an answer");
    assert_eq!(order(key), Ordered::Undecided, "intended");
    assert_eq!(w.refused(held, key), Rejected::Now);
    assert_eq!(order(key), Ordered::NotNeeded, "rejected: its job sends it again anyway");
    let second = w.go(held, NEITHER);
    assert_eq!(order(key), Ordered::Superseded { newest: second }, "an old page");
    assert_eq!(w.answered(second, "wamid.2"), Accepted::Now);
    assert_eq!(order(second), Ordered::Now);
    assert_eq!(order(second), Ordered::Pending, "a double click");
    let third = w.go(held, NEITHER);
    assert_eq!(w.answered(third, "wamid.3"), Accepted::Now);
    assert_eq!(order(second), Ordered::Superseded { newest: third }, "a very late second click");
    assert_eq!(w.ask::<i64>("SELECT orders FROM lanebox_send"), 1);
    assert_eq!(order(SendKey(uuid::Uuid::nil())), Ordered::UnknownKey);
    assert_eq!(audit(&w), ["ann send.order send 1"]);
    w.sound();
}

/// An accepted send whose run goes on.
fn accepted(w: &World) -> (Held, SendKey) {
    let held = w.claim_of("ann");
    let key = w.go(held, NEITHER);
    assert_eq!(w.answered(key, "wamid.1"), Accepted::Now);
    (held, key)
}

#[test]
fn an_order_for_a_job_that_is_done_or_cancelled_is_refused_and_writes_nothing() {
    for end in [End::Done { result: None }, End::Skip("no".to_owned()), End::Veto("no".to_owned())]
    {
        let w = World::new();
        let (held, key) = accepted(&w);
        let _ended = w.end(held, end.clone());
        assert_eq!(w.store.order(key, "ann").expect("an answer"), Ordered::JobEnded, "{end:?}");
        let row = "SELECT orders || ' ' || coalesce(order_by, 'nobody') FROM lanebox_send";
        assert_eq!(w.ask::<String>(row), "0 nobody", "{end:?}");
        assert_eq!(audit(&w), [""; 0], "{end:?}");
        w.sound();
    }
}

#[test]
fn what_no_run_will_send_again_stays_unknown_until_a_person_says_what_became_of_it() {
    for (word, state) in [(Word::Sent, "accepted"), (Word::GiveUp, "abandoned(given_up)")] {
        let w = World::new();
        let key = unknown(&w);
        let job = w.ask("SELECT uuid FROM lanebox_job");
        assert_eq!(w.store.cancel(job, "ann").expect("an answer"), Cancelled::Now);
        let again = w.store.resolve(key, Word::SendAgain, "ann").expect("an answer");
        assert_eq!((again, w.state_of(key).as_str()), (Resolved::JobEnded, "unknown"));
        assert_eq!(w.notices(), ["send.unknown 1"]);
        assert_eq!(audit(&w), ["ann cancel job 1"]);
        w.sound();
        assert_eq!(w.store.resolve(key, word, "ann").expect("an answer"), Resolved::Now);
        assert_eq!(w.state_of(key), state);
        assert_eq!(w.store.order(key, "ann").expect("an answer"), Ordered::JobEnded);
        w.sound();
    }
}

#[test]
fn an_order_for_a_dead_job_is_fulfilled_once_it_is_started_again() {
    let w = World::new();
    let (held, key) = accepted(&w);
    assert_eq!(w.end(held, End::Dead("later".to_owned())), Ended::Dead);
    assert_eq!(w.store.order(key, "ann").expect("an answer"), Ordered::Now);
    let job = w.ask("SELECT uuid FROM lanebox_job");
    let again = w.store.requeue(job, "ann").expect("an answer");
    assert_eq!(again, Requeued::Again { sent: false }, "what was accepted is sent once more");
    let held = w.claim();
    let second = w.go(held, NEITHER);
    assert_eq!(w.answered(second, "wamid.2"), Accepted::Now);
    assert_eq!(w.done(held), Ended::Done);
    w.sound();
}

#[test]
fn an_unknown_send_of_a_dead_job_is_sent_again_once_that_is_started_again() {
    let w = World::new();
    w.enqueue(crate::NewJob::raw("turn", "{}", crate::Lane::NONE).max_attempts(1));
    let key = w.go(w.claim(), NEITHER);
    w.advance(LEASE + 1);
    assert_eq!(w.reap()[0].ended, Ended::Dead);
    assert_eq!(w.store.resolve(key, Word::SendAgain, "ann").expect("an answer"), Resolved::Now);
    let job = w.ask("SELECT uuid FROM lanebox_job");
    let _again = w.store.requeue(job, "ann").expect("an answer");
    assert_ne!(w.go(w.claim(), NEITHER), key);
    w.sound();
}

// It cannot be started again.
#[test]
fn an_order_for_a_dead_job_past_its_expiry_is_refused() {
    let w = World::new();
    let job = crate::NewJob::raw("turn", "{}", crate::Lane::of("ann"));
    w.enqueue(crate::NewJob { expires_at: Some(w.now() + 1_000), ..job });
    let held = w.claim();
    let key = w.go(held, NEITHER);
    assert_eq!(w.answered(key, "wamid.1"), Accepted::Now);
    assert_eq!(w.end(held, End::Dead("later".to_owned())), Ended::Dead);
    w.advance(1_000);
    assert_eq!(w.store.order(key, "ann").expect("an answer"), Ordered::JobEnded);
    w.sound();
}

#[test]
fn a_give_up_ends_a_pending_order() {
    let w = World::new();
    let first = unknown(&w);
    assert_eq!(w.store.resolve(first, Word::SendAgain, "ann").expect("an answer"), Resolved::Now);
    let held = w.claim();
    let second = w.go(held, NEITHER);
    assert_eq!(w.end(held, End::Unknown), Ended::Holds);
    assert_eq!(w.store.resolve(second, Word::GiveUp, "ann").expect("an answer"), Resolved::Now);
    assert_eq!(w.ask::<Option<String>>("SELECT order_by FROM lanebox_send"), None);
    w.sound();
}

#[test]
fn a_run_under_way_hears_of_a_give_up_at_its_next_send() {
    let w = World::new();
    let job = w.job("ann");
    let held = w.claim();
    let key = w.go(held, NEITHER);
    assert_eq!(w.end(held, End::Unknown), Ended::Holds);
    assert_eq!(w.store.resolve(key, Word::SendAgain, "ann").expect("an answer"), Resolved::Now);
    let held = w.claim();
    let second = w.go(held, NEITHER);
    assert_eq!(w.end(held, End::Unknown), Ended::Holds);
    assert_eq!(w.store.resolve(second, Word::GiveUp, "ann").expect("an answer"), Resolved::Now);
    assert_eq!(w.place_of(job), "given_up");
    w.sound();
}

#[test]
fn who_did_it_is_checked_before_anything_is_changed() {
    let w = World::new();
    let key = unknown(&w);
    for who in ["", " ann", "a\0b", &"x".repeat(129)] {
        assert!(w.store.resolve(key, Word::Sent, who).is_err(), "{who:?}");
        assert!(w.store.order(key, who).is_err(), "{who:?}");
        assert!(w.store.set_hold(Some("stop".to_owned()), who).is_err(), "{who:?}");
    }
    assert_eq!(w.state_of(key), "unknown");
    assert_eq!(w.ask::<Option<String>>("SELECT hold FROM lanebox_meta"), None);
    assert_eq!(audit(&w), [""; 0]);
}

#[test]
fn consent_and_channels_are_changed_inside_the_hosts_own_transaction_or_not_at_all() {
    use crate::model::send::ChannelState;
    use crate::store::ledger::{ChannelChange, Consent};
    let w = World::new();
    let change = |tx: &dyn crate::store::jobs::Within| {
        let (org, channel) = ("acme".to_owned(), "whatsapp".to_owned());
        tx.set_consent(&Consent {
            org: org.clone(),
            recipient: "+4915112345678".to_owned(),
            channel: channel.clone(),
            given: false,
            evidence: "message wamid.7".to_owned(),
        })?;
        let (state, reason, who) = (ChannelState::Down, None, "ann".to_owned());
        tx.set_channel(&ChannelChange { org, channel, state, reason, who })
    };
    let undone: crate::error::Result<()> = w.store.transaction(|tx| {
        change(tx)?;
        Err(crate::error::Error::RolledBack)
    });
    assert!(undone.is_err());
    assert_eq!(
        w.ask::<i64>(
            "SELECT (SELECT count(*) FROM lanebox_consent) + (SELECT count(*) FROM lanebox_channel)"
        ),
        0
    );
    w.store.transaction(change).expect("committed");
    assert_eq!(w.ask::<i64>("SELECT given FROM lanebox_consent"), 0);
    assert_eq!(w.ask::<String>("SELECT state FROM lanebox_channel"), "down");
    assert_eq!(audit(&w), ["ann channel.down channel 1"]);
}

// fault: consent-is-not-asked
#[test]
fn consent_is_of_one_recipient_one_channel_and_one_org() {
    let w = World::new();
    w.consent(false);
    w.job("ann");
    let held = w.claim();
    assert!(matches!(w.begin(held, 1, NEITHER), Begun::Veto(_)));
    let mail =
        crate::store::ledger::Intent { channel: "mail".to_owned(), ..w.intent(held, 1, NEITHER) };
    assert!(matches!(w.store.begin(mail).expect("an answer"), Begun::Go { .. }));
    let other = crate::NewJob::raw("turn", "{}", crate::Lane::of("ann")).org("globex");
    w.store.enqueue(vec![other]).map(drop).expect("enqueued");
    assert!(matches!(w.begin(w.claim(), 1, NEITHER), Begun::Go { .. }), "another org's contact");
    w.sound();
}

// fault: open-ended-pause-is-open
#[test]
fn a_channel_that_is_paused_without_an_end_takes_nothing_until_somebody_opens_it() {
    let w = World::new();
    let channel = |state| {
        let (org, channel) = ("acme".to_owned(), "whatsapp".to_owned());
        let change = ChannelChange { org, channel, state, reason: None, who: "ann".to_owned() };
        w.store.set_channel(change).expect("set");
    };
    channel(ChannelState::Paused { until: None });
    for _ in 0..3 {
        let held = w.claim_of("ann");
        assert!(matches!(w.begin(held, 1, NEITHER), Begun::Wait { .. }));
        assert_eq!(w.done(held), Ended::Done);
        w.advance(86_400_000);
    }
    channel(ChannelState::Open);
    w.go(w.claim_of("ann"), NEITHER);
}
