//! Every room is small: lengths of files and functions, widths of lines, a first line that says
//! what a file is for, and names that say what stands in it.

use crate::source::{Source, block_end, is_word};
use crate::{holds, tells_apart};

const LINES_OF_A_FILE: usize = 400;
const LINES_OF_A_FUNCTION: usize = 70;
const COLUMNS: usize = 100;

/// Names that say nothing about what stands in a module.
const EMPTY_NAMES: [&str; 8] =
    ["common", "data", "helper", "helpers", "manager", "misc", "util", "utils"];

#[test]
fn files_are_short() {
    holds(file_length);
    let of = |lines| "//! Lines.\n".repeat(lines);
    tells_apart(file_length, "src/a.rs", &of(LINES_OF_A_FILE + 1), &of(LINES_OF_A_FILE));
}

#[test]
fn functions_are_short() {
    holds(function_lengths);
    let of = |lines| format!("fn f() -> [u8; 2] {{\n{}}}\n", "    g('{');\n".repeat(lines - 2));
    let good = format!("trait T {{ fn g(); }}\n{0}{0}", of(LINES_OF_A_FUNCTION));
    tells_apart(function_lengths, "src/a.rs", &of(LINES_OF_A_FUNCTION + 1), &good);
}

#[test]
fn lines_are_narrow() {
    holds(widths);
    let text = "x".repeat(COLUMNS);
    let sql = format!("const SQL: &str =\n    \"SELECT {text}\";");
    tells_apart(widths, "src/a.rs", &format!("// {text}"), &sql);
    tells_apart(widths, "src/a.rs", &format!("let {text} = 1;"), &"é".repeat(COLUMNS));
}

#[test]
fn every_file_says_what_it_is_for() {
    holds(header);
    tells_apart(header, "src/a.rs", "use std::fmt;\n//! Late.", "//! Formats.\nuse std::fmt;");
    tells_apart(header, "src/a.rs", "//!\nuse std::fmt;", "//! Formats.");
}

#[test]
fn modules_are_named_by_what_stands_in_them() {
    holds(names);
    tells_apart(names, "src/a.rs", "mod helpers { }", "mod help { }");
    assert_eq!(names(&Source::new("src/store/util.rs", "")).len(), 1);
    assert_eq!(names(&Source::new("src/common/mod.rs", "")).len(), 1);
}

fn file_length(source: &Source) -> Vec<String> {
    let lines = source.text.lines().count();
    let why = format!("{lines} lines: a file has at most {LINES_OF_A_FILE}");
    if lines > LINES_OF_A_FILE { vec![source.finding(0, &why)] } else { Vec::new() }
}

fn function_lengths(source: &Source) -> Vec<String> {
    let mut findings = Vec::new();
    for at in source.says("fn ") {
        let lines = block_end(&source.code[at..]).map_or(1, |end| {
            let function = &source.code[at..at + end];
            function.matches('\n').count() + 1
        });
        if lines > LINES_OF_A_FUNCTION {
            let why = format!("{lines} lines: a function has at most {LINES_OF_A_FUNCTION}");
            findings.push(source.finding(at, &why));
        }
    }
    findings
}

fn widths(source: &Source) -> Vec<String> {
    let (mut findings, mut begin) = (Vec::new(), 0);
    for line in source.text.split_inclusive('\n') {
        let beyond = line.trim_end().char_indices().nth(COLUMNS);
        if let Some((column, _)) = beyond
            && !source.literals.iter().any(|literal| literal.contains(&(begin + column)))
        {
            let width = line.trim_end().chars().count();
            let why = format!("{width} columns: only what a string holds may pass {COLUMNS}");
            findings.push(source.finding(begin, &why));
        }
        begin += line.len();
    }
    findings
}

fn header(source: &Source) -> Vec<String> {
    let first = source.text.lines().next().unwrap_or_default();
    match first.strip_prefix("//! ") {
        Some(says) if !says.trim().is_empty() => Vec::new(),
        _ => vec![source.finding(0, "a file begins with //! and what it is for")],
    }
}

fn names(source: &Source) -> Vec<String> {
    let of_path = source.path.trim_end_matches(".rs").split('/').map(|name| (0, name));
    let of_code = source.says("mod ").map(|at| {
        let rest = &source.code[at + 4..];
        (at, &rest[..rest.find(|c| !is_word(c)).unwrap_or(rest.len())])
    });
    let empty = of_path.chain(of_code).filter(|(_, name)| EMPTY_NAMES.contains(name));
    empty.map(|(at, name)| source.finding(at, &format!("{name} says nothing"))).collect()
}
