//! What the rigs came to at the size of every test run: kept in `figures.txt`, shown in the README.

use super::list::{RIGS, Rig};
use super::{run, say, table};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// Runs every rig and writes what it came to. Nothing is written if one fails.
pub(crate) fn write() -> bool {
    let ran = |rig: &Rig| Some(run::run(rig, None, None)).filter(|ran| ran.is_good);
    keep(|rig| ran(rig).map(|ran| ran.figures))
}

/// Writes what each rig came to in a run of all tests, by what that run has said. Nothing is
/// written if one failed or is not there.
pub(crate) fn take(log: &str) -> bool {
    let Ok(said) = std::fs::read_to_string(log) else {
        return !say(&format!("{log} cannot be read"));
    };
    // What `.ci/run` lets a rig do before has other sizes.
    let tests = said.rsplit("\n== tests\n").next().unwrap_or_default();
    keep(|rig| {
        let mut figures = Vec::new();
        tests
            .lines()
            .filter_map(|line| run::said(rig, line))
            .for_each(|it| run::add(&mut figures, it));
        let good = figures.iter().any(|(key, value)| key == "failed" && *value == 0);
        good.then_some(figures)
    })
}

fn keep(of: impl Fn(&Rig) -> Option<Vec<(String, u64)>>) -> bool {
    let mut all = String::new();
    for rig in &RIGS {
        let Some(figures) = of(rig) else {
            return !say(&format!("{} failed or did not run: nothing is written", rig.name));
        };
        let said: Vec<String> =
            figures.iter().map(|(key, value)| format!("{key} {value}")).collect();
        all += &format!("{}: {}\n", rig.name, said.join(", "));
    }
    std::fs::write(format!("{ROOT}/{}", table::FIGURES), all).expect("written");
    show()
}

/// Writes the README's table anew from the figures that are kept.
pub(crate) fn show() -> bool {
    let readme = format!("{ROOT}/README.md");
    let figures = std::fs::read_to_string(format!("{ROOT}/{}", table::FIGURES)).expect("figures");
    let text = std::fs::read_to_string(&readme).expect("the README");
    let text = table::in_readme(&text, &figures).expect("the README has a place for the table");
    std::fs::write(readme, text).expect("written");
    say("the README shows the figures")
}
