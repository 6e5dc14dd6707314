//! Facts that a run publishes: recorded with its completion, or never.

use super::*;
use crate::model::id::{Held, ProcessNo};
use crate::model::job::{NewJob, Origin};
use crate::model::lane::Lane;
use crate::model::verdict::End;
use crate::store::jobs::{Ask, Ended, Finish, Handled, HostWork, Jobs, Round};
use crate::store::processes::Processes;

const DONE: End = End::Done { result: None };

/// A file with jobs that run, the first caused by an event of this depth.
struct Runs {
    scratch: Scratch,
    store: SqliteStore,
    held: Vec<Held>,
}

impl Runs {
    fn of(jobs: usize, depth: u32) -> Runs {
        let scratch = Scratch::new();
        let store = scratch.store();
        let process = store.register().expect("registered");
        let _cause = publish(&store, NewEvent { depth, ..event("a.cause") }).expect("published");
        let job = |n: usize| {
            let mut job = NewJob::raw("turn", "{}", Lane::NONE).org("acme");
            let event = (n == 0).then_some(crate::model::id::EventSeq(1));
            job.origin = Origin { event, delivery: None };
            job
        };
        let _new = store.enqueue((0..jobs).map(job).collect()).expect("accepted");
        let mut runs = Runs { scratch, store, held: Vec::new() };
        runs.claim(process);
        runs
    }

    fn claim(&mut self, process: ProcessNo) {
        let kind = self.store.kind("turn").expect("a kind");
        let kinds = vec![Handled { kind, short: false }];
        let ask =
            Ask { process, kinds, idle: 9, ahead: 0, lease_ms: 60_000, suspect_wait_ms: 1_000 };
        let round = Round { claim: Some(ask), ..Round::default() };
        let claimed = self.store.round(round).expect("a claim").claimed;
        self.held = claimed.into_iter().map(|claimed| claimed.held).collect();
    }

    fn end(&self, n: usize, end: End, outbox: Vec<NewEvent>) -> Ended {
        let finish = vec![Finish { held: self.held[n], end, outbox }];
        let round = Round { finish, ..Round::default() };
        self.store.round(round).expect("a pass").finished.remove(0)
    }

    fn events(&self) -> Vec<String> {
        self.scratch.all(
            "SELECT name || ' ' || coalesce(cause_event, '-') || ' ' || coalesce(cause_job, '-') || ' ' || depth FROM lanebox_event WHERE seq > 1 ORDER BY seq",
        )
    }
}

#[test]
fn a_completion_carries_its_facts_with_their_cause() {
    let runs = Runs::of(2, 3);
    let two = || vec![event("message.sent"), event("turn.ended").dedupe("t1")];
    assert_eq!(runs.end(0, DONE, two()), Ended::Done);
    assert_eq!(runs.events(), ["message.sent 1 1 4", "turn.ended 1 1 4"]);
    // Known already: the fact is kept, and this run is done as well.
    assert_eq!(
        runs.end(1, DONE, vec![event("turn.ended").dedupe("t1"), event("b.c")]),
        Ended::Done
    );
    assert_eq!(runs.events()[2..], ["b.c - 2 1"]);
    runs.scratch.assert_sound();
}

#[test]
fn any_other_end_and_a_lost_lease_record_nothing() {
    let runs = Runs::of(7, 0);
    let outbox = || vec![event("message.sent")];
    assert_eq!(runs.end(6, End::Skip("not for us".to_owned()), outbox()), Ended::Done);
    let wait_ms = 1_000;
    let ends = [
        End::Veto("closed".to_owned()),
        End::Retry { error: "no".to_owned(), wait_ms },
        End::Dead("no".to_owned()),
        End::Postpone { until: 9, why: "later".to_owned(), keep_lane: None, counted: true },
        End::HandBack { started: true },
    ];
    for (n, end) in ends.into_iter().enumerate() {
        let ended = runs.end(n, end, outbox());
        assert!(!matches!(ended, Ended::Done | Ended::LeaseLost), "{ended:?}");
    }
    assert_eq!(runs.end(5, DONE, vec![]), Ended::Done);
    for n in 0..6 {
        assert_eq!(runs.end(n, DONE, outbox()), Ended::LeaseLost);
    }
    assert!(runs.events().is_empty());
}

// fault: half-an-end
#[test]
fn facts_that_cannot_be_recorded_fail_their_own_run_and_nothing_of_it_is_done() {
    let runs = Runs::of(3, 0);
    let _first = publish(&runs.store, event("a.known").dedupe("k")).expect("published");
    let conflict = vec![event("message.sent"), event("a.other").dedupe("k")];
    let finish = vec![
        Finish { held: runs.held[0], end: DONE, outbox: conflict },
        Finish { held: runs.held[1], end: DONE, outbox: vec![event("b.c")] },
    ];
    let done = runs.store.round(Round { finish, ..Round::default() }).expect("a pass");
    assert!(matches!(done.finished[0], Ended::Waits { .. }), "{:?}", done.finished);
    assert_eq!(done.finished[1], Ended::Done);
    assert_eq!(runs.events(), ["a.known - - 0", "b.c - 2 1"]);
    let error = runs.scratch.one::<String>("SELECT error FROM lanebox_tried");
    assert!(error.contains("this dedupe key was used before with another payload"), "{error}");
    runs.scratch.assert_sound();
}

#[test]
fn a_chain_of_causes_that_is_too_deep_ends_its_job_visibly() {
    let runs = Runs::of(1, 16);
    assert_eq!(runs.end(0, DONE, vec![event("a.b")]), Ended::Dead);
    assert!(runs.events().is_empty());
    let reason = runs.scratch.one::<String>("SELECT reason FROM lanebox_notice");
    assert!(reason.contains("look for a loop"), "{reason}");
    let deep_enough = Runs::of(1, 15);
    assert_eq!(deep_enough.end(0, DONE, vec![event("a.b")]), Ended::Done);
    assert_eq!(deep_enough.events(), ["a.b 1 1 16"]);
}

// With rows of the host's the whole transaction goes: the run is told, and ends in another way.
#[test]
fn with_host_rows_a_fact_that_cannot_be_recorded_takes_back_everything() {
    let runs = Runs::of(1, 0);
    runs.scratch.run("CREATE TABLE message(id INTEGER PRIMARY KEY)");
    let _first = publish(&runs.store, event("a.known").dedupe("k")).expect("published");
    let finish = |outbox| Finish { held: runs.held[0], end: DONE, outbox };
    let finish_with = |outbox| {
        let mut rows = |conn: &rusqlite::Connection| {
            conn.execute("INSERT INTO message DEFAULT VALUES", []).map(|_| ()).map_err(Into::into)
        };
        runs.store.finish_with(finish(outbox), HostWork::Sqlite(&mut rows))
    };
    let conflict = finish_with(vec![event("a.other").dedupe("k")]);
    assert!(matches!(conflict, Err(Error::Conflict { .. })), "{conflict:?}");
    let messages = "SELECT count(*) FROM message";
    assert_eq!(runs.scratch.one::<i64>(messages), 0);
    assert_eq!(finish_with(vec![event("message.sent")]).expect("done"), Ended::Done);
    assert_eq!(runs.scratch.one::<i64>(messages), 1);
    assert_eq!(runs.events(), ["a.known - - 0", "message.sent 1 1 1"]);
}
