//! The bell: says that something was committed, carries nothing else. Who was not waiting hears it
//! all the same.

#[cfg(test)]
mod tests;

use std::time::Duration;

use crate::sync::{Condvar, Mutex};

#[derive(Debug, Default)]
pub(crate) struct Bell {
    rings: Mutex<u64>,
    rung: Condvar,
}

impl Bell {
    pub(crate) fn ring(&self) {
        *self.rings.lock() += 1;
        self.rung.notify_all();
    }

    /// How often it has rung: remembered before looking, so that a ring while looking is not
    /// missed.
    pub(crate) fn heard(&self) -> u64 {
        *self.rings.lock()
    }

    /// Waits until it has rung more often than `heard`, or for `longest`.
    pub(crate) fn wait(&self, heard: u64, longest: Duration) {
        let mut rings = self.rings.lock();
        self.rung.wait_while_for(&mut rings, |rings| *rings == heard, longest);
    }
}
