//! A route that fails: its delivery is tried again, later, alone, and ends.

use super::*;
use crate::store::bus::Due;

fn fails(error: &'static str) -> impl Fn(&Event) -> Result<Vec<NewJob>, BoxError> {
    move |_| Err(error.into())
}

fn next_at(scratch: &Scratch) -> i64 {
    scratch.one("SELECT next_at FROM lanebox_event_state WHERE seq = 1")
}

// fault: delivery-does-not-wait, delivery-never-dies
#[test]
fn e10_e11_a_failure_waits_by_the_backoff_and_the_last_one_is_dead_and_told() {
    let scratch = Scratch::new();
    let ran = Count::default();
    let counted = ran.clone();
    let poison = route("drain", "*", move |_| {
        counted.up();
        Err("no such agent\nat line 3".into())
    });
    let mut process = Process::start(&scratch, vec![with(tries(3), poison)]);
    process.publish([event("a.b")]);
    for attempts in 1..=2 {
        let step = process.rest();
        let row = "SELECT attempts || ' ' || last_error FROM lanebox_delivery";
        assert_eq!(scratch.one::<String>(row), format!("{attempts} no such agent"));
        assert_eq!((ran.get(), state(&scratch, 1)), (attempts, "pending".to_owned()));
        // 5 s, then 10 s, half to full.
        let wait = next_at(&scratch) - 1_767_225_600_000 - if attempts == 1 { 0 } else { 5_000 };
        let full = 5_000 << (attempts - 1);
        assert!((full / 2..=full).contains(&wait), "attempt {attempts} waits {wait}");
        assert_eq!(step, Step::At(next_at(&scratch)));
        let left = next_at(&scratch) - process.dispatcher_now(&scratch);
        scratch.clock.advance(left - 1);
        process.drain();
        assert_eq!(ran.get(), attempts, "not before its time");
        scratch.clock.advance(1 + if attempts == 1 { 5_000 - left } else { 0 });
    }
    assert_eq!(process.rest(), Step::OnBell);
    let row = "SELECT state || ' ' || attempts || ' ' || last_error FROM lanebox_delivery";
    assert_eq!(scratch.one::<String>(row), "dead 3 no such agent");
    assert_eq!((ran.get(), state(&scratch, 1)), (3, "dead".to_owned()));
    let notice = "SELECT n.kind || ': ' || n.reason || ' (' || n.ref_kind || ' ' || n.ref_id || ')' FROM lanebox_notice n JOIN lanebox_delivery d ON d.notice = n.id";
    let told = "delivery.dead: event 1 never reached drain: no such agent (event 1)";
    assert_eq!(scratch.one::<String>(notice), told);
    scratch.assert_sound();
}

impl Process {
    fn dispatcher_now(&self, scratch: &Scratch) -> i64 {
        use crate::env::Clock;
        scratch.clock.now_ms()
    }
}

// E14: nothing retries for ever.
// fault: delivery-never-dies
#[test]
fn e14_what_fails_for_ever_ends_within_its_attempts() {
    let scratch = Scratch::new();
    let mut process = Process::start(&scratch, vec![route("drain", "*", fails("no"))]);
    process.publish([event("a.b"), event("a.b")]);
    for _ in 0..9 {
        process.drain();
        scratch.clock.advance(3_600_000);
    }
    assert_eq!(process.rest(), Step::OnBell);
    assert_eq!(deliveries(&scratch), ["drain 1 dead", "drain 2 dead"]);
    assert_eq!(scratch.all::<i64>("SELECT attempts FROM lanebox_delivery"), [10, 10]);
    assert_eq!(
        scratch.all::<i64>("SELECT count FROM lanebox_notice"),
        [2],
        "one notice of one cause"
    );
    scratch.assert_sound();
}

#[test]
fn a_panic_is_a_failure_like_any_other() {
    let scratch = Scratch::new();
    let panics = route("drain", "*", |_| panic!("index out of bounds"));
    let mut process = Process::start(&scratch, vec![panics, consume("a", "*")]);
    process.publish([event("a.b")]);
    process.drain();
    assert_eq!(deliveries(&scratch), ["a 1 job", "drain 1 retry"]);
    let error =
        scratch.one::<String>("SELECT last_error FROM lanebox_delivery WHERE state = 'retry'");
    assert_eq!(error, "it panicked: index out of bounds");
}

