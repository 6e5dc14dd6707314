//! The README's map equals the tree, so that who reads it finds what it says.
//!
//! The map is the fenced block under `## Map`: an entry a line, two blanks deeper than its folder,
//! folders with a slash at the end, then what stands there. `hook.rs` with its folder `hook/` is
//! one entry. A folder whose entries are listed lists all of them, but its tests.

use std::collections::BTreeSet;
use std::path::Path;

use crate::{ROOT, none};

#[test]
fn the_map_equals_the_tree() {
    // Written last: until then there is nothing to compare.
    let readme = std::fs::read_to_string(format!("{ROOT}/README.md")).unwrap_or_default();
    none(differences(&map(&readme), Path::new(ROOT)));
}

#[test]
fn a_map_that_differs_is_seen() {
    let folder = tempfile::tempdir().expect("a folder for a small tree");
    for path in ["src/store/sqlite", "src/store/tests", "benches"] {
        std::fs::create_dir_all(folder.path().join(path)).expect("a folder");
    }
    for path in ["src/lib.rs", "src/store.rs", "src/store/jobs.rs", "src/store/tests.rs"] {
        std::fs::write(folder.path().join(path), "").expect("a file");
    }
    let says = |block: &str| {
        let readme = format!("# A\n\n## Map\n\n```text\n{block}\n```\n\n## More\n\n```\nx/\n```\n");
        differences(&map(&readme), folder.path())
    };
    let whole =
        "src/\n  lib.rs    the walk\n  store/    verbs\n    jobs.rs\n    sqlite/   one file";
    assert_eq!(says(whole), [""; 0]);
    assert_eq!(says("src/       the library"), [""; 0]);
    assert_eq!(says(&whole.replace("jobs.rs", "people.rs")).len(), 2);
    assert_eq!(says(&whole.replace("  lib.rs    the walk\n", "")), ["src/lib is not in the map"]);
    assert_eq!(says("src/\n  lib.rs\n  store/\ntools/"), ["tools is in the map only"]);
}

/// The paths of the map, without `.rs` and closing slashes.
fn map(readme: &str) -> Vec<String> {
    let section = readme.lines().skip_while(|line| line.trim() != "## Map").skip(1);
    let section = section.take_while(|line| !line.starts_with("## "));
    let block = section.skip_while(|line| !line.starts_with("```")).skip(1);
    let (mut folders, mut paths): (Vec<&str>, _) = (Vec::new(), Vec::new());
    for line in block.take_while(|line| !line.starts_with("```")) {
        let Some(name) = line.split_whitespace().next() else { continue };
        let depth = (line.len() - line.trim_start().len()) / 2;
        folders.truncate(depth);
        folders.push(stem(name));
        paths.push(folders.join("/"));
    }
    paths
}

fn differences(map: &[String], root: &Path) -> Vec<String> {
    let mapped: BTreeSet<&str> = map.iter().map(String::as_str).collect();
    let folders: BTreeSet<&str> =
        map.iter().filter_map(|path| path.rsplit_once('/')).map(|(folder, _)| folder).collect();
    let there: BTreeSet<String> = folders.iter().flat_map(|f| entries(root, f)).collect();
    let missing = there.iter().filter(|path| !mapped.contains(path.as_str()));
    let missing = missing.map(|path| format!("{path} is not in the map"));
    let at_top = |path: &str| !path.contains('/') && root.join(path).exists();
    let gone = mapped.iter().filter(|path| !there.contains(**path) && !at_top(path));
    missing.chain(gone.map(|path| format!("{path} is in the map only"))).collect()
}

/// What stands in a folder, but its tests.
fn entries(root: &Path, folder: &str) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(root.join(folder)) else { return Vec::new() };
    let names = entries.map(|entry| entry.expect("an entry of the folder").file_name());
    let names = names.map(|name| stem(&name.to_string_lossy()).to_owned());
    names.filter(|name| name != "tests").map(|name| format!("{folder}/{name}")).collect()
}

fn stem(name: &str) -> &str {
    name.trim_end_matches('/').trim_end_matches(".rs")
}
