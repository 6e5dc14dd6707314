//! Threads: one per loop, orderly stop, respawn after a panic, health of each. Only here does
//! anything sleep.

mod health;
mod loops;
#[cfg(test)]
mod tests;
mod watch;
mod work;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use crate::engine::Engine;
use crate::engine::bell::Bell;
use crate::engine::desk::Stopped;
use crate::engine::signal::Stop;
use crate::env::Hint;
use crate::error::{Error, Result};
use crate::sync::{self, Condvar, Mutex};

pub use health::{Health, LoopHealth};
pub(crate) use loops::{dispatch, resolve};

/// How long a run may take to answer the signal to stop.
const GRACE: Duration = Duration::from_millis(500);

/// How long a stop waits for its last commit: the file may be locked by another program.
const FAREWELL: Duration = Duration::from_millis(250);

/// How long a stop waits for its threads to end.
const LAST_THREAD: Duration = Duration::from_millis(200);

/// What a step wants next.
pub(crate) enum Next {
    /// It made progress: again at once.
    Now,
    /// After this long, or when the bell rings.
    After(Duration),
    /// After this long, whatever is committed meanwhile.
    Rest(Duration),
}

/// A named step that a thread of its own repeats.
pub(crate) struct Loop {
    pub(crate) name: &'static str,
    pub(crate) step: Box<dyn FnMut() -> Result<Next> + Send>,
}

/// What the threads of one engine share.
struct Shared {
    engine: Arc<Engine>,
    stopping: AtomicBool,
    /// Wakes what rests when the engine stops.
    leaving: Bell,
    /// Wakes who looks for what others committed.
    hint: Option<Arc<Hint>>,
    threads: Mutex<usize>,
    /// Wakes who waits for threads to end.
    ended: Condvar,
    workers_lost: AtomicUsize,
    health: Mutex<Vec<LoopHealth>>,
}

/// A started engine. [`Running::stop`] ends it in order; dropping it does so within a second.
///
/// Each attempt that ends is told by one `tracing` record after its commit: target
/// `lanebox::attempt`, level debug, with `kind`, `outcome`, `attempt`, `token` and `took_us` for a
/// host that counts and measures.
#[must_use = "dropping it stops the engine"]
pub struct Running {
    shared: Arc<Shared>,
    stopped: bool,
}

/// How a stop went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct StopReport {
    /// Runs that were under way and ended with an answer of their own while it stopped.
    pub finished: usize,
    /// Jobs handed back without using an attempt: not started yet, or they answered the signal.
    pub handed_back: usize,
    /// Runs that did not answer: they keep their lease until this process ends.
    pub still_running: usize,
}

impl Running {
    /// Starts the workers and the loops.
    pub(crate) fn start(engine: Arc<Engine>, more: Vec<Loop>) -> Result<Running> {
        let hint = engine.store.hint();
        let shared = Arc::new(Shared::new(engine, hint));
        let running = Running { shared: shared.clone(), stopped: false };
        // Before anything is claimed.
        shared.engine.store.look_at_space();
        for _ in 0..shared.engine.settings.workers {
            work::spawn(&shared)?;
        }
        for one in loops::own(&shared).into_iter().chain(more) {
            loops::spawn(&shared, one)?;
        }
        Ok(running)
    }

    /// How each loop is, how much room the disk has, and how large the write-ahead log is.
    pub fn health(&self) -> Health {
        let (room, log) = self.shared.engine.store.space();
        Health {
            room,
            log,
            loops: self.shared.health.lock().clone(),
            workers: self.shared.engine.settings.workers,
            workers_lost: self.shared.workers_lost.load(Ordering::Relaxed),
        }
    }

    /// Stops in order: takes nothing new, waits until `deadline` for what runs, then signals it.
    /// What had not started or answers the signal is handed back without using an attempt; what
    /// still runs keeps its lease until its process ends. Returns within a second of the deadline,
    /// wherever it is called.
    pub fn stop(mut self, deadline: Duration) -> StopReport {
        self.wind_down(deadline)
    }

    fn wind_down(&mut self, deadline: Duration) -> StopReport {
        if std::mem::replace(&mut self.stopped, true) {
            return StopReport::default();
        }
        let engine = &self.shared.engine;
        engine.stop_taking();
        engine.wait_until_idle(deadline);
        engine.signal_all(Stop::Leaving);
        engine.wait_until_idle(GRACE);
        self.shared.say_farewell();
        let still_running = engine.running();
        self.shared.stopping.store(true, Ordering::SeqCst);
        engine.bell.ring();
        engine.pulse.notify_all();
        self.shared.leaving.ring();
        self.shared.hint.iter().for_each(|hint| hint.rouse());
        self.shared.wait_for_threads(still_running);
        let Stopped { finished, handed_back } = engine.stopped();
        StopReport { finished, handed_back, still_running }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.wind_down(Duration::ZERO);
    }
}

impl Shared {
    fn new(engine: Arc<Engine>, hint: Option<Hint>) -> Shared {
        Shared {
            engine,
            stopping: AtomicBool::new(false),
            leaving: Bell::default(),
            hint: hint.map(Arc::new),
            threads: Mutex::default(),
            ended: Condvar::new(),
            workers_lost: AtomicUsize::new(0),
            health: Mutex::default(),
        }
    }

    fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::SeqCst)
    }

    fn lost_a_worker(&self) {
        self.workers_lost.fetch_add(1, Ordering::Relaxed);
    }

    // On a thread of its own: the file may be locked, by the caller itself for that matter. It goes
    // on if it takes longer.
    fn say_farewell(&self) {
        let (engine, said) = (self.engine.clone(), Arc::<Bell>::default());
        let (heard, says) = (said.heard(), said.clone());
        let farewell = move || {
            farewell(&engine);
            says.ring();
        };
        match spawn("lanebox-farewell".to_owned(), farewell) {
            // Said or not: it was waited for long enough.
            Ok(()) => said.wait(heard, FAREWELL),
            Err(error) => {
                tracing::warn!(%error, "the last ends are not written; their leases run out")
            }
        }
    }

    // A thread inside the host's code cannot be waited for, nor the one that renews for it; the
    // others end at once.
    fn wait_for_threads(&self, running: usize) {
        let stay = running + usize::from(running > 0);
        let mut threads = self.threads.lock();
        self.ended.wait_while_for(&mut threads, |threads| *threads > stay, LAST_THREAD);
    }
}

// The last commit, and the word that this process holds nothing any more.
fn farewell(engine: &Engine) {
    if let Err(error) = engine.lead_last() {
        tracing::warn!(%error, "the last ends could not be written; their leases run out");
    }
    if engine.running() == 0
        && let Err(error) = engine.store.leave(engine.process)
    {
        tracing::warn!(%error, "this process could not say that it leaves; its leases run out");
    }
}

/// Counts a thread for as long as it lives.
struct Alive(Arc<Shared>);

impl Alive {
    fn new(shared: &Arc<Shared>) -> Alive {
        *shared.threads.lock() += 1;
        Alive(shared.clone())
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        *self.0.threads.lock() -= 1;
        self.0.ended.notify_all();
    }
}

fn spawn(name: String, body: impl FnOnce() + Send + 'static) -> Result<()> {
    sync::spawn(name, body).map_err(|error| Error::io("a thread could not be started", error))
}
