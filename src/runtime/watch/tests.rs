//! It hears others at once, rests while nobody writes, and does not spin while everybody does.

use super::*;

const DAY: Duration = Duration::from_secs(24 * 3_600);

/// How often it looks in a day in which every wait ends as `hinted` says.
fn looks(mut hinted: impl FnMut(u32) -> bool) -> u32 {
    let (mut waits, mut passed, mut looks) = (Waits::default(), Duration::ZERO, 0);
    while passed < DAY {
        let hinted = hinted(looks);
        // A wait that ends by a hint may end as soon as it listens.
        passed += waits.deaf + if hinted { Duration::ZERO } else { waits.listening };
        waits.after(hinted);
        looks += 1;
    }
    looks
}

#[test]
fn it_rests_while_nobody_writes_and_looks_no_more_than_often_while_somebody_always_does() {
    let (seconds, often) = (24 * 3_600, 24 * 3_600 * 50);
    assert!((seconds - 20..seconds + 20).contains(&looks(|_| false)));
    assert!((often - 20..often + 20).contains(&looks(|_| true)));
}

#[test]
fn the_looks_after_a_hint_come_about_as_late_as_the_commit_took() {
    let mut waits = Waits::default();
    waits.after(true);
    let mut passed = Duration::ZERO;
    while waits.listening < FLOOR {
        let wait = waits.deaf + waits.listening;
        assert!(wait <= FIRST * 3 + passed * 2, "{wait:?} after {passed:?}");
        passed += wait;
        waits.after(false);
    }
    assert!(passed >= FLOOR / 2);
}
