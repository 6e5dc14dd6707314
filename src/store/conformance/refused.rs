//! What the schema refuses: each rule of the job tables is shown a row that breaks it, by raw SQL,
//! and refuses it in its own words. Later areas add theirs.

mod rows;

use super::world::{self, World};
use rows::{CHANGES, JOB_COLUMNS, OTHERS};

/// One job in every place: 1 is ready, 2 and 3 stand in the line of lane 1, 4 runs in lane 2 and 8
/// beside any lane, 5 is scheduled, 6 is done, 7 keeps lane 3.
const SOUND: &str = "
INSERT INTO lanebox_kind(id, name) VALUES (1, 'turn'), (2, 'note');
INSERT INTO lanebox_org(id, name) VALUES (2, 'acme');
INSERT INTO lanebox_lane(id, org, name) VALUES (1, 2, 'ann'), (2, 2, 'bob'), (3, 2, 'eve');
INSERT INTO lanebox_process(uuid, boot, os, pid, started_at) VALUES (randomblob(16), 'b', randomblob(16), 1, 0);
UPDATE lanebox_counter SET token = 100;
INSERT INTO lanebox_notice(id, org, kind, cause, severity, reason, next_step, ref_kind, ref_id, first_at, last_at)
  VALUES (1, 2, 'job.dead', 'x', 'warn', 'x', 'x', 'job', 1, 0, 0), (2, 2, 'job.dead', 'y', 'warn', 'x', 'x', 'job', 1, 0, 0);
INSERT INTO lanebox_pause(lane, by_operator) VALUES (1, 1);
INSERT INTO lanebox_job(id, uuid, org, kind, lane, priority, run_at, max_attempts, created_at, payload) VALUES
  (1, randomblob(16), 2, 1, NULL, 500, 10, 3, 0, '{}'), (2, randomblob(16), 2, 1, 1, 500, 10, 3, 0, '{}'),
  (3, randomblob(16), 2, 1, 1, 500, 11, 3, 0, '{}'), (4, randomblob(16), 2, 1, 2, 500, 12, 3, 0, '{}'),
  (5, randomblob(16), 2, 1, NULL, 500, 90, 3, 0, '{}'), (6, randomblob(16), 2, 1, NULL, 500, 9, 3, 0, '{}'),
  (7, randomblob(16), 2, 1, 3, 500, 9, 3, 0, '{}'), (8, randomblob(16), 2, 1, NULL, 500, 9, 3, 0, '{}');
INSERT INTO lanebox_ready(alone, kind, org, priority, run_at, id) VALUES (0, 1, 2, 500, 10, 1);
INSERT INTO lanebox_open(lane, priority, run_at, id, kind) VALUES (1, 500, 10, 2, 1), (1, 500, 11, 3, 1);
INSERT INTO lanebox_running(id, org, kind, lane, run_at, token, process, lease_until, started_at, max_attempts)
  VALUES (4, 2, 1, 2, 12, 50, 1, 0, 0, 3), (8, 2, 1, NULL, 9, 51, 1, 0, 0, 3);
INSERT INTO lanebox_scheduled(run_at, id, lane) VALUES (90, 5, NULL), (95, 7, 3);
INSERT INTO lanebox_tried(id, lane, phase, run_at, series, attempts, lost, lost_alone, postponed, unknowns, sent)
  VALUES (7, 3, 'waiting', 95, 1, 1, 0, 0, 0, 0, 0);
INSERT INTO lanebox_attempt(job, token, series, n, process, started_at, ended_at, ended) VALUES (7, 30, 1, 1, 1, 0, 0, 'failed');
INSERT INTO lanebox_finished(id, state, finished_at, started_at, token, process, series, attempts, lost) VALUES (6, 'done', 0, 0, 40, 1, 1, 1, 0);
INSERT INTO lanebox_result(job, result) VALUES (6, '{}');
INSERT INTO lanebox_step(job, name, result, finished_at, token) VALUES (4, 'ask', '{}', 0, 50);
INSERT INTO lanebox_once(org, source_event, name, job, uuid, payload_hmac, used_at) VALUES (2, 1, 'turn', 1, randomblob(16), randomblob(32), 0);
INSERT INTO lanebox_job_key(org, key_hmac, job, uuid, payload_hmac, until) VALUES (2, randomblob(32), 1, randomblob(16), randomblob(32), 0);
INSERT INTO lanebox_job_unique(org, kind, key_hmac, job, holds) VALUES (2, 1, randomblob(32), 1, 1);
";

