//! What was subtle about orders, second messages and notices: the other traps, with the case that
//! failed once.

use crate::model::id::{Held, SendKey};
use crate::model::send::Witness;
use crate::model::send::ability::Abilities;
use crate::model::verdict::End;
use crate::store::jobs::{Cancelled, Ended, Jobs};
use crate::store::ledger::tests::world::{
    BOTH, DEDUPE, LEASE, LOOKUP, NEITHER, PATIENCE, SETTLE, TIMEOUT, World,
};
use crate::store::ledger::{
    Accepted, Begun, Intent, Ledger, LookedAnswer, Ordered, Rejected, Resolved, Word,
};

/// A send that was accepted, and that a person ordered once more.
fn ordered(w: &World, held: Held, abilities: Abilities) -> SendKey {
    let key = w.go(held, abilities);
    assert_eq!(w.answered(key, "wamid.1"), Accepted::Now);
    assert_eq!(w.store.order(key, "ann").expect("an answer"), Ordered::Now);
    key
}

#[test]
fn trap_14_an_order_lasts_until_it_is_fulfilled() {
    let w = World::new();
    let job = w.job("ann");
    let held = w.claim();
    let _first = ordered(&w, held, NEITHER);
    assert!(matches!(w.retry(held), Ended::Waits { .. }));
    // The ordered try is refused: the order stands.
    let held = w.claim();
    let second = w.go(held, NEITHER);
    assert_eq!(w.refused(held, second), Rejected::Now);
    assert!(matches!(w.retry(held), Ended::Waits { .. }));
    let held = w.claim();
    let third = w.go(held, NEITHER);
    assert_eq!(w.answered(third, "wamid.3"), Accepted::Now);
    assert!(matches!(w.begin(held, 1, NEITHER), Begun::Accepted { key, .. } if key == third));
    assert_eq!(w.notices(), ["send.twice 1"]);
    assert_eq!(w.done(held), Ended::Done);
    assert_eq!(w.place_of(job), "done");
    w.sound();
}

// The order came when the run had passed that send: there is no next run that could fulfil it.
#[test]
fn trap_14_a_person_hears_of_an_order_that_outlives_its_job() {
    let ends: [fn(&World, Held) -> Ended; 4] = [
        |w, held| w.done(held),
        |w, held| w.end(held, End::Skip("nothing more to do".to_owned())),
        |w, held| w.end(held, End::Veto("closed".to_owned())),
        |w, held| {
            assert!(matches!(w.retry(held), Ended::Waits { .. }));
            let job = w.ask("SELECT uuid FROM lanebox_job");
            assert_eq!(w.store.cancel(job, "ann").expect("an answer"), Cancelled::Now);
            Ended::Cancelled
        },
    ];
    for (n, end) in ends.into_iter().enumerate() {
        let w = World::new();
        let held = w.claim_of("ann");
        let key = ordered(&w, held, NEITHER);
        let _ended = end(&w, held);
        assert_eq!(w.notices(), ["send.unfulfilled 1"], "end {n}");
        let pending: Option<String> = w.ask("SELECT order_by FROM lanebox_send");
        assert_eq!(pending.as_deref(), Some("ann"), "an order is a state: end {n}");
        assert_eq!(w.store.order(key, "ann").expect("an answer"), Ordered::JobEnded);
        w.sound();
    }
}

// The ordered try may have gone out: that is told too.
#[test]
fn trap_14_a_cancelled_job_with_an_ordered_try_under_way_tells_of_both() {
    let w = World::new();
    let job = w.job("ann");
    let held = w.claim();
    let _first = ordered(&w, held, NEITHER);
    let second = w.go(held, NEITHER);
    assert_eq!(w.store.cancel(job, "ann").expect("an answer"), Cancelled::Asked);
    assert_eq!(w.done(held), Ended::Cancelled);
    assert_eq!(w.notices(), ["send.unfulfilled 1", "send.unknown 1"]);
    assert_eq!(w.echo(second, "wamid.2"), Accepted::Now);
    assert_eq!(w.ask::<Option<String>>("SELECT order_by FROM lanebox_send"), None);
    w.sound();
}

