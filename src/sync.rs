//! Locks, waits and threads by one door, for what decides who goes on. In the product they are
//! `parking_lot`'s and the system's, and nothing else; in tests a model may have its hands on them.

#[cfg(test)]
pub(crate) mod model;

#[cfg(not(test))]
pub(crate) use parking_lot::{Condvar, Mutex, MutexGuard};
#[cfg(not(test))]
pub(crate) use std::thread::ThreadId;

#[cfg(test)]
pub(crate) use model::{Condvar, Mutex, MutexGuard, ThreadId, spawn, this_thread};

#[cfg(not(test))]
pub(crate) fn this_thread() -> ThreadId {
    std::thread::current().id()
}

/// Starts a thread that nobody joins.
#[cfg(not(test))]
pub(crate) fn spawn(name: String, body: impl FnOnce() + Send + 'static) -> std::io::Result<()> {
    std::thread::Builder::new().name(name).spawn(body).map(drop)
}
