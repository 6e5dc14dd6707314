//! The store's own passes beside the raw floor at the same batch sizes.

mod workload;

use std::path::Path;

use lanebox::testing::Bare;
use lanebox::{Durability, Lane};
use workload::floor::Sync;

fn store(path: &Path, jobs: usize, batch: usize) -> lanebox::Result<f64> {
    let mut bare = Bare::create(path, Durability::Full)?;
    bare.handle("noop")?;
    bare.enqueue(jobs, "noop", |_| Lane::NONE)?;
    let from = workload::now();
    while bare.pass(batch)? > 0 {}
    Ok(jobs as f64 / from.elapsed().as_secs_f64())
}

fn main() {
    let dir = workload::place();
    for batch in [1, 8, 32, 64] {
        let jobs = if batch == 1 { 3_000 } else { 30_000 };
        let (mut floors, mut stores) = (Vec::new(), Vec::new());
        for i in 0..workload::repetitions(7) {
            let floor = dir.path().join(format!("floor-{batch}-{i}.db"));
            floors.push(workload::floor::drain(&floor, Sync::Full, jobs, batch).expect("floor"));
            let path = dir.path().join(format!("store-{batch}-{i}.db"));
            stores.push(store(&path, jobs, batch).expect("store"));
        }
        let (floor, store) = (workload::median(floors), workload::median(stores));
        println!(
            "batch {batch:>3}: floor {floor:>8.0}, store {store:>8.0} jobs/s, ratio {:.2}",
            store / floor
        );
    }
}
