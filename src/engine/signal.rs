//! Tells a running handler to stop, and why. It carries no data beyond that, and waking it does
//! nothing else.

#[cfg(test)]
mod tests;

use std::time::Duration;

use crate::sync::{Condvar, Mutex};

/// Why a run should stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Stop {
    /// The process is stopping: the job is handed back without using an attempt.
    Leaving,
    /// A person asked to cancel the job.
    Cancelled,
    /// It ran longer than its kind allows.
    Overrun,
    /// The lease is lost: whatever it still answers is dropped.
    LeaseLost,
}

/// The signal of one run; later reasons that weigh more replace earlier ones.
#[derive(Debug, Default)]
pub(crate) struct Signal {
    why: Mutex<Option<Stop>>,
    raised: Condvar,
}

impl Signal {
    pub(crate) fn raise(&self, why: Stop) {
        let mut now = self.why.lock();
        if now.is_none_or(|now| now < why) {
            *now = Some(why);
            self.raised.notify_all();
        }
    }

    pub(crate) fn why(&self) -> Option<Stop> {
        *self.why.lock()
    }

    /// Waits for `longest` or until the signal is raised; whether it was raised.
    pub(crate) fn wait(&self, longest: Duration) -> bool {
        let mut why = self.why.lock();
        if why.is_none() {
            self.raised.wait_while_for(&mut why, |why| why.is_none(), longest);
        }
        why.is_some()
    }
}
