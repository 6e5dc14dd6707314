//! A file of its own for each test, and eyes on it that need no verb of Lanebox.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use lanebox::{
    Backoff, BoxError, Builder, JobId, Lane, Lanebox, NewJob, Outcome, Policy, Reactions,
};
use rusqlite::{Connection, Params};
use tempfile::TempDir;

/// What a handler of these tests answers.
pub type Answer = Result<Outcome, BoxError>;

/// A handler of `turn` that waits at a gate.
pub fn held_turns(gate: &Gate) -> Reactions {
    let held = gate.clone();
    Reactions::new().on_kind("turn", quick(), move |_ctx| -> Answer {
        held.wait();
        Ok(Outcome::Done)
    })
}

/// Longer than any test takes.
pub const LONG: Duration = Duration::from_secs(600);

/// One file in a directory of its own.
pub struct Scene {
    dir: TempDir,
}

/// A job as the file shows it.
#[derive(Debug, PartialEq, Eq)]
pub struct Seen {
    pub state: String,
    pub reason: Option<String>,
    pub attempts: u32,
    pub lost: u32,
    pub error: Option<String>,
}

impl Scene {
    pub fn new() -> Scene {
        Scene { dir: tempfile::tempdir().expect("a directory") }
    }

    pub fn path(&self) -> PathBuf {
        self.dir.path().join("crm.db")
    }

    pub fn builder(&self) -> Builder {
        Lanebox::builder(self.path()).workers(4)
    }

    pub fn open(&self) -> Lanebox {
        self.builder().open().expect("the file opens")
    }

    /// Leases so short that a test can wait for their end.
    pub fn hasty(&self, lease: Duration) -> Lanebox {
        hasty(self.builder(), lease)
    }

    /// The file without Lanebox: a stranger's connection.
    pub fn sql(&self) -> Connection {
        let conn = Connection::open(self.path()).expect("the file opens");
        conn.busy_timeout(Duration::from_secs(30)).expect("a timeout");
        conn
    }

    pub fn number(&self, sql: &str, params: impl Params) -> i64 {
        self.sql().query_row(sql, params, |row| row.get(0)).expect("a number")
    }

    /// Makes the host's own table.
    pub fn host_table(&self) {
        let table =
            "CREATE TABLE host (n INTEGER PRIMARY KEY, what TEXT NOT NULL, lane TEXT, job TEXT)";
        self.sql().execute_batch(table).expect("a table");
    }

    /// What the host's own table says, in order.
    pub fn host_rows(&self) -> Vec<String> {
        let conn = self.sql();
        let mut rows = conn.prepare("SELECT what FROM host ORDER BY n").expect("the table");
        let rows = rows.query_map([], |row| row.get(0)).expect("rows");
        rows.collect::<Result<_, _>>().expect("texts")
    }

    pub fn see(&self, job: JobId) -> Seen {
        let sql =
            "SELECT state, reason, attempts, lost, error FROM lanebox_job_state WHERE uuid = ?1";
        let seen = self.sql().query_row(sql, [job.0.as_bytes()], |row| {
            let (state, reason, attempts) = (row.get(0)?, row.get(1)?, row.get(2)?);
            Ok(Seen { state, reason, attempts, lost: row.get(3)?, error: row.get(4)? })
        });
        seen.expect("the job")
    }

    pub fn state(&self, job: JobId) -> String {
        self.see(job).state
    }

    pub fn finished(&self) -> i64 {
        self.number("SELECT count(*) FROM lanebox_finished", [])
    }

    pub fn running(&self) -> i64 {
        self.number("SELECT count(*) FROM lanebox_running", [])
    }

    /// As if the lease of the first process were over, however often it is renewed meanwhile.
    pub fn lease_is_over(&self) {
        let mine = "SELECT count(*) FROM lanebox_running WHERE process = 1 AND lease_until > 0";
        // Not written more often than that: it would keep everybody else from writing.
        if self.number(mine, []) > 0 {
            let over = "UPDATE lanebox_running SET lease_until = 0 WHERE process = 1";
            self.sql().execute(over, []).expect("a lease");
        }
    }

