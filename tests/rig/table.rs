//! The README's table of the rigs, with what they came to.

use std::fmt::Write as _;

use super::list::RIGS;

/// Where the figures of the last run are kept: a line for each rig.
pub(crate) const FIGURES: &str = "tests/rig/figures.txt";

const BEGIN: &str = "<!-- cargo rig figures -->\n";
const END: &str = "<!-- end of the figures -->";

/// The README with the table of these figures, or nothing if it has no place for it.
pub(crate) fn in_readme(readme: &str, figures: &str) -> Option<String> {
    let (before, rest) = readme.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{BEGIN}{}{END}{after}", table(figures)))
}

fn table(figures: &str) -> String {
    let mut text = "| rig | what it does | its last run |\n| --- | --- | --- |\n".to_owned();
    for rig in &RIGS {
        let said = figures.lines().find_map(|line| line.strip_prefix(&format!("{}: ", rig.name)));
        let said: Vec<String> = said.unwrap_or("not run").split(", ").map(grouped).collect();
        writeln!(text, "| [`{}`]({}) | {} | {} |", rig.name, rig.place, rig.shows, said.join(", "))
            .expect("a string");
    }
    text
}

/// `disks 20000` as `disks 20,000`.
fn grouped(figure: &str) -> String {
    let Some((key, number)) = figure.rsplit_once(' ') else { return figure.to_owned() };
    let mut text = String::new();
    for (at, digit) in number.chars().enumerate() {
        if at > 0 && (number.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    format!("{key} {text}")
}
