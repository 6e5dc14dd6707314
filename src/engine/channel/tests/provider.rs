//! A provider that answers as it is told, and keeps a log of what it accepted.

use std::collections::VecDeque;
use std::time::Duration;

use parking_lot::Mutex;

use crate::engine::channel::{Channel, Delivery, Letter, Lookup};
use crate::model::id::SendKey;
use crate::model::send::ability::Abilities;
use crate::model::send::class::Refusal;

/// What it does with the next message.
pub(crate) enum Reply {
    Accept,
    /// It has the message, and its answer is lost.
    LoseTheAnswer,
    /// The message never arrives, and the caller hears nothing.
    LoseTheRequest,
    /// It has the message, and its answer says only this.
    Mumble(&'static str),
    Refuse(Refusal),
    /// "Not now, and nothing for so long."
    RefuseFor(Duration),
    /// No connection.
    NotCalled,
    /// The client's code panics before anything left.
    Panic,
    /// While the call is under way, this happens; then the next reply counts.
    While(Box<dyn FnOnce() + Send>),
}

/// A message that it accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Message {
    pub(crate) key: SendKey,
    pub(crate) to: String,
    pub(crate) text: String,
    pub(crate) id: String,
}

/// The provider, by a log that outlives every process.
pub(crate) struct Provider {
    abilities: Abilities,
    log: Mutex<Vec<Message>>,
    script: Mutex<VecDeque<Reply>>,
    asked: Mutex<Vec<SendKey>>,
}

impl Provider {
    pub(crate) fn new(abilities: Abilities) -> Provider {
        Provider {
            abilities,
            log: Mutex::default(),
            script: Mutex::default(),
            asked: Mutex::default(),
        }
    }

    /// What it does next; without a script it accepts.
    pub(crate) fn then(&self, reply: Reply) {
        self.script.lock().push_back(reply);
    }

    pub(crate) fn log(&self) -> Vec<Message> {
        self.log.lock().clone()
    }

    /// The texts that went out, in order.
    pub(crate) fn texts(&self) -> Vec<String> {
        self.log.lock().iter().map(|message| message.text.clone()).collect()
    }

    /// The keys that its lookup was asked for.
    pub(crate) fn asked(&self) -> Vec<SendKey> {
        self.asked.lock().clone()
    }

    fn store(&self, letter: &Letter<'_>) -> String {
        let mut log = self.log.lock();
        if let Some(known) = log.iter().find(|message| message.key == letter.key)
            && self.abilities.dedupe_ms.is_some()
        {
            return known.id.clone();
        }
        let id = format!("wamid.{}", log.len() + 1);
        let (to, text) = (letter.recipient.to_owned(), letter.body.to_owned());
        log.push(Message { key: letter.key, to, text, id: id.clone() });
        id
    }
}

impl Channel for Provider {
    fn abilities(&self) -> Abilities {
        self.abilities
    }

    fn deliver(&self, letter: &Letter<'_>) -> Delivery {
        let lost = || Delivery::Unknown { reason: "timeout".to_owned() };
        // Not under the lock: what happens meanwhile may script more.
        let reply = self.script.lock().pop_front();
        match reply.unwrap_or(Reply::Accept) {
            Reply::Accept => Delivery::accepted(self.store(letter)),
            Reply::LoseTheAnswer => {
                self.store(letter);
                lost()
            }
            Reply::LoseTheRequest => lost(),
            Reply::Mumble(reason) => {
                self.store(letter);
                Delivery::Unknown { reason: reason.to_owned() }
            }
            Reply::Refuse(refusal) => {
                Delivery::Rejected { refusal, reason: "no".to_owned(), retry_after: None }
            }
            Reply::RefuseFor(pause) => Delivery::Rejected {
                refusal: Refusal::Transient,
                reason: "too many requests".to_owned(),
                retry_after: Some(pause),
            },
            Reply::NotCalled => Delivery::NotCalled { reason: "connection refused".to_owned() },
            Reply::Panic => panic!("the client's code panicked"),
            Reply::While(happens) => {
                happens();
                self.deliver(letter)
            }
        }
    }

    fn lookup(&self, key: SendKey) -> Lookup {
        self.asked.lock().push(key);
        let found = self.log.lock().iter().find(|message| message.key == key).cloned();
        found.map_or(Lookup::NotFound, |message| Lookup::Found { receipt: message.id })
    }
}
