//! The ways through the evidence: from a key to its job, from a message to its jobs and contact.

use std::collections::HashMap;

use uuid::Uuid;

use super::super::log::ProviderRecord;
use super::database::{Asked, Try, Turn};
use super::evidence::Evidence;

/// Evidence that can be asked.
pub struct Index<'e> {
    pub evidence: &'e Evidence,
    by_origin: HashMap<&'e str, &'e Turn>,
    by_message: HashMap<&'e str, Vec<&'e Turn>>,
    tries_by_origin: HashMap<&'e str, Vec<&'e Try>>,
}

/// An accept and what it belongs to.
pub struct Traced<'e> {
    pub record: &'e ProviderRecord,
    pub attempt: &'e Try,
    pub bubble: u32,
    pub turn: &'e Turn,
    pub asked: &'e Asked,
}

/// Who wrote a message, if anybody did.
pub enum Writer<'e> {
    /// It expects a reply.
    Contact(&'e str),
    /// It withdraws consent.
    Stop,
    Nobody,
}

impl<'e> Index<'e> {
    pub fn of(evidence: &'e Evidence) -> Self {
        let mut by_message: HashMap<_, Vec<_>> = HashMap::new();
        let mut tries_by_origin: HashMap<_, Vec<_>> = HashMap::new();
        let turns = &evidence.database.turns;
        for turn in turns {
            if let Some(asked) = &turn.asked {
                by_message.entry(asked.message.as_str()).or_default().push(turn);
            }
        }
        for attempt in evidence.database.tries.values() {
            tries_by_origin.entry(attempt.origin.as_str()).or_default().push(attempt);
        }
        let by_origin = turns.iter().map(|turn| (turn.origin.as_str(), turn)).collect();
        Self { evidence, by_origin, by_message, tries_by_origin }
    }

    /// The jobs that reply to a message. One, if all is well.
    pub fn turns_of(&self, message: &str) -> &[&'e Turn] {
        self.by_message.get(message).map_or(&[], Vec::as_slice)
    }

    /// All attempts at all sends of a job.
    pub fn tries_of(&self, turn: &Turn) -> &[&'e Try] {
        self.tries_by_origin.get(turn.origin.as_str()).map_or(&[], Vec::as_slice)
    }

    /// What an accept belongs to, or where the trace ends.
    pub fn trace(&self, record: &'e ProviderRecord) -> Result<Traced<'e>, &'static str> {
        let key = record.key.as_deref().ok_or("it carries no key")?;
        let attempt = Uuid::parse_str(key)
            .ok()
            .and_then(|key| self.evidence.database.tries.get(&key))
            .ok_or("no send in the database has its key")?;
        let turn = *self
            .by_origin
            .get(attempt.origin.as_str())
            .ok_or("its send is of no job that replies to a message")?;
        let asked = turn.asked.as_ref().ok_or("the payload of its job names no message")?;
        let bubble = attempt.bubble.ok_or("its send has no number, so it is no bubble")?;
        Ok(Traced { record, attempt, bubble, turn, asked })
    }

    /// The feeder's word; for a message that it does not know, the database's.
    pub fn writer(&self, asked: &'e Asked) -> Writer<'e> {
        let Evidence { fed, database, .. } = self.evidence;
        let message = &asked.message;
        if fed.stops.contains_key(message) {
            return Writer::Stop;
        }
        match fed.expecting.get(message) {
            Some(contact) => Writer::Contact(contact),
            None if database.received.contains_key(message) && !fed.refused.contains(message) => {
                Writer::Contact(&asked.contact)
            }
            None => Writer::Nobody,
        }
    }
}
