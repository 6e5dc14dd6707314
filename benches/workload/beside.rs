//! What is measured beside its floor: in turn, so that both meet the same minutes of the machine.

use std::cell::Cell;
use std::path::Path;

use lanebox::Durability;

use super::engine::Drained;
use super::floor::Sync;
use super::{median, place, repetitions};

/// Both of SQLite's levels that Lanebox knows, by the names that the tables use.
pub const DURABILITIES: [(&str, Durability); 2] =
    [("FULL", Durability::Full), ("relaxed", Durability::Relaxed)];

/// The same for a floor.
pub fn sync(durability: Durability) -> Sync {
    match durability {
        Durability::Full => Sync::Full,
        Durability::Relaxed => Sync::Normal,
    }
}

/// Whether `cargo bench` runs this; `cargo test --benches` only tries that it works.
pub fn is_bench() -> bool {
    std::env::args().any(|arg| arg == "--bench")
}

/// So many in a bench, so few in a try.
pub fn size(bench: usize, tried: usize) -> usize {
    if is_bench() { bench } else { tried }
}

/// A mean as a number of rows.
pub fn whole(mean: f64) -> usize {
    (mean.round() as usize).max(1)
}

/// Medians of one figure and of what it is compared with.
#[derive(Clone, Copy)]
pub struct Beside {
    pub value: f64,
    pub other: f64,
    /// The median of the ratios of each turn: the machine changes between turns.
    pub ratio: f64,
}

impl Beside {
    /// Measures one after the other, so many times.
    pub fn measure(
        bench: usize,
        mut value: impl FnMut() -> f64,
        mut other: impl FnMut() -> f64,
    ) -> Beside {
        let turns = if is_bench() { repetitions(bench) } else { 1 };
        let (values, others): (Vec<f64>, Vec<f64>) = (0..turns).map(|_| (value(), other())).unzip();
        Beside::of(&values, &others)
    }

    /// Of figures that were measured in turn.
    pub fn of(values: &[f64], others: &[f64]) -> Beside {
        let ratios = values.iter().zip(others).map(|(value, other)| value / other).collect();
        Beside {
            value: median(values.to_vec()),
            other: median(others.to_vec()),
            ratio: median(ratios),
        }
    }

    /// One line: `what` names it, `unit` what is counted, `against` what stands beside it.
    pub fn say(&self, what: &str, unit: &str, against: &str) {
        let Beside { value, other, ratio } = self;
        println!("{what:<50} {value:>9.0} {unit:<9} {against} {other:>9.0}  ratio {ratio:>5.2}");
    }
}

/// A drain beside its floor in as many commits, so many times; says what it came to.
pub fn drained(
    turns: usize,
    (what, unit): (&str, &str),
    ours: impl Fn() -> Drained,
    floor: impl Fn(&Path, usize) -> rusqlite::Result<f64>,
) {
    let batch = Cell::new(1.0);
    let value = || {
        let drained = ours();
        batch.set(drained.batch);
        drained.rate
    };
    let other = || {
        let dir = place();
        floor(&dir.path().join("raw.db"), whole(batch.get())).expect("the floor")
    };
    let beside = Beside::measure(turns, value, other);
    beside.say(what, unit, &format!("floor at a batch of {:>5.1}", batch.get()));
}
