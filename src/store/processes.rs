//! The seam of processes: who holds leases, who is gone, and what others did to the store.

use crate::error::Result;
use crate::model::id::ProcessNo;

/// Verbs on the processes that share a store.
pub(crate) trait Processes {
    /// Registers a holder of leases; it counts as alive until it leaves or its operating system
    /// process ends.
    fn register(&self) -> Result<ProcessNo>;

    /// An orderly end: what it still held may be taken at once.
    fn leave(&self, process: ProcessNo) -> Result<()>;

    /// Looks for processes that are gone; whether one was found.
    fn sweep(&self) -> Result<bool>;

    /// Whether another process than `me` holds a lease.
    fn others_hold(&self, me: ProcessNo) -> Result<bool>;

    /// Waits for the right to write and writes nothing.
    fn touch(&self) -> Result<()>;

    /// Whether another handle has committed since the last call.
    fn changed_elsewhere(&self) -> Result<bool>;
}
