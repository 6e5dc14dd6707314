//! The world outside: a provider with a memory of its own, requests on the wire, answers that get
//! lost, and statuses that come late, twice or never.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;

use super::mortal::Life;
use super::world::World;
use super::{SETTLE_MS, TIMEOUT_MS};
use crate::engine::channel::{Channel, Delivery, Letter, Lookup};
use crate::model::id::SendKey;
use crate::model::send::ability::Abilities;

/// A message that the provider accepted.
#[derive(Clone, Debug)]
pub(super) struct Message {
    pub(super) key: SendKey,
    id: String,
    at: i64,
    visible_at: i64,
}

pub(super) struct Outside {
    abilities: Abilities,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    messages: Vec<Message>,
    wire: Vec<(i64, SendKey)>,
    statuses: Vec<(i64, SendKey, String)>,
}

impl Outside {
    pub(super) fn new(abilities: Abilities) -> Outside {
        Outside { abilities, inner: Mutex::default() }
    }

    pub(super) fn messages(&self) -> Vec<Message> {
        self.inner.lock().messages.clone()
    }
}

impl World {
    // The provider's clock: no step of this machine's wall clock moves it.
    fn outside(&self) -> i64 {
        self.before_boot.load(Ordering::SeqCst) + self.mono_ms()
    }

    // A key that it remembers is answered as it was.
    fn arrives(&self, key: SendKey, at: i64) -> String {
        let (late, lost) = (self.between(0, SETTLE_MS), self.below(10));
        let mut inner = self.outside.inner.lock();
        let known = inner.messages.iter().find(|message| message.key == key);
        if let (Some(known), Some(memory)) = (known, self.outside.abilities.dedupe_ms)
            && at < known.at + memory
        {
            let id = known.id.clone();
            drop(inner);
            self.see("a repeat is recognised");
            return id;
        }
        let id = format!("wamid.{}", inner.messages.len() + 1);
        inner.messages.push(Message { key, id: id.clone(), at, visible_at: at + late });
        // Three in ten statuses are lost, two in ten come twice.
        for _ in 0..[0, 0, 0, 1, 1, 1, 1, 1, 2, 2][lost] {
            inner.statuses.push((at + 20 * late, key, id.clone()));
        }
        id
    }

    /// What was on the wire long enough arrives.
    pub(super) fn wire(&self) {
        let now = self.outside();
        let wire = std::mem::take(&mut self.outside.inner.lock().wire);
        let (come, still): (Vec<_>, Vec<_>) = wire.into_iter().partition(|(at, _)| *at <= now);
        self.outside.inner.lock().wire = still;
        for (at, key) in come {
            self.arrives(key, at);
        }
    }

    /// A status that has come by now.
    pub(super) fn status(&self) -> Option<(SendKey, String)> {
        let (now, all) = (self.outside(), self.is_quiet());
        let mut inner = self.outside.inner.lock();
        let at = inner.statuses.iter().position(|(due, ..)| all || *due <= now)?;
        let (_, key, id) = inner.statuses.remove(at);
        Some((key, id))
    }

    /// One request: it arrives or not, and so does its answer. Whoever is frozen in it was frozen
    /// behind it: a call does not outlast its timeout.
    fn call(self: &Arc<World>, life: &Arc<Life>, key: SendKey) -> Delivery {
        if self.is_quiet() {
            return Delivery::accepted(self.arrives(key, self.outside()));
        }
        let nothing = || Delivery::Unknown { reason: "no answer".to_owned() };
        let answer = match self.below(100) {
            0..40 => Delivery::accepted(self.arrives(key, self.outside())),
            40..56 => {
                self.see("an answer is lost");
                self.arrives(key, self.outside());
                nothing()
            }
            56..74 => {
                self.see("a request vanishes");
                nothing()
            }
            74..82 => {
                self.see("a request is delayed");
                let at = self.outside() + self.between(1, TIMEOUT_MS);
                self.outside.inner.lock().wire.push((at, key));
                nothing()
            }
            82..90 => Delivery::rejected_for_now("too many"),
            90..94 => Delivery::rejected_for_good("no such number"),
            _ => Delivery::NotCalled { reason: "no route to it".to_owned() },
        };
        if self.swarm.deaths && self.below(100) < 10 {
            self.see("death during a call");
            self.note(&format!("{} dies in its call", life.name));
            life.die();
        }
        if matches!(answer, Delivery::Unknown { .. }) {
            self.clock.advance(TIMEOUT_MS);
        }
        self.point(life, "call");
        answer
    }
}

/// The provider as the code of one process calls it.
pub(super) struct Line {
    pub(super) world: Weak<World>,
    pub(super) life: Arc<Life>,
}

impl Channel for Line {
    fn abilities(&self) -> Abilities {
        let world = self.world.upgrade().expect("the world outlives its processes");
        world.outside.abilities
    }

    fn deliver(&self, letter: &Letter<'_>) -> Delivery {
        let world = self.world.upgrade().expect("the world outlives its processes");
        if self.life.is_dead() {
            return Delivery::Unknown { reason: "nobody is there to call".to_owned() };
        }
        world.note(&format!("{} calls", self.life.name));
        world.call(&self.life, letter.key)
    }

    fn lookup(&self, key: SendKey) -> Lookup {
        let world = self.world.upgrade().expect("the world outlives its processes");
        world.wire();
        let now = world.outside();
        if !world.is_quiet() && world.below(5) == 0 {
            return Lookup::CannotTell;
        }
        let messages = world.outside.messages();
        let found = messages.into_iter().find(|m| m.key == key && m.visible_at <= now);
        found.map_or(Lookup::NotFound, |message| Lookup::Found { receipt: message.id })
    }
}
