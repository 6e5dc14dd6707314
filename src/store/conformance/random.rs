//! Random operations on a real file, in groups of one to eight a commit, through the real writer of
//! two handles. After every operation the whole state is compared with the reference model.
//! `cargo rig model --n OPERATIONS`.

mod choose;
mod disturb;
mod drain;
mod rig;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::say;
use rig::Rig;

const OPERATIONS: u64 = 200_000;

/// Operations of one file: looking at all of it after each costs as much as it holds, so most files
/// stay small.
const fn operations_per_file(seed: u64) -> usize {
    if seed.is_multiple_of(10) { 600 } else { 120 }
}

// fault: end-without-token, loss-is-no-loss, retry-overtaken, attempts-without-end
// fault: org-cap, first-org-first, priority-is-ignored, expired-runs
// fault: cancelled-keeps-its-lane, requeue-in-front, cascade-takes-later-ones
// fault: lane-does-not-go-on, clock-orders-lanes, token-stays, reap-ignores-boots
// fault: once-is-twice, job-key-is-forgotten, due-waits-for-a-claim
// fault: handed-back-goes-last
#[test]
fn the_file_is_always_what_the_reference_model_says() {
    let mut said = say::Rig::new("model", OPERATIONS);
    let (mut done, mut files, mut seen) = (0, 0, BTreeMap::new());
    for seed in said.seed.. {
        let mut rig = Rig::new(seed);
        let drive = || {
            while rig.operations < operations_per_file(seed) {
                rig.group();
            }
            rig.drain();
        };
        let drove = catch_unwind(AssertUnwindSafe(drive));
        files += 1;
        done += rig.operations as u64;
        match drove {
            Ok(()) => said.pass(1),
            Err(_) => said.fail("the file and the model differ: see above", seed, 1),
        }
        for (what, times) in rig.model.seen {
            *seen.entry(what).or_insert(0) += times;
        }
        if done >= said.n {
            break;
        }
    }
    // What never happens is not tested.
    said.must_meet(&format!("more turns than {seen:?}"), seen.len() >= 30);
    said.end(&[("operations", done), ("files", files), ("turns met", seen.len() as u64)]);
}