#[test]
fn what_is_kept_of_an_error_tells_neither_body_nor_contact() {
    let scratch = Scratch::new();
    let tells = route("drain", "*", |event| {
        Err(format!("no agent for {:?}: {}", event.subject(), event.payload_json()).into())
    });
    let mut process = Process::start(&scratch, vec![with(tries(1), tells)]);
    let text = serde_json::json!({ "text": "my secret diagnosis" });
    process.publish([event("a.b").subject("+4915112345").payload(&text)]);
    process.drain();
    let kept =
        "SELECT d.last_error || n.cause || n.reason FROM lanebox_delivery d JOIN lanebox_notice n";
    let kept = scratch.one::<String>(kept);
    assert!(kept.contains("no agent for"), "{kept}");
    assert!(!kept.contains("diagnosis") && !kept.contains("15112345"), "{kept}");
}

// E13, for a consume handler: its delivery is a job, and a postponement costs no attempt.
// fault: postpone-uses-an-attempt
#[test]
fn e13_a_consume_handler_that_postpones_waits_until_then_with_its_attempts() {
    let scratch = Scratch::new();
    let mut process = Process::start(&scratch, vec![consume("a", "*")]);
    process.publish([event("a.b")]);
    process.drain();
    let claimed = process.claim().remove(0);
    let until = process.dispatcher_now(&scratch) + 90_000;
    let end = End::Postpone { until, why: "media".to_owned(), keep_lane: None, counted: true };
    assert_eq!(process.end(&claimed, end), Ended::Waits { due: until });
    scratch.clock.advance(89_999);
    assert!(process.claim().is_empty());
    scratch.clock.advance(1);
    let again = process.claim().remove(0);
    assert_eq!((again.id, again.held.attempts), (claimed.id, 1));
}

// fault: half-of-the-jobs
#[test]
fn a_job_that_cannot_be_accepted_fails_its_own_delivery_and_leaves_no_half() {
    let scratch = Scratch::new();
    let taken = |payload: &str| NewJob::raw("turn", payload, Lane::NONE).org("acme").dedupe("k");
    let makes = route("drain", "*", move |event| {
        Ok(match event.name() {
            "a.conflict" => vec![turn(), taken("{\"n\":2}")],
            "a.once" => vec![turn(), turn().once_for(crate::EventId(uuid::Uuid::nil()))],
            "a.bad" => vec![turn(), NewJob::raw("No Kind", "{}", Lane::NONE)],
            "a.same" => vec![taken("{\"n\":1}")],
            _ => vec![turn()],
        })
    });
    let mut process = Process::start(&scratch, vec![makes]);
    let _first = process.store.enqueue(vec![taken("{\"n\":1}")]).expect("accepted");
    let names = ["a.good", "a.conflict", "a.once", "a.bad", "a.same", "a.good"];
    process.publish(names.map(event));
    process.drain();
    let expected = ["routed", "retry", "retry", "retry", "routed", "routed"];
    assert_eq!(
        scratch.all::<String>("SELECT state FROM lanebox_delivery ORDER BY event"),
        expected
    );
    assert_eq!(jobs(&scratch), 3, "two good ones and the one that had the key");
    let errors = scratch.all::<String>(
        "SELECT last_error FROM lanebox_delivery WHERE state = 'retry' ORDER BY event",
    );
    for (error, word) in errors.iter().zip(["another payload", "no event", "job kind"]) {
        assert!(error.contains(word), "{error}");
    }
    // Known work is work of this delivery too.
    assert_eq!(scratch.one::<i64>("SELECT job FROM lanebox_delivery WHERE event = 5"), 1);
}

