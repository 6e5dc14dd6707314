//! Group commit: whoever finds the writer free leads, runs what waits in one transaction, commits once, and hands each
//! its own result; the others ride along. Host code runs on its caller's own thread only, as leader, first.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use rusqlite::Connection;

use super::tx::{Secret, Tx};
use crate::env::Env;
use crate::error::{Error, Result};

/// Most operations of one commit: bounds how long the last of them waits.
const MOST: usize = 256;

/// Work of our own: any thread may run it.
type Operation = Box<dyn FnOnce(&Tx<'_>) -> Result<()> + Send>;

/// Work of the host's: only its caller's thread runs it.
type Host<'h> = &'h mut dyn FnMut(&Tx<'_>) -> Result<()>;

/// A place in the queue: what is to be run, and what became of it.
struct Seat {
    state: Mutex<State>,
    turn: Condvar,
}

enum State {
    Waiting(Option<Operation>),
    /// It is this seat's turn to lead.
    Leads(Option<Operation>),
    /// Its commit holds; its own result stands.
    Settled,
    /// Nothing of it was stored.
    NotStored(Error),
}

#[derive(Default)]
struct Queue {
    waiting: std::collections::VecDeque<Arc<Seat>>,
    led: bool,
}

/// The one write connection of a handle, and the queue before it.
pub(super) struct Writer {
    queue: Mutex<Queue>,
    conn: Mutex<Connection>,
    closed: Mutex<Option<String>>,
    env: Env,
    secret: Secret,
    busy_ms: u64,
    commits: std::sync::atomic::AtomicU64,
    version: std::sync::atomic::AtomicI64,
}

impl Writer {
    pub(super) fn new(conn: Connection, env: Env, secret: Secret, busy_ms: u64) -> Writer {
        Writer {
            queue: Mutex::default(),
            conn: Mutex::new(conn),
            closed: Mutex::new(None),
            env,
            secret,
            busy_ms,
            commits: 0.into(),
            version: 0.into(),
        }
    }

    /// Transactions committed by this writer so far: the mean batch size is operations by this.
    pub(super) fn commits(&self) -> u64 {
        self.commits.load(std::sync::atomic::Ordering::Relaxed)
    }

    /// Whether another connection has committed since the last call. A busy writer answers no: it is asked again soon.
    pub(super) fn changed_elsewhere(&self) -> Result<bool> {
        let Some(conn) = self.conn.try_lock() else { return Ok(false) };
        let now: i64 =
            conn.prepare_cached("PRAGMA data_version")?.query_row([], |row| row.get(0))?;
        let before = self.version.swap(now, std::sync::atomic::Ordering::Relaxed);
        Ok(before != now)
    }

    /// Runs one operation of our own in some commit, perhaps together with others, on whichever thread leads.
    pub(super) fn write<T: Send + 'static>(
        &self,
        operation: impl FnOnce(&Tx<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let answer = Arc::new(Mutex::new(None));
        let hers = answer.clone();
        let operation: Operation = Box::new(move |tx| {
            *hers.lock() = Some(operation(tx)?);
            Ok(())
        });
        let seat = self.take_seat(Some(operation));
        if let Some(operation) = seat.wait_for_turn()? {
            self.lead(Some(operation), None)?;
        }
        let settled = answer.lock().take();
        Ok(settled.expect("a settled operation left its answer"))
    }

    /// Runs `host` on this thread, first in a transaction of its own turn; what waits rides along after it.
    pub(super) fn host<T>(&self, host: impl FnOnce(&Tx<'_>) -> Result<T>) -> Result<T> {
        let seat = self.take_seat(None);
        seat.wait_for_turn()?;
        let mut answer = None;
        let mut body = Some(host);
        let mut first = |tx: &Tx<'_>| -> Result<()> {
            let host = body.take().expect("run once");
            answer = Some(host(tx)?);
            Ok(())
        };
        self.lead(None, Some(&mut first))?;
        Ok(answer.expect("a settled host closure left its answer"))
    }

    fn take_seat(&self, operation: Option<Operation>) -> Arc<Seat> {
        let mut queue = self.queue.lock();
        let leads = !queue.led;
        queue.led = true;
        let state = if leads { State::Leads(operation) } else { State::Waiting(operation) };
        let seat = Arc::new(Seat { state: Mutex::new(state), turn: Condvar::new() });
        if !leads {
            queue.waiting.push_back(seat.clone());
        }
        seat
    }

    // Everything that can ride along with this leader: host code waits for its own turn.
    fn riders(&self, room: usize) -> Vec<(Arc<Seat>, Operation)> {
        let mut queue = self.queue.lock();
        let mut riders = Vec::new();
        queue.waiting.retain(|seat| {
            if riders.len() >= room {
                return true;
            }
            match &mut *seat.state.lock() {
                State::Waiting(operation) => match operation.take() {
                    Some(operation) => {
                        riders.push((seat.clone(), operation));
                        false
                    }
                    None => true,
                },
                _ => true,
            }
        });
        riders
    }

    fn lead(&self, own: Option<Operation>, host: Option<Host<'_>>) -> Result<()> {
        let turn = Turn { writer: self, conn: self.conn.lock() };
        if let Some(cause) = self.closed.lock().clone() {
            return Err(Error::Closed { cause });
        }
        self.begin(&turn.conn)?;
        let tx = Tx::new(&turn.conn, &self.env, &self.secret);
        if let Some(host) = host {
            // Whoever waits has not been run yet: a failure of the host's is the host's alone.
            run_host(&tx, host)?;
        }
        if let Some(operation) = own {
            // First in the transaction: the transaction itself is its savepoint.
            catch(|| operation(&tx))?;
        }
        let members = self
            .riders(MOST)
            .into_iter()
            .map(|(seat, operation)| (seat, run_member(&tx, operation)))
            .collect();
        drop(tx);
        self.settle(&turn.conn, members)
    }

    // The next leader is woken before this one returns to its caller.
    fn pass_on(&self) {
        let mut queue = self.queue.lock();
        match queue.waiting.pop_front() {
            Some(next) => {
                let mut state = next.state.lock();
                if let State::Waiting(operation) = &mut *state {
                    let operation = operation.take();
                    *state = State::Leads(operation);
                }
                next.turn.notify_one();
            }
            None => queue.led = false,
        }
    }

    // One commit for all: who failed alone hears its own error, who rode along hears the commit's.
    fn settle(&self, conn: &Connection, members: Vec<(Arc<Seat>, Result<()>)>) -> Result<()> {
        let committed = self.commit(conn);
        for (seat, answer) in members {
            let state = match (&committed, answer) {
                (_, Err(error)) => State::NotStored(error),
                (Ok(()), Ok(())) => State::Settled,
                (Err(error), Ok(())) => State::NotStored(error.again()),
            };
            seat.settle(state);
        }
        committed
    }

    fn commit(&self, conn: &Connection) -> Result<()> {
        if conn.is_autocommit() {
            return Err(Error::RolledBack);
        }
        match conn.prepare_cached("COMMIT").and_then(|mut commit| commit.execute([])) {
            Ok(_) => {
                self.commits.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                Ok(())
            }
            Err(error) => {
                let error = Error::CommitUnknown(error);
                if error.spoils_the_handle() {
                    *self.closed.lock() = Some(error.to_string());
                }
                Err(error)
            }
        }
    }

    // The only place that can wait for another program: our own short, uneven sleeps share the lock more fairly than
    // SQLite's growing ones, and the deadline is ours.
    #[expect(clippy::disallowed_methods, reason = "waits for another program's lock")]
    fn begin(&self, conn: &Connection) -> Result<()> {
        let from = self.env.mono_ms();
        loop {
            let begun = conn.prepare_cached("BEGIN IMMEDIATE").and_then(|mut s| s.execute([]));
            let error = match begun {
                Ok(_) => return Ok(()),
                Err(error) => error,
            };
            let waited_ms = self.env.mono_ms().saturating_sub(from).unsigned_abs();
            match error.sqlite_error_code() {
                Some(rusqlite::ErrorCode::DatabaseBusy) if waited_ms < self.busy_ms => {
                    let wait_us = 500.0 + 1_000.0 * self.env.unit();
                    std::thread::sleep(Duration::from_secs_f64(wait_us / 1e6));
                }
                Some(rusqlite::ErrorCode::DatabaseBusy) => return Err(Error::Busy { waited_ms }),
                _ => return Err(error.into()),
            }
        }
    }
}

impl Seat {
    /// Waits until this seat leads (its operation comes back to be run) or was settled by another leader (`None`).
    fn wait_for_turn(&self) -> Result<Option<Operation>> {
        let mut state = self.state.lock();
        loop {
            match &mut *state {
                State::Waiting(_) => self.turn.wait(&mut state),
                State::Leads(operation) => return Ok(operation.take()),
                State::Settled => return Ok(None),
                State::NotStored(_) => {
                    let State::NotStored(error) = std::mem::replace(&mut *state, State::Settled)
                    else {
                        unreachable!("matched above")
                    };
                    return Err(error);
                }
            }
        }
    }

    fn settle(&self, settled: State) {
        *self.state.lock() = settled;
        self.turn.notify_one();
    }
}

/// One leader's turn: however it ends, an open transaction is rolled back and the next leader is woken.
struct Turn<'w> {
    writer: &'w Writer,
    conn: parking_lot::MutexGuard<'w, Connection>,
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        roll_back(&self.conn);
        self.writer.pass_on();
    }
}

// A member that fails half-way is taken back alone. One that panics is a defect of ours: the others still ride.
fn run_member(tx: &Tx<'_>, operation: Operation) -> Result<()> {
    if tx.conn.is_autocommit() {
        return Err(Error::RolledBack);
    }
    tx.savepoint(|| catch(|| operation(tx)))
}

fn catch(body: impl FnOnce() -> Result<()>) -> Result<()> {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(body))
        .unwrap_or_else(|panic| Err(Error::Defect { what: panic_text(&*panic) }))
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default()
}

// The host's closure may have ended the transaction itself: then nothing of ours may follow it.
fn run_host(tx: &Tx<'_>, host: Host<'_>) -> Result<()> {
    let answer = host(tx);
    if tx.conn.is_autocommit() { Err(Error::TransactionEnded) } else { answer }
}

fn roll_back(conn: &Connection) {
    if !conn.is_autocommit()
        && let Err(error) = conn.execute_batch("ROLLBACK")
    {
        tracing::warn!(%error, "rollback reported an error; SQLite has ended the transaction");
    }
}
