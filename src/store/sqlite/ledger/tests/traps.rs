//! What was subtle about calls and looks: each trap of the ledger's design, with the case that
//! failed once.

use crate::model::send::Slot;
use crate::model::send::ability::Abilities;
use crate::model::send::class::Refusal;
use crate::model::verdict::End;
use crate::store::jobs::{Ended, Jobs};
use crate::store::ledger::tests::world::{
    BOTH, DEDUPE, LEASE, LOOKUP, NEITHER, PATIENCE, SETTLE, TIMEOUT, World,
};
use crate::store::ledger::{
    Accepted, Begun, Intent, Ledger, LookedAnswer, LookedAt, NotSent, Rejected, UnderWay,
};

#[test]
fn trap_1_an_unknown_try_can_carry_a_notice() {
    let w = World::new();
    w.job("ann");
    let held = w.claim();
    let key = w.go(held, NEITHER);
    assert_eq!(w.end(held, End::Unknown), Ended::Holds);
    w.advance(PATIENCE);
    assert_eq!(w.look(false), [LookedAnswer::Told { next_look: None }]);
    assert_eq!(w.state_of(key), "unknown");
    assert!(w.ask::<Option<i64>>("SELECT notice FROM lanebox_send_try").is_some());
    w.sound();
}

#[test]
fn trap_2_a_named_send_owns_no_position() {
    let w = World::new();
    w.job("ann");
    let held = w.claim();
    let named =
        Intent { slot: Slot::named("welcome").expect("a name"), ..w.intent(held, 1, NEITHER) };
    assert!(matches!(w.store.begin(named).expect("an answer"), Begun::Go { .. }));
    assert!(matches!(w.begin(held, 1, NEITHER), Begun::Go { .. }));
    let rows: String = w.ask("SELECT group_concat(coalesce(seq, name)) FROM lanebox_send");
    assert_eq!(rows, "welcome,1");
    // Both are found as sends of this job when its token ends.
    assert_eq!(w.end(held, End::Unknown), Ended::Holds);
    let unknown: i64 = w.ask("SELECT count(*) FROM lanebox_send_try WHERE state = 'unknown'");
    assert_eq!(unknown, 2);
    w.sound();
}

#[test]
fn trap_4_an_earlier_accept_is_answered_before_the_gate() {
    let w = World::new();
    let job = w.job("ann");
    let held = w.claim();
    let key = w.go(held, NEITHER);
    assert_eq!(w.answered(key, "wamid.1"), Accepted::Now);
    assert!(matches!(w.retry(held), Ended::Waits { .. }));
    w.consent(false);
    w.store.set_hold(Some("stop".to_owned()), "ann").expect("held");
    let held = w.claim();
    let _asked = w.store.cancel(job, "ann").expect("asked");
    assert!(matches!(w.begin(held, 1, NEITHER), Begun::Accepted { .. }));
}

#[test]
fn trap_5_a_resend_is_the_same_try_with_the_same_key_and_one_call_more() {
    let w = World::new();
    w.job("ann");
    let held = w.claim();
    let key = w.go(held, DEDUPE);
    assert_eq!(w.end(held, End::Unknown), Ended::Holds);
    w.advance(PATIENCE / 32);
    assert_eq!(w.look(false), [LookedAnswer::Permitted]);
    assert_eq!(w.go(w.claim(), DEDUPE), key);
    let row: String = w.ask("SELECT n || ' ' || calls || ' ' || resend FROM lanebox_send_try");
    assert_eq!(row, "1 2 0");
    w.sound();
}

#[test]
fn trap_6_a_rejection_of_the_second_call_says_nothing_about_the_first() {
    let w = World::new();
    w.job("ann");
    let held = w.claim();
    let key = w.go(held, DEDUPE);
    assert_eq!(w.end(held, End::Unknown), Ended::Holds);
    w.advance(PATIENCE / 32);
    w.look(false);
    let second = w.claim();
    assert_eq!(w.go(second, DEDUPE), key);
    let unauthorized = w.reject(second, key, NotSent::Refused(Refusal::ForGood));
    assert_eq!(unauthorized, Rejected::NothingLearned);
    let by_the_first = w.reject(held, key, NotSent::Refused(Refusal::ForGood));
    assert_eq!(by_the_first, Rejected::NothingLearned);
    assert_eq!(w.state_of(key), "intended");
    assert_eq!(w.end(second, End::Dead("401".to_owned())), Ended::Holds);
    w.sound();
}

