//! Lists of jobs: every state and place, filters, pages.

use super::*;
use crate::error::Error;
use crate::store::sqlite::inspect::span::WALK;

/// A job in every place, newest last.
pub(super) fn every_place(file: &File) -> Vec<(&'static str, JobId)> {
    let mut jobs = Vec::new();
    jobs.push(("done", file.job("k", Lane::NONE)));
    let _ = file.run("k", done());
    jobs.push(("dead", file.job("k", Lane::NONE)));
    let _ = file.run("k", End::Dead("no such contact".to_owned()));
    jobs.push(("cancelled", file.job("k", Lane::NONE)));
    let _ = file.run("k", End::Veto("closed".to_owned()));
    jobs.push(("backing_off", file.job("k", Lane::NONE)));
    let _ = file.run("k", retry("refused", 60_000));
    jobs.push(("running", file.job("k", Lane::of("ann"))));
    assert_eq!(file.claim(&["k"], 1).len(), 1);
    jobs.push(("queued", file.job("k", Lane::of("ann"))));
    jobs.push(("ready", file.job("k", Lane::of("bob"))));
    let at = time::OffsetDateTime::from_unix_timestamp(T0 / 1000 + 3600).expect("a time");
    let later = NewJob::raw("k", "{}", Lane::of("ann")).org("acme").at(at);
    jobs.push(("scheduled", file.enqueue(later)));
    jobs
}

#[test]
fn every_job_is_shown_in_its_place_newest_first() {
    let file = File::new();
    let jobs = every_place(&file);
    let shown: Vec<_> = file
        .listed(Filter::new())
        .into_iter()
        .map(|row| (row.place.unwrap_or(row.state), row.id))
        .collect();
    let expected: Vec<_> =
        jobs.iter().rev().map(|(place, id)| ((*place).to_owned(), *id)).collect();
    assert_eq!(shown, expected);
}

#[test]
fn a_state_or_place_narrows_the_list_to_it() {
    let file = File::new();
    for (state, id) in every_place(&file) {
        assert_eq!(ids(&file.listed(Filter::new().state(state))), [id], "{state}");
    }
    assert_eq!(file.listed(Filter::new().state("pending")).len(), 4);
    for empty in ["waiting_for_send", "parked"] {
        assert!(file.listed(Filter::new().state(empty)).is_empty(), "{empty}");
    }
}

#[test]
fn kind_org_lane_and_since_narrow_the_list() {
    let file = File::new();
    let old = file.job("a", Lane::of("ann"));
    file.clock.advance(10_000);
    let new = file.job("b", Lane::NONE);
    let other = file.enqueue(NewJob::raw("b", "{}", Lane::NONE).org("other"));
    assert_eq!(ids(&file.listed(Filter::new().kind("a"))), [old]);
    assert_eq!(ids(&file.listed(Filter::new().org("other"))), [other]);
    assert_eq!(ids(&file.listed(Filter::new().lane("ann").state("ready"))), [old]);
    let since = time::OffsetDateTime::from_unix_timestamp(T0 / 1000 + 10).expect("a time");
    assert_eq!(ids(&file.listed(Filter::new().since(since))), [other, new]);
    let later = time::OffsetDateTime::from_unix_timestamp(T0 / 1000 + 11).expect("a time");
    let page = file.store.jobs(&Filter::new().since(later)).expect("a page");
    assert!(page.rows.is_empty() && page.next.is_none());
    assert!(file.listed(Filter::new().kind("unheard")).is_empty());
}

#[test]
fn pages_meet_without_a_gap_or_an_overlap() {
    let file = File::new();
    let expected: Vec<JobId> = (0..7).map(|_| file.job("k", Lane::NONE)).collect();
    for filter in [Filter::new(), Filter::new().state("ready"), Filter::new().state("pending")] {
        let mut seen = Vec::new();
        let mut filter = filter.limit(3);
        loop {
            let page = file.store.jobs(&filter).expect("a page");
            seen.extend(ids(&page.rows));
            match page.next {
                Some(next) => filter = filter.after(next),
                None => break,
            }
        }
        seen.reverse();
        assert_eq!(seen, expected);
    }
}

// A narrow filter over a long history answers soon, and says where to go on.
#[test]
fn a_page_looks_at_a_bounded_stretch_of_history() {
    let file = File::new();
    let first = file.job("rare", Lane::NONE);
    let _ = file.run("rare", done());
    file.sql(
        "UPDATE sqlite_sequence SET seq = 30000 WHERE name = 'lanebox_job'; \
         INSERT INTO lanebox_kind(name) VALUES ('often')",
    );
    let last = file.job("often", Lane::NONE);
    let page = file.store.jobs(&Filter::new().kind("rare")).expect("a page");
    assert!(page.rows.is_empty());
    assert_eq!(page.next, Some((30_002 - WALK).to_string()));
    let filter = Filter::new().kind("rare").after(page.next.expect("a next"));
    let page = file.store.jobs(&filter).expect("a page");
    assert_eq!((ids(&page.rows), page.next), (vec![first], None));
    assert_eq!(ids(&file.listed(Filter::new())), [last]);
}

#[test]
fn bad_filters_are_refused_with_a_sentence() {
    let file = File::new();
    for filter in [
        Filter::new().state("finished"),
        Filter::new().limit(0),
        Filter::new().limit(201),
        Filter::new().after("yesterday"),
        Filter::new().after("-1"),
    ] {
        let refused = file.store.jobs(&filter);
        assert!(matches!(refused, Err(Error::Refused { .. })), "{filter:?}");
    }
    let top = Filter::new().after(i64::MAX.to_string());
    assert!(file.store.jobs(&top).expect("a page").rows.is_empty());
}

#[test]
fn one_job_in_full_has_payload_result_history_and_reason() {
    let file = File::new();
    let id = file.job("k", Lane::NONE);
    let _ = file.run("k", retry("refused", 5));
    file.clock.advance(10);
    let (claimed, _) = file.run("k", End::Done { result: Some("[1,2]".to_owned()) });
    let job = file.store.job(id).expect("the job");
    assert_eq!(job.payload.as_deref(), Some(r#"{"a":1}"#));
    assert_eq!(job.result.as_deref(), Some("[1,2]"));
    let ended: Vec<_> = job.history.iter().map(|a| (a.n, a.ended.as_str())).collect();
    assert_eq!(ended, [(1, "failed"), (2, "done")]);
    assert_eq!(job.history[1].token, claimed.held.token.0.to_string());
    let json = serde_json::to_value(&job).expect("json");
    assert_eq!(json["payload"]["a"], 1);
    assert_eq!(json["id"], id.to_string());
    let nobody = JobId(uuid::Uuid::nil());
    assert!(matches!(file.store.job(nobody), Err(Error::NotFound { what: "job", .. })));
}
