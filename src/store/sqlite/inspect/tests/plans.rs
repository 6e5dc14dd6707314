//! What people read costs what is shown, or what waits, and not what ever happened.

use super::events::EVENTS;
use super::sends::with_sends;
use super::*;
use crate::store::sqlite::inspect::query::scanned;
use crate::store::sqlite::inspect::{events, jobs, lanes, notices, sends};

/// Tables that only grow.
const HISTORY: [&str; 10] = [
    "event", "job", "finished", "attempt", "send", "send_try", "audit", "notice", "delivery",
    "step",
];

/// What may be walked all the same, by a part of the statement: counts that stop, and sets that
/// wait for a person and are small because equal notices are one.
const MAY: [&str; 8] = [
    "FROM lanebox_finished ORDER BY id DESC LIMIT 1 OFFSET 100000",
    "FROM lanebox_finished WHERE state = 'dead' LIMIT 10",
    "FROM lanebox_finished WHERE state = 'dead' ORDER BY id DESC LIMIT 1",
    "FROM lanebox_finished WHERE state = 'dead' AND id < ?1 ORDER BY id DESC LIMIT 1 ",
    "WHERE notice IS NOT NULL AND state = 'dead' ORDER BY notice DESC LIMIT 1",
    "FROM lanebox_notice WHERE state <> 'resolved'",
    "FROM lanebox_notice WHERE ?1 IS NOT NULL ORDER BY id LIMIT 1",
    "FROM lanebox_send_try WHERE state IN ('intended', 'unknown')",
];

/// Every query that people's views put together on a file that has something of everything.
fn queries() -> Vec<String> {
    let (file, _) = with_sends();
    file.sql(EVENTS);
    let waits = file.job("turn", Lane::of("ann"));
    let line = file.job("turn", Lane::of("ann"));
    let _ = file.job("other", Lane::NONE);
    let _ = file.run("other", End::Dead("gone".to_owned()));
    let _ = scanned::texts();
    let store = &file.store;
    let since = time::OffsetDateTime::from_unix_timestamp(T0 / 1000).expect("a time");
    for cursor in [None, Some("3".to_owned())] {
        let filter = |state: &str| {
            let filter = Filter { after: cursor.clone(), ..Filter::new() };
            if state.is_empty() { filter } else { filter.state(state) }
        };
        for wide in [false, true] {
            let filter = |state: &str| match wide {
                true => filter(state).org("acme").since(since),
                false => filter(state),
            };
            for state in [&[""], &jobs::STATES[..]].concat() {
                let filter = filter(state);
                let _ = store.jobs(&filter).expect("jobs");
                let _ = store.jobs(&filter.clone().kind("turn").lane("ann")).expect("jobs");
            }
            for state in [&[""], &events::STATES[..]].concat() {
                let _ = store.events(&filter(state).kind("message.*")).expect("events");
            }
            for state in [&[""], &sends::STATES[..]].concat() {
                let _ = store.sends(&filter(state)).expect("sends");
            }
            for state in [&[""], &notices::STATES[..]].concat() {
                let _ = store.notices(&filter(state)).expect("notices");
            }
        }
        for state in [&[""], &lanes::STATES[..]].concat() {
            let _ = store.lanes(&filter(state)).expect("lanes");
        }
    }
    let _ = (store.lanes(&Filter::new().lane("ann")), store.stats(), store.consumers());
    let _ = (store.has_org("acme"), store.has_org("nobody"));
    for no in ["1", "2", "message:m1", "01860000-0000-7000-8000-000000000003"] {
        let _ = store.trace(no).expect("a trace");
    }
    for job in [waits, line] {
        let _ = (store.job(job).expect("a job"), store.trace(&job.to_string()).expect("a trace"));
    }
    let _ = (store.send(1).expect("a send"), store.notice(1).expect("a notice"));
    scanned::texts().into_iter().collect()
}

