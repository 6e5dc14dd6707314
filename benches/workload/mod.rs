//! What the benches share: the payload, a place for files, medians, and a clock.
#![allow(dead_code, reason = "each bench uses its part")]

use std::path::PathBuf;
use std::time::Instant;

/// A payload of about 200 bytes.
pub fn payload() -> String {
    format!("{{\"text\":\"{}\"}}", "x".repeat(188))
}

/// A directory for the files of a run; `BENCH_DIR` chooses the disk.
pub fn place() -> tempfile::TempDir {
    let base = std::env::var_os("BENCH_DIR").map_or_else(std::env::temp_dir, PathBuf::from);
    tempfile::tempdir_in(base).expect("a directory for the files of the bench")
}

#[expect(clippy::disallowed_methods, reason = "benches measure time")]
pub fn now() -> Instant {
    Instant::now()
}

pub fn median(mut of: Vec<f64>) -> f64 {
    of.sort_by(f64::total_cmp);
    of[of.len() / 2]
}

/// Interleaved repetitions; `REPEAT` changes how many.
pub fn repetitions(default: usize) -> usize {
    std::env::var("REPEAT").ok().and_then(|n| n.parse().ok()).unwrap_or(default)
}

pub mod floor;
