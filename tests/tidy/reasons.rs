//! What needs its reason beside it: a lint that is silenced, an invariant that is relied upon.

use crate::source::Source;
use crate::{holds, tells_apart};

#[test]
fn a_silenced_lint_has_its_reason_beside_it() {
    holds(silenced);
    let good = "#[expect(missing_docs, reason = \"each bench uses its part\")]\nfn f() {}";
    tells_apart(silenced, "src/a.rs", "#[allow(missing_docs)]\nfn f() {}", good);
    tells_apart(
        silenced,
        "src/a.rs",
        "#[expect(\n    missing_docs\n)]",
        "#[allow(missing_docs)] // for now",
    );
    tells_apart(
        silenced,
        "src/a.rs",
        "#![allow(missing_docs)]",
        "// For now.\n#![allow(missing_docs)]",
    );
    tells_apart(
        silenced,
        "src/a.rs",
        "#[cfg_attr(test, allow(missing_docs))]",
        "let s = r.allow(a);",
    );
}

#[test]
fn an_invariant_says_why_it_holds() {
    holds(invariants);
    let good = "x.expect(\"a running job has its row\");";
    for bad in ["x.expect(\"clamped\");", "x.expect(\"the lock\");", "x.expect(&why);"] {
        tells_apart(invariants, "src/a.rs", bad, good);
    }
    tells_apart(invariants, "src/a.rs", "x.expect(\n    \"bad\",\n)", "#[expect(missing_docs)]");
    let test = "#[cfg(test)]\nfn f() { x.expect(\"row\"); }";
    assert_eq!(invariants(&Source::new("src/a.rs", test)), [""; 0]);
}

fn silenced(source: &Source) -> Vec<String> {
    let mut findings = Vec::new();
    for (begin, _) in source.code.match_indices("#") {
        let Some(end) = attribute_end(&source.code[begin..]) else { continue };
        let attribute = &source.code[begin..begin + end];
        let silences = attribute.contains("allow(") || attribute.contains("expect(");
        if silences && !attribute.contains("reason =") && !has_comment(source, begin, end) {
            findings.push(source.finding(begin, "a silenced lint needs its reason beside it"));
        }
    }
    findings
}

/// The length of the attribute that the code begins with.
fn attribute_end(code: &str) -> Option<usize> {
    let inside = code.strip_prefix("#![").or_else(|| code.strip_prefix("#["))?;
    let mut depth = 1;
    for (at, c) in inside.char_indices() {
        match c {
            '[' => depth += 1,
            ']' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(code.len() - inside.len() + at + 1);
        }
    }
    None
}

/// Whether a plain comment stands behind the attribute, or on the line before it.
fn has_comment(source: &Source, begin: usize, length: usize) -> bool {
    let after = source.comments[begin + length..].lines().next();
    let above = source.comments[..begin].rsplit_once('\n').map_or("", |(above, _)| above);
    let before = above.lines().next_back();
    [after, before].into_iter().flatten().any(|line| {
        let line = line.trim();
        line.starts_with("//") && !line.starts_with("///") && !line.starts_with("//!")
    })
}

fn invariants(source: &Source) -> Vec<String> {
    let ours = ["src/", "examples/"].iter().any(|folder| source.path.starts_with(folder));
    let call = ".expect(";
    let places = source.code.match_indices(call).map(|(at, _)| at);
    let unsaid = places.filter(|&at| ours && !source.is_test(at)).filter(|&at| {
        let why = source.literal_at(at + call.len()).unwrap_or_default();
        why.split_whitespace().count() < 3
    });
    unsaid.map(|at| source.finding(at, "expect(why it holds), in three words or more")).collect()
}
