//! An engine without threads: the steps of its loops are taken by hand, on the caller's thread, so
//! that what happens in between is the caller's choice.

use std::sync::Arc;

use crate::engine::Engine;
use crate::engine::desk::Turn;
use crate::engine::dispatcher::{self, Dispatcher};
use crate::engine::keep::Renewer;
use crate::engine::reaper::Reaper;
use crate::engine::resolver::{self, Again};
use crate::engine::space::SpaceWatch;
use crate::store::processes::Processes;
use crate::{Lanebox, Reactions, Result};

/// Which loop takes a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// A worker: claims and finishes, or runs one job.
    Work,
    /// Events become deliveries and jobs.
    Dispatch,
    /// Sends whose fate is unknown are settled.
    Resolve,
    /// Leases are renewed.
    Renew,
    /// What others hold and do not work on any more is taken back.
    Reap,
    /// What lingers is written down.
    Pulse,
    /// The write-ahead log is taken over.
    Checkpoint,
    /// The room of the disk is looked at.
    Space,
}

/// A process of a handle. Dropped, it is gone without a word, as if it had been killed.
pub struct Stepped {
    engine: Arc<Engine>,
    dispatcher: Dispatcher,
    renewer: Renewer,
    reaper: Reaper,
    space: SpaceWatch,
}

impl Stepped {
    /// As [`Lanebox::start`], without threads and without a look at mistakes in `reactions`.
    ///
    /// # Errors
    /// Whatever the store answers.
    pub fn start(lanebox: &Lanebox, mut reactions: Reactions) -> Result<Stepped> {
        let process = lanebox.store().register()?;
        let (engine, dispatcher) = lanebox.set_up(process, &mut reactions)?;
        let (renewer, reaper) = (Renewer::default(), Reaper::new(&engine));
        let space = SpaceWatch::default();
        Ok(Stepped { engine, dispatcher, renewer, reaper, space })
    }

    /// Takes a step; whether there is more of it to do at once.
    ///
    /// # Errors
    /// As the step's own loop would meet it.
    pub fn step(&mut self, step: Step) -> Result<bool> {
        let engine = &self.engine;
        match step {
            Step::Work => self.work(),
            Step::Dispatch => {
                let next = engine.dispatch_step(&mut self.dispatcher)?;
                Ok(next == dispatcher::Step::Again)
            }
            Step::Resolve => {
                let (again, woken) = resolver::tick(&*engine.store, &engine.channels)?;
                if woken > 0 {
                    engine.ring_all();
                }
                Ok(again == Again::Now)
            }
            Step::Renew => self.renewer.step(engine).map(|()| false),
            Step::Reap => self.reaper.step(engine).map(|_| false),
            Step::Pulse => engine.beat().map(|()| false),
            Step::Checkpoint => engine.checkpoint().map(|_| false),
            Step::Space => self.space.step(engine).map(|()| false),
        }
    }

    fn work(&self) -> Result<bool> {
        let engine = &self.engine;
        let turn = engine.turn(&mut engine.desk.lock());
        match turn {
            Turn::Run(begun) => {
                engine.run(&begun);
                Ok(true)
            }
            Turn::Lead => engine.lead().map(|()| true),
            Turn::Wait | Turn::Leave => Ok(false),
        }
    }
}