#[test]
fn jobs_whose_time_has_passed_are_left_out() {
    let scratch = Scratch::new();
    let makes = route("drain", "*", |event| {
        let mut late = turn();
        late.expires_at = Some(1_767_225_600_000);
        Ok(if event.name() == "a.late" { vec![late] } else { vec![late, turn()] })
    });
    let mut process = Process::start(&scratch, vec![makes]);
    process.publish([event("a.late"), event("a.both")]);
    process.drain();
    assert_eq!(deliveries(&scratch), ["drain 1 skipped", "drain 2 routed"]);
    assert_eq!(jobs(&scratch), 1);
}

// E15, E16: another process looked before this one ran it.
// fault: retry-is-taken-twice
#[test]
fn e15_e16_a_look_that_is_out_of_date_runs_nothing() {
    let scratch = Scratch::new();
    let start = || Process::start(&scratch, vec![route("drain", "*", fails("no"))]);
    let (mut one, mut other) = (start(), start());
    one.publish([event("a.b")]);
    one.drain();
    scratch.clock.advance(5_000);
    let look = |process: &Process| {
        let mine = process.dispatcher.mine.clone();
        Bus::look(&process.store, &Look { process: process.no, mine: &mine, turn: 1 })
            .expect("a look")
            .wanted
    };
    let (seen_by_one, seen_by_other) = (look(&one), look(&other));
    assert_eq!((seen_by_one.due.len(), seen_by_other.due.len()), (1, 1));
    let took = one.store.take(one.no, seen_by_one).expect("asked");
    assert_eq!(took.due.len(), 1);
    assert!(
        other.store.take(other.no, seen_by_other.clone()).expect("asked").is_empty(),
        "only one gets it"
    );
    assert!(look(&other).is_empty(), "a living process has it");
    // It fails and is put off: the old look does not bring it back before its new time.
    one.drain();
    assert_eq!(
        scratch.one::<String>("SELECT attempts || ' ' || marks FROM lanebox_delivery"),
        "2 0"
    );
    assert!(other.store.take(other.no, seen_by_other).expect("asked").is_empty());
    assert_eq!(other.rest(), Step::At(next_at(&scratch)));
    assert_eq!(scratch.one::<i64>("SELECT attempts FROM lanebox_delivery"), 2);
}

// The delivery is held by the process that ran it, but it is not the one that was decided on.
#[test]
fn e15_e16_what_was_made_for_another_attempt_or_mark_is_not_written() {
    let changes: [fn(&mut Due); 3] =
        [|due| due.attempts += 1, |due| due.marks += 1, |due| due.series += 1];
    for change in changes {
        let scratch = Scratch::new();
        let mut process = Process::start(&scratch, vec![route("drain", "*", one_turn)]);
        process.publish([event("a.b")]);
        let failed = "INSERT INTO lanebox_delivery(consumer, event, state, at, attempts, next_at, last_error) VALUES (1, 1, 'retry', 0, 1, 0, 'no')";
        scratch.run(failed);
        scratch.run("UPDATE lanebox_consumer SET position = 1; UPDATE lanebox_front SET seq = 1");
        let mut dispatch =
            process.dispatcher.prepare(&process.store).expect("a look").expect("it is due");
        change(&mut dispatch.retries[0].0);
        let round = Round { dispatch: Some(dispatch), ..Round::default() };
        let done = process.store.round(round).expect("a pass").dispatched.expect("asked");
        let done = done.expect("dispatched");
        assert_eq!((done.deliveries, done.moved), (0, true));
        assert_eq!((deliveries(&scratch), jobs(&scratch)), (vec!["drain 1 retry".to_owned()], 0));
        process.drain();
        assert_eq!(deliveries(&scratch), ["drain 1 routed"], "as it is now");
        scratch.assert_sound();
    }
}