// Its own notice says what to do, and its next run fulfils the order.
#[test]
fn trap_14_an_order_outlives_the_death_of_its_job_without_a_notice_of_its_own() {
    let w = World::new();
    let held = w.claim_of("ann");
    let _first = ordered(&w, held, NEITHER);
    assert_eq!(w.end(held, End::Dead("later".to_owned())), Ended::Dead);
    assert_eq!(w.notices(), ["job.dead 1"]);
    w.sound();
}

// One of the two that chance does not find: the second accept of one order.
#[test]
fn trap_15_a_second_accept_of_one_order_is_a_duplicate() {
    let w = World::new();
    w.job("ann");
    let held = w.claim();
    let _first = ordered(&w, held, LOOKUP);
    // The first try of the order is "not found", its successor is accepted, then the first one's
    // status comes.
    let second = w.go(held, LOOKUP);
    assert_eq!(w.end(held, End::Unknown), Ended::Holds);
    w.advance(SETTLE);
    assert_eq!(w.look(true), [LookedAnswer::NotFound]);
    let held = w.claim();
    let third = w.go(held, LOOKUP);
    assert_eq!(w.answered(third, "wamid.3"), Accepted::Now);
    assert_eq!(w.echo(second, "wamid.2"), Accepted::Duplicate);
    assert_eq!(w.state_of(second), "duplicate");
    assert_eq!(w.notices(), ["send.duplicate 1", "send.twice 1"]);
    w.sound();
}

#[test]
fn trap_15_a_late_accept_of_an_older_order_does_not_fulfil_the_pending_one() {
    let w = World::new();
    w.job("ann");
    let held = w.claim();
    let first = w.go(held, NEITHER);
    assert_eq!(w.end(held, End::Unknown), Ended::Holds);
    let again = w.store.resolve(first, Word::SendAgain, "ann").expect("an answer");
    assert_eq!(again, Resolved::Now);
    let held = w.claim();
    let second = w.go(held, NEITHER);
    assert_eq!(w.end(held, End::Unknown), Ended::Holds);
    let again = w.store.resolve(second, Word::SendAgain, "ann").expect("an answer");
    assert_eq!(again, Resolved::Now);
    assert_eq!(w.echo(second, "wamid.2"), Accepted::Now);
    let pending: Option<String> = w.ask("SELECT order_by FROM lanebox_send");
    assert_eq!(pending.as_deref(), Some("ann"), "the second order is not the first");
    assert!(matches!(w.begin(w.claim(), 1, NEITHER), Begun::Go { .. }));
    w.sound();
}

#[test]
fn trap_15_an_accept_of_an_older_try_frees_nobody_who_waits_for_the_order() {
    let w = World::new();
    let job = w.job("ann");
    let held = w.claim();
    let first = w.go(held, NEITHER);
    assert_eq!(w.end(held, End::Unknown), Ended::Holds);
    let again = w.store.resolve(first, Word::SendAgain, "ann").expect("an answer");
    assert_eq!(again, Resolved::Now);
    let held = w.claim();
    let second = w.go(held, NEITHER);
    assert_eq!(w.end(held, End::Unknown), Ended::Holds);
    assert_eq!(w.echo(first, "wamid.1"), Accepted::Now);
    assert_eq!(w.place_of(job), "unknown", "the order is still on its way");
    w.sound();
    assert_eq!(w.echo(second, "wamid.2"), Accepted::Now);
    assert_eq!(w.place_of(job), "waiting");
    w.sound();
}

#[test]
fn trap_15_an_ordered_try_is_called_again_although_an_older_one_was_accepted() {
    let w = World::new();
    let held = w.claim_of("ann");
    let _first = ordered(&w, held, DEDUPE);
    let second = w.go(held, DEDUPE);
    assert_eq!(w.end(held, End::Unknown), Ended::Holds);
    w.advance(PATIENCE / 32);
    assert_eq!(w.look(false), [LookedAnswer::Permitted]);
    assert_eq!(w.go(w.claim(), DEDUPE), second);
    w.sound();
}

#[test]
fn trap_16_giving_up_is_not_not_sent() {
    let w = World::new();
    let job = w.job("ann");
    let held = w.claim();
    let key = w.go(held, NEITHER);
    assert_eq!(w.end(held, End::Unknown), Ended::Holds);
    w.advance(PATIENCE);
    w.look(false);
    let word = w.store.resolve(key, Word::GiveUp, "ann").expect("an answer");
    assert_eq!((word, w.place_of(job).as_str()), (Resolved::Now, "given_up"));
    assert_eq!(w.notices(), [""; 0]);
    w.sound();
}

