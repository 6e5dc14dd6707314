//! Group commit: whoever finds the writer free leads, runs what waits in one transaction, commits
//! once, and hands each its own result; the others ride along. Host code runs on its caller's own
//! thread only, as leader, first.

pub(super) mod faults;
mod manners;
mod seat;
#[cfg(test)]
mod tests;
mod turn;

use std::collections::VecDeque;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, OnceLock};

use rusqlite::Connection;

use super::connection::{Durability, Source};
use super::tx::{Secret, Tx};
use crate::env::Env;
use crate::error::{Doubt, Error, Result};
use crate::sync::{Mutex, ThreadId, this_thread};
use faults::Faults;
use seat::{Aboard, Seat};
use turn::{Held, Turn};

/// Most operations of one commit: bounds how long the last of them waits.
const MOST: usize = 256;

/// Work of our own: any thread may run it.
type Operation = Box<dyn FnOnce(&Tx<'_>) -> Result<()> + Send>;

/// Work of our own that answers something.
#[cfg(test)]
pub(super) type Answering<T> = Box<dyn FnOnce(&Tx<'_>) -> Result<T> + Send>;

/// What a leader runs first, as if it were alone.
enum First<'h> {
    Ours(Operation),
    /// Work of the host's: only its caller's thread runs it.
    Host(&'h mut dyn FnMut(&Tx<'_>) -> Result<()>),
}

#[derive(Default)]
struct Queue {
    waiting: VecDeque<Arc<Seat>>,
    /// Seats ever taken: the number of the last one.
    taken: u64,
    led: bool,
    /// Whose turn it is, once it has begun.
    by: Option<ThreadId>,
}

/// The one write connection of a handle, and the queue before it.
pub(super) struct Writer {
    queue: Mutex<Queue>,
    held: Mutex<Held>,
    source: Source,
    closed: OnceLock<String>,
    env: Env,
    secret: Secret,
    busy_ms: u64,
    commits: AtomicU64,
    pub(super) faults: Faults,
}

impl Writer {
    pub(super) fn new(
        conn: Connection,
        source: Source,
        env: Env,
        secret: Secret,
        busy_ms: u64,
    ) -> Result<Writer> {
        Ok(Writer {
            queue: Mutex::default(),
            held: Mutex::new(Held::new(conn)?),
            source,
            closed: OnceLock::new(),
            env,
            secret,
            busy_ms,
            commits: AtomicU64::new(0),
            faults: Faults::default(),
        })
    }

    /// The connection between two transactions.
    #[cfg(test)]
    pub(super) fn idle<T>(&self, body: impl FnOnce(&Connection) -> T) -> T {
        body(self.held.lock().connection())
    }

    /// Transactions committed by this writer so far: the mean batch size is operations by this.
    #[cfg(any(test, feature = "testing"))]
    pub(super) fn commits(&self) -> u64 {
        self.commits.load(std::sync::atomic::Ordering::Relaxed)
    }

    /// Refuses once a flush has failed.
    pub(super) fn check_open(&self) -> Result<()> {
        match self.closed.get() {
            Some(cause) => Err(Error::Closed { cause: cause.clone() }),
            None => Ok(()),
        }
    }

    /// Whether another connection has committed since the last call. A busy writer answers no: it
    /// is asked again soon.
    pub(super) fn changed_elsewhere(&self) -> Result<bool> {
        self.held.try_lock().map_or(Ok(false), |held| held.changed_elsewhere())
    }

    /// Runs one operation of our own in some commit, perhaps together with others, on whichever
    /// thread leads.
    pub(super) fn write<T: Send + 'static>(
        &self,
        operation: impl FnOnce(&Tx<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.write_at(false, operation)
    }

    /// The same in a commit that is flushed before it returns, whatever the file's durability.
    pub(super) fn write_full<T: Send + 'static>(
        &self,
        operation: impl FnOnce(&Tx<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.write_at(true, operation)
    }

    fn write_at<T: Send + 'static>(
        &self,
        full: bool,
        operation: impl FnOnce(&Tx<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (operation, answer) = answering(operation);
        self.ride(&*self.take_seat(Some(operation), full)?)?;
        Ok(answer.settled())
    }

    /// Runs `host` on this thread, first in a transaction of its own turn; what waits rides along
    /// after it.
    pub(super) fn host<T>(&self, host: impl FnOnce(&Tx<'_>) -> Result<T>) -> Result<T> {
        let seat = self.take_seat(None, false)?;
        seat.wait_for_turn()?;
        let mut answer = None;
        let mut body = Some(host);
        let mut first = |tx: &Tx<'_>| -> Result<()> {
            let host = body.take().expect("a leader runs its host closure once");
            answer = Some(host(tx)?);
            Ok(())
        };
        self.lead(First::Host(&mut first), false)?;
        Ok(answer.expect("a settled host closure left its answer"))
    }

