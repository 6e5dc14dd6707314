//! One simulated process: an engine with its loops, each stepped by hand as its thread would.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;

use super::mortal::{Life, Mortal, said};
use super::world::World;
use super::{LEASE_MS, work};
use crate::engine::dispatcher::{Dispatcher, Step};
use crate::engine::keep::Renewer;
use crate::engine::reaper::Reaper;
use crate::engine::resolver::Again;
use crate::engine::signal::Stop;
use crate::engine::space::SpaceWatch;
use crate::engine::{Engine, Settings};
use crate::error::{Error, Result};
use crate::store::Store;

const WORKERS: usize = 2;

/// A thread of a process, as far as one is simulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Thread {
    Worker,
    Dispatch,
    Resolve,
    Pulse,
    Renew,
    Reap,
    Space,
}

pub(super) struct Process {
    pub(super) life: Arc<Life>,
    pub(super) store: Arc<dyn Store>,
    engine: Arc<Engine>,
    /// Each loop's own state; taken while its step is under way, as the loop has one thread.
    dispatcher: Mutex<Option<Dispatcher>>,
    renewer: Mutex<Option<Renewer>>,
    reaper: Mutex<Option<Reaper>>,
    space: Mutex<Option<SpaceWatch>>,
    generation: Mutex<Option<u64>>,
    resolves: Mutex<Option<()>>,
    at_work: AtomicUsize,
}

impl Process {
    /// `None` if it died, or met an error, while it started.
    pub(super) fn start(world: &Arc<World>) -> Option<Process> {
        let (name, store, env) = world.open();
        let life = Life::new(name);
        world.note(&format!("{name} starts"));
        let store: Arc<dyn Store> = Arc::new(Mortal::new(world, &life, store));
        let started = Process::on(world, life.clone(), store, env);
        if let Err(error) = &started {
            world.note(&format!("{name} did not start: {}", said(error)));
            life.die();
        }
        started.ok()
    }

    fn on(
        world: &Arc<World>,
        life: Arc<Life>,
        store: Arc<dyn Store>,
        env: crate::env::Env,
    ) -> Result<Process> {
        let mut reactions = work::reactions(world, &life);
        let settings = Settings { workers: WORKERS, lease_ms: LEASE_MS, suspect_wait_ms: 2_000 };
        reactions.check(LEASE_MS).expect("no mistakes");
        let no = store.register()?;
        let engine =
            Arc::new(Engine::new(store.clone(), env, no, settings, &reactions, Arc::default())?);
        let subscriptions = reactions.take_subscriptions();
        let dispatcher = Dispatcher::start(&*store, no, subscriptions)?.0;
        Ok(Process {
            life,
            store,
            dispatcher: Mutex::new(Some(dispatcher)),
            renewer: Mutex::new(Some(Renewer::default())),
            reaper: Mutex::new(Some(Reaper::new(&engine))),
            space: Mutex::new(Some(SpaceWatch::default())),
            generation: Mutex::new(Some(0)),
            resolves: Mutex::new(Some(())),
            at_work: AtomicUsize::new(0),
            engine,
        })
    }

    /// One step of one thread; whether it found something to do.
    pub(super) fn step(&self, world: &Arc<World>, thread: Thread) -> bool {
        if self.life.is_dead() || self.life.is_frozen() {
            return false;
        }
        self.life.enter();
        let answer = match thread {
            Thread::Worker => self.work(),
            Thread::Dispatch => alone(&self.dispatcher, |dispatcher| self.dispatch(dispatcher)),
            Thread::Resolve => alone(&self.resolves, |()| self.resolve()),
            Thread::Pulse => alone(&self.generation, |seen| self.pulse(seen)),
            Thread::Renew => {
                alone(&self.renewer, |renewer| renewer.step(&self.engine).map(|()| false))
            }
            Thread::Reap => alone(&self.reaper, |reaper| reaper.step(&self.engine).map(|_| false)),
            Thread::Space => alone(&self.space, |space| {
                space.step(&self.engine)?;
                self.engine.checkpoint().map(|_| false)
            }),
        };
        self.life.leave();
        match answer {
            Ok(more) => more,
            Err(error) => {
                world.note(&format!("{}: {thread:?} failed: {}", self.life.name, said(&error)));
                // A failed flush closes the handle for good, and its program ends.
                if matches!(error, Error::Closed { .. }) {
                    self.life.die();
                }
                false
            }
        }
    }

    // As a worker's thread: leads, runs, or has nothing to do.
    fn work(&self) -> Result<bool> {
        if self.at_work.fetch_add(1, Ordering::SeqCst) >= WORKERS {
            self.at_work.fetch_sub(1, Ordering::SeqCst);
            return Ok(false);
        }
        let done = self.engine.work_step();
        self.at_work.fetch_sub(1, Ordering::SeqCst);
        done
    }

    // Two threads in one: what others committed, and what is due.
    fn pulse(&self, seen: &mut u64) -> Result<bool> {
        let looked = self.engine.look_elsewhere(seen);
        self.engine.beat()?;
        looked.map(|()| false)
    }

    fn dispatch(&self, dispatcher: &mut Dispatcher) -> Result<bool> {
        let engine = &self.engine;
        Ok(engine.dispatch_step(dispatcher)? == Step::Again)
    }

    fn resolve(&self) -> Result<bool> {
        let (again, woken) = self.engine.resolve_step()?;
        Ok(again == Again::Now || woken > 0)
    }

    /// Something was committed by the host in this process.
    pub(super) fn ring(&self) {
        self.engine.ring();
    }

    /// Ends in order, as a deploy does. Nothing of it is under way.
    pub(super) fn stop(&self) {
        self.engine.stop_taking();
        self.engine.signal_all(Stop::Leaving);
        // What cannot be written now runs out, as it would for real.
        let said = self.engine.lead_last().and_then(|()| self.store.leave(self.engine.process));
        drop(said);
        self.life.die();
    }
}

// A loop has one thread: while its step is under way, nobody makes another.
fn alone<T>(own: &Mutex<Option<T>>, step: impl FnOnce(&mut T) -> Result<bool>) -> Result<bool> {
    let Some(mut taken) = own.lock().take() else { return Ok(false) };
    let answer = step(&mut taken);
    *own.lock() = Some(taken);
    answer
}
