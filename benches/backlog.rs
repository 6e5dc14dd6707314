//! What a claim costs beside a backlog that cannot run: 200,000 jobs behind one busy lane, 200,000
//! ready jobs of a kind at its cap. The claim's p99 is compared with that of a file without a
//! backlog, interleaved.

mod workload;

use std::path::Path;

use hdrhistogram::Histogram;
use lanebox::testing::Bare;
use lanebox::{Durability, Lane};

const BACKLOG: usize = 200_000;
const CLAIMS: usize = 4_000;
const BATCH: usize = 10;

#[derive(Clone, Copy)]
enum Backlog {
    None,
    BusyLane,
    CappedKind,
}

/// A file with the backlog, and enough other work for every claim.
fn prepare(path: &Path, backlog: Backlog, size: usize) -> lanebox::Result<Bare> {
    let mut bare = Bare::create(path, Durability::Relaxed)?;
    bare.handle("blocked")?;
    match backlog {
        Backlog::None => {}
        Backlog::BusyLane => {
            bare.enqueue(1, "blocked", |_| Lane::of("hot"))?;
            assert_eq!(bare.pass(1)?, 1);
            bare.leave_running();
            bare.enqueue(size, "blocked", |_| Lane::of("hot"))?;
        }
        Backlog::CappedKind => {
            let conn = rusqlite::Connection::open(path).expect("the same file");
            conn.execute("UPDATE lanebox_kind SET cap = 1", []).expect("a cap");
            bare.enqueue(1, "blocked", |_| Lane::NONE)?;
            assert_eq!(bare.pass(1)?, 1);
            bare.leave_running();
            bare.enqueue(size, "blocked", |_| Lane::NONE)?;
        }
    }
    bare.handle("other")?;
    bare.enqueue(CLAIMS * BATCH, "other", |_| Lane::NONE)?;
    Ok(bare)
}

fn main() {
    let dir = workload::place();
    let file = |name: &str| dir.path().join(name);
    // In `cargo test --benches` the shape is tried, not the figures.
    let size = if std::env::args().any(|arg| arg == "--bench") { BACKLOG } else { 2_000 };
    let mut files = [
        ("no backlog", prepare(&file("none.db"), Backlog::None, size)),
        ("200,000 behind one busy lane", prepare(&file("lane.db"), Backlog::BusyLane, size)),
        ("200,000 ready of a capped kind", prepare(&file("cap.db"), Backlog::CappedKind, size)),
    ]
    .map(|(name, bare)| (name, bare.expect("prepared"), histogram()));
    for _ in 0..CLAIMS {
        for (_, bare, times) in &mut files {
            let from = workload::now();
            assert_eq!(bare.pass(BATCH).expect("a pass"), BATCH);
            times.saturating_record(from.elapsed().as_nanos() as u64 / 1_000);
        }
    }
    let base = files[0].2.value_at_quantile(0.99) as f64;
    for (name, _, times) in &files {
        let (p50, p99) = (times.value_at_quantile(0.5), times.value_at_quantile(0.99));
        println!(
            "{name:<32} pass of {BATCH}: p50 {p50:>5} us, p99 {p99:>5} us, p99 / none {:.2}",
            p99 as f64 / base
        );
    }
}

fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, 60_000_000, 3).expect("bounds")
}
