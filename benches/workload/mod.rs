//! What the benches share: the payload, a place for files, medians, and a clock.
#![allow(dead_code, unused_imports, reason = "each bench uses its part")]

#[path = "../../src/bin/lanebox/bench/clock.rs"]
mod clock;
#[path = "../../src/bin/lanebox/bench/floor/mod.rs"]
pub mod floor;

pub mod beside;
pub mod child;
pub mod engine;
pub mod history;
pub mod raw;
pub mod times;

use std::path::PathBuf;

pub use clock::now;
pub use floor::payload;

/// A directory for the files of a run; `BENCH_DIR` chooses the disk.
pub fn place() -> tempfile::TempDir {
    let base = std::env::var_os("BENCH_DIR").map_or_else(std::env::temp_dir, PathBuf::from);
    tempfile::tempdir_in(base).expect("a directory for the files of the bench")
}

pub fn median(mut of: Vec<f64>) -> f64 {
    of.sort_by(f64::total_cmp);
    of[of.len() / 2]
}

/// Interleaved repetitions; `REPEAT` changes how many.
pub fn repetitions(default: usize) -> usize {
    std::env::var("REPEAT").ok().and_then(|n| n.parse().ok()).unwrap_or(default)
}