#[test]
fn trap_6_only_the_run_that_made_the_call_can_say_that_it_was_refused() {
    let w = World::new();
    let (_, key) = w.dead_over_an_unknown();
    let held = w.claim();
    assert_eq!(w.refused(held, key), Rejected::NothingLearned, "it heard of a call of its own");
    assert_eq!(w.state_of(key), "unknown");
    w.sound();
}

#[test]
fn trap_7_a_late_rejection_is_evidence_but_overwrites_nothing_that_is_settled() {
    let w = World::new();
    let job = w.job("ann");
    let frozen = w.claim();
    let key = w.go(frozen, NEITHER);
    w.advance(LEASE + 1);
    assert_eq!(w.reap().len(), 1);
    assert_eq!(w.place_of(job), "unknown");
    assert_eq!(w.refused(frozen, key), Rejected::Now, "late, but honest");
    assert_eq!((w.state_of(key).as_str(), w.place_of(job).as_str()), ("rejected", "waiting"));
    let held = w.claim();
    let second = w.go(held, NEITHER);
    assert_eq!(w.answered(second, "wamid.2"), Accepted::Now);
    assert_eq!(w.refused(held, second), Rejected::NothingLearned);
    assert_eq!(w.state_of(second), "accepted");
    w.sound();
}

// fault: vanished-is-settled
#[test]
fn trap_8_settle_time_runs_from_the_end_of_the_last_token_that_could_call() {
    let mut w = World::new();
    w.job("ann");
    let key = w.go(w.claim(), LOOKUP);
    w.advance(40_000);
    w.crash();
    // The request of the killed process may be on the wire until its timeout.
    let unknown_at: i64 = w.ask("SELECT unknown_at FROM lanebox_send_try");
    assert_eq!(unknown_at, w.now() + TIMEOUT);
    w.advance(TIMEOUT + SETTLE - 1);
    assert_eq!(w.look(true), [], "nobody is asked before");
    assert_eq!(w.state_of(key), "unknown");
    w.advance(1);
    assert_eq!(w.look(true), [LookedAnswer::NotFound]);
    w.sound();
}

#[test]
fn trap_8_only_the_run_that_calls_says_until_when_its_call_may_arrive() {
    let w = World::new();
    let first = w.claim_of("ann");
    let key = w.go(first, DEDUPE);
    assert_eq!(w.end(first, End::Unknown), Ended::Holds);
    w.advance(PATIENCE / 32);
    assert_eq!(w.look(false), [LookedAnswer::Permitted]);
    let second = w.claim();
    assert_eq!(w.go(second, DEDUPE), key);
    let (until, until_mono) = (w.now() + TIMEOUT, w.env.mono_ms() + TIMEOUT);
    let unknown_at = || w.ask::<i64>("SELECT unknown_at FROM lanebox_send_try");
    let call = |held| UnderWay { key, held, until, until_mono, reason: "no answer".to_owned() };
    w.store.under_way(call(first)).expect("an answer");
    assert!(unknown_at() < until, "the first run's call is another");
    w.store.under_way(call(second)).expect("an answer");
    assert_eq!(unknown_at(), until);
    assert_eq!(w.ask::<i64>("SELECT unknown_mono FROM lanebox_send_try"), until_mono);
    w.sound();
}

// fault: settle-by-the-wall
#[test]
fn trap_8_a_wall_clock_that_steps_forward_makes_no_answer_believed_early() {
    let mut w = World::new();
    w.job("ann");
    let key = w.go(w.claim(), LOOKUP);
    w.crash();
    w.clock.step_wall(PATIENCE / 2);
    let told = w.look(true);
    assert!(matches!(told[..], [LookedAnswer::Later { .. }]), "{told:?}");
    assert_eq!(w.state_of(key), "unknown");
    w.advance(TIMEOUT + SETTLE);
    w.clock.step_wall(PATIENCE / 2);
    assert_eq!(w.look(true), [LookedAnswer::NotFound]);
    w.sound();
}