    /// Whether nobody is in the middle of a write, or ends it soon.
    pub fn is_writable(&self) -> bool {
        let conn = Connection::open(self.path()).expect("the file opens");
        conn.busy_timeout(Duration::from_millis(100)).expect("a timeout");
        conn.execute_batch("BEGIN IMMEDIATE; ROLLBACK").is_ok()
    }

    pub fn until_ended(&self, jobs: i64) {
        until("all jobs have ended", || self.finished() >= jobs);
    }

    pub fn until_state(&self, job: JobId, state: &str) {
        until(&format!("the job is {state}"), || self.state(job) == state);
    }
}

pub fn hasty(builder: Builder, lease: Duration) -> Lanebox {
    let busy = Duration::from_millis(50).min(lease / 10);
    builder.lease(lease).busy_deadline(busy).open().expect("the file opens")
}

/// A number that the file answers, while others write to it.
pub fn count(path: &Path, sql: &str) -> i64 {
    let conn = Connection::open(path).expect("the file opens");
    conn.busy_timeout(Duration::from_secs(30)).expect("a timeout");
    conn.query_row(sql, [], |row| row.get(0)).expect("a number")
}

/// Until every job of a file has ended.
pub fn until_all_ended(path: &Path) {
    let left = "SELECT count(*) FROM lanebox_job_state WHERE state IN ('pending', 'running')";
    until("nothing is left", || count(path, left) == 0);
}

/// How many threads this process has.
pub fn threads_now() -> usize {
    std::fs::read_dir("/proc/self/task").expect("Linux").count()
}

/// Waits for a condition; a test that waits for a minute has failed.
pub fn until(what: &str, mut holds: impl FnMut() -> bool) {
    for _ in 0..30_000 {
        if holds() {
            return;
        }
        rest();
    }
    panic!("waited a minute in vain until {what}");
}

/// Between two looks.
pub fn rest() {
    std::thread::park_timeout(Duration::from_millis(2));
}

/// A policy that retries at once.
pub fn quick() -> Policy {
    Policy::default()
        .backoff(Backoff::exponential(Duration::from_millis(1), Duration::from_millis(1)))
}

/// A job without arguments.
pub fn job(kind: &str) -> NewJob {
    NewJob::raw(kind, "{}", Lane::NONE).org("acme")
}

pub fn job_in(kind: &str, lane: &str) -> NewJob {
    NewJob::raw(kind, "{}", Lane::of(lane)).org("acme")
}

pub fn enqueue(lanebox: &Lanebox, job: NewJob) -> JobId {
    lanebox.enqueue(job).expect("accepted").id()
}

/// Holds back whoever waits at it, until it is opened.
#[derive(Clone, Default)]
pub struct Gate(Arc<(Mutex<bool>, Condvar, AtomicBool)>);

impl Gate {
    pub fn open(&self) {
        *self.0.0.lock().expect("no panic") = true;
        self.0.1.notify_all();
    }

    pub fn wait(&self) {
        self.0.2.store(true, Ordering::SeqCst);
        let open = self.0.0.lock().expect("no panic");
        let waited = self.0.1.wait_timeout_while(open, LONG, |open| !*open);
        drop(waited.expect("no panic"));
    }

    /// Whether somebody has come to it.
    pub fn reached(&self) -> bool {
        self.0.2.load(Ordering::SeqCst)
    }

    pub fn until_reached(&self) {
        until("the handler has begun", || self.reached());
    }
}

/// Opens a gate at the end of a test, however it ends: nobody is left waiting.
pub struct Opens(pub Gate);

impl Drop for Opens {
    fn drop(&mut self) {
        self.0.open();
    }
}
