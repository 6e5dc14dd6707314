//! Planted faults: a test that passes proves little until it has been seen to fail. Each fault of
//! `tests/faults` is written into a copy of the source, behind a switch; a test that names it, by
//! `// fault: NAME` above the test, must fail when it is switched on, or wait without end for what
//! the fault keeps from coming, and pass when none is.
//!
//! The source itself knows nothing of faults, and all of them share one build.

mod build;
mod check;
mod named;
mod plant;
mod read;
mod table;

use named::named;
use read::{Fault, faults};

use super::say;

/// `cargo rig faults --seed S --n N`: N faults, beginning with the S-th; else all of them.
pub(crate) fn run(seed: Option<u64>, n: Option<u64>) -> bool {
    let from = usize::try_from(seed.unwrap_or(1).max(1) - 1).expect("fits");
    let most = n.map_or(usize::MAX, |n| usize::try_from(n).expect("fits"));
    let (faults, tests) = (faults(), named());
    match plant::all(&faults) {
        Ok(planted) => build::copy(&planted),
        Err(why) => return !say(&why),
    }
    let programs = match build::programs() {
        Ok(programs) => programs,
        Err(why) => return !say(&why),
    };
    let chosen: Vec<&Fault> = faults.iter().skip(from).take(most).collect();
    check::all(&programs, &chosen, &tests)
}

/// Writes the page of the faults.
pub(crate) fn write_page() -> bool {
    let page = table::page(&faults(), &named());
    std::fs::write(std::path::Path::new(read::ROOT).join(table::PAGE), page).expect("written");
    say(&format!("{} is written", table::PAGE))
}
