//! What the package shows at first sight: its features, its top level, its list of changes.

use std::process::Command;

use crate::{ROOT, none};

/// Everything that may stand at the top level, beside files that begin with a dot.
const TOP: [&str; 13] = [
    "CHANGELOG.md",
    "Cargo.lock",
    "Cargo.toml",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "README.md",
    "benches",
    "clippy.toml",
    "deny.toml",
    "examples",
    "rustfmt.toml",
    "schema",
    "src",
];

#[test]
fn every_feature_says_what_it_is_for() {
    none(silent_features(&read("Cargo.toml")));
    let good = "[features]\n# What users get.\ndefault = []\n[dependencies]\nserde = \"1\"\n";
    assert_eq!(silent_features(good), [""; 0]);
    assert_eq!(silent_features(&good.replace("# What users get.\n", "")).len(), 1);
    assert_eq!(
        silent_features(&good.replace("[dep", "cli = [\n  \"dep:clap\",\n]\n[dep")).len(),
        1
    );
}

#[test]
fn planted_faults_are_not_what_users_get() {
    assert!(!default_features(&read("Cargo.toml")).contains("sabotage"));
    assert!(default_features("[features]\ndefault = [\"sabotage\"]\n").contains("sabotage"));
}

#[test]
fn the_top_level_is_the_agreed_one() {
    none(strangers(&tracked()));
    let some = ["src/lib.rs", ".ci/run", "Cargo.toml", "notes.txt", "scripts/a.sh"];
    assert_eq!(strangers(&some.map(str::to_owned)), ["notes.txt", "scripts"]);
}

#[test]
fn the_changes_of_this_version_are_listed() {
    let version = env!("CARGO_PKG_VERSION");
    assert!(lists_changes(&read("CHANGELOG.md"), version), "CHANGELOG.md: no [{version}]");
    assert!(lists_changes("# Changelog\n\n## [0.1.0] - unreleased\n\n- First.\n", "0.1.0"));
    assert!(!lists_changes("# Changelog\n\n## [0.1.0]\n\n## [0.0.9]\n\n- First.\n", "0.1.0"));
}

#[test]
fn the_library_forbids_unsafe_code() {
    assert!(read("src/lib.rs").contains("#![forbid(unsafe_code)]"));
}

fn read(name: &str) -> String {
    std::fs::read_to_string(format!("{ROOT}/{name}")).unwrap_or_else(|e| panic!("{name}: {e}"))
}

fn features(manifest: &str) -> impl Iterator<Item = &str> {
    let lines = manifest.lines().skip_while(|line| *line != "[features]").skip(1);
    lines.take_while(|line| !line.starts_with('['))
}

/// Features without a comment on the line before.
fn silent_features(manifest: &str) -> Vec<String> {
    let mut before = "";
    let mut silent = Vec::new();
    for line in features(manifest) {
        let is_name = line.starts_with(|c: char| c.is_ascii_alphabetic());
        if is_name && line.contains('=') && !before.starts_with("# ") {
            silent.push(format!("Cargo.toml: {line}"));
        }
        before = line;
    }
    silent
}

fn default_features(manifest: &str) -> &str {
    features(manifest).find(|line| line.starts_with("default")).unwrap_or_default()
}

/// Files that git knows; none where the package is no checkout.
fn tracked() -> Vec<String> {
    let listed = Command::new("git").args(["-C", ROOT, "ls-files"]).output();
    let listed = listed.map(|output| output.stdout).unwrap_or_default();
    String::from_utf8_lossy(&listed).lines().map(str::to_owned).collect()
}

fn strangers(files: &[String]) -> Vec<String> {
    let mut tops: Vec<String> =
        files.iter().filter_map(|f| f.split('/').next()).map(str::to_owned).collect();
    tops.dedup();
    tops.retain(|top| !top.starts_with('.') && !TOP.contains(&top.as_str()) && top != "tests");
    tops
}

/// Whether the section of the version has an entry.
fn lists_changes(changelog: &str, version: &str) -> bool {
    let heading = format!("## [{version}]");
    let section = changelog.lines().skip_while(|line| !line.starts_with(&heading)).skip(1);
    section.take_while(|line| !line.starts_with("## ")).any(|line| line.starts_with("- "))
}
