//! Every row of the job part, read from the file in one go, so that it can be compared with what a
//! model says.

use rusqlite::Connection;
use rusqlite::types::Value;

pub(super) type Row = Vec<Value>;
pub(super) type Tables = Vec<(&'static str, Vec<Row>)>;

/// The tables that are compared, and what of them. Texts that the store makes itself are compared
/// as "some text".
pub(super) const TABLES: [(&str, &str); 21] = [
    (
        "job",
        "SELECT id, org, kind, lane, priority, run_at, expires_at, max_attempts FROM lanebox_job",
    ),
    ("scheduled", "SELECT run_at, id, lane FROM lanebox_scheduled"),
    ("ready", "SELECT alone, kind, org, priority, run_at, id FROM lanebox_ready"),
    ("open", "SELECT lane, priority, run_at, id, kind FROM lanebox_open"),
    (
        "running",
        "SELECT id, org, kind, lane, run_at, token, process, lease_until, started_at, series, attempts, \
         max_attempts, lost, lost_alone, postponed, unknowns, alone, kept_lane, cancel_asked, sent FROM lanebox_running",
    ),
    (
        "tried",
        "SELECT id, lane, phase, run_at, series, attempts, lost, lost_alone, postponed, unknowns, sent, waits_send, \
         iif(error NOT LIKE 'e:%', '*', error) FROM lanebox_tried",
    ),
    (
        "finished",
        "SELECT id, state, reason, finished_at, started_at, token, process, series, attempts, lost, \
         iif(error NOT LIKE 'e:%', '*', error) FROM lanebox_finished",
    ),
    (
        "attempt",
        "SELECT job, token, series, n, process, started_at, ended_at, ended, iif(error NOT LIKE 'e:%', '*', error) \
         FROM lanebox_attempt",
    ),
    ("expiry", "SELECT expires_at, id FROM lanebox_expiry"),
    ("result", "SELECT job, result FROM lanebox_result"),
    ("pause", "SELECT lane, by_operator, dead_job, cancel_upto FROM lanebox_pause"),
    ("counter", "SELECT token, org, cap, paused FROM lanebox_counter"),
    ("org", "SELECT id, name, cap, paused FROM lanebox_org"),
    (
        "kind",
        "SELECT id, name, cap, paused, yields, on_dead, max_postponed, owed FROM lanebox_kind",
    ),
    ("lane", "SELECT id, org, name FROM lanebox_lane"),
    ("process", "SELECT id, boot, gone FROM lanebox_process"),
    ("job_key", "SELECT org, job, until FROM lanebox_job_key"),
    ("job_unique", "SELECT org, kind, job, holds FROM lanebox_job_unique"),
    ("once", "SELECT org, source_event, name, job FROM lanebox_once"),
    (
        "notice",
        "SELECT org, kind, iif(kind = 'job.dead' AND substr(cause, instr(cause, ': ') + 2, 2) <> 'e:', \
         substr(cause, 1, instr(cause, ':')) || ' *', cause) AS cause, sum(count) FROM lanebox_notice GROUP BY 1, 2, 3",
    ),
    ("send_try", "SELECT send, job, token, state, notice IS NOT NULL FROM lanebox_send_try"),
];

/// What the file holds.
pub(super) fn read(conn: &Connection) -> Tables {
    TABLES.iter().map(|(name, sql)| (*name, rows(conn, sql))).collect()
}

fn rows(conn: &Connection, sql: &str) -> Vec<Row> {
    let mut statement = conn.prepare_cached(sql).expect("a good query");
    let width = statement.column_count();
    let read = statement.query_map([], |row| (0..width).map(|at| row.get(at)).collect());
    let mut rows: Vec<Row> = read.expect("it runs").map(|row| row.expect("a row")).collect();
    sort(&mut rows);
    rows
}

/// Rows are sets: their order is that of their values.
pub(super) fn sort(rows: &mut [Row]) {
    rows.sort_by(|a, b| {
        a.iter().map(key).partial_cmp(b.iter().map(key)).expect("no floats in these tables")
    });
}

// Numbers before texts; NULL first.
fn key(value: &Value) -> (u8, i64, &str) {
    match value {
        Value::Null => (0, 0, ""),
        Value::Integer(n) => (1, *n, ""),
        Value::Text(text) => (2, 0, text),
        Value::Real(_) | Value::Blob(_) => panic!("no floats or blobs in these tables"),
    }
}

/// Where two states differ, a line for each row that only one of them has; empty if they agree.
pub(super) fn differences(file: &Tables, model: &Tables) -> Vec<String> {
    let mut found = Vec::new();
    for ((table, file), (_, model)) in file.iter().zip(model) {
        if file == model {
            continue;
        }
        for row in file.iter().filter(|row| !model.contains(row)) {
            found.push(format!("{table}: only the file has {}", shown(row)));
        }
        for row in model.iter().filter(|row| !file.contains(row)) {
            found.push(format!("{table}: only the model has {}", shown(row)));
        }
    }
    found
}

fn shown(row: &Row) -> String {
    let show = |value: &Value| match value {
        Value::Null => "-".to_owned(),
        Value::Integer(n) => n.to_string(),
        Value::Text(text) => text.clone(),
        other => format!("{other:?}"),
    };
    row.iter().map(show).collect::<Vec<_>>().join(" ")
}
