//! A file, a clock moved by hand, and a process that claims and ends jobs: what every test of the
//! ledger stands on.

use std::sync::Arc;

use rusqlite::Connection;
use rusqlite::types::FromSql;

use crate::env::{Env, ManualClock};
use crate::model::id::{Held, JobId, KindNo, ProcessNo, SendKey};
use crate::model::send::ability::Abilities;
use crate::model::send::class::Refusal;
use crate::model::send::{Evidence, Slot, Witness};
use crate::model::verdict::End;
use crate::store::jobs::{Ask, Claimed, Ended, Finish, Handled, Jobs, Lost, Reap, Requeued, Round};
use crate::store::ledger::{
    Accepted, Begun, Consent, Fact, Intent, Ledger, LookedAnswer, LookedAt, NotSent, Rejected,
    Rejection,
};
use crate::store::people::Finding;
use crate::store::processes::Processes;
use crate::store::sqlite::{Durability, Opening, SqliteStore};
use crate::{Lane, NewJob};

pub(crate) const LEASE: i64 = 60_000;
pub(crate) const TIMEOUT: i64 = 10_000;
pub(crate) const PATIENCE: i64 = 900_000;
pub(crate) const SETTLE: i64 = 5_000;
pub(crate) const MEMORY: i64 = 86_400_000;

/// Neither lookup nor dedupe.
pub(crate) const NEITHER: Abilities = Abilities {
    timeout_ms: TIMEOUT,
    patience_ms: PATIENCE,
    lookup_settle_ms: None,
    dedupe_ms: None,
};
pub(crate) const LOOKUP: Abilities = Abilities { lookup_settle_ms: Some(SETTLE), ..NEITHER };
pub(crate) const DEDUPE: Abilities = Abilities { dedupe_ms: Some(MEMORY), ..NEITHER };
pub(crate) const BOTH: Abilities = Abilities { dedupe_ms: Some(MEMORY), ..LOOKUP };

/// A file and the process that works on it.
pub(crate) struct World {
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) env: Env,
    pub(crate) store: Arc<SqliteStore>,
    pub(crate) raw: Connection,
    pub(crate) process: ProcessNo,
    pub(crate) path: std::path::PathBuf,
    kind: KindNo,
    _dir: tempfile::TempDir,
}

impl World {
    pub(crate) fn new() -> World {
        World::seeded(7)
    }

    pub(crate) fn seeded(seed: u64) -> World {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("crm.db");
        let clock = Arc::new(ManualClock::at(1_700_000_000_000));
        let env = Env::new(clock.clone(), seed);
        let how = Opening { durability: Durability::Relaxed, ..Opening::default() };
        let store = SqliteStore::open(&path, env.clone(), &how);
        let store = Arc::new(store.expect("a new file"));
        let process = store.register().expect("registered");
        let kind = store.kind("turn").expect("a kind");
        let raw = Connection::open(&path).expect("a second connection");
        raw.execute_batch("PRAGMA foreign_keys = 1; PRAGMA busy_timeout = 5000").expect("pragmas");
        World { clock, env, store, raw, process, path, kind, _dir: dir }
    }

    // Time.

    pub(crate) fn now(&self) -> i64 {
        self.env.now_ms()
    }

    pub(crate) fn advance(&self, ms: i64) {
        self.clock.advance(ms);
    }

    // Jobs.

    pub(crate) fn enqueue(&self, job: NewJob) -> JobId {
        self.store.enqueue(vec![job.org("acme")]).expect("enqueued")[0].id()
    }

    /// A job in the lane of a contact.
    pub(crate) fn job(&self, contact: &str) -> JobId {
        self.enqueue(NewJob::raw("turn", "{}", Lane::of(contact)))
    }

    pub(crate) fn claim_many(&self, process: ProcessNo, n: usize) -> Vec<Claimed> {
        let ask = Ask {
            process,
            kinds: vec![Handled { kind: self.kind, short: false }],
            idle: n,
            ahead: 0,
            lease_ms: LEASE,
            suspect_wait_ms: 0,
        };
        let round = Round { claim: Some(ask), ..Round::default() };
        self.store.round(round).expect("a claim").claimed
    }

    /// The one job that can be claimed now.
    pub(crate) fn claim(&self) -> Held {
        self.try_claim().expect("a job to claim")
    }

    /// A new job of a contact, claimed.
    pub(crate) fn claim_of(&self, contact: &str) -> Held {
        self.job(contact);
        self.claim()
    }

    pub(crate) fn try_claim(&self) -> Option<Held> {
        self.claim_many(self.process, 1).pop().map(|claimed| claimed.held)
    }

    pub(crate) fn end(&self, held: Held, end: End) -> Ended {
        let finish = vec![Finish { held, end, outbox: Vec::new() }];
        self.store.round(Round { finish, ..Round::default() }).expect("an end").finished.remove(0)
    }

    pub(crate) fn done(&self, held: Held) -> Ended {
        self.end(held, End::Done { result: None })
    }

    pub(crate) fn retry(&self, held: Held) -> Ended {
        self.end(held, End::Retry { error: "it failed".to_owned(), wait_ms: 0 })
    }

    /// Takes back every lease whose time is over.
    pub(crate) fn reap(&self) -> Vec<Lost> {
        let round = Round { reap: Some(Reap::Expired), ..Round::default() };
        self.store.round(round).expect("a reaper's pass").reaped
    }

