//! The loops beside the workers: each repeats its step, survives an error or a panic, and says when
//! it was last well.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::health::LoopHealth;
use super::{Alive, Loop, Next, Shared, spawn as spawn_thread, work};
use crate::engine::Engine;
use crate::engine::dispatcher::{Dispatcher, Step};
use crate::engine::resolver::{self, Again};
use crate::error::Result;

/// How often a loop looks for what other processes did.
const WATCH: Duration = Duration::from_millis(20);

/// How long a loop waits that has nothing to do and hears no bell.
const IDLE: Duration = Duration::from_secs(1);

/// Longest wait after failures in a row.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// The loops that every engine has.
pub(super) fn own(shared: &Arc<Shared>) -> Vec<Loop> {
    let (renew, pulse) = (shared.clone(), shared.clone());
    let mut reaper = Reaper::new(shared);
    vec![
        Loop { name: "renew", step: Box::new(move || renew_step(&renew)) },
        Loop { name: "pulse", step: Box::new(move || pulse_step(&pulse)) },
        Loop { name: "reap", step: Box::new(move || reaper.step()) },
    ]
}

/// The loop that dispatches events to the consumers of this process.
pub(crate) fn dispatch(engine: Arc<Engine>, mut dispatcher: Dispatcher) -> Loop {
    let step = move || {
        let step = dispatcher.step(&*engine.store, |dispatch| engine.dispatch(dispatch))?;
        Ok(match step {
            Step::Again => Next::Now,
            Step::At(at) => Next::After(until(&engine, at)),
            Step::OnBell => Next::After(IDLE),
        })
    };
    Loop { name: "dispatch", step: Box::new(step) }
}

/// The loop that settles sends whose fate is unknown.
pub(crate) fn resolve(engine: Arc<Engine>) -> Loop {
    let step = move || {
        let (again, woken) = resolver::tick(&*engine.store, &engine.channels)?;
        if woken > 0 {
            engine.ring();
        }
        Ok(match again {
            Again::Now => Next::Now,
            Again::At(at) => Next::After(until(&engine, at)),
            Again::OnBell => Next::After(IDLE),
        })
    };
    Loop { name: "resolve", step: Box::new(step) }
}

fn until(engine: &Engine, at: i64) -> Duration {
    let wait = at.saturating_sub(engine.env.now_ms()).max(1);
    Duration::from_millis(wait.unsigned_abs()).min(IDLE)
}

fn renew_step(shared: &Arc<Shared>) -> Result<Next> {
    let engine = &shared.engine;
    for _ in 0..engine.overruns() {
        shared.workers_lost.fetch_add(1, Ordering::Relaxed);
        work::spawn(shared)?;
    }
    engine.renew()?;
    let third = u64::try_from(engine.settings.lease_ms / 3).unwrap_or(1).max(1);
    Ok(Next::After(Duration::from_millis(third.min(1_000))))
}

// What was committed elsewhere, what is due by now, and ends that nobody leads.
fn pulse_step(shared: &Arc<Shared>) -> Result<Next> {
    let engine = &shared.engine;
    if engine.store.changed_elsewhere()? {
        engine.ring();
    }
    engine.hand_back_stale();
    if engine.lingers() {
        engine.lead()?;
    }
    engine.wait_for_linger(WATCH);
    Ok(Next::Now)
}

/// Takes back what vanished holders held, but not right after a time in which nobody could write:
/// who could not renew then is not gone.
struct Reaper {
    shared: Arc<Shared>,
    last_good_ms: i64,
    not_before_ms: i64,
}

impl Reaper {
    fn new(shared: &Arc<Shared>) -> Reaper {
        let last_good_ms = shared.engine.env.mono_ms();
        Reaper { shared: shared.clone(), last_good_ms, not_before_ms: 0 }
    }

    fn step(&mut self) -> Result<Next> {
        let engine = &self.shared.engine;
        let renewal = engine.settings.lease_ms / 3;
        let every = (renewal / 2).clamp(20, 1_000);
        // A lock that could be taken proves its process gone, whatever the time.
        if engine.store.sweep()? || engine.store.others_hold(engine.process)? {
            // Waits as a renewal would: a long wait, or an error before, is a gap.
            engine.store.touch()?;
            let now = engine.env.mono_ms();
            if now - self.last_good_ms > renewal.max(2 * every) {
                self.not_before_ms = now + renewal;
            }
            engine.reap(now < self.not_before_ms)?;
        }
        self.last_good_ms = engine.env.mono_ms();
        Ok(Next::After(Duration::from_millis(every.unsigned_abs())))
    }
}

/// Starts a loop on a thread of its own.
pub(super) fn spawn(shared: &Arc<Shared>, one: Loop) -> Result<()> {
    let index = {
        let mut health = shared.health.lock();
        health.push(LoopHealth::new(one.name));
        health.len() - 1
    };
    let alive = Alive::new(shared);
    spawn_thread(format!("lanebox-{}", one.name), move || repeat(&alive.0, index, one))
}

fn repeat(shared: &Arc<Shared>, index: usize, mut one: Loop) {
    let bell = &shared.engine.bell;
    while !shared.is_stopping() {
        let heard = bell.heard();
        let answer = catch_unwind(AssertUnwindSafe(|| (one.step)()));
        let pause = note(shared, index, answer);
        if let Some(pause) = pause {
            bell.wait(heard, pause);
        }
    }
}

// Writes down how the step went; how long to wait, unless it wants to go on at once.
fn note(
    shared: &Arc<Shared>,
    index: usize,
    answer: std::thread::Result<Result<Next>>,
) -> Option<Duration> {
    let mut health = shared.health.lock();
    let one = &mut health[index];
    let (error, panicked) = match answer {
        Ok(Ok(next)) => {
            one.good(shared.engine.env.now_ms());
            return match next {
                Next::Now => None,
                Next::After(pause) => Some(pause),
            };
        }
        Ok(Err(error)) => (error.to_string(), false),
        Err(panic) => (crate::engine::run::panic_text(&*panic), true),
    };
    tracing::error!(name = one.name, error, "a loop failed and goes on");
    one.bad(error, panicked);
    let doublings = one.failures_in_a_row.min(6);
    Some((Duration::from_millis(100) * 2_u32.pow(doublings)).min(LONGEST_PAUSE))
}
