//! How long a failed job waits before it is tried again.

use std::time::Duration;

/// Exponential with a cap and jitter. The default suits a half-hour outage: from 5 s, factor 2, at
/// most 1 h.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Backoff {
    pub(crate) first_ms: i64,
    pub(crate) cap_ms: i64,
}

impl Default for Backoff {
    fn default() -> Backoff {
        Backoff { first_ms: 5_000, cap_ms: 3_600_000 }
    }
}

impl Backoff {
    /// Doubles from `first` up to `cap`. Both are clamped to 1 ms .. 30 days.
    pub fn exponential(first: Duration, cap: Duration) -> Backoff {
        let clamp =
            |d: Duration| i64::try_from(d.as_millis()).unwrap_or(i64::MAX).clamp(1, 2_592_000_000);
        Backoff { first_ms: clamp(first).min(clamp(cap)), cap_ms: clamp(cap) }
    }

    /// Milliseconds to wait after the `failures`-th failure (1 is the first). `unit` (0..1) chooses
    /// within 50-100 %.
    pub(crate) fn wait_ms(self, failures: u32, unit: f64) -> i64 {
        let doublings = failures.saturating_sub(1).min(40);
        let full = self.first_ms.saturating_mul(1_i64 << doublings).min(self.cap_ms);
        let part = 0.5 + unit.clamp(0.0, 1.0) / 2.0;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_precision_loss,
            reason = "<= 30 days"
        )]
        let wait = (full as f64 * part) as i64;
        wait.clamp(0, self.cap_ms)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::Backoff;
    use proptest::prelude::*;

    proptest! {
        // R46, J25
        // fault: backoff-has-no-cap
        #[test]
        fn r46_never_now_by_overflow_and_never_beyond_the_cap(
            failures in any::<u32>(),
            unit in 0.0..=1.0,
        ) {
            let wait = Backoff::default().wait_ms(failures, unit);
            prop_assert!((2_500..=3_600_000).contains(&wait), "{wait}");
        }

        #[test]
        fn r46_whatever_it_was_told_it_waits_from_half_its_first_wait_to_its_cap(
            first in any::<u64>(),
            cap in any::<u64>(),
            failures in any::<u32>(),
            unit in any::<f64>(),
        ) {
            let millis = Duration::from_millis;
            let backoff = Backoff::exponential(millis(first), millis(cap));
            let wait = backoff.wait_ms(failures, unit);
            prop_assert!((backoff.first_ms / 2..=backoff.cap_ms).contains(&wait), "{backoff:?} {wait}");
            prop_assert!(backoff.cap_ms <= 30 * 86_400_000);
        }
    }

    // fault: backoff-has-no-cap
    #[test]
    fn j25_attempt_11_and_attempt_50_wait_the_same() {
        let backoff = Backoff::default();
        assert_eq!(backoff.wait_ms(11, 1.0), 3_600_000);
        assert_eq!(backoff.wait_ms(50, 1.0), 3_600_000);
    }

    // fault: backoff-is-constant
    #[test]
    fn e51_doubles_from_five_seconds_with_jitter_from_half_to_full() {
        let backoff = Backoff::default();
        assert_eq!(backoff.wait_ms(1, 1.0), 5_000);
        assert_eq!(backoff.wait_ms(1, 0.0), 2_500);
        assert_eq!(backoff.wait_ms(3, 1.0), 20_000);
    }
}
