//! One event, several consumers: each has its own delivery, and none knows of the others.

use super::*;
use crate::model::consumer::Skip;

#[test]
fn e3_an_event_is_pending_until_its_consumers_have_seen_it() {
    let scratch = Scratch::new();
    let mut process = Process::start(&scratch, vec![consume("a", "message.*")]);
    process.publish([event("message.received")]);
    assert_eq!(state(&scratch, 1), "pending");
    let attempts = "SELECT attempts FROM lanebox_event_state";
    assert_eq!(scratch.one::<Option<i64>>(attempts), None);
    assert_eq!(process.rest(), Step::OnBell);
    assert_eq!(scratch.one::<Option<i64>>(attempts), Some(0));
    assert_eq!(state(&scratch, 1), "pending", "its job waits");
}

// fault: position-stays
#[test]
fn e7_two_consumers_that_succeed_make_the_event_done() {
    let scratch = Scratch::new();
    let mut process = Process::start(&scratch, vec![consume("a", "message.*"), consume("b", "*")]);
    process.publish([event("message.received")]);
    process.drain();
    assert_eq!(deliveries(&scratch), ["a 1 job", "b 1 job"]);
    for claimed in process.claim() {
        assert_eq!(state(&scratch, 1), "pending");
        assert_eq!(process.end(&claimed, End::Done { result: None }), Ended::Done);
    }
    assert_eq!(state(&scratch, 1), "done");
    scratch.assert_sound();
}

// fault: position-stays
#[test]
fn e8_one_that_fails_first_makes_nobody_else_run_again() {
    let scratch = Scratch::new();
    let mut process = Process::start(&scratch, vec![consume("a", "*"), consume("b", "*")]);
    process.publish([event("message.received")]);
    process.drain();
    let claimed = process.claim();
    let (a, b) = (&claimed[0], &claimed[1]);
    let _done = process.end(a, End::Done { result: None });
    let wait_ms = 5_000;
    let waits = process.end(b, End::Retry { error: "no".to_owned(), wait_ms });
    assert!(matches!(waits, Ended::Waits { .. }));
    assert_eq!(process.rest(), Step::OnBell);
    assert_eq!(state(&scratch, 1), "pending");
    scratch.clock.advance(wait_ms);
    let again = process.claim();
    assert_eq!(again.iter().map(|claimed| claimed.id).collect::<Vec<_>>(), [b.id]);
    let _done = process.end(&again[0], End::Done { result: None });
    assert_eq!(state(&scratch, 1), "done");
    assert_eq!(jobs(&scratch), 2);
    assert!(process.claim().is_empty());
    scratch.assert_sound();
}