#[test]
fn trap_16_a_run_after_a_give_up_sends_only_by_an_order() {
    let w = World::new();
    let job = w.job("ann");
    let held = w.claim();
    let key = w.go(held, LOOKUP);
    // The job died meanwhile; a person gives up on its send, and starts it again.
    assert!(matches!(w.end(held, End::Unknown), Ended::Holds));
    w.raw
        .execute("UPDATE lanebox_tried SET unknowns = 5", [])
        .expect("as after five unknown answers");
    assert_eq!(w.echo(key, "wamid.1"), Accepted::Now);
    let held = w.claim();
    let second = match w.begin(held, 2, LOOKUP) {
        Begun::Go { key, .. } => key,
        other => panic!("{other:?}"),
    };
    assert_eq!(w.end(held, End::Unknown), Ended::Dead);
    let word = w.store.resolve(second, Word::GiveUp, "ann").expect("an answer");
    assert_eq!(word, Resolved::Now);
    let _again = w.store.requeue(job, "ann").expect("an answer");
    let held = w.claim();
    assert_eq!(w.begin(held, 2, LOOKUP), Begun::GivenUp);
    assert_eq!(w.store.order(second, "ann").expect("an answer"), Ordered::Now);
    assert!(matches!(w.begin(held, 2, LOOKUP), Begun::Go { .. }));
    w.sound();
}

#[test]
fn trap_17_forty_unknown_sends_of_one_outage_are_one_notice_until_the_last_is_settled() {
    let w = World::new();
    let keys: Vec<_> = (0..40)
        .map(|i| {
            w.job(&format!("contact {i}"));
            let held = w.claim();
            let key = w.go(held, NEITHER);
            assert_eq!(w.end(held, End::Unknown), Ended::Holds);
            key
        })
        .collect();
    w.advance(PATIENCE);
    assert_eq!(w.look(false).len(), 40);
    assert_eq!(w.notices(), ["send.unknown 40"]);
    let resolve =
        "UPDATE lanebox_notice SET state = 'resolved', resolved_at = 1, resolved_by = 'ann'";
    let refused = w.raw.execute(resolve, []).expect_err("a send of it is still unknown");
    assert!(refused.to_string().contains("settle it"), "{refused}");
    for (i, key) in keys.iter().enumerate() {
        assert_eq!(w.notices(), ["send.unknown 40"], "after {i}");
        assert_eq!(w.echo(*key, "wamid"), Accepted::Now);
    }
    assert_eq!(w.notices(), [""; 0]);
    w.sound();
}

#[test]
fn trap_17_a_permitted_resend_takes_its_try_off_the_notice() {
    let w = World::new();
    let job = w.job("ann");
    let held = w.claim();
    let key = w.go(held, DEDUPE);
    assert_eq!(w.end(held, End::Unknown), Ended::Holds);
    w.raw.execute("UPDATE lanebox_tried SET unknowns = 5", []).expect("five before");
    w.advance(PATIENCE / 32);
    assert_eq!(w.look(false), [LookedAnswer::Permitted]);
    let held = w.claim();
    assert_eq!(w.go(held, DEDUPE), key);
    assert_eq!(w.end(held, End::Unknown), Ended::Dead);
    assert_eq!(w.notices(), ["job.dead 1", "send.unknown 1"]);
    w.advance(PATIENCE / 16);
    assert_eq!(w.look(false), [LookedAnswer::Permitted]);
    let _again = w.store.requeue(job, "ann").expect("an answer");
    assert_eq!(w.go(w.claim(), DEDUPE), key);
    assert_eq!(w.notices(), [""; 0]);
    w.sound();
}

// The other of the two that chance does not find: a second receipt for one key.
#[test]
fn trap_18_a_second_receipt_for_one_key_is_kept_and_critical() {
    let w = World::new();
    w.job("ann");
    let held = w.claim();
    let key = w.go(held, DEDUPE);
    assert_eq!(w.answered(key, "wamid.1"), Accepted::Now);
    assert_eq!(w.echo(key, "wamid.1b"), Accepted::Duplicate);
    assert_eq!(w.echo(key, "wamid.1b"), Accepted::Already, "once is enough");
    let kept: String = w.ask("SELECT receipt FROM lanebox_send_extra");
    assert_eq!(kept, "wamid.1b");
    assert_eq!(w.ask::<String>("SELECT receipt FROM lanebox_send_try"), "wamid.1");
    assert_eq!(w.notices(), ["send.duplicate 1"]);
    w.sound();
}

