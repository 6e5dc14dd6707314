//! The orderly end of an engine: nothing new, then a signal, then the last commit.

use std::time::Duration;

use crate::engine::Engine;
use crate::engine::signal::Stop;
use crate::error::Result;

impl Engine {
    /// Takes nothing more and hands back what nobody has started. How many runs go on, and how many
    /// were handed back.
    pub(crate) fn stop_taking(&self) -> (usize, usize) {
        let mut desk = self.desk.lock();
        desk.stopping = true;
        let queued = desk.queue.len();
        desk.hand_back_queue();
        let running = desk.busy.len();
        drop(desk);
        self.wake.notify_all();
        (running, queued)
    }

    /// Runs under way.
    pub(crate) fn running(&self) -> usize {
        self.desk.lock().busy.len()
    }

    /// Waits until nothing runs, at most this long.
    pub(crate) fn wait_until_idle(&self, longest: Duration) {
        let mut desk = self.desk.lock();
        if !desk.busy.is_empty() {
            self.pulse.wait_while_for(&mut desk, |desk| !desk.busy.is_empty(), longest);
        }
    }

    /// Tells every run to stop; how many there are.
    pub(crate) fn signal_all(&self, why: Stop) -> usize {
        let desk = self.desk.lock();
        desk.busy.values().for_each(|busy| busy.signal.raise(why));
        desk.busy.len()
    }

    /// Commits the ends that still wait.
    ///
    /// # Errors
    /// Whatever the store answers; the leases of those runs then run out.
    pub(crate) fn lead_last(&self) -> Result<()> {
        let mut desk = self.desk.lock();
        // Another leader under way commits its own; what it did not see is left for here.
        self.pulse.wait_while_for(&mut desk, |desk| desk.leading, Duration::from_millis(200));
        if desk.reports.is_empty() {
            return Ok(());
        }
        desk.leading = true;
        drop(desk);
        self.lead()
    }

    /// Waits until an end lingers without a leader, at most this long.
    pub(crate) fn wait_for_linger(&self, longest: Duration) {
        let mut desk = self.desk.lock();
        let longest = if desk.reports.is_empty() { longest } else { Duration::from_millis(1) };
        self.pulse.wait_for(&mut desk, longest);
    }
}
