//! A place in the queue: what is to be run, and what became of it.

use std::sync::Arc;

use super::Operation;
use crate::error::{Error, Result};
use crate::sync::{Condvar, Mutex};

pub(super) struct Seat {
    pub(super) number: u64,
    /// It asks for a commit that is flushed.
    pub(super) full: bool,
    state: Mutex<State>,
    turn: Condvar,
}

enum State {
    /// Nothing in it: the host's, or aboard.
    Waiting(Option<Operation>),
    /// It is this seat's turn to lead.
    Leads(Option<Operation>),
    /// Its commit holds and its own answer stands, or nothing of it was stored. Left here once, for
    /// its own thread.
    Settled(Result<()>),
}

impl Seat {
    pub(super) fn new(number: u64, operation: Option<Operation>, full: bool, leads: bool) -> Seat {
        let state = if leads { State::Leads(operation) } else { State::Waiting(operation) };
        Seat { number, full, state: Mutex::new(state), turn: Condvar::new() }
    }

    /// Waits until this seat leads (its operation comes back to be run) or was settled by another
    /// leader (`None`).
    pub(super) fn wait_for_turn(&self) -> Result<Option<Operation>> {
        let mut state = self.state.lock();
        loop {
            match std::mem::replace(&mut *state, State::Settled(Ok(()))) {
                State::Leads(operation) => return Ok(operation),
                State::Settled(answer) => return answer.map(|()| None),
                waiting @ State::Waiting(_) => {
                    *state = waiting;
                    self.turn.wait(&mut state);
                }
            }
        }
    }

    /// Its operation, if another leader may run it.
    pub(super) fn board(&self) -> Option<Operation> {
        match &mut *self.state.lock() {
            State::Waiting(operation) => operation.take(),
            _ => None,
        }
    }

    pub(super) fn call_to_lead(&self) {
        let mut state = self.state.lock();
        if let State::Waiting(operation) = &mut *state {
            let operation = operation.take();
            *state = State::Leads(operation);
        }
        self.turn.notify_one();
    }

    pub(super) fn settle(&self, answer: Result<()>) {
        *self.state.lock() = State::Settled(answer);
        self.turn.notify_one();
    }
}

/// A seat whose operation a leader has taken: it is always told what became of it, even if the
/// leader panics.
pub(super) struct Aboard {
    seat: Arc<Seat>,
    in_doubt: bool,
}

impl Aboard {
    pub(super) fn new(seat: Arc<Seat>) -> Aboard {
        Aboard { seat, in_doubt: false }
    }

    /// The commit that carries it is under way.
    pub(super) fn is_being_committed(&mut self) {
        self.in_doubt = true;
    }

    pub(super) fn settle(self, answer: Result<()>) {
        self.seat.settle(answer);
    }
}

impl Drop for Aboard {
    fn drop(&mut self) {
        if matches!(*self.seat.state.lock(), State::Waiting(_)) {
            self.seat.settle(Err(match self.in_doubt {
                false => Error::RolledBack,
                true => Error::CommitUnknown(rusqlite::Error::SqliteFailure(
                    rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_ABORT),
                    Some("the thread that committed it panicked".to_owned()),
                )),
            }));
        }
    }
}
