//! Random operations against an outside provider in four modes: crashes at every point, runs that
//! stand still, lost, late and doubled answers and statuses, people and closed gates. After each
//! operation the file is sound and nothing went out twice unless a person ordered it.
//!
//! `cargo rig ledger --seed S --n FILES`: so many files in each mode.

mod fleet;
mod oracle;
mod outside;
mod people;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::model::send::ability::Abilities;
use crate::say::Rig;
use crate::store::ledger::tests::world::{BOTH, DEDUPE, LOOKUP, NEITHER};
use fleet::Fleet;

/// A provider forgets keys within the reach of a test.
const MEMORY_MS: i64 = 1_800_000;

/// Operations on one file.
const OPERATIONS: u64 = 300;

const FILES: u64 = 14;

fn run(abilities: Abilities, seed: u64, seen: &mut BTreeMap<&'static str, usize>) {
    let mut fleet = Fleet::new(abilities, seed);
    for step in 0..OPERATIONS {
        let what = fleet.anything();
        fleet.check(&format!("seed {seed}, step {step}: {what}"));
    }
    fleet.settle(&format!("seed {seed}"));
    for (what, times) in fleet.seen {
        *seen.entry(what).or_default() += times;
    }
}

fn mode(abilities: Abilities, must_see: &[&str]) {
    let mut rig = Rig::new("ledger", FILES);
    let mut seen = BTreeMap::new();
    for seed in rig.seed..rig.seed + rig.n {
        match catch_unwind(AssertUnwindSafe(|| run(abilities, seed, &mut seen))) {
            Ok(()) => rig.pass(1),
            Err(_) => rig.fail("a send went wrong: see above", seed, 1),
        }
    }
    for what in must_see {
        rig.must_meet(what, seen.contains_key(what));
    }
    let (files, operations) = (rig.n, rig.n * OPERATIONS);
    rig.end(&[("files", files), ("operations", operations)]);
}

/// What every mode meets.
const ALWAYS: [&str; 7] = [
    "crash",
    "lease lost",
    "accepted late",
    "too late to call",
    "settled by a status",
    "ordered",
    "gate closed",
];

fn must_see(more: &[&'static str]) -> Vec<&'static str> {
    ALWAYS.iter().chain(more).copied().collect()
}

// fault: blind-resend, receipt-is-forgotten, accept-wakes-nobody
#[test]
fn neither_a_lookup_nor_dedupe() {
    let words = ["told", "marked as sent", "sent again", "given up", "rejected late"];
    mode(NEITHER, &must_see(&words));
}

// fault: vanished-is-settled
#[test]
fn a_lookup_only() {
    mode(LOOKUP, &must_see(&["not found", "settled by the lookup", "stale look"]));
}

// fault: late-refusal-counts, sent-word-calls
#[test]
fn dedupe_only() {
    let dedupe = Abilities { dedupe_ms: Some(MEMORY_MS), ..DEDUPE };
    mode(dedupe, &must_see(&["called again", "repeat recognised", "told"]));
}

#[test]
fn both() {
    let both = Abilities { dedupe_ms: Some(MEMORY_MS), ..BOTH };
    mode(both, &must_see(&["called again", "settled by the lookup", "stale look"]));
}
