//! Lists of jobs page by page, beside what plain SQL says of a file where some states are many,
//! some are rare, and one is many behind a long history.

use super::whole::everywhere;
use super::*;
use crate::store::sqlite::inspect::span::WALK;

/// Where each state stands, without a thought for what it costs.
const PLAIN: [(&str, &str); 12] = [
    ("", "1"),
    (
        "pending",
        "id IN (SELECT id FROM lanebox_scheduled UNION SELECT id FROM lanebox_ready UNION SELECT id FROM lanebox_open UNION SELECT id FROM lanebox_tried)",
    ),
    (
        "scheduled",
        "id IN (SELECT id FROM lanebox_scheduled) AND id NOT IN (SELECT id FROM lanebox_tried)",
    ),
    (
        "queued",
        "id IN (SELECT id FROM lanebox_open UNION SELECT id FROM lanebox_tried WHERE phase = 'waiting') \
         AND id NOT IN (SELECT id FROM lanebox_ready) AND id NOT IN (SELECT id FROM lanebox_scheduled)",
    ),
    ("ready", "id IN (SELECT id FROM lanebox_ready)"),
    (
        "backing_off",
        "id IN (SELECT id FROM lanebox_scheduled) AND id IN (SELECT id FROM lanebox_tried WHERE phase = 'waiting')",
    ),
    ("waiting_for_send", "id IN (SELECT id FROM lanebox_tried WHERE phase = 'unknown')"),
    ("parked", "id IN (SELECT id FROM lanebox_tried WHERE phase = 'parked')"),
    ("running", "id IN (SELECT id FROM lanebox_running)"),
    ("done", "id IN (SELECT id FROM lanebox_finished WHERE state = 'done')"),
    ("dead", "id IN (SELECT id FROM lanebox_finished WHERE state = 'dead')"),
    ("cancelled", "id IN (SELECT id FROM lanebox_finished WHERE state = 'cancelled')"),
];

/// 22,000 that can be claimed, then 24,000 that have ended, then a hundred of several states.
const MANY: &str = "\
INSERT INTO lanebox_kind(name) VALUES ('rare'); \
INSERT INTO lanebox_org(name) VALUES ('other'); \
INSERT INTO lanebox_notice(id, org, kind, cause, severity, reason, next_step, first_at, last_at) \
  VALUES (9, 2, 'job.dead', 'c', 'warn', 'r', 'n', 0, 0); \
INSERT INTO lanebox_job(id, uuid, org, kind, lane, priority, run_at, max_attempts, created_at, payload) \
  WITH RECURSIVE n(i) AS (SELECT 1001 UNION ALL SELECT i + 1 FROM n WHERE i < 47100) \
  SELECT i, unhex(printf('%012x70008000%012x', 1900000000000 + i, i)), \
    (SELECT id FROM lanebox_org WHERE name = iif(i % 7 = 0 AND NOT (i > 47000 AND i % 4 = 1), 'other', 'acme')), \
    (SELECT id FROM lanebox_kind WHERE name = iif(i % 500 = 0, 'rare', 'k')), \
    iif(i > 47000 AND i % 4 = 1, (SELECT id FROM lanebox_lane WHERE name = 'ann' ORDER BY id LIMIT 1), NULL), \
    500, 1900000000000 + i, 5, 1900000000000 + i, '{}' FROM n; \
INSERT INTO lanebox_ready SELECT 0, kind, org, priority, run_at, id FROM lanebox_job \
  WHERE id BETWEEN 1001 AND 23000 OR (id > 47000 AND id % 4 = 2); \
INSERT INTO lanebox_scheduled(run_at, id) SELECT run_at, id FROM lanebox_job WHERE id > 47000 AND id % 4 = 0; \
INSERT INTO lanebox_open SELECT lane, priority, run_at, id, kind FROM lanebox_job WHERE id > 47000 AND id % 4 = 1; \
INSERT INTO lanebox_finished(id, state, reason, finished_at, series, attempts, lost, error, notice) \
  SELECT id, CASE id % 40 WHEN 0 THEN 'cancelled' WHEN 1 THEN 'dead' ELSE 'done' END, iif(id % 40 = 0, 'operator', NULL), \
    0, 1, 1, 0, iif(id % 40 = 1, 'gone', NULL), iif(id % 40 = 1, 9, NULL) FROM lanebox_job \
  WHERE id BETWEEN 23001 AND 47000 OR (id > 47000 AND id % 4 = 3)";