// fault: delivery-does-not-wait
#[test]
fn e20_a_thousand_poison_events_of_one_org_hold_up_nobody() {
    let scratch = Scratch::new();
    let picky = route("drain", "*", |event| {
        if event.org() == "acme" { Err("poison".into()) } else { one_turn(event) }
    });
    let mut process = Process::start(&scratch, vec![picky]);
    process.publish((0..1_000).map(|_| event("poison.x")));
    process.drain();
    scratch.clock.advance(5_000);
    process.publish([NewEvent::new("globex", "a.b")]);
    assert_eq!(process.pass(), Step::Again, "a thousand retries are due");
    assert_eq!(
        scratch.one::<String>("SELECT state FROM lanebox_delivery WHERE event = 1001"),
        "routed"
    );
    // And a delivery of another consumer that is due has its turn in the same pass, whatever this
    // one has.
    assert_eq!(scratch.one::<i64>("SELECT count(*) FROM lanebox_delivery WHERE attempts = 2"), 8);
}

#[test]
fn a_retry_of_a_consumer_that_became_a_handler_is_its_job() {
    let scratch = Scratch::new();
    let mut process = Process::start(&scratch, vec![route("a", "*", fails("no"))]);
    process.publish([event("a.b")]);
    process.drain();
    drop(process);
    let mut process = Process::start(&scratch, vec![with(|c| c.version(2), consume("a", "*"))]);
    scratch.clock.advance(5_000);
    process.drain();
    assert_eq!(deliveries(&scratch), ["a 1 job"]);
    assert_eq!(process.claim().len(), 1);
    scratch.assert_sound();
}

// A row that the file refuses for a reason that nobody foresaw: here a rule that is planted.
#[test]
fn one_delivery_that_cannot_be_written_fails_alone() {
    let scratch = Scratch::new();
    let names =
        route("drain", "*", |event| Ok(vec![turn().subject(event.subject().unwrap_or("-"))]));
    let mut process = Process::start(&scratch, vec![names]);
    scratch.run("CREATE TRIGGER planted BEFORE INSERT ON lanebox_job WHEN NEW.subject = 'bad' BEGIN SELECT RAISE(ABORT, 'planted'); END");
    process.publish(["ann", "bad", "bob"].map(|subject| event("a.b").subject(subject)));
    let error = process.try_pass().expect_err("the whole range, at first");
    assert!(error.to_string().contains("planted"), "{error}");
    assert!(deliveries(&scratch).is_empty());
    process.drain();
    assert_eq!(deliveries(&scratch), ["drain 1 routed", "drain 2 retry", "drain 3 routed"]);
    scratch.run("DROP TRIGGER planted");
    scratch.clock.advance(5_000);
    process.drain();
    assert_eq!(jobs(&scratch), 3);
    scratch.assert_sound();
}

// A loop may look once more while its process says goodbye: nobody would free what it takes then.
#[test]
fn who_has_left_takes_nothing_with_it() {
    let scratch = Scratch::new();
    let failed = Count::default();
    let once = move |_: &Event| match failed.up() {
        1 => Err("no such agent".into()),
        _ => Ok(vec![turn()]),
    };
    let mut leaves = Process::start(&scratch, vec![route("drain", "*", once)]);
    leaves.publish([event("a.b")]);
    let _at = leaves.rest();
    scratch.clock.advance(3_600_000);
    leaves.store.leave(leaves.no).expect("left");
    let _nothing_or_refused = leaves.try_pass();
    scratch.assert_sound();
    let mut stays = Process::start(&scratch, vec![route("drain", "*", one_turn)]);
    stays.drain();
    assert_eq!(deliveries(&scratch), ["drain 1 routed"]);
    scratch.assert_sound();
}

#[test]
fn who_has_left_takes_no_suspect_either() {
    let scratch = Scratch::new();
    let start = || Process::start(&scratch, vec![route("drain", "*", one_turn), consume("a", "*")]);
    let mut leaves = start();
    leaves.publish([event("a.b")]);
    scratch.run("UPDATE lanebox_consumer SET routing = 1 WHERE key = 'drain'");
    assert_eq!(leaves.pass(), Step::Again, "the front has moved, the suspect waits");
    leaves.store.leave(leaves.no).expect("left");
    let _nothing_or_refused = leaves.try_pass();
    scratch.assert_sound();
    start().drain();
    assert_eq!(deliveries(&scratch), ["a 1 job", "drain 1 routed"]);
    scratch.assert_sound();
}