// fault: page-skips-one
#[test]
fn r74_the_dead_are_listed_in_stretches_without_a_gap() {
    let (file, _) = with_sends();
    file.sql(
        "INSERT INTO lanebox_job(id, uuid, org, kind, priority, run_at, max_attempts, created_at, payload) \
         WITH RECURSIVE n(i) AS (SELECT 100 UNION ALL SELECT i + 1 FROM n WHERE i < 20150) \
         SELECT i, randomblob(16), 2 - (i > 130), 1, 500, 0, 1, 0, '{}' FROM n; \
         INSERT INTO lanebox_notice(id, org, kind, cause, severity, reason, next_step, first_at, last_at) \
         VALUES (9, 2, 'job.dead', 'c', 'warn', 'r', 'n', 0, 0); \
         INSERT INTO lanebox_finished(id, state, finished_at, series, attempts, lost, error, notice) \
         SELECT id, 'dead', 0, 1, 1, 0, 'gone', 9 FROM lanebox_job WHERE id >= 100",
    );
    let of_acme = || Filter::new().state("dead").org("acme").limit(20);
    let mut seen = Vec::new();
    let mut page = file.store.jobs(&of_acme()).expect("a page");
    assert_eq!(page.rows.len(), 0, "the newest stretch has none of this org");
    for _ in 0..9 {
        seen.extend(ids(&page.rows));
        let Some(next) = page.next else { break };
        page = file.store.jobs(&of_acme().after(next)).expect("a page");
    }
    let dead: usize = file.store.count(
        "SELECT count(*) FROM lanebox_job j JOIN lanebox_finished f ON f.id = j.id WHERE j.org = 2",
    );
    assert_eq!((seen.len(), dead), (31, 31));
}

#[test]
fn r74_nothing_that_people_read_walks_a_table_of_history() {
    let queries = queries();
    assert!(queries.len() > 60, "only {} queries", queries.len());
    let file = File::new();
    let mut walks = Vec::new();
    for sql in queries {
        for step in file.plan(&sql) {
            let Some(what) = step.strip_prefix("SCAN ") else { continue };
            let name = what.split(' ').next().unwrap_or_default();
            if grows(&sql, name) && !MAY.iter().any(|part| sql.contains(part)) {
                walks.push(format!("{step}: {sql}"));
            }
        }
    }
    assert!(walks.is_empty(), "{walks:#?}");
}

// A list whose ids drive stops at the end of its page; one that begins elsewhere would be sorted.
#[test]
fn r74_a_stretch_of_ids_is_walked_in_its_order() {
    let file = File::new();
    let mut walks = 0;
    for sql in queries() {
        let Some(driver) = ["j", "f"].iter().find(|of| sql.contains(&format!("{of}.id >= ? AND")))
        else {
            continue;
        };
        let plan = file.plan(&sql);
        assert!(plan[0].starts_with(&format!("SEARCH {driver} USING")), "{plan:#?}: {sql}");
        assert!(!plan.iter().any(|step| step.contains("TEMP B-TREE")), "{plan:#?}: {sql}");
        walks += 1;
    }
    assert!(walks > 20, "only {walks} lists");
}

/// Whether a name in a plan, of a table or what a statement calls it, is of a table of history.
fn grows(sql: &str, name: &str) -> bool {
    let is_history =
        |table: &str| table.strip_prefix("lanebox_").is_some_and(|table| HISTORY.contains(&table));
    let words: Vec<&str> = sql.split([' ', '(', ')', ',']).collect();
    is_history(name) || words.windows(2).any(|pair| is_history(pair[0]) && pair[1] == name)
}

impl File {
    fn plan(&self, sql: &str) -> Vec<String> {
        self.store
            .read(|conn| {
                let mut explain = conn.prepare(&format!("EXPLAIN QUERY PLAN {sql}"))?;
                let rows = explain.raw_query().map(|row| row.get("detail"));
                Ok(rusqlite::fallible_iterator::FallibleIterator::collect(rows)?)
            })
            .expect("a plan")
    }
}
