//! What may not be written, where, and why.

use crate::source::Source;
use crate::{holds, tells_apart};

/// Something that may not stand in the code of some files.
struct Ban {
    code: &'static str,
    why: &'static str,
    /// Beginnings of the paths it holds for.
    within: &'static [&'static str],
    /// Beginnings of the paths that are free of it.
    but: &'static [&'static str],
    /// Whether it holds for tests too.
    tests: bool,
}

const EVERYWHERE: &[&str] = &[""];
const OURS: &[&str] = &["src/", "examples/"];
const LIBRARY: &[&str] = &["src/"];
const BINARY: &[&str] = &["src/bin/"];
const STORE: &[&str] = &["src/store/"];

/// The outside world of the demo has a clock of its own; measurements read one.
const CLOCKS: &[&str] = &[
    "src/env/",
    "src/bin/lanebox/demo/clock.rs",
    "src/bin/lanebox/bench/clock.rs",
    "benches/peers/workload/src/measure.rs",
];
/// A snapshot of a reader writes nothing.
const SNAPSHOTS: &[&str] = &["src/store/sqlite/look.rs", "src/store/sqlite/people.rs"];
/// `runtime` sleeps, the writer waits for other programs' locks.
const SLEEPERS: &[&str] = &[
    "src/runtime.rs",
    "src/runtime/",
    "src/store/sqlite/writer.rs",
    "src/store/sqlite/wait.rs",
    "src/bin/lanebox/demo/clock.rs",
];

/// Who opens, makes or removes files, none of them the database's.
const FILES: &[&str] = &[
    // The number of the boot, and the list of what is mounted.
    "src/env/clock.rs",
    "src/store/sqlite/guard/filesystem.rs",
    // Files beside the database that SQLite does not know.
    "src/store/sqlite/ballast.rs",
    "src/store/sqlite/process.rs",
    // An empty file where there is none yet, before SQLite opens it.
    "src/store/sqlite/guard/owner.rs",
    // What a person names as the body of a job or an event.
    "src/bin/lanebox/args/body.rs",
    // The demo's input, logs and folder.
    "src/bin/lanebox/demo/input.rs",
    "src/bin/lanebox/demo/log.rs",
    "src/bin/lanebox/demo/orchestrate/child.rs",
    "src/bin/lanebox/demo/orchestrate/stage.rs",
    // Files that are flushed and measured, and the folder of a measurement.
    "src/bin/lanebox/bench/floor/flush.rs",
    "src/bin/lanebox/bench/place.rs",
    // The index of a file that only a measurement uses, kept open for longer than the file is.
    "src/bin/lanebox/bench/commits.rs",
];

/// To close a file gives up all locks that the process has on it, those of SQLite too.
const fn file_call(code: &'static str) -> Ban {
    let why =
        "only SQLite opens a database, its -wal and its -shm: name the file here if it is another";
    Ban { tests: false, but: FILES, ..ban(code, why, LIBRARY) }
}

const fn ban(code: &'static str, why: &'static str, within: &'static [&'static str]) -> Ban {
    Ban { code, why, within, but: &[], tests: true }
}

const BANS: [Ban; 31] = [
    Ban { tests: false, ..ban(".unwrap()", "a broken worker is an outage: say what to do", OURS) },
    Ban { tests: false, ..ban(".unwrap_err()", "say what to do", OURS) },
    ban("todo!", "nothing is left for later", EVERYWHERE),
    ban("unimplemented!", "nothing is left for later", EVERYWHERE),
    ban("dbg!", "left over from a search", EVERYWHERE),
    ban("#[ignore", "a test runs or goes", EVERYWHERE),
    Ban {
        but: SLEEPERS,
        ..ban("thread::sleep", "tests own time, and only runtime sleeps", EVERYWHERE)
    },
    Ban { but: CLOCKS, ..ban("Instant::now", "time comes from env", EVERYWHERE) },
    Ban { but: CLOCKS, ..ban("SystemTime::now", "time comes from env", EVERYWHERE) },
    Ban { but: BINARY, ..ban("println!", "a library does not print", LIBRARY) },
    Ban { but: BINARY, ..ban("eprintln!", "a library does not print", LIBRARY) },
    Ban { but: BINARY, ..ban("process::exit", "the library never ends its host", LIBRARY) },
    Ban { but: BINARY, ..ban("process::abort", "the library never ends its host", LIBRARY) },
    Ban { tests: false, ..ban("Deferred", "a write transaction begins IMMEDIATE", STORE) },
    Ban { tests: false, ..ban(".transaction()", "that begins DEFERRED: say IMMEDIATE", STORE) },
    Ban {
        tests: false,
        but: SNAPSHOTS,
        ..ban(".unchecked_transaction()", "that begins DEFERRED", STORE)
    },
    Ban { tests: false, ..ban("unsafe ", "the library forbids it", LIBRARY) },
    ban("include!", "a module is a file that says so", EVERYWHERE),
    file_call("File::open"),
    file_call("File::create"),
    file_call("File::create_new"),
    file_call("File::options"),
    file_call("OpenOptions::new"),
    file_call("OFlags"),
    file_call("fs::read"),
    file_call("fs::read_to_string"),
    file_call("fs::write"),
    file_call("fs::copy"),
    file_call("fs::rename"),
    file_call("fs::remove_file"),
    Ban { tests: false, ..ban("fork", "a child with an open database loses its locks", LIBRARY) },
];