impl File {
    fn plain(&self, what: &str, narrowed: &str) -> Vec<JobId> {
        let sql =
            format!("SELECT uuid FROM lanebox_job WHERE {what} AND {narrowed} ORDER BY id DESC");
        let read = |conn: &rusqlite::Connection| {
            let mut statement = conn.prepare(&sql)?;
            let rows = statement.query_map([], |row| row.get(0))?;
            Ok(rows.collect::<rusqlite::Result<_>>()?)
        };
        self.store.read(read).expect("a list")
    }

    /// Every page to the end, and how many of them were short.
    fn paged(&self, mut filter: Filter) -> (Vec<JobId>, usize) {
        let (mut seen, mut short) = (Vec::new(), 0);
        loop {
            let page = self.store.jobs(&filter).expect("a page");
            seen.extend(ids(&page.rows));
            let Some(next) = page.next else { return (seen, short) };
            short += usize::from(page.rows.len() < 200);
            filter = filter.after(next);
        }
    }
}

#[test]
fn r74_every_state_is_listed_as_plain_sql_says_page_by_page() {
    let file = everywhere();
    let since = time::OffsetDateTime::from_unix_timestamp(T0 / 1000 + 30).expect("a time");
    let filters = |filter: Filter| {
        [
            (filter.clone(), "1"),
            (
                filter.clone().kind("rare"),
                "kind = (SELECT id FROM lanebox_kind WHERE name = 'rare')",
            ),
            (
                filter.clone().org("other"),
                "org = (SELECT id FROM lanebox_org WHERE name = 'other')",
            ),
            (
                filter.clone().lane("ann"),
                "lane IN (SELECT id FROM lanebox_lane WHERE name = 'ann')",
            ),
            (
                filter.clone().lane("ann").org("acme"),
                "lane IN (SELECT id FROM lanebox_lane WHERE name = 'ann' AND org = 2)",
            ),
            (filter.clone().lane("ann").org("other"), "0"),
            (
                filter.kind("k").since(since),
                "created_at >= 1900000030000 AND kind = (SELECT id FROM lanebox_kind WHERE name = 'k')",
            ),
        ]
    };
    let all_agree = || {
        for (state, what) in PLAIN {
            let filter = Filter::new().limit(200);
            let filter = if state.is_empty() { filter } else { filter.state(state) };
            for (filter, narrowed) in filters(filter) {
                let (seen, _) = file.paged(filter);
                let plain = file.plain(what, narrowed);
                assert!(seen == plain, "{state}, {narrowed}: {} of {}", seen.len(), plain.len());
                assert!(!plain.is_empty() || narrowed != "1", "none is {state}");
            }
        }
    };
    all_agree();
    file.sql(MANY);
    all_agree();
}

#[test]
fn r74_the_numbers_are_those_of_plain_sql_and_stop_at_a_bound() {
    let file = everywhere();
    file.sql(MANY);
    let stats = || serde_json::to_value(file.store.stats().expect("stats")).expect("json");
    let counted = stats();
    for (state, what) in &PLAIN[2..] {
        let n = counted[state].as_u64().or(counted[state]["n"].as_u64());
        assert_eq!(n, Some(file.plain(what, "1").len() as u64), "{state}");
    }
    // Lines of two, each with a head that can be claimed: a hundred thousand rows are half of them.
    file.sql(
        "INSERT INTO lanebox_open(lane, priority, run_at, id, kind) \
         WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100100) \
         SELECT 1000 + i / 2, 500, 0, 100000 + i, 1 FROM n",
    );
    let queued = &stats()["queued"];
    assert_eq!(queued["more"], true);
    assert!((50_000..50_100).contains(&queued["n"].as_u64().expect("a count")), "{queued}");
}

// What is many behind a long history is found stretch by stretch; what is rare is on one page.
#[test]
fn r74_a_rare_state_needs_one_page_and_a_common_one_no_more_than_its_rows_and_stretches() {
    let file = everywhere();
    file.sql(MANY);
    for state in ["scheduled", "queued", "running", "waiting_for_send", "parked", "backing_off"] {
        let page = file.store.jobs(&Filter::new().state(state).limit(200)).expect("a page");
        assert!(page.next.is_none() && !page.rows.is_empty(), "{state}");
    }
    for state in ["ready", "pending"] {
        let (_, short) = file.paged(Filter::new().state(state).limit(200));
        assert!(short <= 2, "{short} short pages of {state}: {WALK} ids are looked at for one");
    }
}
