//! The demo's settings: short, so that crashes and takeovers fit in seconds. They are printed.

use std::time::Duration;

/// How long a claim holds without renewal.
pub const LEASE: Duration = Duration::from_secs(1);
/// How long a write of a worker waits for another process's lock.
pub const BUSY_DEADLINE: Duration = Duration::from_millis(100);
/// How long a job keeps its lane while nobody knows whether its message went out.
pub const PATIENCE: Duration = Duration::from_secs(2);
/// How long a job that may have killed its process waits for an idle one.
pub const SUSPECT_WAIT: Duration = Duration::from_secs(1);

/// All of them in one line.
pub fn told() -> String {
    format!(
        "lease {LEASE:?}, busy deadline {BUSY_DEADLINE:?}, channel patience {PATIENCE:?}, suspect \
         wait {SUSPECT_WAIT:?}"
    )
}
