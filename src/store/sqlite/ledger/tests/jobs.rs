//! The transition table of the job: what its sends make of it, in every place that it can be.

use crate::model::id::{JobId, SendKey};
use crate::model::verdict::End;
use crate::store::jobs::{Cancelled, Ended, Jobs};
use crate::store::ledger::tests::world::{LEASE, LOOKUP, NEITHER, PATIENCE, SETTLE, World};
use crate::store::ledger::{Accepted, Begun, Ledger, LookedAnswer, Resolved, Word};

const ENDS: fn() -> [End; 6] = || {
    [
        End::Done { result: None },
        End::Veto("closed".to_owned()),
        End::Retry { error: "it failed".to_owned(), wait_ms: 5_000 },
        End::Dead("it failed for good".to_owned()),
        End::GivenUp("a person gave up".to_owned()),
        End::Unknown,
    ]
};

#[test]
fn whatever_the_handler_answers_over_a_blocking_send_holds_the_job() {
    for end in ENDS() {
        let w = World::new();
        let job = w.job("ann");
        let held = w.claim();
        w.go(held, NEITHER);
        assert_eq!(w.end(held, end.clone()), Ended::Holds, "{end:?}");
        assert_eq!(w.place_of(job), "unknown", "{end:?}");
        w.sound();
    }
}

#[test]
fn a_run_that_hears_unknown_after_its_notice_is_parked_at_once() {
    let w = World::new();
    let job = w.job("ann");
    let held = w.claim();
    let key = w.go(held, LOOKUP);
    assert_eq!(w.end(held, End::Unknown), Ended::Holds);
    w.advance(PATIENCE);
    w.look(false);
    assert_eq!(w.place_of(job), "parked");
    // Given up, ordered, sent again, unknown again after the patience: no lane is taken a second
    // time.
    let word = w.store.resolve(key, Word::SendAgain, "ann").expect("an answer");
    assert_eq!(word, Resolved::Now);
    let held = w.claim();
    w.go(held, LOOKUP);
    assert_eq!(w.end(held, End::Unknown), Ended::Holds);
    assert_eq!(w.place_of(job), "unknown", "a new try has a patience of its own");
    w.sound();
}

#[test]
fn cancel_in_every_place() {
    // running: asked, and a person is told of what is undecided.
    let w = World::new();
    let job = w.job("ann");
    let held = w.claim();
    w.go(held, NEITHER);
    assert_eq!(w.store.cancel(job, "ann").expect("an answer"), Cancelled::Asked);
    assert_eq!(w.retry(held), Ended::Cancelled);
    assert_eq!(
        (w.place_of(job).as_str(), w.notices()),
        ("operator", vec!["send.unknown 1".into()])
    );
    w.sound();

    // unknown: at once, with a notice.
    let w = World::new();
    let job = w.job("ann");
    let held = w.claim();
    w.go(held, NEITHER);
    assert_eq!(w.end(held, End::Unknown), Ended::Holds);
    assert_eq!(w.store.cancel(job, "ann").expect("an answer"), Cancelled::Now);
    assert_eq!(
        (w.place_of(job).as_str(), w.notices()),
        ("operator", vec!["send.unknown 1".into()])
    );
    w.sound();

    // parked: its notice exists.
    let w = World::new();
    let job = w.job("ann");
    let held = w.claim();
    w.go(held, NEITHER);
    assert_eq!(w.end(held, End::Unknown), Ended::Holds);
    w.advance(PATIENCE);
    w.look(false);
    assert_eq!(w.store.cancel(job, "ann").expect("an answer"), Cancelled::Now);
    assert_eq!(
        (w.place_of(job).as_str(), w.notices()),
        ("operator", vec!["send.unknown 1".into()])
    );
    w.sound();
}

#[test]
fn a_job_cancelled_between_permission_and_resend_leaves_its_try_with_a_notice() {
    let w = World::new();
    let job = w.job("ann");
    let held = w.claim();
    let key = w.go(held, crate::store::ledger::tests::world::DEDUPE);
    assert_eq!(w.end(held, End::Unknown), Ended::Holds);
    w.advance(PATIENCE / 32);
    assert_eq!(w.look(false), [LookedAnswer::Permitted]);
    assert_eq!(w.place_of(job), "waiting");
    assert_eq!(w.store.cancel(job, "ann").expect("an answer"), Cancelled::Now);
    assert_eq!((w.state_of(key).as_str(), w.notices()), ("unknown", vec!["send.unknown 1".into()]));
    w.sound();
}

