//! A file of its own for a test, its clock in hand, and short words for what tests do and look at.

use std::sync::Arc;

use rusqlite::Connection;
use tempfile::TempDir;

use crate::env::{Clock, Env, ManualClock};
use crate::model::id::{Held, JobId, JobNo, LaneNo, ProcessNo, SendNo};
use crate::model::job::NewJob;
use crate::model::lane::Lane;
use crate::model::verdict::End;
use crate::store::jobs::{
    Ask, Cancelled, Claimed, Ended, Finish, Handled, Jobs, Lost, Reap, Requeued, Round,
};
use crate::store::processes::Processes;
use crate::store::sqlite::door::Step;
use crate::store::sqlite::{Opening, SqliteStore};
use crate::{Durability, Enqueued};

/// Monday, 2026-01-05, 08:00 UTC.
pub(super) const MORNING: i64 = 1_767_600_000_000;
pub(super) const LEASE_MS: i64 = 60_000;
pub(super) const SUSPECT_WAIT_MS: i64 = 30_000;

/// A job is never in two places: these triggers say so between any two statements.
pub(super) const GUARDS: &str = include_str!("../../../schema/sqlite/guards.sql");

pub(super) struct World {
    pub(super) store: SqliteStore,
    pub(super) clock: Arc<ManualClock>,
    pub(super) me: ProcessNo,
    dir: TempDir,
    boots: u64,
}

impl World {
    pub(super) fn new() -> World {
        let world = World::unguarded();
        world.store.on_writer(guard);
        world
    }

    /// Without the guards, which walk tables: for files that hold much.
    pub(super) fn unguarded() -> World {
        World::with(Durability::Relaxed, MORNING)
    }

    /// A file of this durability, made at this time.
    pub(super) fn with(durability: Durability, now: i64) -> World {
        let clock = Arc::new(ManualClock::at(now));
        let dir = tempfile::tempdir().expect("a directory");
        let store = opened_at(&dir, clock.clone(), 1, durability);
        let me = store.register().expect("registers");
        World { store, clock, me, dir, boots: 1 }
    }

    /// Another handle on the same file, as another process has it.
    pub(super) fn beside(&self) -> SqliteStore {
        let store = opened(&self.dir, self.clock.clone(), 2);
        store.on_writer(guard);
        store
    }

    /// The same without the guards.
    pub(super) fn beside_unguarded(&self) -> SqliteStore {
        opened(&self.dir, self.clock.clone(), 3)
    }

    /// The machine was started anew: everybody is gone.
    pub(super) fn rebooted(self) -> World {
        let World { store, clock, dir, boots, .. } = self;
        drop(store);
        let boots = boots + 1;
        let boot = format!("boot-{boots}");
        let clock = Arc::new(ManualClock::rebooted(clock.now_ms(), &boot));
        let store = opened(&dir, clock.clone(), 10 * boots);
        let me = store.register().expect("registers");
        World { store, clock, me, dir, boots }
    }

    pub(super) fn now(&self) -> i64 {
        self.clock.now_ms()
    }

    pub(super) fn enqueue(&self, job: NewJob) -> JobNo {
        self.number(self.accept(job).id())
    }

    pub(super) fn accept(&self, job: NewJob) -> Enqueued {
        self.store.enqueue(vec![job]).expect("accepted").remove(0)
    }

    pub(super) fn number(&self, id: JobId) -> JobNo {
        let row = "SELECT id FROM lanebox_job WHERE uuid = ?1";
        self.store.look(|conn| conn.query_row(row, [id], |row| row.get(0)).expect("known"))
    }

    pub(super) fn id(&self, job: JobNo) -> JobId {
        let row = "SELECT uuid FROM lanebox_job WHERE id = ?1";
        self.store.look(|conn| conn.query_row(row, [job], |row| row.get(0)).expect("known"))
    }

    /// An ask for up to `idle` jobs of every kind that the file knows.
    pub(super) fn ask(&self, idle: usize) -> Ask {
        let kinds: Vec<i64> = self.all("SELECT id FROM lanebox_kind ORDER BY id");
        let handled = |kind| Handled { kind: crate::model::id::KindNo(kind), short: true };
        Ask {
            process: self.me,
            kinds: kinds.into_iter().map(handled).collect(),
            idle,
            ahead: 0,
            lease_ms: LEASE_MS,
            suspect_wait_ms: SUSPECT_WAIT_MS,
        }
    }

    pub(super) fn claim(&self, most: usize) -> Vec<Claimed> {
        self.claim_as(self.ask(most))
    }

    pub(super) fn claim_as(&self, ask: Ask) -> Vec<Claimed> {
        let round = Round { claim: Some(ask), ..Round::default() };
        self.store.round(round).expect("a pass").claimed
    }

    /// Takes the one job that can be taken.
    pub(super) fn take(&self) -> Held {
        let mut taken = self.claim(1);
        assert_eq!(taken.len(), 1, "something is ready");
        taken.remove(0).held
    }

    /// What runs now, as its workers hold it.
    pub(super) fn held(&self) -> Vec<Held> {
        let sql = "SELECT id, token, process, org, lane, started_at, series, attempts, lost FROM lanebox_running ORDER BY id";
        self.store.look(|conn| {
            let mut statement = conn.prepare(sql).expect("a good query");
            let rows = statement.query_map([], |row| {
                Ok(Held {
                    job: row.get(0)?,
                    token: row.get(1)?,
                    process: row.get(2)?,
                    org: row.get(3)?,
                    lane: row.get(4)?,
                    started_at: row.get(5)?,
                    series: row.get(6)?,
                    attempts: row.get(7)?,
                    lost: row.get(8)?,
                })
            });
            rows.expect("it runs").collect::<rusqlite::Result<_>>().expect("running rows")
        })
    }