#[test]
fn trap_19_an_accept_of_an_older_try_while_a_newer_is_open() {
    let w = World::new();
    let job = w.job("ann");
    let held = w.claim();
    let older = w.go(held, DEDUPE);
    assert_eq!(w.refused(held, older), Rejected::Now);
    let newer = w.go(held, DEDUPE);
    assert_eq!(w.end(held, End::Unknown), Ended::Holds);
    // The provider honours what it had refused.
    assert_eq!(w.echo(older, "wamid.1"), Accepted::Now);
    assert_eq!(w.place_of(job), "waiting", "the job goes on with the receipt at once");
    let order = w.store.order(newer, "ann").expect("an answer");
    assert_eq!(order, Ordered::Undecided, "the newer one may be the second message already");
    let held = w.claim();
    assert!(matches!(w.begin(held, 1, DEDUPE), Begun::Accepted { key, .. } if key == older));
    assert_eq!(w.done(held), Ended::Done);
    assert_eq!(w.state_of(newer), "unknown", "and the newer has its resolver");
    w.advance(PATIENCE / 32);
    let looks = w.look(false);
    assert!(matches!(looks[..], [LookedAnswer::Later { .. }]), "not sent again: {looks:?}");
    w.advance(PATIENCE);
    assert_eq!(w.look(false), [LookedAnswer::Told { next_look: None }]);
    w.sound();
    assert_eq!(w.echo(newer, "wamid.2"), Accepted::Duplicate);
    assert_eq!(w.notices(), ["send.duplicate 1"]);
    w.sound();
}

#[test]
fn trap_20_what_a_key_went_to_belongs_to_the_try() {
    let w = World::new();
    w.job("ann");
    let held = w.claim();
    let first = w.go(held, NEITHER);
    assert_eq!(w.refused(held, first), Rejected::Now);
    let elsewhere = Intent {
        recipient: "ann@example.com".to_owned(),
        channel: "mail".to_owned(),
        body: "hello by mail".to_owned(),
        ..w.intent(held, 1, NEITHER)
    };
    assert!(matches!(w.store.begin(elsewhere).expect("an answer"), Begun::Go { .. }));
    let masks: String = w.ask("SELECT group_concat(recipient_mask) FROM lanebox_send_try");
    assert_eq!(masks, "+49…78,a…@….com");
    w.sound();
}

#[test]
fn a_frozen_run_with_an_old_key_that_wakes_after_the_new_one_went_out_is_recorded() {
    // Residual risk 1: two messages can happen; that nobody hears of it cannot, if any report
    // arrives.
    let w = World::new();
    let job = w.job("ann");
    let frozen = w.claim();
    let old = w.go(frozen, LOOKUP);
    w.advance(LEASE + 1);
    assert_eq!(w.reap().len(), 1);
    w.advance(TIMEOUT + SETTLE);
    assert_eq!(w.look(true), [LookedAnswer::NotFound]);
    let held = w.claim();
    let new = w.go(held, LOOKUP);
    assert_eq!(w.answered(new, "wamid.2"), Accepted::Now);
    assert_eq!(w.done(held), Ended::Done);
    assert_eq!(w.answered(old, "wamid.1"), Accepted::Duplicate);
    assert_eq!(w.done(frozen), Ended::LeaseLost);
    assert_eq!(w.place_of(job), "done");
    assert_eq!(w.notices(), ["send.duplicate 1"]);
    w.sound();
}

#[test]
fn a_try_beyond_the_memory_is_found_not_sent_in_a_deduping_channel_too() {
    let w = World::new();
    w.job("ann");
    let held = w.claim();
    let short = Abilities { dedupe_ms: Some(20_000), ..BOTH };
    let key = w.go(held, short);
    assert_eq!(w.end(held, End::Unknown), Ended::Holds);
    w.advance(SETTLE);
    assert!(matches!(w.look(true)[..], [LookedAnswer::Later { .. }]));
    w.advance(PATIENCE / 32);
    assert_eq!(w.look(true), [LookedAnswer::NotFound]);
    assert_eq!(w.accept(key, None, Witness::Lookup), Accepted::Now, "and a fact stays a fact");
    w.sound();
}
