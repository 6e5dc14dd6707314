//! What a claim costs beside a backlog that cannot run: 200,000 jobs behind one busy lane, 200,000
//! ready jobs of a kind at its cap. The claim's p99 is compared with that of a file without a
//! backlog, interleaved.

mod workload;

use std::path::Path;

use lanebox::testing::Bare;
use lanebox::{Durability, Lane};
use workload::beside::size;
use workload::times::{Times, mono_ns};

const BATCH: usize = 10;

#[derive(Clone, Copy)]
enum Backlog {
    None,
    BusyLane,
    CappedKind,
}

/// A file with the backlog, and enough other work for every claim.
fn prepare(path: &Path, backlog: Backlog, size: usize, claims: usize) -> lanebox::Result<Bare> {
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
    bare.enqueue(claims * BATCH, "other", |_| Lane::NONE)?;
    Ok(bare)
}

fn main() {
    let dir = workload::place();
    let file = |name: &str| dir.path().join(name);
    let (many, claims) = (size(200_000, 500), size(4_000, 5));
    let prepared = |name, backlog| prepare(&file(name), backlog, many, claims).expect("prepared");
    let mut files = [
        ("beside no backlog".to_owned(), prepared("none.db", Backlog::None)),
        (format!("beside {many} behind one busy lane"), prepared("lane.db", Backlog::BusyLane)),
        (format!("beside {many} of a capped kind"), prepared("cap.db", Backlog::CappedKind)),
    ]
    .map(|(name, bare)| (name, bare, Times::default()));
    for _ in 0..claims {
        for (_, bare, times) in &mut files {
            let from = mono_ns();
            assert_eq!(bare.pass(BATCH).expect("a pass"), BATCH);
            times.record(mono_ns() - from);
        }
    }
    let base = files[0].2.us(0.99);
    for (name, _, times) in &files {
        let (p50, p99) = (times.us(0.5), times.us(0.99));
        println!(
            "{:<50} p50 {p50:>8.0} us  p99 {p99:>8.0} us  ratio of p99 to none {:>5.2}",
            format!("pass of {BATCH} {name}"),
            p99 / base
        );
    }
}