/// The rules' own words, and the tests that write as other programs may.
const FREE_SQL: [&str; 2] = ["tests/tidy/", "src/store/sqlite/bus/tests/"];

/// What may not stand in SQL, in upper case.
pub const SQL_BANS: [(&str, &str); 8] = [
    ("INSERT OR REPLACE", "it deletes rows without asking: say what the conflict means"),
    ("REPLACE INTO", "it deletes rows without asking: say what the conflict means"),
    ("INSERT OR IGNORE", "it hides every broken rule: look first, or name the conflict"),
    ("CURRENT_TIMESTAMP", "time comes from env, in milliseconds"),
    ("CURRENT_TIME", "time comes from env, in milliseconds"),
    ("DATETIME(", "time comes from env, in milliseconds"),
    ("STRFTIME(", "time comes from env, in milliseconds"),
    ("UNIXEPOCH(", "time comes from env, in milliseconds"),
];

#[test]
fn nothing_banned_stands_in_the_code() {
    holds(banned);
    for ban in &BANS {
        // As a macro is called with brackets, as a function is named, as an attribute begins.
        let bad = format!("fn f() {{ {}[]; }}", ban.code);
        let path = format!("{}a.rs", ban.within[0]);
        tells_apart(banned, &path, &bad, &format!("// {0}\nlet s = \"{0}\";", ban.code));
        for path in ban.but {
            assert!(banned(&Source::new(path, &bad)).is_empty(), "{} in {path}", ban.code);
        }
    }
    let test = "#[cfg(test)]\nmod tests { fn f() { x.unwrap(); } }";
    assert_eq!(banned(&Source::new("src/a.rs", test)), [""; 0]);
}

// R44: no two shapes of time.
#[test]
fn sql_hides_no_conflict_and_reads_no_clock() {
    holds(sql);
    for (text, _) in SQL_BANS {
        let bad = format!("const A: &str = \"{}\";", text.to_lowercase());
        tells_apart(sql, "src/store/sqlite/a.rs", &bad, &format!("// {text}"));
    }
}

#[test]
fn every_change_says_which_rows() {
    holds(changes);
    for bad in ["UPDATE a SET b = 1", "DELETE FROM a"] {
        let sql = |end: &str| format!("const A: &str = \"{bad}{end}\";");
        tells_apart(changes, "src/store/sqlite/a.rs", &sql(""), &sql(" WHERE id = ?1"));
    }
}

#[test]
fn r1_write_transactions_begin_immediate() {
    holds(begins);
    let (bad, good) = ("f(\"BEGIN\");", "f(\"BEGIN IMMEDIATE\");");
    tells_apart(begins, "src/store/sqlite/a.rs", bad, good);
    tells_apart(begins, "src/store/sqlite/a.rs", "f(\"begin; DELETE\");", "f(\"beginning\");");
}

#[test]
fn nothing_is_left_to_be_done() {
    holds(left_over);
    for mark in MARKS.map(|mark| mark.concat()) {
        tells_apart(left_over, "src/a.rs", &format!("// {mark}: later"), "// later");
    }
}

/// In two parts, so that a search for them does not find this list.
const MARKS: [[&str; 2]; 3] = [["FIX", "ME"], ["XX", "X"], ["TO", "DO"]];

fn banned(source: &Source) -> Vec<String> {
    let starts = |paths: &[&str]| paths.iter().any(|path| source.path.starts_with(path));
    let mut findings = Vec::new();
    for ban in BANS.iter().filter(|ban| starts(ban.within) && !starts(ban.but)) {
        let places = source.says(ban.code).filter(|&at| ban.tests || !source.is_test(at));
        findings.extend(places.map(|at| source.finding(at, &format!("{}: {}", ban.code, ban.why))));
    }
    findings
}

fn sql(source: &Source) -> Vec<String> {
    let mut findings = Vec::new();
    if FREE_SQL.iter().any(|path| source.path.starts_with(path)) {
        return findings;
    }
    for literal in &source.literals {
        let text = source.text[literal.clone()].to_uppercase();
        let broken = SQL_BANS.iter().find(|(what, _)| text.contains(what));
        findings.extend(broken.map(|(_, why)| source.finding(literal.start, why)));
    }
    findings
}

fn changes(source: &Source) -> Vec<String> {
    let change = |text: &str| text.starts_with("UPDATE ") || text.starts_with("DELETE FROM ");
    let ours = source.path.starts_with("src/");
    let all = source.texts().filter(|(_, text)| ours && change(text) && !text.contains("WHERE"));
    all.map(|(at, _)| source.finding(at, "a change says which rows: WHERE")).collect()
}

fn begins(source: &Source) -> Vec<String> {
    let plain = |text: &str| {
        text.to_uppercase().strip_prefix("BEGIN").is_some_and(|rest| {
            !rest.starts_with(" IMMEDIATE") && !rest.starts_with(char::is_alphabetic)
        })
    };
    let of_store = source.path.starts_with("src/store/");
    let plain = source.texts().filter(|(_, text)| of_store && plain(text));
    plain.map(|(at, _)| source.finding(at, "a transaction of ours begins IMMEDIATE")).collect()
}

fn left_over(source: &Source) -> Vec<String> {
    let marks = MARKS.map(|mark| mark.concat());
    let places = marks.iter().flat_map(|mark| source.comments.match_indices(mark));
    places.map(|(at, _)| source.finding(at, "do it, file it or leave it out")).collect()
}
