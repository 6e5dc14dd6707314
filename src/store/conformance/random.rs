//! Random operations on a real file, in groups of one to eight a commit, through the real writer of
//! two handles. After every operation the whole state is compared with the reference model.
//!
//! `LANEBOX_SEED` and `LANEBOX_OPS` choose the first seed and how many operations are run; a
//! failure prints both.

mod choose;
mod disturb;
mod drain;
mod rig;

use std::collections::BTreeMap;
use std::io::Write as _;

use rig::Rig;

const DEFAULT_OPERATIONS: usize = 6_000;

/// Operations of one file: looking at all of it after each costs as much as it holds, so most files
/// stay small.
const fn operations_per_file(seed: u64) -> usize {
    if seed.is_multiple_of(10) { 600 } else { 120 }
}

#[test]
fn the_file_is_always_what_the_reference_model_says() {
    let first = setting("LANEBOX_SEED").unwrap_or(1);
    let operations = setting("LANEBOX_OPS")
        .map_or(DEFAULT_OPERATIONS, |ops| usize::try_from(ops).expect("fits"));
    let (mut done, mut seed, mut seen) = (0, first, BTreeMap::new());
    while done < operations {
        let mut rig = Rig::new(seed);
        while rig.operations < operations_per_file(seed) {
            rig.group();
        }
        rig.drain();
        done += rig.operations;
        for (what, times) in rig.model.seen {
            *seen.entry(what).or_insert(0) += times;
        }
        seed += 1;
    }
    let files = seed - first;
    // What never happens is not tested.
    assert!(done < DEFAULT_OPERATIONS || seen.len() >= 25, "only these turns were met: {seen:?}");
    let report = format!("{done} operations over {files} files: 0 differences; met: {seen:?}");
    writeln!(std::io::stderr(), "{report}").expect("stderr takes a line");
}

fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().expect("a number"))
}
