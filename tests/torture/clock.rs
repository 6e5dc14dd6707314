//! The clock that all processes of a machine share, and the only waiting of these rigs.

use std::time::Duration;

/// Nanoseconds of the monotonic clock: what two processes wrote down can be compared.
pub fn now() -> u64 {
    let at = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    u64::try_from(at.tv_sec * 1_000_000_000 + at.tv_nsec).expect("after the boot")
}

pub fn since(from: u64) -> Duration {
    Duration::from_nanos(now().saturating_sub(from))
}

/// Lets this much time pass.
pub fn pass(time: Duration) {
    let from = now();
    while let Some(left) = time.checked_sub(since(from)).filter(|left| !left.is_zero()) {
        std::thread::park_timeout(left);
    }
}

/// Between two looks.
pub fn rest() {
    std::thread::park_timeout(Duration::from_millis(2));
}

/// Waits for a condition for so long at most; whether it came.
pub fn within(longest: Duration, mut holds: impl FnMut() -> bool) -> bool {
    let from = now();
    while !holds() {
        if since(from) > longest {
            return false;
        }
        rest();
    }
    true
}
