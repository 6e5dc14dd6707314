//! The orderly end of an engine: nothing new, then a signal, then the last commit.

use std::time::Duration;

use crate::engine::Engine;
use crate::engine::desk::Stopped;
use crate::engine::signal::Stop;
use crate::error::Result;

impl Engine {
    /// Takes nothing more and hands back what nobody has started.
    pub(crate) fn stop_taking(&self) {
        let mut desk = self.desk.lock();
        desk.stopping = true;
        desk.hand_back_queue(self.env.mono_us());
        drop(desk);
        self.wake.notify_all();
    }

    /// Runs under way.
    pub(crate) fn running(&self) -> usize {
        self.desk.lock().busy.len()
    }

    /// What became of the others since the stop began.
    pub(crate) fn stopped(&self) -> Stopped {
        self.desk.lock().stopped
    }

    /// Waits until nothing runs, at most this long.
    pub(crate) fn wait_until_idle(&self, longest: Duration) {
        let mut desk = self.desk.lock();
        if !desk.busy.is_empty() {
            self.pulse.wait_while_for(&mut desk, |desk| !desk.busy.is_empty(), longest);
        }
    }

    /// Tells every run to stop.
    pub(crate) fn signal_all(&self, why: Stop) {
        self.desk.lock().busy.values().for_each(|busy| busy.signal.raise(why));
    }

    /// Commits the ends that still wait, after a leader under way has committed its own.
    ///
    /// # Errors
    /// Whatever the store answers; the leases of those runs then run out.
    pub(crate) fn lead_last(&self) -> Result<()> {
        let mut desk = self.desk.lock();
        if desk.leading {
            self.pulse.wait_while(&mut desk, |desk| desk.leading);
        }
        if desk.reports.is_empty() {
            return Ok(());
        }
        desk.leading = true;
        drop(desk);
        self.lead()
    }

    /// Waits until an end or a job lingers or something is due, at most this long.
    pub(crate) fn wait_for_linger(&self, longest: Duration) {
        let (now_ms, now_us) = (self.env.now_ms(), self.env.mono_us());
        let mut desk = self.desk.lock();
        let longest = desk.rest(now_ms, now_us, longest);
        self.pulse.wait_for(&mut desk, longest);
        desk.pulse_rests = false;
    }
}
