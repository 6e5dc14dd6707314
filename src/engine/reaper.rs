//! Takes back what vanished holders held, and tells of work that nobody has code for.

#[cfg(test)]
pub(crate) mod tests;

use crate::engine::Engine;
use crate::error::Result;

/// Looks for leases to take back, but takes none right after a time in which nobody could write:
/// who could not renew then is not gone.
pub(crate) struct Reaper {
    last_good_ms: i64,
    not_before_ms: i64,
}

impl Reaper {
    pub(crate) fn new(engine: &Engine) -> Reaper {
        Reaper { last_good_ms: engine.env.mono_ms(), not_before_ms: 0 }
    }

    /// One look; in how many milliseconds it wants the next.
    ///
    /// # Errors
    /// Whatever the store answers; the next look does it again.
    pub(crate) fn step(&mut self, engine: &Engine) -> Result<i64> {
        let renewal = engine.settings.lease_ms / 3;
        let every = (renewal / 2).clamp(20, 1_000);
        // A lock that could be taken proves its process gone, whatever the time.
        engine.store.sweep()?;
        let watch = engine.store.watch(engine.process)?;
        if watch.others_hold || watch.to_take_back {
            // Waits as a renewal would: a long wait, or an error before, is a gap.
            engine.store.touch()?;
            let now = engine.env.mono_ms();
            if now - self.last_good_ms > renewal.max(2 * every) {
                self.not_before_ms = now + renewal;
            }
        }
        let now = engine.env.mono_ms();
        if watch.to_take_back {
            engine.reap(now < self.not_before_ms)?;
        }
        engine.store.tell_unhandled()?;
        self.last_good_ms = now;
        Ok(every)
    }
}
