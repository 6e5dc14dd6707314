//! What did not go out, and whether anybody knows of it.

use serde::{Deserialize, Serialize};

use super::accepts::Delivered;
use super::database::{Turn, TurnEnd};
use super::fault::{Fault, Faults, Figure};
use super::index::Index;

/// What became of the bubbles of all acknowledged messages.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Messages of which every bubble was accepted.
    pub replied: u64,
    /// Bubbles that an open notice tells of.
    pub noticed: u64,
    /// Bubbles that consent vetoed.
    pub vetoed: u64,
    /// Lost bubbles whose job still waits or runs.
    pub still_waiting: u64,
    /// Replied messages whose job lost a worker on the way.
    pub survived: u64,
    /// The one of them whose job lost the most.
    pub survivor: Option<Survivor>,
}

/// A message that was replied to although its worker vanished.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Survivor {
    pub message: String,
    /// The job's public id, for `lanebox trace`.
    pub job: String,
    /// How often its worker vanished.
    pub losses: u64,
}

/// Judges every acknowledged message that expects a reply.
pub fn judge(index: &Index<'_>, delivered: &Delivered<'_>, faults: &mut Faults) -> Outcome {
    let mut outcome = Outcome::default();
    for (message, contact) in &index.evidence.fed.expecting {
        let turns = index.turns_of(message);
        let mut missing = 0;
        for bubble in 1..=expected(turns) {
            if delivered.contains_key(&(message.as_str(), bubble)) {
                continue;
            }
            missing += 1;
            if has_notice(index, message, turns, bubble) {
                outcome.noticed += 1;
            } else if was_vetoed(index, contact, turns) {
                outcome.vetoed += 1;
            } else {
                outcome.still_waiting += u64::from(turns.iter().any(|turn| turn.end.is_none()));
                let fault = Fault::new(Figure::Lost, why(index, message, turns));
                let fault = fault.message(message).bubble(bubble);
                faults.add(turns.first().map_or(fault.clone(), |turn| fault.job(turn.job)));
            }
        }
        if missing == 0 {
            outcome.replied += 1;
            outcome.remember_survivor(message, turns);
        }
    }
    outcome
}

impl Outcome {
    fn remember_survivor(&mut self, message: &str, turns: &[&Turn]) {
        let Some(turn) = turns.iter().find(|turn| turn.losses > 0) else {
            return;
        };
        self.survived += 1;
        if self.survivor.as_ref().is_none_or(|known| known.losses < turn.losses) {
            self.survivor = Some(Survivor {
                message: message.to_owned(),
                job: turn.id.to_string(),
                losses: turn.losses,
            });
        }
    }
}

fn expected(turns: &[&Turn]) -> u32 {
    let recorded = turns.iter().filter_map(|turn| turn.bubbles.as_ref()).map(Vec::len).max();
    u32::try_from(recorded.unwrap_or(1)).unwrap_or(u32::MAX)
}

fn has_notice(index: &Index<'_>, message: &str, turns: &[&Turn], bubble: u32) -> bool {
    let keeps_back = |turn: &&Turn| {
        let dead = turn.end.as_ref().is_some_and(|end| end.has_open_notice);
        let mut tries = index.tries_of(turn).iter();
        dead || tries.any(|attempt| {
            attempt.is_unknown_to_a_person() && attempt.bubble.is_some_and(|of| of <= bubble)
        })
    };
    index.evidence.database.undispatched.contains(message) || turns.iter().any(keeps_back)
}

/// Vetoed, after a STOP that was acknowledged and that the database held by then.
fn was_vetoed(index: &Index<'_>, contact: &str, turns: &[&Turn]) -> bool {
    let vetoes = turns.iter().filter_map(|turn| turn.end.as_ref()).filter(|end| is_veto(end));
    let received = &index.evidence.database.received;
    let stops = index.evidence.fed.stops.iter().filter(|(_, of)| of.as_str() == contact);
    let first = stops.filter_map(|(stop, _)| received.get(stop)).min();
    first.is_some_and(|&stopped_at| vetoes.into_iter().any(|veto| veto.at >= stopped_at))
}

fn is_veto(end: &TurnEnd) -> bool {
    end.state == "cancelled" && end.reason.as_deref() == Some("vetoed")
}

fn why(index: &Index<'_>, message: &str, turns: &[&Turn]) -> String {
    let Some(turn) = turns.first() else {
        return match index.evidence.database.received.contains_key(message) {
            true => "its event is in the database, but no job replies to it".to_owned(),
            false => "it was acknowledged, but its event is not in the database".to_owned(),
        };
    };
    match &turn.end {
        None => "its job still waits or runs: judged too early, or stuck".to_owned(),
        Some(end) if is_veto(end) => {
            "its job was vetoed, but not after a STOP of its contact".to_owned()
        }
        Some(TurnEnd { state, reason: Some(reason), .. }) => {
            format!("its job is {state} ({reason})")
        }
        Some(TurnEnd { state, .. }) => {
            format!("its job is {state}, no open notice tells of it, and the provider has nothing")
        }
    }
}