    /// Operations that meet in the queue, as if as many threads had come at once: the first leads.
    /// One thread can thus drive every path of a group.
    #[cfg(test)]
    pub(super) fn group<T: Send + 'static>(&self, operations: Vec<Answering<T>>) -> Vec<Result<T>> {
        let (operations, answers): (Vec<_>, Vec<_>) = operations.into_iter().map(answering).unzip();
        let seats: Vec<_> =
            operations.into_iter().map(|one| self.take_seat(Some(one), false)).collect();
        let ridden: Vec<_> =
            seats.into_iter().map(|seat| seat.and_then(|seat| self.ride(&seat))).collect();
        ridden
            .into_iter()
            .zip(answers)
            .map(|(rode, answer)| rode.map(|()| answer.settled()))
            .collect()
    }

    fn ride(&self, seat: &Seat) -> Result<()> {
        match seat.wait_for_turn()? {
            Some(operation) => self.lead(First::Ours(operation), seat.full),
            None => Ok(()),
        }
    }

    fn take_seat(&self, operation: Option<Operation>, full: bool) -> Result<Arc<Seat>> {
        let mut queue = self.queue.lock();
        if queue.by == Some(this_thread()) {
            return Err(Error::Refused {
                what: "a write from inside a transaction of this thread".to_owned(),
                why: "it would wait for itself: use the transaction that the closure was given"
                    .to_owned(),
            });
        }
        let leads = !queue.led;
        queue.led = true;
        queue.taken += 1;
        let seat = Arc::new(Seat::new(queue.taken, operation, full, leads));
        if !leads {
            queue.waiting.push_back(seat.clone());
        }
        Ok(seat)
    }

    fn lead(&self, first: First<'_>, full: bool) -> Result<()> {
        // Dropped last: the next leader finds the connection free and no transaction open, however
        // this turn ends.
        let lead = Lead::new(self);
        let answer = Turn::new(self).run(first, full);
        if let Err(Error::Busy { waited_ms }) = &answer {
            lead.refuse_earlier(*waited_ms);
        }
        answer
    }

    // Everything that can ride along with this leader: host code waits for its own turn, and what
    // asks for a flush for a commit that has one.
    fn riders(&self, flushed: bool) -> Vec<(Aboard, Operation)> {
        let mut queue = self.queue.lock();
        let mut riders = Vec::new();
        queue.waiting.retain(|seat| {
            if riders.len() >= MOST || (seat.full && !flushed) {
                return true;
            }
            match seat.board() {
                Some(operation) => {
                    riders.push((Aboard::new(seat.clone()), operation));
                    false
                }
                None => true,
            }
        });
        riders
    }

    fn flush_wanted(&self) -> bool {
        self.queue.lock().waiting.iter().any(|seat| seat.full)
    }

    /// Something to be done while this process commits nothing.
    pub(super) fn between_turns<T>(&self, body: impl FnOnce() -> T) -> T {
        let _held = self.held.lock();
        body()
    }

    /// An error of another connection to the file says as much of it.
    pub(super) fn doubt(&self, error: &Error) {
        self.note(error, &self.held.lock());
    }

    /// Draws the consequences of an error before anybody hears of it.
    fn note(&self, error: &Error, held: &Held) {
        if error.is_disk_full() {
            self.source.disk.is_full(&self.env);
        }
        match error.doubt() {
            Some(Doubt::Handle) => {
                // The first cause stays.
                let _ = self.closed.set(error.to_string());
                tracing::error!(%error, "a flush failed: this handle is closed for good");
            }
            Some(Doubt::Connections) => {
                held.distrust();
                self.source.distrust();
                tracing::warn!(%error, "storage error: every connection is opened anew");
            }
            None => {}
        }
    }
}

/// The right to lead, handed to the next when it is dropped.
struct Lead<'w> {
    writer: &'w Writer,
    /// The last seat that was taken before this turn began.
    last: u64,
}

impl<'w> Lead<'w> {
    fn new(writer: &'w Writer) -> Lead<'w> {
        let mut queue = writer.queue.lock();
        queue.by = Some(this_thread());
        Lead { writer, last: queue.taken }
    }

    // The file stayed locked for a whole deadline: whoever was there when it began has waited as
    // long as its leader.
    fn refuse_earlier(&self, waited_ms: u64) {
        self.writer.queue.lock().waiting.retain(|seat| {
            let earlier = seat.number <= self.last;
            if earlier {
                seat.settle(Err(Error::Busy { waited_ms }));
            }
            !earlier
        });
    }
}

impl Drop for Lead<'_> {
    fn drop(&mut self) {
        let mut queue = self.writer.queue.lock();
        queue.by = None;
        match queue.waiting.pop_front() {
            Some(next) => next.call_to_lead(),
            None => queue.led = false,
        }
    }
}

/// Where an operation leaves what it answers, for whoever waits for its commit.
struct Answer<T>(Arc<Mutex<Option<T>>>);

impl<T> Answer<T> {
    fn settled(self) -> T {
        self.0.lock().take().expect("a settled operation left its answer")
    }
}

fn answering<T: Send + 'static>(
    operation: impl FnOnce(&Tx<'_>) -> Result<T> + Send + 'static,
) -> (Operation, Answer<T>) {
    let answer = Arc::new(Mutex::new(None));
    let hers = answer.clone();
    let operation: Operation = Box::new(move |tx| {
        *hers.lock() = Some(operation(tx)?);
        Ok(())
    });
    (operation, Answer(answer))
}
