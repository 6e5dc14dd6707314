//! Random operations against an outside provider in four modes: crashes at every point, runs that
//! stand still, lost, late and doubled answers and statuses, people and closed gates. After each
//! operation the file is sound and nothing went out twice unless a person ordered it.
//!
//! `LANEBOX_SEED` and `LANEBOX_OPS` choose the first seed and how many operations each mode runs.

mod fleet;
mod oracle;
mod outside;
mod people;

use std::collections::BTreeMap;

use crate::model::send::ability::Abilities;
use crate::store::ledger::tests::world::{BOTH, DEDUPE, LOOKUP, NEITHER};
use fleet::Fleet;

/// A provider forgets keys within the reach of a test.
const MEMORY_MS: i64 = 1_800_000;

/// Operations on one file.
const OPERATIONS: u64 = 300;

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

fn mode(abilities: Abilities, first: u64, must_see: &[&str]) {
    let first = setting("LANEBOX_SEED").unwrap_or(first);
    let operations = setting("LANEBOX_OPS").unwrap_or(4_200);
    let mut seen = BTreeMap::new();
    for file in 0..operations.div_ceil(OPERATIONS) {
        run(abilities, first + file, &mut seen);
    }
    for what in must_see {
        assert!(seen.contains_key(what), "{what} never happened: {seen:#?}");
    }
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

#[test]
fn neither_a_lookup_nor_dedupe() {
    let words = ["told", "marked as sent", "sent again", "given up", "rejected late"];
    mode(NEITHER, 1, &must_see(&words));
}

#[test]
fn a_lookup_only() {
    mode(LOOKUP, 100, &must_see(&["not found", "settled by the lookup", "stale look"]));
}

#[test]
fn dedupe_only() {
    let dedupe = Abilities { dedupe_ms: Some(MEMORY_MS), ..DEDUPE };
    mode(dedupe, 200, &must_see(&["called again", "repeat recognised", "told"]));
}

#[test]
fn both() {
    let both = Abilities { dedupe_ms: Some(MEMORY_MS), ..BOTH };
    mode(both, 300, &must_see(&["called again", "settled by the lookup", "stale look"]));
}

fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().expect("it is a number"))
}
