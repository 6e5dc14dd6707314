//! What a channel can do, and how long to wait for it.

use std::time::Duration;

use crate::error::{Error, Result};
use crate::model::job::duration_ms;

/// Rest of a lease that must be left beside a call's timeout.
pub(crate) const MARGIN_MS: i64 = 50;

/// What a channel's provider can do: it decides how an unknown send is settled.
///
/// ```
/// use std::time::Duration;
/// use lanebox::Abilities;
///
/// // It forgets a key after a day; a message is visible to its lookup five seconds after the call.
/// let abilities = Abilities::new(Duration::from_secs(10))
///     .dedupes_for(Duration::from_secs(86_400))
///     .lookup_after(Duration::from_secs(5));
/// # let _ = abilities;
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Abilities {
    pub(crate) timeout_ms: i64,
    pub(crate) patience_ms: i64,
    pub(crate) lookup_settle_ms: Option<i64>,
    pub(crate) dedupe_ms: Option<i64>,
}

impl Default for Abilities {
    /// A timeout of 10 seconds, a patience of 15 minutes, neither lookup nor dedupe.
    fn default() -> Abilities {
        Abilities::new(Duration::from_secs(10))
    }
}

impl Abilities {
    /// Every call ends within `timeout`, answered or not: the channel's own client sees to that. A
    /// call starts only if the lease outlives it, so it must be shorter than two thirds of the
    /// lease.
    pub fn new(timeout: Duration) -> Abilities {
        Abilities {
            timeout_ms: at_least_1(timeout),
            patience_ms: 15 * 60_000,
            lookup_settle_ms: None,
            dedupe_ms: None,
        }
    }

    /// How long a job waits in its lane for the fate of a send (15 minutes unless said): then a
    /// person is told and the lane goes on.
    #[must_use]
    pub fn patience(self, patience: Duration) -> Abilities {
        Abilities { patience_ms: at_least_1(patience), ..self }
    }

    /// The provider can be asked by key, and its "not found" is true once `settle` has passed since
    /// the call would have timed out: one that broke off early may still arrive until then.
    #[must_use]
    pub fn lookup_after(self, settle: Duration) -> Abilities {
        Abilities { lookup_settle_ms: Some(at_least_1(settle)), ..self }
    }

    /// The provider takes a second call with the same key for a repeat, for at least `memory` after
    /// the first one.
    #[must_use]
    pub fn dedupes_for(self, memory: Duration) -> Abilities {
        Abilities { dedupe_ms: Some(at_least_1(memory)), ..self }
    }

    /// Refuses a timeout that no lease of this length could outlive between two renewals.
    pub(crate) fn check(&self, lease_ms: i64) -> Result<()> {
        let most = lease_ms * 2 / 3 - MARGIN_MS;
        if self.timeout_ms <= most {
            return Ok(());
        }
        let why = format!(
            "{} ms, but a lease of {lease_ms} ms leaves {most} ms for a call: use a shorter timeout or a longer lease",
            self.timeout_ms
        );
        Err(Error::Setting { what: "timeout of a channel", why })
    }
}

fn at_least_1(time: Duration) -> i64 {
    // A hundred years: sums of such times stay far inside an i64.
    duration_ms(time).clamp(1, 100 * 365 * 86_400_000)
}

/// Whether a provider with this memory still knows, at a later moment, the key of a try: both
/// moments by the wall clock and by the monotonic one, the first by the latter only if it was in
/// this boot. A clock that steps must not make it remember longer.
pub(crate) fn is_remembered(memory_ms: i64, intended: (i64, Option<i64>), at: (i64, i64)) -> bool {
    at.0 <= intended.0 + memory_ms && intended.1.is_none_or(|mono| at.1 <= mono + memory_ms)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timeout_that_no_lease_outlives_is_refused_when_it_is_set() {
        let abilities = Abilities::new(Duration::from_secs(30));
        assert!(abilities.check(60_000).is_ok());
        let refused = abilities.check(45_000).expect_err("30 s do not fit");
        assert!(refused.to_string().contains("29950 ms for a call"), "{refused}");
    }

    #[test]
    fn no_duration_is_zero_or_overflows() {
        let odd = Abilities::new(Duration::ZERO).patience(Duration::MAX);
        assert_eq!(odd.timeout_ms, 1);
        assert!(odd.patience_ms < i64::MAX / 1_000);
    }
}
