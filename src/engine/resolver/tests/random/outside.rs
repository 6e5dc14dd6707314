//! The world outside: a provider with a memory of its own, requests on the wire, and statuses that
//! come late, twice or never.

use std::sync::Arc;

use parking_lot::Mutex;

use crate::engine::channel::{Channel, Delivery, Letter, Lookup};
use crate::env::Env;
use crate::model::id::SendKey;
use crate::model::send::ability::Abilities;
use crate::store::ledger::tests::world::{SETTLE, TIMEOUT};

/// A message that the provider accepted.
#[derive(Clone, Debug)]
pub(super) struct Message {
    pub(super) key: SendKey,
    pub(super) id: String,
    at: i64,
    visible_at: i64,
}

#[derive(Default)]
struct Inner {
    messages: Vec<Message>,
    wire: Vec<(i64, SendKey)>,
    statuses: Vec<(i64, SendKey, String)>,
    repeats: usize,
}

/// The provider, with a wall clock like everybody's.
pub(super) struct Outside {
    abilities: Abilities,
    env: Env,
    chance: Mutex<fastrand::Rng>,
    inner: Mutex<Inner>,
}

/// What the caller hears, and when at the earliest.
#[derive(Clone, Debug)]
pub(super) enum Heard {
    Accepted(String),
    Refused,
    NotCalled,
    /// Nothing, until the timeout.
    Nothing,
}

impl Outside {
    pub(super) fn new(abilities: Abilities, env: Env, seed: u64) -> Arc<Outside> {
        let chance = Mutex::new(fastrand::Rng::with_seed(seed));
        Arc::new(Outside { abilities, env, chance, inner: Mutex::default() })
    }

    /// One request. It arrives, or it does not; so does its answer.
    pub(super) fn call(&self, key: SendKey) -> Heard {
        let now = self.env.now_ms();
        let dice = self.chance.lock().u32(0..100);
        match dice {
            0..50 => Heard::Accepted(self.arrives(key, now)),
            50..64 => {
                self.arrives(key, now);
                Heard::Nothing
            }
            64..76 => Heard::Nothing,
            76..86 => {
                let after = self.chance.lock().i64(1..=TIMEOUT);
                self.inner.lock().wire.push((now + after, key));
                Heard::Nothing
            }
            86..94 => Heard::Refused,
            _ => Heard::NotCalled,
        }
    }

    fn arrives(&self, key: SendKey, now: i64) -> String {
        let mut chance = self.chance.lock();
        let mut inner = self.inner.lock();
        let known = inner.messages.iter().find(|message| message.key == key).cloned();
        if let (Some(known), Some(memory)) = (known, self.abilities.dedupe_ms)
            && now < known.at + memory
        {
            inner.repeats += 1;
            return known.id;
        }
        let id = format!("wamid.{}", inner.messages.len() + 1);
        let visible_at = now + chance.i64(0..=SETTLE);
        inner.messages.push(Message { key, id: id.clone(), at: now, visible_at });
        // Three in ten are lost, two in ten come twice.
        let times = [0, 0, 0, 1, 1, 1, 1, 1, 2, 2][chance.usize(0..10)];
        for _ in 0..times {
            let late = if chance.bool() { 2_000 } else { 7_200_000 };
            let due = now + chance.i64(0..late);
            inner.statuses.push((due, key, id.clone()));
        }
        id
    }

    /// What was on the wire long enough arrives.
    pub(super) fn time_passed(&self) {
        let now = self.env.now_ms();
        let wire = std::mem::take(&mut self.inner.lock().wire);
        let (arrived, still): (Vec<_>, Vec<_>) = wire.into_iter().partition(|(at, _)| *at <= now);
        self.inner.lock().wire = still;
        for (at, key) in arrived {
            self.arrives(key, at);
        }
    }

    /// Statuses that have come by now (or all of them), in no order.
    pub(super) fn statuses(&self, all: bool) -> Vec<(SendKey, String)> {
        let now = self.env.now_ms();
        let statuses = std::mem::take(&mut self.inner.lock().statuses);
        let (come, still): (Vec<_>, Vec<_>) =
            statuses.into_iter().partition(|(due, ..)| all || *due <= now);
        self.inner.lock().statuses = still;
        come.into_iter().map(|(_, key, id)| (key, id)).collect()
    }

    pub(super) fn messages(&self) -> Vec<Message> {
        self.inner.lock().messages.clone()
    }

    pub(super) fn repeats(&self) -> usize {
        self.inner.lock().repeats
    }
}

impl Channel for Outside {
    fn abilities(&self) -> Abilities {
        self.abilities
    }

    fn deliver(&self, _: &Letter<'_>) -> Delivery {
        unreachable!("the fleet makes its calls in steps of its own")
    }

    fn lookup(&self, key: SendKey) -> Lookup {
        if self.chance.lock().u32(0..5) == 0 {
            return Lookup::CannotTell;
        }
        let now = self.env.now_ms();
        let inner = self.inner.lock();
        let found = inner.messages.iter().find(|m| m.key == key && m.visible_at <= now);
        found.map_or(Lookup::NotFound, |message| Lookup::Found { receipt: message.id.clone() })
    }
}
