//! Every mode against every amount of room.

use super::RoomMode::{Full, Low, Plenty};
use super::*;

const TOTAL: u64 = 100 << 30;

fn judged(before: RoomMode, free_mib: u64, ballast: bool, failed: bool) -> RoomMode {
    judge(before, free_mib * MIB, &Marks::of(TOTAL), ballast, failed)
}

#[test]
fn the_marks_are_in_order_on_every_disk() {
    for total in [0, 16 * MIB, 100 * MIB, 1 << 30, TOTAL, u64::MAX] {
        let marks = Marks::of(total);
        assert!(marks.ballast < marks.full, "{marks:?}");
        assert!(marks.full < marks.low && marks.low < marks.plenty, "{marks:?}");
    }
    let marks = Marks::of(TOTAL);
    let mib = [marks.ballast, marks.full, marks.low, marks.plenty].map(|bytes| bytes / MIB);
    assert_eq!(mib, [16, 32, 64, 128]);
}

#[test]
fn a_mode_follows_from_the_room_and_the_mode_before() {
    for (before, free, ballast, after) in [
        (Plenty, 128, true, Plenty),
        (Plenty, 64, true, Plenty),
        (Plenty, 63, true, Low),
        (Low, 64, true, Low),
        (Low, 127, true, Low),
        (Low, 128, true, Plenty),
        // Another process has removed the ballast, or there was never room for one.
        (Plenty, 31, false, Full),
        (Low, 31, false, Full),
        (Low, 31, true, Low),
        (Low, 40, false, Low),
        (Full, 0, false, Full),
        (Full, 127, false, Full),
        (Full, 128, false, Plenty),
    ] {
        assert_eq!(judged(before, free, ballast, false), after, "{before:?} {free} {ballast}");
    }
}

#[test]
fn a_write_that_found_no_room_is_believed_before_the_file_system() {
    for before in [Plenty, Low, Full] {
        assert_eq!(judged(before, 1_000, true, true), Full);
        assert_eq!(judged(before, 1_000, false, false), Plenty);
    }
}
