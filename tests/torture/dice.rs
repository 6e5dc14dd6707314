//! Chance that every process works out for itself: by the seed and by what it is about, never by
//! when it asks.

use std::fmt::{Display, Write};

/// A number for this matter: the same in every process and every run.
pub fn roll(seed: u64, matter: impl Display) -> u64 {
    let mut text = String::new();
    write!(text, "{seed} {matter}").expect("a string");
    let mixed = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |sum, byte| {
        (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    fastrand::Rng::with_seed(mixed).u64(..)
}

/// Whether it happens, in so many cases of a hundred.
pub fn falls(seed: u64, matter: impl Display, percent: u64) -> bool {
    roll(seed, matter) % 100 < percent
}
