//! Kill torture: producers, workers and a provider outside on one file, killed and frozen at random
//! and at chosen moments. When the faults are over all settles, and outsiders' logs are the judge.

mod blow;
mod creation;
mod facts;
mod judge;
mod migration;
mod people;
mod post;
pub mod producer;
pub mod provider;
mod runs;
mod settle;
mod stage;
mod tally;
pub mod worker;

use crate::part::Ability;
use crate::say::Rig;
use stage::Stage;
use tally::{PHASES, Tally};

/// Kills of every test run.
const IN_CI: u64 = 300;

/// Kills of one file.
const ROUND: u64 = 100;

// fault: migration-in-two-commits, reap-too-early
#[test]
fn processes_killed_at_any_moment_lose_nothing_and_repeat_nothing() {
    let _alone = crate::ONE_AT_A_TIME.lock().unwrap_or_else(|broken| broken.into_inner());
    let mut rig = Rig::new("kill", IN_CI);
    let (mut left, mut seed) = (rig.n, rig.seed);
    let mut all = Tally::default();
    while left > 0 {
        let kills = left.min(ROUND);
        // What the rig itself trips over is told with its replay too.
        match std::panic::catch_unwind(|| round(seed, kills)) {
            Ok((tally, wrong)) => {
                all.add(&tally);
                rig.pass(tally.checked);
                if !wrong.is_empty() {
                    rig.fail(&said(&wrong), seed, kills);
                }
            }
            Err(_told) => rig.fail("the round broke off, see the panic above", seed, kills),
        }
        (left, seed) = (left - kills, seed.wrapping_add(1));
    }
    // A run that misses a moment proves nothing about it.
    for phase in PHASES {
        rig.must_meet(&format!("a kill in this phase: {phase:?}"), all.kills_in(phase) > 0);
    }
    rig.must_meet("somebody frozen past a lease", all.frozen > 0);
    rig.end(&all.figures());
}

fn said(wrong: &[String]) -> String {
    let first = wrong[..wrong.len().min(12)].join("\n");
    format!("{} wrong things:\n{first}", wrong.len())
}

/// One file: made, tortured, settled, judged.
fn round(seed: u64, kills: u64) -> (Tally, Vec<String>) {
    let ability = match seed % 3 {
        0 => Ability::Neither,
        1 => Ability::Dedupe,
        _ => Ability::Lookup,
    };
    let mut stage = Stage::new(seed, ability);
    migration::torture(&mut stage, kills);
    creation::torture(&mut stage, kills);
    if !stage.wrong.is_empty() {
        return (stage.tally, stage.wrong);
    }
    stage.fill();
    blow::torture(&mut stage, kills);
    judge::audits(&mut stage, "in the midst of it");
    settle::settle(&mut stage);
    judge::judge(&mut stage);
    (stage.tally, stage.wrong)
}