fn sound() -> World {
    let world = World::unguarded();
    world.sql(SOUND);
    world.is_sound();
    world
}

/// What SQLite says to the statement, which is taken back.
fn refusal(world: &World, sql: &str) -> Option<String> {
    world.store.on_writer(|conn| {
        conn.execute_batch("SAVEPOINT attempt").expect("a savepoint");
        // Foreign keys are judged at the end of the statement here too.
        let refused = conn.execute_batch(sql).err().map(|error| error.to_string());
        conn.execute_batch("ROLLBACK TO attempt; RELEASE attempt").expect("taken back");
        refused
    })
}

/// Every statement that must be refused, and the words.
fn all() -> Vec<(String, &'static str)> {
    let changes = CHANGES.iter().flat_map(|(table, rows)| {
        rows.iter().map(move |(set, words)| (format!("UPDATE {table} SET {set}"), *words))
    });
    let jobs = JOB_COLUMNS.iter().map(|(set, words)| {
        let free = "DROP TRIGGER lanebox_job_written_once";
        (format!("{free}; UPDATE lanebox_job SET {set}"), *words)
    });
    let others = OTHERS.iter().map(|(sql, words)| ((*sql).to_owned(), *words));
    changes.chain(jobs).chain(others).collect()
}

// fault: no-attempts-check
#[test]
fn r36_every_rule_of_the_job_tables_refuses_its_illegal_row() {
    let world = sound();
    let mut wrong = Vec::new();
    for (sql, words) in all() {
        match refusal(&world, &sql) {
            None => wrong.push(format!("accepted: {sql}")),
            Some(said) if said.contains(words) => {}
            Some(said) => wrong.push(format!("{sql}\n    says: {said}\n    not: {words}")),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    world.is_sound();
}

// A rule that is shown no row would not be missed if it went.
#[test]
fn no_check_and_no_trigger_of_the_job_tables_is_left_out() {
    let world = sound();
    let said: Vec<String> = all().iter().filter_map(|(sql, _)| refusal(&world, sql)).collect();
    let schema = include_str!("../../../schema/sqlite/current.sql");
    let jobs: String = schema.split("\n-- ----").take(4).collect();
    let mut rules: Vec<&str> = jobs.split("CHECK (").skip(1).map(inside).collect();
    let refusals = jobs.split("RAISE(ABORT, '").skip(1);
    rules.extend(refusals.map(|text| text.split('\'').next().expect("a literal ends")));
    assert!(rules.len() > 80, "the rules are found: {}", rules.len());
    rules.retain(|rule| !said.iter().any(|said| said.contains(rule)));
    assert_eq!(rules, [""; 0], "shown no row");
}

/// What stands before the parenthesis that closes.
fn inside(text: &str) -> &str {
    let mut depth = 1;
    let end = text.find(|c| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        depth == 0
    });
    &text[..end.expect("parentheses close")]
}

#[test]
fn the_guards_of_tests_see_a_job_in_two_places() {
    let world = sound();
    world.store.on_writer(world::guard);
    let twice = [
        ("INSERT INTO lanebox_scheduled(run_at, id) VALUES (9, 1)", "guard: scheduled and ready"),
        ("INSERT INTO lanebox_open VALUES (2, 500, 9, 4, 1)", "guard: in line and running"),
        ("INSERT INTO lanebox_ready VALUES (0, 1, 2, 500, 9, 5)", "guard: ready and scheduled"),
        (
            "INSERT INTO lanebox_running(id, org, kind, run_at, token, process, lease_until, started_at, max_attempts) \
             VALUES (6, 2, 1, 9, 60, 1, 0, 0, 3)",
            "guard: running and ended",
        ),
        (
            "INSERT INTO lanebox_finished(id, state, finished_at, series, attempts, lost) VALUES (4, 'done', 0, 1, 1, 0)",
            "guard: ended and running",
        ),
    ];
    for (sql, words) in twice {
        let said = refusal(&world, sql).expect("a job is in one place");
        assert!(said.contains(words), "{sql}: {said}");
    }
}
