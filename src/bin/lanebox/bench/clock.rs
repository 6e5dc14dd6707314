//! The one door of the measurements to a clock.

use std::time::Instant;

#[expect(clippy::disallowed_methods, reason = "a measurement reads the clock")]
pub fn now() -> Instant {
    Instant::now()
}