/// An error of the host's own.
#[derive(Debug, thiserror::Error)]
#[error("refused")]
struct Refusal(#[source] Skip);

// fault: skip-has-no-reason
#[test]
fn e9_a_skip_is_marked_with_its_reason_and_never_runs_again() {
    let scratch = Scratch::new();
    let ran = Count::default();
    let counted = ran.clone();
    let skips = route("drain", "*", move |event| {
        counted.up();
        match event.name() {
            "a.empty" => Ok(vec![]),
            "a.deep" => Err(Refusal(Skip::because("deep down")).into()),
            _ => Err(Skip::because("it concerns\nnobody").into()),
        }
    });
    let mut process = Process::start(&scratch, vec![skips]);
    process.publish([event("a.b"), event("a.empty"), event("a.deep")]);
    process.drain();
    process.drain();
    drop(process);
    assert_eq!(deliveries(&scratch), ["drain 1 skipped", "drain 2 skipped", "drain 3 skipped"]);
    let reasons = scratch.all::<String>("SELECT reason FROM lanebox_delivery ORDER BY event");
    assert_eq!(reasons, ["it concerns", "its route made no job", "deep down"]);
    assert_eq!(ran.get(), 3);
    assert_eq!((jobs(&scratch), state(&scratch, 1)), (0, "done".to_owned()));
    scratch.assert_sound();
}

// fault: delivery-never-dies
#[test]
fn e12_a_dead_delivery_leaves_the_other_its_own_attempts() {
    let scratch = Scratch::new();
    let tried = Count::default();
    let counted = tried.clone();
    let dies = with(tries(1), route("a", "*", |_| Err("for good".into())));
    let heals =
        route(
            "b",
            "*",
            move |event| if counted.up() < 3 { Err("not yet".into()) } else { one_turn(event) },
        );
    let mut process = Process::start(&scratch, vec![dies, heals]);
    process.publish([event("a.b")]);
    process.drain();
    assert_eq!(deliveries(&scratch), ["a 1 dead", "b 1 retry"]);
    assert_eq!(state(&scratch, 1), "pending", "it can still move");
    for _ in 0..2 {
        scratch.clock.advance(20_000);
        process.drain();
    }
    assert_eq!(deliveries(&scratch), ["a 1 dead", "b 1 routed"]);
    let attempts = "SELECT attempts FROM lanebox_delivery ORDER BY consumer";
    assert_eq!(scratch.all::<i64>(attempts), [1, 2]);
    let claimed = process.claim();
    let _done = process.end(&claimed[0], End::Done { result: None });
    assert_eq!(state(&scratch, 1), "dead");
    scratch.assert_sound();
}

// fault: consumer-begins-at-the-beginning
#[test]
fn e19_a_consumer_that_comes_later_gets_no_old_events() {
    let scratch = Scratch::new();
    let mut process = Process::start(&scratch, vec![consume("a", "*")]);
    process.publish([event("a.b"), event("a.c")]);
    process.drain();
    drop(process);
    let mut process = Process::start(&scratch, vec![consume("a", "*"), consume("b", "*")]);
    process.publish([event("a.d")]);
    process.drain();
    assert_eq!(deliveries(&scratch), ["a 1 job", "a 2 job", "a 3 job", "b 3 job"]);
}

// fault: position-stays
#[test]
fn e23_e24_one_event_is_one_job_however_often_it_is_drained() {
    let scratch = Scratch::new();
    let start = || Process::start(&scratch, vec![route("drain", "agent.dispatch", one_turn)]);
    let mut process = start();
    process.publish([event("agent.dispatch").subject("+49"), event("agent.other")]);
    process.drain();
    process.drain();
    drop(process);
    start().drain();
    assert_eq!(jobs(&scratch), 1);
    let origin = "SELECT source_event || ' ' || consumer || ' ' || ordinal FROM lanebox_job";
    assert_eq!(scratch.one::<String>(origin), "1 1 0");
    assert_eq!(scratch.one::<i64>("SELECT job FROM lanebox_delivery"), 1);
    assert_eq!(state(&scratch, 2), "unhandled");
    scratch.assert_sound();
}

// E26: the job is there, the delivery is not, as no transaction of ours leaves it: the same job is
// found.
// fault: delivery-makes-a-twin
#[test]
fn e26_a_job_of_this_delivery_that_exists_is_not_made_twice() {
    let scratch = Scratch::new();
    let mut process = Process::start(&scratch, vec![route("drain", "*", one_turn)]);
    process.publish([event("a.b")]);
    let mut job = turn().org("acme");
    job.origin = origin(EventSeq(1), ConsumerNo(1), 0);
    let _new = process.store.enqueue(vec![job]).expect("made");
    process.drain();
    assert_eq!((jobs(&scratch), deliveries(&scratch)), (1, vec!["drain 1 routed".to_owned()]));
    scratch.assert_sound();
}

// fault: org-is-lost
#[test]
fn e25_j14_the_same_source_id_in_two_orgs_is_two_jobs_each_in_its_org() {
    let scratch = Scratch::new();
    let mut process =
        Process::start(&scratch, vec![route("drain", "*", one_turn), consume("a", "*")]);
    let of = |org: &str| NewEvent::new(org, "a.b").dedupe("wamid.1");
    process.publish([of("acme"), of("globex"), of("-")]);
    process.drain();
    let orgs = "SELECT o.name FROM lanebox_job j JOIN lanebox_org o ON o.id = j.org ORDER BY j.id";
    assert_eq!(scratch.all::<String>(orgs), ["acme", "acme", "globex", "globex", "-", "-"]);
    scratch.assert_sound();
}

#[test]
fn a_route_may_name_another_org_and_its_jobs_keep_what_it_says() {
    let scratch = Scratch::new();
    let rich = route("drain", "*", |event| {
        let payload = format!("{{\"of\":{}}}", event.seq());
        let job = NewJob::raw("turn", payload, Lane::of("desk")).org("globex");
        Ok(vec![job.subject("+49").priority(7).max_attempts(3)])
    });
    let mut process = Process::start(&scratch, vec![rich]);
    process.publish([event("a.b")]);
    process.drain();
    let row = "SELECT o.name || ' ' || l.name || ' ' || j.subject || ' ' || j.priority || ' ' || j.max_attempts || ' ' || j.payload \
               FROM lanebox_job j JOIN lanebox_org o ON o.id = j.org JOIN lanebox_lane l ON l.id = j.lane";
    assert_eq!(scratch.one::<String>(row), "globex desk +49 7 3 {\"of\":1}");
}

// fault: one-job-of-a-route, jobs-of-a-route-share-a-number
#[test]
fn e126_every_job_of_every_route_runs() {
    let scratch = Scratch::new();
    let two = |_: &Event| Ok(vec![turn(), turn()]);
    let mut process =
        Process::start(&scratch, vec![route("one", "*", two), route("other", "*", two)]);
    process.publish([event("a.b")]);
    process.drain();
    let claimed = process.claim();
    assert_eq!(claimed.len(), 4);
    for claimed in &claimed {
        assert_eq!(process.end(claimed, End::Done { result: None }), Ended::Done);
    }
    assert_eq!(state(&scratch, 1), "done");
    scratch.assert_sound();
}

#[test]
fn a_consume_handler_gets_the_whole_event_back() {
    let scratch = Scratch::new();
    let mut process = Process::start(&scratch, vec![consume("a", "*")]);
    process.publish([event("a.first")]);
    let odd = "{\"text\":\"\u{1F600}\\n\",\"n\":1.0e2}";
    let first = crate::Event::clone(&first_event(&process));
    let new = event("a.b")
        .entity("message", "wamid.1")
        .subject("+49 151")
        .payload_json(odd)
        .metadata(&serde_json::json!({ "trace": "t1" }))
        .occurred_at(crate::model::job::instant(5))
        .caused_by(&first);
    process.publish([new]);
    process.drain();
    let claimed = process.claim();
    assert_eq!(claimed.len(), 2);
    let got = Event::from_envelope(&claimed[1].payload).expect("an event");
    assert_eq!(claimed[1].subject.as_deref(), Some("+49 151"));
    assert_eq!((got.seq(), got.org(), got.name()), (2, "acme", "a.b"));
    assert_eq!((got.entity(), got.subject()), (Some(("message", "wamid.1")), Some("+49 151")));
    assert_eq!((got.payload_json(), got.metadata_json()), (odd, "{\"trace\":\"t1\"}"));
    assert_eq!(got.payload().expect("JSON")["n"], 100.0);
    assert_eq!(
        got.payload_as::<std::collections::BTreeMap<String, serde_json::Value>>()
            .expect("a map")
            .len(),
        2
    );
    assert!(got.payload_as::<Vec<u8>>().expect_err("a map").to_string().contains("another type"));
    assert_eq!(got.occurred_at(), crate::model::job::instant(5));
    assert_eq!(got.recorded_at(), crate::model::job::instant(1_767_225_600_000));
    assert_eq!((got.cause(), got.depth()), (Some(1), 1));
    let id = scratch.one::<[u8; 16]>("SELECT uuid FROM lanebox_event WHERE seq = 2");
    assert_eq!(got.id().0.as_bytes(), &id);
    let secret = format!("{got:?}");
    assert!(!secret.contains("151") && !secret.contains("text"), "{secret}");
}

fn first_event(process: &Process) -> Arc<Event> {
    let mine: Vec<_> = process.dispatcher.mine.clone();
    let look = Look { process: process.no, mine: &mine, turn: 0 };
    let outlook = Bus::look(&process.store, &look).expect("a look");
    outlook.ranges[0].events[0].body.clone().expect("it is wanted")
}
