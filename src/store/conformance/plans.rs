//! Every statement of the store, found in its sources, is prepared on the schema; its plan is the
//! one in `schema/sqlite/plans.txt`, walks no table that grows, and sorts nothing.
//!
//! `LANEBOX_PLANS=write cargo test --lib plans` writes the file anew: read the difference.

mod statements;

use rusqlite::Connection;

use super::world::World;
use statements::{Statement, statements};

const PLANS: &str = "schema/sqlite/plans.txt";

/// Statements that walk a table or sort, and why they may.
const MAY: &[(&str, &str)] = &[
    ("bury.rs ALONE_LEFT", "the registered consumers: as many as the program has"),
    (
        "cascade.rs CASCADE_FIND",
        "an index of the lanes that are being cancelled, and only the first",
    ),
    ("checkpoint.rs FIRST", "an index of the processes that live, and only the first"),
    ("claim.rs RUNNING_ALL", "never more rows than the global cap"),
    ("foreign.rs OURS", "the schema itself, once at the start"),
    ("process.rs PROCESS_LIVING", "an index of the processes that live"),
    ("front.rs LIVE_PATTERNS", "the patterns of the registered consumers"),
    ("handles.rs BESIDE", "the processes that live, and only while a suspect waits"),
    ("handles.rs UNHANDLED", "the kinds: as many as the program has"),
    ("host.rs HIDES", "the temporary tables of one connection"),
    ("job_rows.rs NO_LAST", "a row for each table that counts its ids"),
    ("look.rs ACTIVE", "an index of the active consumers"),
    ("reap.rs OTHERS_HOLD", "never more rows than the global cap"),
    ("reap.rs REAP_FIND", "never more rows than the global cap"),
    ("reap.rs TO_TAKE_BACK", "never more rows than the global cap"),
    ("renew.rs CANCEL_ASKED", "never more rows than the global cap"),
];

#[test]
fn every_statement_has_the_plan_that_was_read() {
    let world = World::new();
    let plans = world.store.on_writer(|conn| {
        let plans = statements().into_iter().map(|s| format!("{}: {}\n", s.name, plan(conn, &s)));
        format!("SQLite {}\n{}", rusqlite::version(), plans.collect::<String>())
    });
    let path = format!("{}/{PLANS}", env!("CARGO_MANIFEST_DIR"));
    if std::env::var("LANEBOX_PLANS").is_ok_and(|what| what == "write") {
        std::fs::write(&path, &plans).expect("the file can be written");
    }
    let read = std::fs::read_to_string(&path).expect("the plans that were read");
    // Another SQLite may plan in other words; the rules below hold for it too.
    if read.lines().next() != plans.lines().next() {
        return;
    }
    for (now, read) in plans.lines().zip(read.lines()) {
        assert_eq!(now, read, "LANEBOX_PLANS=write writes {PLANS} anew: read the difference");
    }
    assert_eq!(plans.lines().count(), read.lines().count(), "as many statements as plans");
}

#[test]
fn no_statement_walks_a_table_that_grows_or_sorts() {
    let world = World::new();
    let broken = world.store.on_writer(|conn| {
        let heavy = |statement: &Statement| {
            let plan = plan(conn, statement).replace("SCAN CONSTANT ROW", "");
            let plan = plan.replace("SCAN 8-ROW VALUES CLAUSE", "");
            plan.contains("SCAN ") || plan.contains("TEMP B-TREE")
        };
        statements().into_iter().filter(heavy).collect::<Vec<_>>()
    });
    let named = |statement: &Statement| MAY.iter().any(|(name, _)| *name == statement.name);
    let unnamed: Vec<&str> = broken.iter().filter(|s| !named(s)).map(|s| s.name.as_str()).collect();
    assert_eq!(unnamed, [""; 0], "they walk or sort");
    for (name, why) in MAY {
        assert!(broken.iter().any(|s| s.name == *name), "{name} need not be excused: {why}");
    }
}

#[test]
fn every_update_and_delete_says_which_rows() {
    let of_all = |s: &Statement| {
        (s.sql.starts_with("UPDATE") || s.sql.starts_with("DELETE")) && !s.sql.contains(" WHERE ")
    };
    let found: Vec<Statement> = statements().into_iter().filter(of_all).collect();
    assert!(found.is_empty(), "{found:?}");
}

fn plan(conn: &Connection, statement: &Statement) -> String {
    let sql = format!("EXPLAIN QUERY PLAN {}", statement.sql);
    let mut explain = match conn.prepare(&sql) {
        Ok(explain) => explain,
        Err(error) => panic!("{}: {error}", statement.name),
    };
    let rows = explain.raw_query();
    let steps = rusqlite::fallible_iterator::FallibleIterator::collect::<Vec<String>>(
        rows.map(|row| row.get("detail")),
    );
    let steps = steps.expect("a plan is text");
    if steps.is_empty() { "one row".to_owned() } else { steps.join(" / ") }
}
