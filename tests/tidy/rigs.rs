//! What the README says of the rigs: each is there, each promise names the ones that prove it, and
//! the table shows what the last run came to.

#[path = "../rig/list.rs"]
#[allow(dead_code, reason = "the rigs themselves use the rest")]
mod list;
#[path = "../rig/table.rs"]
mod table;

use std::path::Path;

use crate::ROOT;

fn readme() -> String {
    std::fs::read_to_string(format!("{ROOT}/README.md")).expect("the README")
}

#[test]
fn the_table_shows_the_figures_of_the_last_run() {
    let figures = std::fs::read_to_string(format!("{ROOT}/{}", table::FIGURES));
    let (readme, figures) = (readme(), figures.expect("the figures"));
    let shown = table::in_readme(&readme, &figures).expect("a place for the table");
    assert!(shown == readme, "it is out of date: cargo rig page");
    for line in figures.lines() {
        assert!(line.ends_with("failed 0"), "{line}");
    }
}

#[test]
fn each_rig_stands_where_the_readme_says() {
    for rig in &list::RIGS {
        assert!(Path::new(ROOT).join(rig.place).exists(), "{}", rig.place);
    }
}

#[test]
fn each_promise_links_its_rigs_and_each_rig_proves_one() {
    let readme = readme();
    let promises = readme.lines().skip_while(|line| !line.starts_with("| promise |")).skip(2);
    let linked: Vec<&str> = promises
        .take_while(|line| line.starts_with('|'))
        .flat_map(|line| line.trim_end_matches([' ', '|']).rsplit('|').next())
        .flat_map(|links| links.split(',').map(str::trim))
        .collect();
    let links = list::RIGS.each_ref().map(|rig| format!("[{}]({})", rig.name, rig.place));
    for link in &linked {
        assert!(
            links.iter().any(|known| known == link),
            "a promise names {link:?}, which is no rig"
        );
    }
    for link in &links {
        assert!(linked.contains(&link.as_str()), "no promise names {link}");
    }
}
