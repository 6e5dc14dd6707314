//! How long the pulse rests: it sees to what becomes due by time alone, and to what nobody else
//! comes for.

use std::time::Duration;

use super::Desk;

impl Desk {
    /// The pulse goes to rest; for how long, at most `longest`.
    pub(crate) fn rest(&mut self, now_ms: i64, now_us: i64, longest: Duration) -> Duration {
        self.pulse_rests = self.reports.is_empty() && self.queue.is_empty();
        self.pulse_knows = self.next_due;
        if !self.pulse_rests {
            return Duration::from_millis(1);
        }
        let due = self.next_due.map(|due| due.saturating_sub(now_ms).saturating_mul(1_000));
        let moments = due.into_iter().chain([self.rest_until_us - now_us]);
        let next = moments.filter(|&in_us| in_us > 0).min();
        next.map_or(longest, |in_us| longest.min(Duration::from_micros(in_us.unsigned_abs())))
    }

    /// Whether a pass that is over left something that the resting pulse does not know of: a bell
    /// that rang meanwhile, another due time, a failure that it should try again after.
    pub(crate) fn is_news_to_pulse(&self) -> bool {
        self.rung || self.failures > 0 || self.next_due != self.pulse_knows
    }
}
