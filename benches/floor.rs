//! The store's own passes beside the raw floor at the same batch sizes.

mod workload;

use lanebox::testing::Bare;
use lanebox::{Durability, Lane};
use workload::beside::{Beside, DURABILITIES, size, sync};

fn store(durability: Durability, jobs: usize, batch: usize) -> lanebox::Result<f64> {
    let dir = workload::place();
    let mut bare = Bare::create(&dir.path().join("store.db"), durability)?;
    bare.handle("noop")?;
    bare.enqueue(jobs, "noop", |_| Lane::NONE)?;
    let mut done = 0;
    let from = workload::now();
    loop {
        match bare.pass(batch)? {
            0 => break,
            taken => done += taken,
        }
    }
    let took = from.elapsed().as_secs_f64();
    assert_eq!(done, jobs);
    Ok(jobs as f64 / took)
}

fn floor(durability: Durability, jobs: usize, batch: usize) -> f64 {
    let dir = workload::place();
    let path = dir.path().join("floor.db");
    workload::floor::drain(&path, sync(durability), jobs, batch).expect("the floor")
}

fn main() {
    for (name, durability) in DURABILITIES {
        for batch in [1, 8, 32, 64] {
            let jobs = size(if batch == 1 { 3_000 } else { 30_000 }, 64);
            let value = || store(durability, jobs, batch).expect("the store");
            Beside::measure(7, value, || floor(durability, jobs, batch)).say(
                &format!("passes of {batch}, {name}"),
                "jobs/s",
                "floor",
            );
        }
    }
}
