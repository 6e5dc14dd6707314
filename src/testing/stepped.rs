//! An engine without threads: the steps of its loops are taken by hand, on the caller's thread, so
//! that what happens in between is the caller's choice.

use std::sync::Arc;

use crate::engine::Engine;
use crate::engine::reaper::Reaper;
use crate::engine::resolver::Again;
use crate::store::processes::Processes;
use crate::{Lanebox, Reactions, Result};

/// Which loop takes a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// A worker: claims and finishes, or runs one job.
    Work,
    /// Sends whose fate is unknown are settled.
    Resolve,
    /// What others hold and do not work on any more is taken back.
    Reap,
    /// What lingers is written down.
    Pulse,
}

/// A process of a handle. Dropped, it is gone without a word, as if it had been killed.
pub struct Stepped {
    engine: Arc<Engine>,
    reaper: Reaper,
}

impl Stepped {
    /// As [`Lanebox::start`], without threads and without a look at mistakes in `reactions`.
    ///
    /// # Errors
    /// Whatever the store answers.
    pub fn start(lanebox: &Lanebox, mut reactions: Reactions) -> Result<Stepped> {
        let process = lanebox.store().register()?;
        let engine = lanebox.set_up(process, &mut reactions)?.0;
        Ok(Stepped { reaper: Reaper::new(&engine), engine })
    }

    /// Takes a step; whether there is more of it to do at once.
    ///
    /// # Errors
    /// As the step's own loop would meet it.
    pub fn step(&mut self, step: Step) -> Result<bool> {
        let engine = &self.engine;
        match step {
            Step::Work => engine.work_step(),
            Step::Resolve => Ok(engine.resolve_step()?.0 == Again::Now),
            Step::Reap => self.reaper.step(engine).map(|_| false),
            Step::Pulse => engine.beat().map(|()| false),
        }
    }
}
