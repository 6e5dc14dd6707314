//! In which lane the job of a delivery runs.

use std::collections::HashSet;

use super::*;
use crate::model::consumer::LaneRule;

fn lanes(scratch: &Scratch) -> Vec<Option<String>> {
    scratch.all(
        "SELECT l.name FROM lanebox_job j LEFT JOIN lanebox_lane l ON l.id = j.lane ORDER BY j.id",
    )
}

#[test]
fn by_default_a_consumer_has_a_lane_of_its_own_per_subject() {
    let scratch = Scratch::new();
    let mut process = Process::start(&scratch, vec![consume("a", "*"), consume("b", "*")]);
    process.publish(["ann", "ann", "bob"].map(|subject| event("a.b").subject(subject)));
    process.publish([event("a.b")]);
    process.drain();
    let expected = [
        Some("a/ann"),
        Some("b/ann"),
        Some("a/ann"),
        Some("b/ann"),
        Some("a/bob"),
        Some("b/bob"),
        None,
        None,
    ];
    assert_eq!(lanes(&scratch), expected.map(|lane| lane.map(str::to_owned)));
    // In order per contact and consumer, all else beside one another.
    let events: Vec<Option<i64>> =
        process.claim().iter().map(|claimed| claimed.source_event).collect();
    assert_eq!(events, [Some(1), Some(1), Some(3), Some(3), Some(4), Some(4)]);
}

// fault: consumers-share-a-lane
#[test]
fn e124_a_consumer_in_a_long_backoff_holds_up_nobody_elses_work_for_the_contact() {
    let scratch = Scratch::new();
    let reply = route("reply", "message.received", |event| {
        Ok(vec![NewJob::raw("turn", "{}", Lane::of(event.subject().unwrap_or_default()))])
    });
    let mut process = Process::start(&scratch, vec![consume("a", "message.received"), reply]);
    process.publish([event("message.received").subject("ann")]);
    process.drain();
    let claimed = process.claim();
    let sentiment =
        claimed.iter().find(|claimed| claimed.lane_is("a/ann", &scratch)).expect("claimed");
    let hour = End::Retry { error: "model is down".to_owned(), wait_ms: 3_600_000 };
    assert!(matches!(process.end(sentiment, hour), Ended::Waits { .. }));
    for other in claimed.iter().filter(|claimed| claimed.id != sentiment.id) {
        let _done = process.end(other, End::Done { result: None });
    }
    process.publish([event("message.received").subject("ann")]);
    process.drain();
    let next = process.claim();
    assert_eq!(next.len(), 1);
    assert!(next[0].lane_is("ann", &scratch), "the reply goes out at once");
}

impl Claimed {
    fn lane_is(&self, name: &str, scratch: &Scratch) -> bool {
        let lane = self.held.lane.expect("a lane").0;
        scratch.one::<String>(&format!("SELECT name FROM lanebox_lane WHERE id = {lane}")) == name
    }
}

#[test]
fn the_contacts_lane_is_shared_with_routed_jobs_and_no_lane_is_said() {
    let scratch = Scratch::new();
    let shared = with(|c| c.lane(LaneRule::Subject), consume("a", "*"));
    let unordered = with(|c| c.lane(LaneRule::Unordered), consume("b", "*"));
    let mut process = Process::start(&scratch, vec![shared, unordered]);
    process.publish([event("a.b").subject("ann"), event("a.b")]);
    process.drain();
    let expected = [Some("ann"), None, None, None];
    assert_eq!(lanes(&scratch), expected.map(|lane| lane.map(str::to_owned)));
}

#[test]
fn a_subject_that_no_lane_can_be_named_by_still_has_one_lane() {
    let scratch = Scratch::new();
    let mut process =
        Process::start(&scratch, vec![with(|c| c.lane(LaneRule::Subject), consume("a", "*"))]);
    let long = "x".repeat(512);
    let subjects = [long.as_str(), &long, &long[..511], " ann", "ann ", "ann"];
    process.publish(subjects.map(|subject| event("a.b").subject(subject)));
    process.drain();
    let lanes = lanes(&scratch);
    let named: Vec<&str> = lanes.iter().map(|lane| lane.as_deref().expect("a lane")).collect();
    assert_eq!(named[0], named[1]);
    assert_eq!(named.iter().collect::<HashSet<_>>().len(), 5);
    assert!(named[..5].iter().all(|lane| lane.len() == 65 && lane.starts_with('#')), "{named:?}");
    assert_eq!(named[5], "ann");
    assert_eq!(scratch.all::<String>("SELECT subject FROM lanebox_job ORDER BY id"), subjects);
}
