//! Lets the demo stop a process of its own at a named point, so that it can be killed or frozen at
//! the worst moment. Lines of JSON, one each way:
//!
//! - stdin `{"halt_at":"after_claim"}`: the next run that reaches the point waits there. Several
//!   may be asked for; each holds one run.
//! - stdout `{"halted":"after_claim","message":"wamid.1","token":7}`: one waits now.
//! - stdin `{"go":true}`: all who wait go on, and nothing is asked for any more.
//! - the end of stdin: the demo is gone or wants this process to end. All go on, and
//!   [`Halts::listen`]'s `at_end` runs.
//!
//! A halted run keeps its thread and its lease: the rest of the process goes on and renews it.

#[cfg(test)]
mod tests;

use std::io::{self, BufRead, Write};
use std::sync::Arc;

use parking_lot::{Condvar, Mutex};
use serde::{Deserialize, Serialize};

/// Where a process can be stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HaltPoint {
    /// Worker: the job is claimed, its handler has begun, nothing was done.
    AfterClaim,
    /// Worker: inside the step `think`, whose result is not stored yet.
    Thinking,
    /// Worker: every send is recorded as accepted; the job is not completed.
    AfterRecord,
    /// Receiver: between its two acts, the commit and the 200.
    Halfway,
}

/// A process that waits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Halted {
    pub halted: HaltPoint,
    /// The message that is being worked on.
    pub message: String,
    /// The token of the run; the receiver has none.
    pub token: Option<i64>,
}

/// What the demo says.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    HaltAt(HaltPoint),
    Go(bool),
}

/// The points of one process.
pub struct Halts {
    state: Mutex<State>,
    released: Condvar,
    told: Mutex<Box<dyn Write + Send>>,
}

#[derive(Default)]
struct State {
    asked: Vec<HaltPoint>,
    /// Grows with every `go`: whoever came before it goes on.
    round: u64,
    ended: bool,
}

impl Halts {
    /// Listens on stdin, on a thread of its own, and tells on stdout. `at_end` runs on that thread
    /// when stdin ends.
    pub fn listen(at_end: impl FnOnce() + Send + 'static) -> Arc<Self> {
        let halts = Arc::new(Self::new(Box::new(io::stdout())));
        let hears = Arc::clone(&halts);
        std::thread::spawn(move || {
            hears.hear(io::stdin().lock());
            at_end();
        });
        halts
    }

    pub(super) fn new(told: Box<dyn Write + Send>) -> Self {
        let (state, released) = (Mutex::default(), Condvar::new());
        Self { state, released, told: Mutex::new(told) }
    }

    /// A run has come to a point: it goes on at once, unless the demo asked for it.
    pub fn reach(&self, point: HaltPoint, message: &str, token: Option<i64>) {
        let mut state = self.state.lock();
        let Some(asked) = state.asked.iter().position(|&asked| asked == point) else {
            return;
        };
        state.asked.remove(asked);
        let came_in = state.round;
        self.tell(&Halted { halted: point, message: message.to_owned(), token });
        while state.round == came_in && !state.ended {
            self.released.wait(&mut state);
        }
    }

    fn tell(&self, halted: &Halted) {
        let line = serde_json::to_string(halted).expect("plain data has no key that is no text");
        let mut told = self.told.lock();
        // Whoever no longer reads has gone, and then stdin has ended as well.
        let _ = writeln!(told, "{line}").and_then(|()| told.flush());
    }

    fn hear(&self, lines: impl BufRead) {
        for line in lines.lines().map_while(Result::ok) {
            match serde_json::from_str(&line) {
                Ok(Order::HaltAt(point)) => self.state.lock().asked.push(point),
                Ok(Order::Go(_)) => self.release(false),
                Err(error) => eprintln!("not an order of the demo: {line:?}: {error}"),
            }
        }
        self.release(true);
    }

    fn release(&self, ended: bool) {
        let mut state = self.state.lock();
        state.asked.clear();
        state.round += 1;
        state.ended |= ended;
        self.released.notify_all();
    }
}
