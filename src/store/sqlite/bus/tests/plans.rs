//! No statement of the bus walks a table that grows, sorts in memory, or changes rows without
//! saying which.

use super::*;

/// The sources whose statements are read: each `const NAME: &str = "..."` that begins like one.
const SOURCES: [(&str, &str); 12] = [
    ("adopt", include_str!("../../adopt.rs")),
    ("bury", include_str!("../../bury.rs")),
    ("careful", include_str!("../../careful.rs")),
    ("consumer", include_str!("../../consumer.rs")),
    ("deliver", include_str!("../../deliver.rs")),
    ("dispatch", include_str!("../../dispatch.rs")),
    ("event_row", include_str!("../../event_row.rs")),
    ("front", include_str!("../../front.rs")),
    ("look", include_str!("../../look.rs")),
    ("outbox", include_str!("../../outbox.rs")),
    ("publish", include_str!("../../publish.rs")),
    ("route_retry", include_str!("../../route_retry.rs")),
];

/// Tables of a handful of rows: consumers and their patterns.
const SMALL: [&str; 4] = ["SCAN lanebox_consumer", "SCAN p", "SCAN c", "SCAN lanebox_pattern"];

#[test]
fn no_statement_walks_what_grows() {
    let scratch = Scratch::new();
    let conn = scratch.raw();
    let mut read = 0;
    for (source, text) in SOURCES {
        for (name, sql) in statements(text) {
            read += 1;
            let changes = sql.starts_with("UPDATE") || sql.starts_with("DELETE");
            assert!(!changes || sql.contains("WHERE"), "{source} {name} changes every row");
            let mut plan = conn
                .prepare(&format!("EXPLAIN QUERY PLAN {sql}"))
                .unwrap_or_else(|error| panic!("{source} {name}: {error}"));
            let mut steps = plan.raw_query();
            while let Some(step) = steps.next().expect("a plan") {
                let step: String = step.get(3).expect("a text");
                let walks =
                    step.starts_with("SCAN") && !SMALL.iter().any(|small| step.starts_with(small));
                assert!(!walks && !step.contains("TEMP B-TREE"), "{source} {name}: {step}");
            }
        }
    }
    assert!(read >= 50, "only {read} statements were found");
}

/// Name and text of each constant that is a statement.
fn statements(source: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for part in source.split("const ").skip(1) {
        let Some((name, rest)) = part.split_once(": &str =") else { continue };
        let Some(literal) = rest.trim_start().strip_prefix('"') else { continue };
        let mut sql = String::new();
        let mut chars = literal.chars().peekable();
        while let Some(c) = chars.next() {
            match c {
                '"' => break,
                '\\' => match chars.next() {
                    Some('\n') => while chars.next_if(|c| c.is_whitespace()).is_some() {},
                    Some(escaped) => sql.push(escaped),
                    None => break,
                },
                c => sql.push(c),
            }
        }
        let verb = sql.split(' ').next().unwrap_or_default();
        if ["SELECT", "INSERT", "UPDATE", "DELETE"].contains(&verb) {
            found.push((name.to_owned(), sql));
        }
    }
    found
}

#[test]
fn the_statements_are_read_as_the_compiler_reads_them() {
    let source = "const A: &str = \"SELECT 1 \\\n     FROM t\";\nconst B: &str = \"no statement\";\nconst N: i64 = 1;";
    assert_eq!(statements(source), [("A".to_owned(), "SELECT 1 FROM t".to_owned())]);
}
