//! What people see, on files built by the store's own verbs, and by SQL where the verbs are another
//! part's.

mod damage;
mod events;
mod explain;
mod jobs;
mod lanes;
mod orders;
mod pages;
mod plans;
mod sends;
mod trace;
mod whole;

use std::sync::Arc;

use crate::env::{Env, ManualClock};
use crate::model::id::{Held, JobId, ProcessNo};
use crate::model::job::NewJob;
use crate::model::lane::Lane;
use crate::model::verdict::End;
use crate::store::jobs::{Ask, Claimed, Ended, Finish, Handled, Jobs, Round};
use crate::store::people::{Filter, JobView, People};
use crate::store::processes::Processes;
use crate::store::sqlite::{Durability, Opening, SqliteStore};

/// Where the clock stands at first.
const T0: i64 = 1_900_000_000_000;

/// A new file with one process and a clock that a test moves.
struct File {
    store: SqliteStore,
    clock: Arc<ManualClock>,
    process: ProcessNo,
    _dir: tempfile::TempDir,
}

impl File {
    fn new() -> File {
        let dir = tempfile::tempdir().expect("a directory");
        let clock = Arc::new(ManualClock::at(T0));
        let env = Env::new(clock.clone(), 7);
        let path = dir.path().join("people.db");
        let how = Opening { durability: Durability::Relaxed, ..Opening::default() };
        let store = SqliteStore::open(&path, env, &how);
        let store = store.expect("a new file");
        let process = store.register().expect("a process");
        File { store, clock, process, _dir: dir }
    }

    fn enqueue(&self, job: NewJob) -> JobId {
        self.store.enqueue(vec![job]).expect("accepted")[0].id()
    }

    /// A job of org acme that is due now.
    fn job(&self, kind: &str, lane: Lane) -> JobId {
        self.enqueue(NewJob::raw(kind, r#"{"a":1}"#, lane).org("acme"))
    }

    fn claim(&self, kinds: &[&str], idle: usize) -> Vec<Claimed> {
        let handled =
            |name: &&str| Handled { kind: self.store.kind(name).expect("a kind"), short: false };
        let ask = Ask {
            process: self.process,
            kinds: kinds.iter().map(handled).collect(),
            idle,
            ahead: 0,
            lease_ms: 60_000,
            suspect_wait_ms: 30_000,
        };
        let round = Round { claim: Some(ask), ..Round::default() };
        self.store.round(round).expect("a pass").claimed
    }

    fn end(&self, held: Held, end: End) -> Ended {
        let finish = vec![Finish { held, end, outbox: Vec::new() }];
        let round = Round { finish, ..Round::default() };
        self.store.round(round).expect("a pass").finished.pop().expect("an answer")
    }

    /// Claims the one job that can be claimed, and ends it.
    fn run(&self, kind: &str, end: End) -> (Claimed, Ended) {
        let claimed = self.claim(&[kind], 1).pop().expect("a job to claim");
        let ended = self.end(claimed.held, end);
        (claimed, ended)
    }

    fn sql(&self, sql: &'static str) {
        self.store.writer.write(move |tx| Ok(tx.conn.execute_batch(sql)?)).expect("rows");
    }

    fn listed(&self, filter: Filter) -> Vec<JobView> {
        self.store.jobs(&filter).expect("a page").rows
    }

    fn sentence(&self, job: JobId) -> String {
        self.store.explain(job).expect("an explanation").sentence
    }
}

fn done() -> End {
    End::Done { result: None }
}

fn retry(error: &str, wait_ms: i64) -> End {
    End::Retry { error: error.to_owned(), wait_ms }
}

fn ids(rows: &[JobView]) -> Vec<JobId> {
    rows.iter().map(|row| row.id).collect()
}
