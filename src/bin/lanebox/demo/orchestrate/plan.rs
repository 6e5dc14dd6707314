//! Which blows fall in which act: dealt out purely, the same for the same seed.

use fastrand::Rng;

use super::super::halts::HaltPoint;
use super::super::log::Blow;
use super::super::provider::Point as Hold;

/// How the moment of a blow is caught.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// A process stops itself there.
    Halt(HaltPoint),
    /// The provider holds a request of a worker's.
    Hold(Hold),
}

/// The intent is on disk; the provider has taken nothing.
pub const AFTER_INTENT: Moment = Moment::Hold(Hold::BeforeAccept);
/// The provider has it; the worker has no answer.
pub const AFTER_ACCEPT: Moment = Moment::Hold(Hold::AfterAccept);
pub const AFTER_CLAIM: Moment = Moment::Halt(HaltPoint::AfterClaim);
pub const THINKING: Moment = Moment::Halt(HaltPoint::Thinking);
pub const AFTER_RECORD: Moment = Moment::Halt(HaltPoint::AfterRecord);
pub const HALFWAY: Moment = Moment::Halt(HaltPoint::Halfway);

impl Moment {
    /// As the demo's log names it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Hold(Hold::BeforeAccept) => "after_intent",
            Self::Hold(Hold::AfterAccept) => "after_accept",
            Self::Halt(HaltPoint::AfterClaim) => "after_claim",
            Self::Halt(HaltPoint::Thinking) => "thinking",
            Self::Halt(HaltPoint::AfterRecord) => "after_record",
            Self::Halt(HaltPoint::Halfway) => "halfway",
        }
    }

    /// For people.
    pub fn words(self) -> &'static str {
        match self {
            Self::Hold(Hold::BeforeAccept) => "after the intent, before the provider accepted",
            Self::Hold(Hold::AfterAccept) => "after the provider accepted, before the record",
            Self::Halt(HaltPoint::AfterClaim) => "after the claim",
            Self::Halt(HaltPoint::Thinking) => "while its handler thinks",
            Self::Halt(HaltPoint::AfterRecord) => "after the record, before the completion",
            Self::Halt(HaltPoint::Halfway) => "between its commit and its 200",
        }
    }
}

/// One thing that will be done to a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Planned {
    pub what: Blow,
    pub moment: Moment,
}

/// Deals `kills` of workers over `acts`. Every act that gets any begins with the worst moment,
/// after the accept; the others follow in turn. With them come three freezes in all, and in each
/// act that has a kill one of the receiver, first: it must fall while webhooks come in. The order
/// of the others within an act is the seed's.
pub fn deal(kills: usize, acts: usize, seed: u64) -> Vec<Vec<Planned>> {
    let mut dealt = vec![Vec::new(); acts];
    if acts == 0 || kills == 0 {
        return dealt;
    }
    let mut others = [AFTER_RECORD, AFTER_CLAIM, AFTER_INTENT, AFTER_ACCEPT].into_iter().cycle();
    for kill in 0..kills {
        let moment = if kill < acts { Some(AFTER_ACCEPT) } else { others.next() };
        let moment = moment.unwrap_or(AFTER_ACCEPT);
        dealt[kill % acts].push(Planned { what: Blow::Kill, moment });
    }
    for (nth, moment) in [THINKING, AFTER_ACCEPT, AFTER_RECORD].into_iter().enumerate() {
        dealt[nth % acts].push(Planned { what: Blow::Freeze, moment });
    }
    let mut rng = Rng::with_seed(seed);
    for (act, blows) in dealt.iter_mut().enumerate() {
        rng.shuffle(blows);
        if act < kills {
            blows.insert(0, Planned { what: Blow::Kill, moment: HALFWAY });
        }
    }
    dealt
}
