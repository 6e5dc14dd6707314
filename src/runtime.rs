//! Threads: one per loop, orderly stop, respawn after a panic, health of each. Only here does
//! anything sleep.

mod health;
mod loops;
mod work;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::Mutex;

use crate::engine::Engine;
use crate::engine::signal::Stop;
use crate::error::{Error, Result};

pub use health::{Health, LoopHealth};
pub(crate) use loops::{dispatch, resolve};

/// How long a run may take to answer the signal to stop.
const GRACE: Duration = Duration::from_millis(500);

/// What a step wants next.
pub(crate) enum Next {
    /// It made progress: again at once.
    Now,
    /// After this long, or when the bell rings.
    After(Duration),
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
    threads: AtomicUsize,
    workers_lost: AtomicUsize,
    health: Mutex<Vec<LoopHealth>>,
}

/// A started engine. [`Running::stop`] ends it in order; dropping it does so within a second.
#[must_use = "dropping it stops the engine"]
pub struct Running {
    shared: Arc<Shared>,
    stopped: bool,
}

/// How a stop went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct StopReport {
    /// Runs that ended between the call and the deadline.
    pub finished: usize,
    /// Jobs handed back without using an attempt: not started yet, or they answered the signal.
    pub handed_back: usize,
    /// Runs that did not answer: they keep their lease until this process ends.
    pub still_running: usize,
}

impl Running {
    /// Starts the workers and the loops.
    pub(crate) fn start(engine: Arc<Engine>, more: Vec<Loop>) -> Result<Running> {
        let shared = Arc::new(Shared {
            engine,
            stopping: AtomicBool::new(false),
            threads: AtomicUsize::new(0),
            workers_lost: AtomicUsize::new(0),
            health: Mutex::default(),
        });
        let running = Running { shared: shared.clone(), stopped: false };
        for _ in 0..shared.engine.settings.workers {
            work::spawn(&shared)?;
        }
        for one in loops::own(&shared).into_iter().chain(more) {
            loops::spawn(&shared, one)?;
        }
        Ok(running)
    }

    /// How each loop is.
    pub fn health(&self) -> Health {
        Health {
            loops: self.shared.health.lock().clone(),
            workers: self.shared.engine.settings.workers,
            workers_lost: self.shared.workers_lost.load(Ordering::Relaxed),
        }
    }

    /// Stops in order: takes nothing new, waits until `deadline` for what runs, then signals it.
    /// What had not started or answers the signal is handed back without using an attempt; what
    /// still runs keeps its lease until this process ends. Returns half a second after the deadline
    /// at the latest.
    pub fn stop(mut self, deadline: Duration) -> StopReport {
        self.wind_down(deadline)
    }

    fn wind_down(&mut self, deadline: Duration) -> StopReport {
        if std::mem::replace(&mut self.stopped, true) {
            return StopReport::default();
        }
        let engine = &self.shared.engine;
        let mut report = StopReport::default();
        let (running, queued) = engine.stop_taking();
        engine.wait_until_idle(deadline);
        report.finished = running.saturating_sub(engine.running());
        let signalled = engine.signal_all(Stop::Leaving);
        engine.wait_until_idle(GRACE);
        report.still_running = engine.running();
        report.handed_back = queued + signalled.saturating_sub(report.still_running);
        if let Err(error) = engine.lead_last() {
            tracing::warn!(%error, "the last ends could not be written; their leases run out");
        }
        self.shared.stopping.store(true, Ordering::SeqCst);
        engine.bell.ring();
        self.shared.wait_for_threads(report.still_running);
        if report.still_running == 0
            && let Err(error) = engine.store.leave(engine.process)
        {
            tracing::warn!(%error, "this process could not say that it leaves; its leases run out");
        }
        report
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.wind_down(Duration::ZERO);
    }
}

impl Shared {
    fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::SeqCst)
    }

    // A thread inside the host's code cannot be waited for; the others end at once.
    #[expect(clippy::disallowed_methods, reason = "this file sleeps")]
    fn wait_for_threads(&self, stuck: usize) {
        for _ in 0..50 {
            if self.threads.load(Ordering::SeqCst) <= stuck {
                return;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

/// Counts a thread for as long as it lives.
struct Alive(Arc<Shared>);

impl Alive {
    fn new(shared: &Arc<Shared>) -> Alive {
        shared.threads.fetch_add(1, Ordering::SeqCst);
        Alive(shared.clone())
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        self.0.threads.fetch_sub(1, Ordering::SeqCst);
    }
}

fn spawn(name: String, body: impl FnOnce() + Send + 'static) -> Result<()> {
    std::thread::Builder::new()
        .name(name)
        .spawn(body)
        .map(|_| ())
        .map_err(|error| Error::io("a thread could not be started", error))
}
