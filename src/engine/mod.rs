//! What to do next: steps that decide and never sleep. `runtime.rs` gives them threads.

pub(crate) mod bell;
pub(crate) mod channel;
pub(crate) mod ctx;
pub(crate) mod desk;
pub(crate) mod dispatcher;
pub(crate) mod keep;
pub(crate) mod peers;
pub(crate) mod reactions;
pub(crate) mod reaper;
pub(crate) mod record;
pub(crate) mod resolver;
pub(crate) mod round;
pub(crate) mod run;
pub(crate) mod sender;
pub(crate) mod signal;
pub(crate) mod space;
pub(crate) mod stop;

use std::collections::HashMap;
use std::sync::Arc;

use crate::env::Env;
use crate::error::Result;
use crate::model::id::{KindNo, ProcessNo};
use crate::store::Store;
use crate::store::processes::Announced;
use crate::sync::{Condvar, Mutex};
use bell::Bell;
use channel::Channels;
use desk::Desk;
use peers::Peers;
use reactions::{Handler, Reactions};

/// How the engine of one process works.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Settings {
    pub(crate) workers: usize,
    pub(crate) lease_ms: i64,
    pub(crate) suspect_wait_ms: i64,
}

/// The engine of one process: the store, what it has code for, and the desk between them.
pub(crate) struct Engine {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) env: Env,
    pub(crate) process: ProcessNo,
    pub(crate) settings: Settings,
    handlers: HashMap<KindNo, Handler>,
    /// Of the kinds that have a handler here.
    names: HashMap<KindNo, String>,
    pub(crate) channels: Channels,
    pub(crate) desk: Mutex<Desk>,
    /// Wakes workers: something to run or to lead.
    pub(crate) wake: Condvar,
    /// Wakes the pulse: an end lingers without a leader, or the last run has ended.
    pub(crate) pulse: Condvar,
    /// Wakes the loops: something was committed.
    pub(crate) bell: Bell,
    pub(crate) peers: Arc<Peers>,
}

impl Engine {
    /// Writes down the kinds and channels that this process has code for.
    pub(crate) fn new(
        store: Arc<dyn Store>,
        env: Env,
        process: ProcessNo,
        settings: Settings,
        reactions: &Reactions,
        peers: Arc<Peers>,
    ) -> Result<Engine> {
        let (mut handlers, mut names) = (HashMap::new(), HashMap::new());
        let announced = reactions.handlers().map(|(name, handler)| Announced {
            kind: name.to_owned(),
            yields: handler.policy.yields,
        });
        let kinds = store.announce(process, announced.collect())?;
        for (kind, (name, handler)) in kinds.into_iter().zip(reactions.handlers()) {
            handlers.insert(kind, handler.clone());
            names.insert(kind, name.to_owned());
        }
        let desk = Mutex::new(Desk::new(settings.workers));
        let (wake, pulse, bell) = (Condvar::new(), Condvar::new(), Bell::default());
        let channels = reactions.channels().clone();
        store.offers(channels.names())?;
        Ok(Engine {
            store,
            env,
            process,
            settings,
            handlers,
            names,
            channels,
            desk,
            wake,
            pulse,
            bell,
            peers,
        })
    }

    /// One more worker, if there is more to run than who is awake should run alone. Each that comes
    /// wakes the next: short runs are over before a crowd is awake.
    pub(crate) fn wake_next(&self, desk: &mut Desk) {
        if desk.wants_worker() {
            self.wake_one(desk);
        }
    }

    /// One more worker.
    pub(crate) fn wake_one(&self, desk: &mut Desk) {
        desk.wakes(self.wake.notify_one());
    }

    /// Something was left behind that the pulse looks after.
    pub(crate) fn wake_pulse(&self, desk: &mut Desk) {
        if std::mem::take(&mut desk.pulse_rests) {
            self.pulse.notify_all();
        }
    }

    /// What a worker does next, if it need not wait for it; whether there was anything.
    #[cfg(any(test, feature = "testing"))]
    pub(crate) fn work_step(&self) -> Result<bool> {
        let turn = self.turn(&mut self.desk.lock());
        match turn {
            desk::Turn::Run(begun) => {
                self.run(&begun);
                Ok(true)
            }
            desk::Turn::Lead => self.lead().map(|()| true),
            desk::Turn::Wait | desk::Turn::Leave => Ok(false),
        }
    }

    /// This engine committed something that anybody may wait for: every engine of its handle looks.
    pub(crate) fn ring_all(&self) {
        self.peers.ring_others(self);
        self.ring();
    }

    /// Something was committed: an idle worker and the loops look.
    pub(crate) fn ring(&self) {
        self.desk.lock().rung = true;
        self.wake.notify_one();
        self.bell.ring();
    }
}
