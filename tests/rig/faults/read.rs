//! The faults, as `tests/faults/*.txt` tells them:
//!
//! ```text
//! fault blind-retry
//! an unknown send is called again
//! in src/engine/sender.rs
//! - let call = known.is_none();
//! + let call = FAULT || known.is_none();
//! ```
//!
//! `-` lines stand in the file together and once, whatever their indent; `+` lines take their
//! place, where `FAULT` is whether this fault is switched on, and `FAULT(name)` another one whose
//! change stands in the same lines: that one says `with`, and whose. A statement is changed by a
//! `sql` line and an `as` line: what the statements of the file say, and what they say instead.

use std::path::{Path, PathBuf};

pub(crate) const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// A bug, and how it is written.
pub(crate) struct Fault {
    pub(crate) name: String,
    /// What goes wrong, in a few words.
    pub(crate) what: String,
    pub(crate) changes: Vec<Change>,
    /// The fault in whose change this one stands.
    with: Option<String>,
}

/// One change of one file.
pub(crate) struct Change {
    pub(crate) file: String,
    pub(crate) is_sql: bool,
    pub(crate) from: Vec<String>,
    pub(crate) to: Vec<String>,
}

/// Every fault, by file and in the order in which they stand there.
///
/// # Panics
///
/// If a line cannot be read, or two have one name.
pub(crate) fn faults() -> Vec<Fault> {
    let mut faults: Vec<Fault> = Vec::new();
    let files = files_in(Path::new(ROOT), &["tests/faults"]);
    for file in files.iter().filter(|file| file.ends_with(".txt")) {
        let text = std::fs::read_to_string(Path::new(ROOT).join(file)).expect("text");
        for (at, line) in text.lines().enumerate() {
            let line = line.trim();
            if !take(&mut faults, line) {
                panic!("{file}:{}: {line:?} is no part of a fault", at + 1);
            }
        }
    }
    for (at, fault) in faults.iter().enumerate() {
        let again = faults[at + 1..].iter().any(|other| other.name == fault.name);
        let with = fault.with.as_ref().is_some_and(|with| faults.iter().any(|it| it.name == *with));
        let name = &fault.name;
        assert!(!again && (with || !fault.changes.is_empty()), "{name} twice, or without a change");
    }
    faults
}

/// Adds a line to the last fault; whether it could.
fn take(faults: &mut Vec<Fault>, line: &str) -> bool {
    let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
    if word == "fault" {
        let (name, what) = (rest.trim().to_owned(), String::new());
        faults.push(Fault { name, what, changes: Vec::new(), with: None });
        return true;
    }
    let Some(fault) = faults.last_mut() else { return line.is_empty() || word == "#" };
    let file = fault.changes.last().map(|change| change.file.clone());
    match (word, file) {
        ("" | "#", _) => {}
        ("in", _) => fault.begin(rest, false),
        ("with", _) => fault.with = Some(rest.trim().to_owned()),
        ("-" | "sql", Some(file)) => {
            let is_sql = word == "sql";
            if fault.change().is_some_and(|change| change.is_sql != is_sql || !change.to.is_empty())
            {
                fault.begin(&file, is_sql);
            }
            let Some(change) = fault.change() else { return false };
            change.from.push(rest.trim().to_owned());
        }
        ("+" | "as", Some(_)) => match fault.change() {
            Some(change) if !change.from.is_empty() => change.to.push(rest.trim().to_owned()),
            _ => return false,
        },
        (_, None) => fault.what = format!("{} {line}", fault.what).trim().to_owned(),
        _ => return false,
    }
    true
}

impl Fault {
    fn begin(&mut self, file: &str, is_sql: bool) {
        let (from, to) = (Vec::new(), Vec::new());
        self.changes.retain(|change| !change.from.is_empty());
        self.changes.push(Change { file: file.trim().to_owned(), is_sql, from, to });
    }

    fn change(&mut self) -> Option<&mut Change> {
        self.changes.last_mut()
    }
}

/// The files of some parts of a folder, in order, as paths from there.
pub(crate) fn files_in(root: &Path, parts: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    let mut waiting: Vec<PathBuf> = parts.iter().map(|part| root.join(part)).collect();
    while let Some(path) = waiting.pop() {
        if path.is_file() {
            let name = path.strip_prefix(root).expect("below the root");
            found.push(name.to_str().expect("text").replace('\\', "/"));
        } else if let Ok(entries) = std::fs::read_dir(&path) {
            let paths = entries.map(|entry| entry.expect("an entry").path());
            waiting.extend(paths.filter(|path| !path.ends_with("target")));
        }
    }
    found.sort();
    found
}
