//! The only wait for other programs: our own short, uneven sleeps share the lock more fairly than
//! SQLite's growing ones, and the deadline is ours.

#[cfg(test)]
mod tests;

use std::time::Duration;

use crate::env::Env;
use crate::error::{Error, Result};

/// How long opening waits for programs that start or stop at the same moment, in milliseconds.
pub(super) const OPENING_MS: u64 = 5_000;

/// Repeats a statement while another program holds the lock, for `busy_ms` at most.
pub(super) fn while_locked<T>(
    env: &Env,
    busy_ms: u64,
    mut attempt: impl FnMut() -> rusqlite::Result<T>,
) -> Result<T> {
    while_busy(env, busy_ms, || Ok(attempt()?))
}

/// Repeats a step that can be taken again from its beginning.
#[expect(clippy::disallowed_methods, reason = "waits for another program's lock")]
pub(super) fn while_busy<T>(
    env: &Env,
    busy_ms: u64,
    mut attempt: impl FnMut() -> Result<T>,
) -> Result<T> {
    let from = env.mono_ms();
    let mut slept = Duration::ZERO;
    loop {
        match attempt() {
            Err(Error::Busy { .. }) => {}
            answer => return answer,
        }
        // A clock that stands still must not make this wait endless.
        let passed_ms = env.mono_ms().saturating_sub(from).unsigned_abs();
        let waited_ms = passed_ms.max(u64::try_from(slept.as_millis()).unwrap_or(u64::MAX));
        if waited_ms >= busy_ms {
            return Err(Error::Busy { waited_ms });
        }
        let wait = Duration::from_secs_f64((500.0 + 1_000.0 * env.unit()) / 1e6);
        std::thread::sleep(wait);
        slept += wait;
    }
}

/// The same inside SQLite, for readers, which seldom wait at all: about five seconds in steps of
/// one millisecond.
#[expect(clippy::disallowed_methods, reason = "waits for another program's lock")]
pub(super) fn shortly(tries: i32) -> bool {
    std::thread::sleep(Duration::from_millis(1));
    tries < 5_000
}
