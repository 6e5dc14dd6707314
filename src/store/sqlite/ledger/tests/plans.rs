//! No statement of the ledger walks a table that grows: each is a search by a key or an index.

use crate::store::ledger::tests::world::World;

/// Files of the ledger's verbs; their statements are the constants in them.
const SOURCES: &[(&str, &str)] = &[
    ("accept", include_str!("../../accept.rs")),
    ("channel", include_str!("../../channel.rs")),
    ("consent", include_str!("../../consent.rs")),
    ("hold", include_str!("../../hold.rs")),
    ("intend", include_str!("../../intend.rs")),
    ("looked", include_str!("../../looked.rs")),
    ("once_more", include_str!("../../once_more.rs")),
    ("reject", include_str!("../../reject.rs")),
    ("resolve", include_str!("../../resolve.rs")),
    ("sends", include_str!("../../sends.rs")),
    ("undecided", include_str!("../../undecided.rs")),
];

/// The texts of the SQL constants of a source file.
fn statements(source: &str) -> Vec<String> {
    let mut found = Vec::new();
    for part in source.split("&str =").skip(1) {
        let (_, text) = part.split_once('"').expect("a string begins");
        let (text, _) = text.split_once("\";").expect("a string ends");
        let lines: Vec<_> = text.lines().map(|line| line.trim().trim_end_matches('\\')).collect();
        found.push(lines.concat());
    }
    found
}

#[test]
fn no_statement_walks_a_table_and_every_change_names_its_rows() {
    let w = World::new();
    let mut count = 0;
    for (file, source) in SOURCES {
        for sql in statements(source) {
            count += 1;
            let changes = sql.starts_with("UPDATE") || sql.starts_with("DELETE");
            assert!(!changes || sql.contains("WHERE"), "{file}: {sql}");
            let mut plan = w.raw.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).expect(&sql);
            let nulls = vec![rusqlite::types::Null; plan.parameter_count()];
            let nulls = rusqlite::params_from_iter(nulls);
            let steps = plan.query_map(nulls, |row| row.get::<_, String>(3)).expect(&sql);
            for step in steps.map(|step| step.expect("a step")) {
                let walks = step.contains("SCAN") && !step.contains("CONSTANT ROW");
                assert!(!walks && !step.contains("TEMP B-TREE"), "{file}: {sql}\n  {step}");
            }
        }
    }
    assert!(count > 40, "{count} statements were found");
}