    /// The process dies with everything that it runs, and another takes over at once.
    pub(crate) fn crash(&mut self) -> Vec<Lost> {
        self.store.leave(self.process).expect("gone");
        self.process = self.store.register().expect("its successor");
        let round = Round { reap: Some(Reap::Gone), ..Round::default() };
        self.store.round(round).expect("a reaper's pass").reaped
    }

    // Sends.

    pub(crate) fn intent(&self, held: Held, seq: u32, abilities: Abilities) -> Intent {
        Intent {
            held,
            slot: Slot::Seq(seq),
            channel: "whatsapp".to_owned(),
            abilities,
            recipient: "+4915112345678".to_owned(),
            body: "hello".to_owned(),
        }
    }

    pub(crate) fn begin(&self, held: Held, seq: u32, abilities: Abilities) -> Begun {
        self.store.begin(self.intent(held, seq, abilities)).expect("an answer")
    }

    /// Intends the first send of a run; its key.
    pub(crate) fn go(&self, held: Held, abilities: Abilities) -> SendKey {
        match self.begin(held, 1, abilities) {
            Begun::Go { key, .. } => key,
            other => panic!("expected Go, got {other:?}"),
        }
    }

    pub(crate) fn accept(&self, key: SendKey, receipt: Option<&str>, witness: Witness) -> Accepted {
        let fact = Fact { key, channel: None, receipt: receipt.map(str::to_owned), witness };
        self.store.accept(fact).expect("recorded")
    }

    pub(crate) fn answered(&self, key: SendKey, receipt: &str) -> Accepted {
        self.accept(key, Some(receipt), Witness::Call)
    }

    pub(crate) fn echo(&self, key: SendKey, receipt: &str) -> Accepted {
        self.accept(key, Some(receipt), Witness::Evidence(Evidence::Echo))
    }

    pub(crate) fn refused(&self, held: Held, key: SendKey) -> Rejected {
        self.reject(held, key, NotSent::Refused(Refusal::Transient))
    }

    pub(crate) fn reject(&self, held: Held, key: SendKey, why: NotSent) -> Rejected {
        let reason = "the provider said no".to_owned();
        let rejection = Rejection { key, held, why, reason, pause_ms: None };
        self.store.reject(rejection).expect("recorded")
    }

    pub(crate) fn consent(&self, given: bool) {
        let consent = Consent {
            org: "acme".to_owned(),
            recipient: "+4915112345678".to_owned(),
            channel: "whatsapp".to_owned(),
            given,
            evidence: "message wamid.7".to_owned(),
        };
        self.store.set_consent(consent).expect("recorded");
    }

    /// Looks at every due try; what the provider answered to all of them.
    pub(crate) fn look(&self, not_found: bool) -> Vec<LookedAnswer> {
        let looks = self.store.due_looks(None, 100).expect("a page");
        let look = |look: &crate::store::ledger::Look| LookedAt {
            place: look.place,
            calls: look.calls,
            unknown_at: look.unknown_at,
            asked_at: looks.asked_at,
            asked_mono: looks.asked_mono,
            not_found,
        };
        looks.due.iter().map(|one| self.store.looked(look(one)).expect("a step")).collect()
    }

    /// A job that died with its call, whose send a person was told of, and that was started again.
    pub(crate) fn dead_over_an_unknown(&self) -> (JobId, SendKey) {
        let job = self.enqueue(NewJob::raw("turn", "{}", Lane::of("ann")).max_attempts(1));
        let key = self.go(self.claim(), NEITHER);
        self.advance(LEASE + 1);
        assert_eq!(self.reap()[0].ended, Ended::Dead);
        let again = self.store.requeue(job, "ann").expect("an answer");
        assert_eq!(again, Requeued::Again { sent: false });
        (job, key)
    }

    // What the file says.

    pub(crate) fn ask<T: FromSql>(&self, sql: &str) -> T {
        self.raw.query_row(sql, [], |row| row.get(0)).unwrap_or_else(|e| panic!("{sql}: {e}"))
    }

    pub(crate) fn state_of(&self, key: SendKey) -> String {
        let sql = "SELECT iif(state = 'abandoned', state || '(' || how || ')', state) FROM lanebox_send_try WHERE key = ?1";
        self.raw.query_row(sql, [key], |row| row.get(0)).expect("a try of this key")
    }

    /// Where a job is: `running`, `waiting`, `unknown`, `parked`, `ready`, `done`, `dead`, or why
    /// it was cancelled.
    pub(crate) fn place_of(&self, job: JobId) -> String {
        let sql = "SELECT coalesce(reason, phase, CASE state WHEN 'pending' THEN 'ready' ELSE state END) FROM lanebox_job_state WHERE uuid = ?1";
        self.raw.query_row(sql, [job], |row| row.get(0)).expect("a job of this id")
    }

    /// The kinds of the open notices, in order, each with its count.
    pub(crate) fn notices(&self) -> Vec<String> {
        let sql = "SELECT kind || ' ' || count FROM lanebox_notice WHERE state <> 'resolved' ORDER BY kind";
        let mut statement = self.raw.prepare(sql).expect("a statement");
        let rows = statement.query_map([], |row| row.get(0)).expect("rows");
        rows.collect::<Result<_, _>>().expect("texts")
    }

    /// What the file's own audits find.
    pub(crate) fn findings(&self) -> Vec<Finding> {
        self.store.audit()
    }

    /// The file's own audits find nothing.
    pub(crate) fn sound(&self) {
        let findings = self.findings();
        assert!(findings.is_empty(), "{findings:#?}");
    }
}
