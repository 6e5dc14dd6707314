//! The page to read first, `current.sql`, is the sum of the migrations; each is in the program.

use std::path::PathBuf;
use std::slice::from_ref;

use rusqlite::Connection;

use crate::{ROOT, none};

#[test]
fn the_current_schema_is_the_sum_of_the_migrations() {
    let steps: Vec<String> = migrations().iter().map(|(_, sql)| sql.clone()).collect();
    let current = read("current.sql");
    assert_eq!(tables(from_ref(&current)), tables(&steps));
    let mut more = steps;
    more.push("CREATE INDEX lanebox_more ON lanebox_job(subject);".to_owned());
    assert_ne!(tables(from_ref(&current)), tables(&more), "a difference is seen");
}

#[test]
fn migrations_are_numbered_without_a_gap_and_all_in_the_program() {
    let program = std::fs::read_to_string(format!("{ROOT}/src/store/sqlite/migrate.rs"));
    let program = program.expect("the list of steps");
    for (i, (name, _)) in migrations().iter().enumerate() {
        assert!(name.starts_with(&format!("{:04}_", i + 1)), "{name} is step {}", i + 1);
        assert!(program.contains(name.as_str()), "{name} is not in migrate.rs");
    }
}

#[test]
fn the_schema_hides_no_conflict_and_reads_the_clock_only_for_foreign_rows() {
    let sql: Vec<(String, String)> = migrations();
    none(sql.iter().flat_map(|(name, sql)| broken(name, sql)).collect());
    assert_eq!(broken("a.sql", "a INTEGER DEFAULT CURRENT_TIMESTAMP -- now").len(), 1);
    assert_eq!(broken("a.sql", "insert or ignore into b").len(), 1);
    assert_eq!(broken("a.sql", "SELECT 1 -- never CURRENT_TIMESTAMP"), [""; 0]);
    assert_eq!(broken("a.sql", "UPDATE a SET b = julianday('now');").len(), 1);
    assert_eq!(broken("a.sql", "at INTEGER NOT NULL DEFAULT (julianday('now'))"), [""; 0]);
}

fn broken(name: &str, sql: &str) -> Vec<String> {
    let mut findings = Vec::new();
    for (number, line) in sql.lines().enumerate() {
        let line = line.split("--").next().unwrap_or_default().to_uppercase();
        let of_foreign_rows = line.contains("NOT NULL DEFAULT (");
        let banned = crate::bans::SQL_BANS.iter().any(|(what, _)| line.contains(what));
        if banned || (line.contains("'NOW'") && !of_foreign_rows) {
            findings.push(format!("schema/sqlite/{name}:{}: {}", number + 1, line.trim()));
        }
    }
    findings
}

/// Everything that a file has after these statements, blanks apart.
fn tables(steps: &[String]) -> Vec<(String, String, String)> {
    let conn = Connection::open_in_memory().expect("a database in memory");
    for step in steps {
        conn.execute_batch(step).expect("a schema that SQLite takes");
    }
    let all = "SELECT type, name, coalesce(sql, '') FROM sqlite_schema ORDER BY type, name";
    let mut statement = conn.prepare(all).expect("the list of tables");
    let row = |row: &rusqlite::Row<'_>| {
        let sql: String = row.get(2)?;
        let words: Vec<&str> = sql.split_whitespace().collect();
        Ok((row.get(0)?, row.get(1)?, words.join(" ")))
    };
    statement.query_map([], row).and_then(Iterator::collect).expect("rows of the list")
}

fn migrations() -> Vec<(String, String)> {
    let entries = std::fs::read_dir(folder()).expect("the folder of the schema");
    let names = entries.map(|entry| entry.expect("an entry").file_name().into_string());
    let mut names: Vec<String> = names.map(|name| name.expect("a name in UTF-8")).collect();
    names.retain(|name| name.starts_with(|c: char| c.is_ascii_digit()));
    names.sort();
    assert!(!names.is_empty(), "no migrations in {}", folder().display());
    names.into_iter().map(|name| (name.clone(), read(&name))).collect()
}

fn read(name: &str) -> String {
    std::fs::read_to_string(folder().join(name)).expect("a file of the schema")
}

fn folder() -> PathBuf {
    PathBuf::from(format!("{ROOT}/schema/sqlite"))
}
