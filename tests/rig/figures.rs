//! What the rigs came to at the size of every test run: kept in `figures.txt`, shown in the README.

use super::list::RIGS;
use super::{run, say, table};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// Runs every rig and writes what it came to. Nothing is written if one fails.
pub(crate) fn write() -> bool {
    let mut figures = String::new();
    for rig in &RIGS {
        let ran = run::run(rig, None, None);
        if !ran.is_good {
            return !say(&format!("{} failed: nothing is written", rig.name));
        }
        let said: Vec<String> =
            ran.figures.iter().map(|(key, value)| format!("{key} {value}")).collect();
        figures += &format!("{}: {}\n", rig.name, said.join(", "));
    }
    std::fs::write(format!("{ROOT}/{}", table::FIGURES), figures).expect("written");
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
