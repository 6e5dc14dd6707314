//! The door as tests have it: what is made inside a model belongs to the model, which decides at
//! each lock and wait who goes on; all else is as in the product.
//!
//! A model has no time. A wait of less than `LONG` may be over at any moment; one that is longer is
//! never over by itself, so that whoever relies on it to notice a lost wake stands still, and the
//! model says so.

use std::cell::Cell;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::PoisonError;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Waits from here on are for the wake alone.
const LONG: Duration = Duration::from_millis(200);

thread_local! {
    // A model runs all its threads on one of the system's.
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Runs `body` as the model does: locks made in it are the model's.
pub(crate) fn inside<T>(body: impl FnOnce() -> T) -> T {
    struct Leaves;
    impl Drop for Leaves {
        fn drop(&mut self) {
            INSIDE.set(false);
        }
    }
    INSIDE.set(true);
    let _leaves = Leaves;
    body()
}

pub(crate) enum Mutex<T> {
    System(parking_lot::Mutex<T>),
    Model(shuttle::sync::Mutex<T>),
}

pub(crate) enum MutexGuard<'m, T> {
    System(parking_lot::MutexGuard<'m, T>),
    /// Without it only while it waits.
    Model(&'m shuttle::sync::Mutex<T>, Option<shuttle::sync::MutexGuard<'m, T>>),
}

impl<T> Mutex<T> {
    pub(crate) fn new(value: T) -> Mutex<T> {
        match INSIDE.get() {
            true => Mutex::Model(shuttle::sync::Mutex::new(value)),
            false => Mutex::System(parking_lot::Mutex::new(value)),
        }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        match self {
            Mutex::System(mutex) => MutexGuard::System(mutex.lock()),
            Mutex::Model(mutex) => MutexGuard::Model(mutex, Some(lock(mutex))),
        }
    }

    pub(crate) fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        use std::sync::TryLockError::{Poisoned, WouldBlock};
        let guard = match self {
            Mutex::System(mutex) => return Some(MutexGuard::System(mutex.try_lock()?)),
            Mutex::Model(mutex) => match mutex.try_lock() {
                Ok(guard) => MutexGuard::Model(mutex, Some(guard)),
                Err(Poisoned(guard)) => MutexGuard::Model(mutex, Some(guard.into_inner())),
                Err(WouldBlock) => return None,
            },
        };
        Some(guard)
    }
}

// As parking_lot: a panic leaves nothing poisoned.
fn lock<T>(mutex: &shuttle::sync::Mutex<T>) -> shuttle::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<T: Default> Default for Mutex<T> {
    fn default() -> Mutex<T> {
        Mutex::new(T::default())
    }
}

impl<T: fmt::Debug> fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Mutex::System(mutex) => mutex.fmt(f),
            Mutex::Model(mutex) => mutex.fmt(f),
        }
    }
}

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        match self {
            MutexGuard::System(guard) => guard,
            MutexGuard::Model(_, guard) => guard.as_ref().expect("it waits for nothing"),
        }
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        match self {
            MutexGuard::System(guard) => guard,
            MutexGuard::Model(_, guard) => guard.as_mut().expect("it waits for nothing"),
        }
    }
}

#[derive(Debug)]
pub(crate) enum Condvar {
    System(parking_lot::Condvar),
    Model { wakes: shuttle::sync::Condvar, waiting: AtomicUsize },
}

impl Default for Condvar {
    fn default() -> Condvar {
        Condvar::new()
    }
}

impl Condvar {
    pub(crate) fn new() -> Condvar {
        match INSIDE.get() {
            true => {
                let wakes = shuttle::sync::Condvar::new();
                Condvar::Model { wakes, waiting: AtomicUsize::new(0) }
            }
            false => Condvar::System(parking_lot::Condvar::new()),
        }
    }

    pub(crate) fn notify_all(&self) {
        match self {
            Condvar::System(condvar) => drop(condvar.notify_all()),
            Condvar::Model { wakes, .. } => wakes.notify_all(),
        }
    }

    /// Whether somebody was woken.
    pub(crate) fn notify_one(&self) -> bool {
        match self {
            Condvar::System(condvar) => condvar.notify_one(),
            Condvar::Model { wakes, waiting } => {
                wakes.notify_one();
                waiting.load(Ordering::SeqCst) > 0
            }
        }
    }

    pub(crate) fn wait<T>(&self, guard: &mut MutexGuard<'_, T>) {
        match (self, guard) {
            (Condvar::System(condvar), MutexGuard::System(guard)) => condvar.wait(guard),
            (Condvar::Model { wakes, waiting }, MutexGuard::Model(_, guard)) => {
                waiting.fetch_add(1, Ordering::SeqCst);
                let held = guard.take().expect("it waits for nothing");
                *guard = Some(wakes.wait(held).unwrap_or_else(PoisonError::into_inner));
                waiting.fetch_sub(1, Ordering::SeqCst);
            }
            _ => unreachable!("both were made in one place"),
        }
    }

    pub(crate) fn wait_while<T>(
        &self,
        guard: &mut MutexGuard<'_, T>,
        mut holds: impl FnMut(&mut T) -> bool,
    ) {
        while holds(guard) {
            self.wait(guard);
        }
    }

    pub(crate) fn wait_for<T>(&self, guard: &mut MutexGuard<'_, T>, longest: Duration) {
        match (self, guard) {
            (Condvar::System(condvar), MutexGuard::System(guard)) => {
                let _ = condvar.wait_for(guard, longest);
            }
            (_, MutexGuard::Model(mutex, guard)) if longest < LONG => {
                *guard = None;
                shuttle::thread::yield_now();
                *guard = Some(lock(mutex));
            }
            (_, guard) => self.wait(guard),
        }
    }

    pub(crate) fn wait_while_for<T>(
        &self,
        guard: &mut MutexGuard<'_, T>,
        mut holds: impl FnMut(&mut T) -> bool,
        longest: Duration,
    ) {
        match (self, &mut *guard) {
            (Condvar::System(condvar), MutexGuard::System(guard)) => {
                let _ = condvar.wait_while_for(guard, holds, longest);
            }
            _ if longest < LONG => {
                if holds(guard) {
                    self.wait_for(guard, longest);
                }
            }
            _ => self.wait_while(guard, holds),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ThreadId {
    System(std::thread::ThreadId),
    Model(shuttle::thread::ThreadId),
}

pub(crate) fn this_thread() -> ThreadId {
    match INSIDE.get() {
        true => ThreadId::Model(shuttle::thread::current().id()),
        false => ThreadId::System(std::thread::current().id()),
    }
}

pub(crate) fn spawn(name: String, body: impl FnOnce() + Send + 'static) -> std::io::Result<()> {
    match INSIDE.get() {
        true => shuttle::thread::Builder::new().name(name).spawn(body).map(drop),
        false => std::thread::Builder::new().name(name).spawn(body).map(drop),
    }
}