#[test]
fn trap_9_an_old_lookup_answer_settles_no_newer_call() {
    let w = World::new();
    w.job("ann");
    let held = w.claim();
    // The memory of the provider is shorter than the patience: "not found" counts after it.
    let short = Abilities { dedupe_ms: Some(60_000), ..BOTH };
    let key = w.go(held, short);
    assert_eq!(w.end(held, End::Unknown), Ended::Holds);
    w.advance(PATIENCE / 32);
    let looks = w.store.due_looks(None, 10).expect("a page");
    let old = looks.due[0].clone();
    assert_eq!(w.look(false), [LookedAnswer::Permitted]);
    let second = w.claim();
    assert_eq!(w.go(second, short), key);
    assert_eq!(w.end(second, End::Unknown), Ended::Holds);
    w.advance(100_000);
    let answer = LookedAt {
        place: old.place,
        calls: old.calls,
        unknown_at: old.unknown_at,
        asked_at: looks.asked_at,
        asked_mono: looks.asked_mono,
        not_found: true,
    };
    assert_eq!(w.store.looked(answer).expect("an answer"), LookedAnswer::Stale);
    assert_eq!(w.state_of(key), "unknown");
    w.sound();
}

#[test]
fn trap_10_where_the_provider_dedupes_not_found_gives_no_new_key_inside_its_memory() {
    let w = World::new();
    w.job("ann");
    let held = w.claim();
    let key = w.go(held, BOTH);
    assert_eq!(w.end(held, End::Unknown), Ended::Holds);
    w.advance(PATIENCE / 32);
    assert_eq!(w.look(true), [LookedAnswer::Permitted]);
    assert_eq!(w.go(w.claim(), BOTH), key);
    w.sound();
}

#[test]
fn trap_11_a_resend_leaves_before_the_provider_forgets_the_key() {
    let w = World::new();
    w.job("ann");
    let held = w.claim();
    let memory = PATIENCE / 32 + TIMEOUT + 2_000;
    let short = Abilities { dedupe_ms: Some(memory), ..DEDUPE };
    w.go(held, short);
    assert_eq!(w.end(held, End::Unknown), Ended::Holds);
    w.advance(PATIENCE / 32);
    assert_eq!(w.look(false), [LookedAnswer::Permitted]);
    let second = w.claim();
    let Begun::Go { call_by, .. } = w.begin(second, 1, short) else { panic!("it goes") };
    assert!(call_by <= w.env.mono_ms() + 2_000, "{}", call_by - w.env.mono_ms());
    w.sound();
}

#[test]
fn trap_11_a_resend_leaves_only_if_the_lease_outlives_its_call() {
    for (left, goes) in [(TIMEOUT + 1_000, true), (TIMEOUT, false)] {
        let w = World::new();
        let held = w.claim_of("ann");
        let key = w.go(held, DEDUPE);
        assert_eq!(w.end(held, End::Unknown), Ended::Holds);
        w.advance(PATIENCE / 32);
        assert_eq!(w.look(false), [LookedAnswer::Permitted]);
        let second = w.claim();
        w.advance(LEASE - left);
        let call_by = w.env.mono_ms() + 1_000;
        let expected = if goes { Begun::Go { key, call_by } } else { Begun::Short };
        assert_eq!(w.begin(second, 1, DEDUPE), expected);
        let calls = if goes { 2 } else { 1 };
        assert_eq!(w.ask::<i64>("SELECT calls FROM lanebox_send_try"), calls);
        w.sound();
    }
}

