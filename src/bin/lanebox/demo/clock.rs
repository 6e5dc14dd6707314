//! The demo's one door to wall time and to waiting. Its processes play the outside world, where
//! nobody hands a clock in.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Milliseconds since 1970, UTC. A clock set before 1970 reads as 0.
#[expect(clippy::disallowed_methods, reason = "the outside world has a clock of its own")]
pub fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// Waits before a repeated HTTP call. Tests pass a function that does not wait.
#[expect(clippy::disallowed_methods, reason = "a sender of webhooks waits between its tries")]
pub fn pause(length: Duration) {
    std::thread::sleep(length);
}
