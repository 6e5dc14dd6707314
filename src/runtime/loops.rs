//! The loops beside the workers: each repeats its step, survives an error or a panic, and says when
//! it was last well.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use super::health::LoopHealth;
use super::watch::Watch;
use super::{Alive, Loop, Next, Shared, spawn as spawn_thread, work};
use crate::engine::Engine;
use crate::engine::dispatcher::{Dispatcher, Step};
use crate::engine::keep::Renewer;
use crate::engine::reaper::Reaper;
use crate::engine::resolver::Again;
use crate::engine::space::{LOOK_MS, SpaceWatch};
use crate::error::Result;

/// How long the pulse rests that knows of nothing that becomes due.
const PULSE: Duration = Duration::from_millis(100);

/// How long a loop waits that has nothing to do and hears no bell.
const IDLE: Duration = Duration::from_secs(1);

/// Longest wait after failures in a row, if leases are long.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// The loop that goes on after a stop, for runs that did not answer it.
const RENEW: &str = "renew";

/// The loops that every engine has.
pub(super) fn own(shared: &Arc<Shared>) -> Vec<Loop> {
    let (renews, pulse, reaps) = (shared.clone(), shared.clone(), shared.clone());
    let (looks, checkpoints) = (shared.clone(), shared.clone());
    let (watches, mut watch) = (shared.clone(), Watch::new(shared.hint.clone()));
    let mut renewer = Renewer::default();
    let mut reaper = Reaper::new(&shared.engine);
    let mut space = SpaceWatch::default();
    let look = move || space.step(&looks.engine).map(|()| Next::Rest(ms(LOOK_MS)));
    let checkpoint = move || Ok(Next::Rest(ms(checkpoints.engine.checkpoint()?)));
    let reap = move || Ok(Next::Rest(ms(reaper.step(&reaps.engine)?)));
    vec![
        Loop { name: RENEW, step: Box::new(move || renew_step(&renews, &mut renewer)) },
        Loop { name: "pulse", step: Box::new(move || pulse_step(&pulse)) },
        Loop { name: "watch", step: Box::new(move || watch.step(&watches)) },
        Loop { name: "reap", step: Box::new(reap) },
        Loop { name: "space", step: Box::new(look) },
        // Apart from the others: it waits for the disk.
        Loop { name: "checkpoint", step: Box::new(checkpoint) },
    ]
}

/// The loop that dispatches events to the consumers of this process.
pub(crate) fn dispatch(engine: Arc<Engine>, mut dispatcher: Dispatcher) -> Loop {
    let step = move || {
        Ok(match engine.dispatch_step(&mut dispatcher)? {
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
        Ok(match engine.resolve_step()?.0 {
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

fn ms(ms: i64) -> Duration {
    Duration::from_millis(ms.unsigned_abs())
}

fn renew_step(shared: &Arc<Shared>, renewer: &mut Renewer) -> Result<Next> {
    renewer.step(&shared.engine)?;
    replace_hung_threads(shared)?;
    Ok(Next::Rest(ms(renewer.pause_ms(&shared.engine))))
}

fn replace_hung_threads(shared: &Arc<Shared>) -> Result<()> {
    while let Some(token) = shared.engine.hangs() {
        work::spawn(shared)?;
        shared.engine.replaced(token);
        shared.lost_a_worker();
    }
    Ok(())
}

fn pulse_step(shared: &Arc<Shared>) -> Result<Next> {
    shared.engine.beat()?;
    shared.engine.wait_for_linger(PULSE);
    Ok(Next::Now)
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
    let engine = &shared.engine;
    loop {
        // Before the step, so that a bell that rings meanwhile is not missed.
        let (rings, leaving) = (engine.bell.heard(), shared.leaving.heard());
        if shared.is_stopping() && !(one.name == RENEW && engine.running() > 0) {
            return;
        }
        let answer = catch_unwind(AssertUnwindSafe(|| (one.step)()));
        match note(shared, index, answer) {
            Next::Now => {}
            Next::After(pause) => engine.bell.wait(rings, pause),
            Next::Rest(pause) => shared.leaving.wait(leaving, pause),
        }
    }
}

// Writes down how the step went, and says what to do next.
fn note(shared: &Arc<Shared>, index: usize, answer: std::thread::Result<Result<Next>>) -> Next {
    let (error, panicked) = match answer {
        Ok(Ok(next)) => {
            shared.health.lock()[index].good(shared.engine.env.now_ms());
            return next;
        }
        Ok(Err(error)) => (error.to_string(), false),
        Err(panic) => (crate::engine::run::panic_text(&*panic), true),
    };
    let (name, failures) = shared.health.lock()[index].bad(&error, panicked);
    // Not under the lock: the host's log may ask for the health.
    tracing::error!(name, error, "a loop failed and goes on");
    // Who renews must come back well before a lease ends.
    let longest = LONGEST_PAUSE
        .min(Duration::from_millis(shared.engine.settings.lease_ms.unsigned_abs() / 6));
    Next::Rest((Duration::from_millis(100) * 2_u32.pow(failures.min(6))).min(longest))
}