// fault: memory-by-the-wall
#[test]
fn trap_11_a_wall_clock_that_steps_back_makes_no_provider_remember_longer() {
    let memory = PATIENCE / 32 + 2 * TIMEOUT;
    let short = Abilities { dedupe_ms: Some(memory), ..DEDUPE };
    let unknown = || {
        let w = World::new();
        w.job("ann");
        let (held, called) = (w.claim(), w.env.mono_ms());
        w.go(held, short);
        assert_eq!(w.end(held, End::Unknown), Ended::Holds);
        (w, called)
    };
    let steps_back_after = |w: &World, ms: i64| {
        w.advance(ms);
        w.clock.step_wall(-ms);
    };
    let (w, _) = unknown();
    w.advance(PATIENCE / 32);
    steps_back_after(&w, TIMEOUT + 1);
    assert!(matches!(w.look(false)[..], [LookedAnswer::Later { .. }]), "nothing is permitted");
    for (ms, goes) in [(TIMEOUT / 2, true), (TIMEOUT + 1, false)] {
        let (w, called) = unknown();
        w.advance(PATIENCE / 32);
        assert_eq!(w.look(false), [LookedAnswer::Permitted]);
        steps_back_after(&w, ms);
        match w.begin(w.claim(), 1, short) {
            Begun::Go { call_by, .. } if goes => assert_eq!(call_by, called + memory - TIMEOUT),
            told => assert_eq!((told, goes), (Begun::Unknown, false)),
        }
    }
}

#[test]
fn trap_11_a_permission_ends_with_the_providers_memory() {
    let w = World::new();
    w.job("ann");
    let held = w.claim();
    let memory = PATIENCE / 32 + TIMEOUT;
    let short = Abilities { dedupe_ms: Some(memory), ..DEDUPE };
    w.go(held, short);
    assert_eq!(w.end(held, End::Unknown), Ended::Holds);
    w.advance(PATIENCE / 32);
    assert_eq!(w.look(false), [LookedAnswer::Permitted]);
    w.advance(1);
    assert_eq!(w.begin(w.claim(), 1, short), Begun::Unknown);
    w.sound();
}

#[test]
fn trap_12_no_wake_up_is_lost_when_the_echo_comes_before_the_end_of_the_run() {
    let w = World::new();
    let job = w.job("ann");
    let held = w.claim();
    let key = w.go(held, NEITHER);
    assert_eq!(w.echo(key, "wamid.1"), Accepted::Now);
    assert!(matches!(w.end(held, End::Unknown), Ended::Waits { due } if due == w.now()));
    assert_eq!(w.place_of(job), "waiting");
    let again = w.claim();
    assert!(matches!(w.begin(again, 1, NEITHER), Begun::Accepted { .. }));
    assert_eq!(w.done(again), Ended::Done);
    w.sound();
}

#[test]
fn trap_13_a_handler_that_always_dies_between_intent_and_call_ends() {
    let mut w = World::new();
    let job = w.job("ann");
    for round in 0..20 {
        let Some(held) = w.try_claim() else { panic!("round {round}: {}", w.place_of(job)) };
        let key = w.go(held, LOOKUP);
        w.crash();
        if w.place_of(job) == "dead" {
            assert_eq!(w.state_of(key), "unknown", "its fate is still unknown");
            assert_eq!(w.notices(), ["job.dead 1", "send.unknown 1"]);
            w.sound();
            return;
        }
        w.advance(TIMEOUT + SETTLE);
        assert_eq!(w.look(true), [LookedAnswer::NotFound], "round {round}");
        w.sound();
    }
    panic!("it lives for ever");
}

#[test]
fn trap_13_an_address_that_always_times_out_ends_after_five_unknown_answers() {
    let w = World::new();
    let job = w.job("ann");
    for unknowns in 1..=5 {
        let held = w.claim();
        w.go(held, LOOKUP);
        assert_eq!(w.end(held, End::Unknown), Ended::Holds, "unknown {unknowns}");
        w.advance(SETTLE);
        assert_eq!(w.look(true), [LookedAnswer::NotFound]);
    }
    let held = w.claim();
    w.go(held, LOOKUP);
    assert_eq!(w.end(held, End::Unknown), Ended::Dead);
    assert_eq!(w.place_of(job), "dead");
    w.sound();
}