#[test]
fn a_send_settled_while_its_job_waits_parked_puts_it_at_the_end_of_its_line() {
    let w = World::new();
    let first = w.job("ann");
    let held = w.claim();
    let key = w.go(held, NEITHER);
    assert_eq!(w.end(held, End::Unknown), Ended::Holds);
    w.advance(PATIENCE);
    w.look(false);
    let (second, third) = (w.job("ann"), w.job("ann"));
    let running = w.claim();
    w.advance(1);
    assert_eq!(w.echo(key, "wamid.1"), Accepted::Now);
    assert_eq!(w.place_of(second), "running", "whoever has the lane is not disturbed");
    assert_eq!(w.done(running), Ended::Done);
    let running = w.claim();
    assert_eq!(w.place_of(third), "running");
    assert_eq!(w.done(running), Ended::Done);
    assert_eq!(w.done(w.claim()), Ended::Done);
    assert_eq!(w.place_of(first), "done");
    w.sound();
}

/// A job that was lost twice, and that waits outside its lane for the send of its second run.
fn parked_suspect(w: &World) -> (JobId, SendKey) {
    let job = w.job("ann");
    w.claim();
    w.advance(LEASE + 1);
    assert!(matches!(w.reap()[0].ended, Ended::Waits { .. }));
    let key = w.go(w.claim(), NEITHER);
    w.advance(LEASE + 1);
    assert_eq!(w.reap()[0].ended, Ended::Holds);
    w.advance(PATIENCE);
    w.look(false);
    assert_eq!(w.place_of(job), "parked");
    (job, key)
}

// fault: sent-expires
#[test]
fn a_job_that_has_sent_something_does_not_expire_while_it_waits() {
    let w = World::new();
    let mut job = crate::NewJob::raw("turn", "{}", crate::Lane::of("ann"));
    job.expires_at = Some(w.now() + 20_000);
    let job = w.enqueue(job);
    let held = w.claim();
    assert_eq!(w.answered(w.go(held, NEITHER), "wamid.1"), Accepted::Now);
    assert!(matches!(w.retry(held), Ended::Waits { .. }));
    w.advance(20_001);
    assert_eq!(w.done(w.claim()), Ended::Done);
    assert_eq!(w.place_of(job), "done");
    w.sound();
}

// fault: displaced-suspect-stays
#[test]
fn a_suspect_whose_send_was_settled_is_overtaken_in_its_line_like_any_other() {
    let w = World::new();
    let (suspect, key) = parked_suspect(&w);
    assert_eq!(w.echo(key, "wamid.1"), Accepted::Now);
    let better = w.enqueue(crate::NewJob::raw("turn", "{}", crate::Lane::of("ann")).priority(1));
    let held = w.claim();
    assert_eq!((w.place_of(better).as_str(), w.place_of(suspect).as_str()), ("running", "waiting"));
    assert_eq!(w.done(held), Ended::Done);
    assert_eq!(w.done(w.claim()), Ended::Done);
    assert_eq!(w.place_of(suspect), "done");
    w.sound();
}

// fault: suspect-of-a-line-in-company
#[test]
fn a_suspect_whose_send_was_settled_runs_alone_when_its_lane_comes_to_it() {
    let w = World::new();
    let (suspect, key) = parked_suspect(&w);
    let held = w.claim_of("ann");
    assert_eq!(w.echo(key, "wamid.1"), Accepted::Now);
    w.job("bob");
    assert_eq!(w.done(held), Ended::Done);
    assert_eq!(w.claim_many(w.process, 5).len(), 1, "nothing beside it");
    assert_eq!(w.place_of(suspect), "running");
    w.sound();
}

#[test]
fn a_send_settled_inside_the_patience_keeps_the_lane_for_its_job() {
    let w = World::new();
    let first = w.job("ann");
    let second = w.job("ann");
    let held = w.claim();
    let key = w.go(held, NEITHER);
    assert_eq!(w.end(held, End::Unknown), Ended::Holds);
    assert_eq!(w.echo(key, "wamid.1"), Accepted::Now);
    w.claim();
    assert_eq!(w.place_of(first), "running");
    assert_eq!(w.place_of(second), "ready");
    w.sound();
}

#[test]
fn evidence_after_the_end_changes_the_send_and_its_notice_never_the_job() {
    let w = World::new();
    let job = w.job("ann");
    let held = w.claim();
    let key = w.go(held, NEITHER);
    w.store.cancel(job, "ann").map(drop).expect("asked");
    assert_eq!(w.retry(held), Ended::Cancelled);
    assert_eq!(w.echo(key, "wamid.1"), Accepted::Now);
    assert_eq!((w.state_of(key).as_str(), w.place_of(job).as_str()), ("accepted", "operator"));
    assert_eq!(w.notices(), [""; 0]);
    w.sound();
}

