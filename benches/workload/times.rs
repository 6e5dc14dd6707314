//! The clock that processes share, what this process has used, and a table of times.

use std::time::Duration;

use hdrhistogram::Histogram;
use rustix::time::{ClockId, clock_gettime};

/// Nanoseconds of the monotonic clock, the same for every process of this boot.
pub fn mono_ns() -> i64 {
    ns(ClockId::Monotonic)
}

/// Processor time of this process so far, of all its threads.
pub fn cpu() -> Duration {
    Duration::from_nanos(ns(ClockId::ProcessCPUTime).unsigned_abs())
}

fn ns(clock: ClockId) -> i64 {
    let at = clock_gettime(clock);
    at.tv_sec * 1_000_000_000 + at.tv_nsec
}

/// Memory of this process that is resident, in MiB.
pub fn resident() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux says it");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a line of it");
    let kib = line.trim().trim_end_matches(" kB").parse::<f64>().expect("a number of KiB");
    kib / 1024.0
}

/// Times in nanoseconds.
pub struct Times(Histogram<u64>);

impl Default for Times {
    fn default() -> Times {
        Times(Histogram::new_with_bounds(1, 600_000_000_000, 3).expect("bounds"))
    }
}

impl Times {
    pub fn record(&mut self, ns: i64) {
        self.0.saturating_record(ns.max(1).unsigned_abs());
    }

    pub fn count(&self) -> usize {
        self.0.len() as usize
    }

    pub fn us(&self, quantile: f64) -> f64 {
        self.0.value_at_quantile(quantile) as f64 / 1e3
    }

    /// One line of this beside another one.
    pub fn say(&self, what: &str, against: &str, other: &Times) {
        let (p50, p99) = (self.us(0.5), self.us(0.99));
        let (o50, o99) = (other.us(0.5), other.us(0.99));
        println!(
            "{what:<50} p50 {p50:>8.0} us  p99 {p99:>8.0} us  {against} p50 {o50:>8.0} us  p99 {o99:>8.0} us  ratio of p50 {:>5.2}",
            p50 / o50
        );
    }
}
