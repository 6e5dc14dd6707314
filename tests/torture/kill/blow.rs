//! Blows, by the seed: some at any moment, some at a moment that the rig waits for.

use std::time::Duration;

use rustix::process::Signal;

use super::ROUND;
use super::stage::Stage;
use super::tally::Phase;
use crate::clock::{now, pass, since, within};
use crate::eye::Midst;
use crate::part::Part;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Blow {
    AnyMoment,
    StartUp,
    Write,
    Checkpoint,
    Stop,
    /// Told to stop, and let go.
    Leave,
    /// Frozen past its lease, then thawed or killed.
    Freeze,
}

/// Every moment is struck on purpose once in a round, then by chance.
const FIRST: [Blow; 6] =
    [Blow::Freeze, Blow::StartUp, Blow::Write, Blow::Stop, Blow::Checkpoint, Blow::Leave];

/// What a whole round must not end without.
const MUST: [(Blow, Phase); 4] = [
    (Blow::StartUp, Phase::StartUp),
    (Blow::Write, Phase::Writing),
    (Blow::Checkpoint, Phase::Checkpoint),
    (Blow::Stop, Phase::Stop),
];

/// How often what was missed is tried once more.
const MORE: usize = 8;

/// How long a moment is waited for.
const PATIENCE: Duration = Duration::from_millis(1_500);

/// Longer than a start takes before the file is open.
const START: u64 = 25;

pub fn torture(stage: &mut Stage, kills: u64) {
    let mut first = FIRST.into_iter();
    while stage.tally.kills() < kills && stage.wrong.is_empty() {
        let blow = first.next().unwrap_or_else(|| by_chance(stage));
        pass(Duration::from_micros(stage.dice.u64(..100_000)));
        stage.tend();
        strike(stage, blow);
    }
    for (blow, phase) in MUST {
        let mut tries = if kills >= ROUND { MORE } else { 0 };
        while tries > 0 && stage.tally.kills_in(phase) == 0 && stage.wrong.is_empty() {
            stage.tend();
            strike(stage, blow);
            tries -= 1;
        }
    }
}

fn by_chance(stage: &mut Stage) -> Blow {
    match stage.dice.u8(..100) {
        0..38 => Blow::AnyMoment,
        38..54 => Blow::StartUp,
        54..68 => Blow::Write,
        68..74 => Blow::Checkpoint,
        74..86 => Blow::Stop,
        86..90 => Blow::Leave,
        _ => Blow::Freeze,
    }
}

fn strike(stage: &mut Stage, blow: Blow) {
    let slot = stage.anybody();
    match blow {
        Blow::AnyMoment => stage.kill(slot, None),
        Blow::StartUp => {
            stage.kill(slot, None);
            let child = &mut stage.cast[slot];
            let _begun = within(PATIENCE, || child.has_said("opening") || child.is_over());
            pass(Duration::from_micros(stage.dice.u64(..START * 1_000)));
            stage.kill(slot, None);
        }
        Blow::Write => in_midst(stage, Midst::Write, Phase::Writing),
        Blow::Checkpoint => {
            for child in &mut stage.cast {
                if child.order.part == Part::Producer {
                    child.tell("swell");
                }
            }
            in_midst(stage, Midst::Checkpoint, Phase::Checkpoint);
        }
        Blow::Stop => {
            stop(stage, slot);
            pass(Duration::from_micros(stage.dice.u64(..12_000)));
            stage.kill(slot, None);
        }
        Blow::Leave => {
            stop(stage, slot);
            let child = &mut stage.cast[slot];
            let _left = within(PATIENCE, || child.is_over());
            stage.kill(slot, None);
        }
        Blow::Freeze => freeze(stage),
    }
}

/// Told to stop, once it is well under way.
fn stop(stage: &mut Stage, slot: usize) {
    let child = &mut stage.cast[slot];
    let way = if child.order.part == Part::Worker { "started" } else { "open" };
    let _under_way = within(PATIENCE, || child.has_said(way) || child.is_over());
    child.signal(Signal::TERM);
    let _heard = within(PATIENCE, || child.has_said("stopping") || child.is_over());
}

/// Kills somebody who certainly is in the middle of this: it stands still when it is looked at.
fn in_midst(stage: &mut Stage, midst: Midst, phase: Phase) {
    let from = now();
    while since(from) < PATIENCE {
        for pid in stage.eye.who(midst) {
            let Some(slot) = stage.slot_of(pid) else { continue };
            if stage.cast[slot].freeze() && stage.eye.is_in(pid, midst) {
                stage.kill(slot, Some(phase));
                return;
            }
            stage.cast[slot].thaw();
        }
    }
}

fn freeze(stage: &mut Stage) {
    if !stage.nobody_is_frozen() {
        return;
    }
    let _one_runs = within(PATIENCE, || {
        let slot = stage.anybody();
        let is_worker = stage.cast[slot].order.part == Part::Worker;
        is_worker && stage.cast[slot].has_said("started") && stage.freeze(slot)
    });
}
