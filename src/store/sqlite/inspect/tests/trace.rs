//! Traces: from any part of a story, the whole story.

use super::events::EVENTS;
use super::sends::SENDS;
use super::*;
use crate::error::Error;
use crate::store::people::Trace;

/// Event 2 became job 1, which sent twice, ended, and published event 6.
fn story() -> (File, JobId) {
    let file = File::new();
    let id = file.job("turn", Lane::of("ann"));
    assert_eq!(file.claim(&["turn"], 1).len(), 1);
    file.sql(SENDS);
    file.sql(EVENTS);
    file.sql(
        "DROP TRIGGER lanebox_job_written_once; DROP TRIGGER lanebox_delivery_fixed; \
         UPDATE lanebox_job SET source_event = 2, consumer = 1, ordinal = 0; \
         UPDATE lanebox_send SET origin = 'e2.c1.0'; \
         UPDATE lanebox_delivery SET state = 'job', job = 1, reason = NULL WHERE event = 2; \
         DELETE FROM lanebox_running; \
         INSERT INTO lanebox_finished(id, state, finished_at, started_at, token, process, series, attempts, lost) \
           VALUES (1, 'done', 1900000001000, 1900000000000, 1, 1, 1, 1, 0); \
         INSERT INTO lanebox_event(uuid, org, name, cause_event, cause_job, depth) \
           VALUES (x'01BA60D33BE870008000000000000006', 'acme', 'message.sent', 2, 1, 1)",
    );
    (file, id)
}

fn whole(trace: &Trace) {
    assert_eq!((trace.events.len(), trace.jobs.len(), trace.cut), (1, 0, false));
    let event = &trace.events[0];
    assert_eq!(event.event.seq, "2");
    assert_eq!(event.deliveries.len(), 1);
    let delivery = &event.deliveries[0];
    assert_eq!((delivery.consumer.as_str(), delivery.state.as_str()), ("sentiment", "job"));
    let job = &delivery.jobs[0];
    assert_eq!((job.job.state.as_str(), job.history.len(), job.sends.len()), ("done", 1, 2));
    assert_eq!(job.sends[0].history.len(), 2);
    assert_eq!(job.sends[1].notices[0].id, "7");
    assert_eq!(job.published[0].event.name, "message.sent");
}

#[test]
fn event_job_send_key_and_published_event_lead_to_the_same_story() {
    let (file, job) = story();
    let asked = [
        "01860000-0000-7000-8000-000000000002".to_owned(),
        job.to_string(),
        "1".to_owned(),
        "01860000-0000-7000-8000-000000000021".to_owned(),
        "01ba60d3-3be8-7000-8000-000000000006".to_owned(),
    ];
    for id in asked {
        whole(&file.store.trace(&id).unwrap_or_else(|error| panic!("{id}: {error}")));
    }
}

#[test]
fn an_entity_leads_to_all_its_events() {
    let (file, _) = story();
    let trace = file.store.trace("message:m1").expect("a trace");
    let seqs: Vec<_> = trace.events.iter().map(|event| event.event.seq.as_str()).collect();
    assert_eq!(seqs, ["4", "2"]);
    // The consumer has not come to event 4 yet.
    assert_eq!(trace.events[0].deliveries[0].state, "ahead");
}

#[test]
fn r74_the_events_of_an_entity_are_looked_for_among_the_newest() {
    let (file, _) = story();
    let entity = "INSERT INTO lanebox_event(org, name, entity_type, entity_id) VALUES ('acme', 'a.b', 'message', 'new')";
    file.sql("UPDATE sqlite_sequence SET seq = 200000 WHERE name = 'lanebox_event'");
    file.sql(entity);
    let trace = file.store.trace("message:new").expect("a trace");
    assert_eq!((trace.events.len(), trace.cut), (1, true), "there may be older ones");
    let missing = file.store.trace("message:m1").expect_err("too far back").to_string();
    assert!(missing.contains("among the newest 100,000, of entity message:m1"), "{missing}");
}

#[test]
fn a_dead_delivery_shows_its_reason_and_notice() {
    let (file, _) = story();
    let trace = file.store.trace("01860000-0000-7000-8000-000000000003").expect("a trace");
    let delivery = &trace.events[0].deliveries[0];
    assert_eq!((delivery.state.as_str(), delivery.reason.as_deref()), ("dead", Some("boom")));
    assert_eq!(delivery.notice.as_ref().expect("a notice").id, "1");
}

#[test]
fn a_job_once_for_an_event_belongs_to_its_story() {
    let (file, _) = story();
    let event =
        crate::model::id::EventId("01860000-0000-7000-8000-000000000001".parse().expect("a uuid"));
    let job = file.enqueue(NewJob::raw("k", "{}", Lane::NONE).org("acme").once_for(event));
    let trace = file.store.trace(&job.to_string()).expect("a trace");
    assert_eq!(trace.events[0].event.seq, "1");
    assert_eq!(trace.events[0].jobs[0].job.id, job);
}

#[test]
fn what_is_not_there_is_said() {
    let (file, _) = story();
    for id in
        ["", "nonsense", "99", "-1", "message:none", "00000000-0000-0000-0000-000000000000", "a\0b"]
    {
        let missing = file.store.trace(id);
        assert!(matches!(missing, Err(Error::NotFound { .. })), "{id:?}");
    }
}