    /// The numbers of the jobs that are taken, in the order in which they are.
    pub(super) fn taken(&self, most: usize) -> Vec<JobNo> {
        self.claim(most).iter().map(|claimed| claimed.held.job).collect()
    }

    pub(super) fn end(&self, held: Held, end: End) -> Ended {
        let finish = vec![Finish { held, end, outbox: Vec::new() }];
        let round = Round { finish, ..Round::default() };
        self.store.round(round).expect("a pass").finished.remove(0)
    }

    pub(super) fn done(&self, held: Held) -> Ended {
        self.end(held, End::Done { result: None })
    }

    pub(super) fn reap(&self) -> Vec<Lost> {
        let round = Round { reap: Some(Reap::Expired), ..Round::default() };
        self.store.round(round).expect("a pass").reaped
    }

    /// Its holder vanishes: the lease runs out and is taken back.
    pub(super) fn lose(&self) -> Vec<Lost> {
        self.clock.advance(LEASE_MS + 1);
        self.reap()
    }

    pub(super) fn sql(&self, sql: &str) {
        self.store.step(Step::Sql(sql.to_owned())).expect("raw statements run");
    }

    /// A person cancels it.
    pub(super) fn cancel(&self, job: JobNo) -> Cancelled {
        self.store.cancel(self.id(job), "ada").expect("a known job")
    }

    /// A person starts it again.
    pub(super) fn requeue(&self, job: JobNo) -> Requeued {
        self.store.requeue(self.id(job), "ada").expect("a known job")
    }

    /// The run begins a send by a channel with 15 minutes of patience.
    pub(super) fn intend(&self, held: Held) -> SendNo {
        let send = 1 + self.one::<i64>("SELECT count(*) FROM lanebox_send");
        let Held { job, token, org, .. } = held;
        self.sql(&format!(
            "INSERT INTO lanebox_channel(org, name, timeout_ms, patience_ms) VALUES ({org}, 'chat', 1000, 900000) ON CONFLICT DO NOTHING; \
             INSERT INTO lanebox_send(id, org, origin, seq) VALUES ({send}, {org}, 'j{job}', {send}); \
             INSERT INTO lanebox_send_try(send, n, key, channel, recipient_hmac, recipient_mask, hash, state, job, token, intended_at) \
             SELECT {send}, 1, randomblob(16), id, zeroblob(32), '+49 ...', zeroblob(32), 'intended', {job}, {token}, 0 FROM lanebox_channel WHERE org = {org}; \
             UPDATE lanebox_running SET sent = 1 WHERE id = {job};"
        ));
        SendNo(send)
    }

    pub(super) fn pause(&self, lane: LaneNo) {
        self.store.step(Step::PauseLane(lane)).expect("pauses");
    }

    pub(super) fn resume(&self, lane: LaneNo) {
        self.store.step(Step::ResumeLane(lane)).expect("resumes");
    }

    /// Every value of a query of one column.
    pub(super) fn all<T: rusqlite::types::FromSql>(&self, sql: &str) -> Vec<T> {
        self.store.look(|conn| {
            let mut statement = conn.prepare(sql).expect("a good query");
            let rows = statement.query_map([], |row| row.get(0)).expect("it runs");
            rows.collect::<rusqlite::Result<_>>().expect("values of that type")
        })
    }

    pub(super) fn one<T: rusqlite::types::FromSql>(&self, sql: &str) -> T {
        let mut all = self.all(sql);
        assert_eq!(all.len(), 1, "one row: {sql}");
        all.remove(0)
    }

    /// `pending`, `running`, `done`, `dead` or `cancelled`.
    pub(super) fn state(&self, job: JobNo) -> String {
        self.one(&format!("SELECT state FROM lanebox_job_state WHERE id = {job}"))
    }

    /// The audits find nothing.
    #[track_caller]
    pub(super) fn is_sound(&self) {
        assert_eq!(self.store.audit(), [], "the audits find nothing");
    }
}

fn opened(dir: &TempDir, clock: Arc<ManualClock>, seed: u64) -> SqliteStore {
    opened_at(dir, clock, seed, Durability::Relaxed)
}

fn opened_at(
    dir: &TempDir,
    clock: Arc<ManualClock>,
    seed: u64,
    durability: Durability,
) -> SqliteStore {
    let how = Opening { durability, ..Opening::default() };
    let path = dir.path().join("lanebox.db");
    SqliteStore::open(&path, Env::new(clock, seed), &how).expect("it opens")
}

pub(super) fn guard(conn: &Connection) {
    conn.execute_batch(GUARDS).expect("temporary triggers");
}

/// A job of kind `reply` of org `acme` in this lane.
pub(super) fn laned(lane: &str) -> NewJob {
    NewJob::raw("reply", "{}", Lane::of(lane)).org("acme")
}

/// A job of kind `reply` of org `acme` beside any lane.
pub(super) fn lane_less() -> NewJob {
    NewJob::raw("reply", "{}", Lane::NONE).org("acme")
}

/// The same job, due then.
pub(super) fn due(mut job: NewJob, at: i64) -> NewJob {
    job.run_at = Some(at);
    job
}

pub(super) fn retry(wait_ms: i64) -> End {
    End::Retry { error: "the network is down".to_owned(), wait_ms }
}

pub(super) fn postpone(until: i64) -> End {
    End::Postpone { until, why: "outside the window".to_owned(), keep_lane: None, counted: false }
}
