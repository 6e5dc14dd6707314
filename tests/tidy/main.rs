//! The house rules that a machine can check. A rule is a function from a source to its findings.
//! It is asked about the whole tree, and about a snippet that it must refuse: a rule that cannot
//! fail proves nothing.

mod bans;
mod faults;
mod layers;
mod map;
mod package;
mod reasons;
mod rigs;
mod schema;
mod shape;
mod source;

use source::{Source, TREE};

/// Where the package is.
const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// Fails with every finding of a rule in the tree.
#[track_caller]
fn holds(rule: impl Fn(&Source) -> Vec<String>) {
    none(TREE.iter().flat_map(rule).collect());
}

/// Fails with all findings at once: a person mends them in one go.
#[track_caller]
fn none(findings: Vec<String>) {
    assert!(findings.is_empty(), "{} findings:\n{}", findings.len(), findings.join("\n"));
}

/// Fails unless the rule has exactly one finding in the bad snippet and none in the good one.
#[track_caller]
fn tells_apart(rule: impl Fn(&Source) -> Vec<String>, path: &str, bad: &str, good: &str) {
    let findings = rule(&Source::new(path, bad));
    assert_eq!(findings.len(), 1, "in {bad:?}: {findings:?}");
    none(rule(&Source::new(path, good)));
}
