//! The page of the faults: which scenario is shown by which test, and under which fault that fails.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::named::Named;
use super::read::Fault;

/// Where the page stands, from the root of the package.
pub(crate) const PAGE: &str = "tests/faults/README.md";

const BEGINNING: &str = "# Planted faults

A test that has never failed proves little. Each fault below is a bug that somebody might write; the
tests that name it, by `// fault: NAME`, fail when it is switched on. `cargo rig faults` plants all of
them in a copy of the source, each behind a switch, and runs every test under each fault that it
names, and under none; `cargo rig faults --seed 7 --n 1` does it for the seventh. How a fault is
written stands in `tests/rig/faults/read.rs`. This page is written by `cargo rig page`.
";

/// The whole page.
pub(crate) fn page(faults: &[Fault], tests: &[Named]) -> String {
    let mut page = BEGINNING.to_owned();
    page += "\n## Scenarios\n\n| scenario | test | fails under |\n| --- | --- | --- |\n";
    let mut rows: BTreeMap<(char, u32), Vec<&Named>> = BTreeMap::new();
    for test in tests {
        for scenario in &test.scenarios {
            rows.entry(place(scenario)).or_default().push(test);
        }
    }
    for ((letter, number), tests) in rows {
        for test in tests.iter().filter(|test| !test.faults.is_empty()) {
            let (name, file) = (&test.name, &test.file);
            let faults = test.faults.join(", ");
            let file = format!("[`{name}`](../../{file})");
            writeln!(page, "| {letter}{number} | {file} | {faults} |").expect("a string");
        }
    }
    page += "\n## Faults\n\n| fault | what it does | tests that see it |\n| --- | --- | --- |\n";
    for fault in faults {
        let seen = tests.iter().filter(|test| test.faults.contains(&fault.name)).count();
        writeln!(page, "| {} | {} | {seen} |", fault.name, fault.what).expect("a string");
    }
    page
}

/// E2 comes before E10.
fn place(scenario: &str) -> (char, u32) {
    let (letter, number) = scenario.split_at(1);
    (letter.chars().next().expect("a letter"), number.parse().expect("a number"))
}