#[test]
fn losses_with_an_open_intent_stay_counted_an_unknown_that_a_living_run_reports_resets_them() {
    let w = World::new();
    w.job("ann");
    let held = w.claim();
    w.go(held, LOOKUP);
    w.advance(LEASE + 1);
    assert_eq!(w.reap()[0].ended, Ended::Holds);
    assert_eq!(w.ask::<i64>("SELECT lost FROM lanebox_tried"), 1);
    w.advance(crate::store::ledger::tests::world::TIMEOUT + SETTLE);
    assert_eq!(w.look(true), [LookedAnswer::NotFound]);
    let held = w.claim();
    w.go(held, LOOKUP);
    assert_eq!(w.end(held, End::Unknown), Ended::Holds);
    assert_eq!(w.ask::<i64>("SELECT lost FROM lanebox_tried"), 0);
    w.sound();
}

#[test]
fn a_job_that_asked_never_to_be_started_twice_is_dead_by_a_loss_and_its_try_keeps_a_notice() {
    let w = World::new();
    let job = w.enqueue(crate::NewJob::raw("turn", "{}", crate::Lane::of("ann")).max_attempts(1));
    let held = w.claim();
    let key = w.go(held, NEITHER);
    w.advance(LEASE + 1);
    assert_eq!(w.reap()[0].ended, Ended::Dead);
    assert_eq!((w.state_of(key).as_str(), w.place_of(job).as_str()), ("unknown", "dead"));
    assert_eq!(w.notices(), ["job.dead 1", "send.unknown 1"]);
    w.sound();
}

#[test]
fn a_requeued_job_keeps_what_the_ledger_holds_as_accepted() {
    let w = World::new();
    let job = w.job("ann");
    let held = w.claim();
    let key = w.go(held, NEITHER);
    assert_eq!(w.answered(key, "wamid.1"), Accepted::Now);
    assert_eq!(w.end(held, End::Dead("later".to_owned())), Ended::Dead);
    let again = w.store.requeue(job, "ann").expect("an answer");
    assert_eq!(again, crate::store::jobs::Requeued::Again { sent: true });
    assert!(matches!(w.begin(w.claim(), 1, NEITHER), Begun::Accepted { .. }));
    w.sound();
}

#[test]
fn a_requeued_job_is_held_by_the_unknown_send_of_its_last_series_though_it_sends_nothing() {
    let w = World::new();
    let (job, key) = w.dead_over_an_unknown();
    assert_eq!(w.done(w.claim()), Ended::Holds);
    assert_eq!((w.state_of(key).as_str(), w.place_of(job).as_str()), ("unknown", "parked"));
    w.sound();
}

// As a later job of the same origin would begin: it never sent, and nothing says so yet.
#[test]
fn a_run_that_only_hears_of_an_earlier_send_is_held_by_it() {
    let w = World::new();
    let (job, _) = w.dead_over_an_unknown();
    let held = w.claim();
    w.raw.execute("UPDATE lanebox_running SET sent = 0", []).expect("unmarked");
    assert_eq!(w.begin(held, 1, NEITHER), Begun::Unknown);
    assert_eq!(w.done(held), Ended::Holds);
    assert_eq!(w.place_of(job), "parked");
    w.sound();
}

#[test]
fn whoever_waits_for_a_send_that_a_person_was_told_of_leaves_its_lane_at_once() {
    let w = World::new();
    let (first, _) = w.dead_over_an_unknown();
    let second = w.job("ann");
    let held = w.claim();
    assert_eq!(w.begin(held, 1, NEITHER), Begun::Unknown);
    assert_eq!(w.end(held, End::Unknown), Ended::Holds);
    w.claim();
    assert_eq!(w.place_of(first), "parked");
    assert_eq!(w.place_of(second), "running", "the lane goes on");
    assert_eq!(w.notices(), ["send.unknown 1"]);
    w.sound();
}

#[test]
fn a_lane_less_job_waits_and_parks_the_same() {
    let w = World::new();
    let job = w.enqueue(crate::NewJob::raw("turn", "{}", crate::Lane::NONE));
    let held = w.claim();
    let key = w.go(held, NEITHER);
    assert_eq!(w.end(held, End::Unknown), Ended::Holds);
    w.sound();
    w.advance(PATIENCE);
    assert_eq!(w.look(false), [LookedAnswer::Told { next_look: None }]);
    assert_eq!(w.place_of(job), "parked");
    w.sound();
    assert_eq!(w.echo(key, "wamid.1"), Accepted::Now);
    assert_eq!(w.done(w.claim()), Ended::Done);
    w.sound();
}
