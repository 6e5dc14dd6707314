//! The statements of the store: the string constants in its sources that are SQL. No list is kept
//! by hand.

use std::path::{Path, PathBuf};

/// A statement and where it stands.
#[derive(Debug)]
pub(super) struct Statement {
    /// Its file below `src/store/sqlite` and its constant: `claim/walk.rs BUCKET`.
    pub(super) name: String,
    pub(super) sql: String,
}

/// Planted faults, what walks whole tables on purpose (audits, this suite's door), and what people
/// read: their pages are put together from pieces and bounded by themselves. Nothing of it stands
/// on a live path.
const APART: [&str; 5] = ["audit.rs", "audit/", "door.rs", "inspect/", "sabotage.rs"];

/// Every statement, by file and by its place in it.
pub(super) fn statements() -> Vec<Statement> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/store/sqlite");
    let mut files = Vec::new();
    sources(&root, &mut files);
    files.sort();
    let found: Vec<Statement> = files.iter().flat_map(|file| of_file(&root, file)).collect();
    assert!(found.len() > 50, "the sources are where they were");
    found
}

fn sources(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("the sources are beside the tests") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        match (path.is_dir(), name) {
            (_, "tests" | "tests.rs") => {}
            (true, _) => sources(&path, files),
            (false, _) => files.push(path),
        }
    }
}

fn of_file(root: &Path, file: &Path) -> Vec<Statement> {
    let below = file.strip_prefix(root).expect("below the root").display().to_string();
    if APART.iter().any(|apart| below.starts_with(apart)) {
        return Vec::new();
    }
    let source = std::fs::read_to_string(file).expect("a source is text");
    let constants = source.split("const ").skip(1).filter_map(constant);
    let sql = constants.filter(|(_, text)| is_sql(text));
    sql.map(|(name, sql)| Statement { name: format!("{below} {name}"), sql }).collect()
}

fn is_sql(text: &str) -> bool {
    ["SELECT ", "INSERT ", "UPDATE ", "DELETE ", "WITH "].iter().any(|verb| text.starts_with(verb))
}

// `NAME: &str = "text"`, the text perhaps on the next line.
fn constant(after: &str) -> Option<(&str, String)> {
    let (name, rest) = after.split_once(": &str =")?;
    let text = rest.trim_start().strip_prefix('"')?;
    name.bytes().all(|b| b.is_ascii_uppercase() || b == b'_').then(|| (name, literal(text)))
}

// The value of a literal up to its closing quote; a backslash at the end of a line swallows the
// blanks that begin the next one.
fn literal(text: &str) -> String {
    let mut value = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '"' => break,
            '\\' => match chars.next() {
                Some('\n') => {
                    let rest = chars.as_str().trim_start();
                    chars = rest.chars();
                }
                Some('n') => value.push('\n'),
                Some(other) => value.push(other),
                None => {}
            },
            c => value.push(c),
        }
    }
    value
}

#[test]
fn a_literal_is_read_as_the_compiler_reads_it() {
    let source = "A: &str =\n    \"SELECT \\\"a\\\" \\\n       FROM b\";\nconst B: usize = 1;";
    assert_eq!(constant(source), Some(("A", "SELECT \"a\" FROM b".to_owned())));
    assert_eq!(constant("B: usize = 1; // const C: &str = \"SELECT 1\""), None);
}
