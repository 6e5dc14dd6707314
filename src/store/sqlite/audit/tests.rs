//! An audit that cannot see its fault proves nothing: each one is shown a file with exactly that
//! fault.

use rusqlite::Connection;

use super::{AUDITS, audit};

mod faults;

const SOUND: &str = "
INSERT INTO lanebox_kind(id, name) VALUES (1, 'turn');
INSERT INTO lanebox_org(id, name) VALUES (2, 'acme');
INSERT INTO lanebox_lane(id, org, name) VALUES (1, 2, 'ann'), (2, 2, 'bob');
INSERT INTO lanebox_process(id, uuid, boot, os, pid, started_at) VALUES (1, randomblob(16), 'b', randomblob(16), 1, 0);
UPDATE lanebox_counter SET token = 100;
INSERT INTO lanebox_notice(id, org, kind, cause, severity, reason, next_step, first_at, last_at)
  VALUES (1, 2, 'job.dead', 'x', 'warn', 'x', 'x', 0, 0), (2, 2, 'send.unknown', 'x', 'warn', 'x', 'x', 0, 0);
INSERT INTO lanebox_job(id, uuid, org, kind, lane, priority, run_at, max_attempts, created_at, payload) VALUES
  (1, randomblob(16), 2, 1, NULL, 500, 10, 3, 0, '{}'), (2, randomblob(16), 2, 1, 1, 500, 10, 3, 0, '{}'),
  (3, randomblob(16), 2, 1, 1, 500, 11, 3, 0, '{}'), (4, randomblob(16), 2, 1, 2, 500, 12, 3, 0, '{}'),
  (5, randomblob(16), 2, 1, NULL, 500, 90, 3, 0, '{}'), (6, randomblob(16), 2, 1, NULL, 500, 9, 3, 0, '{}'),
  (7, randomblob(16), 2, 1, NULL, 500, 9, 3, 0, '{}');
INSERT INTO lanebox_ready(alone, kind, org, priority, run_at, id) VALUES (0, 1, 2, 500, 10, 1), (0, 1, 2, 500, 10, 2);
INSERT INTO lanebox_open(lane, priority, run_at, id, kind) VALUES (1, 500, 10, 2, 1), (1, 500, 11, 3, 1);
INSERT INTO lanebox_running(id, org, kind, lane, run_at, token, process, lease_until, started_at, max_attempts)
  VALUES (4, 2, 1, 2, 12, 50, 1, 0, 0, 3);
INSERT INTO lanebox_scheduled(run_at, id, lane) VALUES (90, 5, NULL), (95, 7, NULL);
INSERT INTO lanebox_finished(id, state, finished_at, started_at, token, process, series, attempts, lost, error, notice)
  VALUES (6, 'dead', 0, 0, 40, 1, 1, 1, 0, 'x', 1);
INSERT INTO lanebox_channel(id, org, name, timeout_ms, patience_ms) VALUES (1, 2, 'mail', 1, 1);
INSERT INTO lanebox_send(id, org, origin, seq) VALUES (1, 2, 'j7', 1);
INSERT INTO lanebox_send_try(send, n, key, channel, recipient_hmac, recipient_mask, hash, state, job, token, intended_at, unknown_at, wait_until, next_look, notice)
  VALUES (1, 1, randomblob(16), 1, randomblob(32), 'a', randomblob(32), 'unknown', 7, 30, 0, 0, 95, 20, NULL);
INSERT INTO lanebox_tried(id, lane, phase, run_at, series, attempts, lost, lost_alone, postponed, unknowns, sent, waits_send)
  VALUES (7, NULL, 'unknown', 95, 1, 0, 0, 0, 0, 1, 1, 1);
DELETE FROM lanebox_notice WHERE id = 2;
INSERT INTO lanebox_event(seq, uuid, org, name, dedupe_key) VALUES (1, zeroblob(16), 'acme', 'a.b', 'k'), (2, randomblob(16), 'acme', 'a.b', NULL);
INSERT INTO lanebox_event_key(org, key_hmac, payload_hmac, event, uuid, used_at) VALUES ('acme', randomblob(32), randomblob(32), 1, zeroblob(16), 0);
UPDATE lanebox_front SET seq = 2;
INSERT INTO lanebox_consumer(id, key, form, version, definition, generation, started, position) VALUES (1, 'c', 'consume', 1, 'd', 1, 0, 2);
INSERT INTO lanebox_pattern(name, consumer) VALUES ('a.*', 1);
INSERT INTO lanebox_delivery(consumer, event, state, at, reason) VALUES (1, 1, 'skipped', 0, 'x'), (1, 2, 'skipped', 0, 'x');
";

/// A sound file on which no rule of the schema holds any more: the faults are what the rules
/// refuse.
fn unguarded() -> Connection {
    let conn = Connection::open_in_memory().expect("memory");
    conn.execute_batch(include_str!("../../../../schema/sqlite/current.sql")).expect("the schema");
    let rules = "SELECT 'DROP ' || type || ' ' || name FROM sqlite_schema WHERE sql IS NOT NULL AND (type = 'trigger' \
                 OR sql LIKE 'CREATE UNIQUE INDEX%' AND name <> 'lanebox_notice_group')";
    let drops: Vec<String> = conn
        .prepare(rules)
        .and_then(|mut rules| rules.query_map([], |row| row.get(0))?.collect())
        .expect("names of rules");
    conn.execute_batch("PRAGMA foreign_keys = 0; PRAGMA ignore_check_constraints = 1")
        .expect("pragmas");
    conn.execute_batch(&drops.join(";")).expect("the rules are gone");
    conn.execute_batch(SOUND).expect("sound rows");
    conn
}

fn found(conn: &Connection) -> Vec<&'static str> {
    let findings = audit(conn).expect("every audit runs");
    findings.iter().filter(|finding| finding.count > 0).map(|finding| finding.name).collect()
}

#[test]
fn a_sound_file_has_no_findings() {
    assert_eq!(found(&unguarded()), Vec::<&str>::new());
}

#[test]
fn every_audit_sees_its_fault() {
    for audit in names() {
        let fault = faults::FAULTS.iter().find(|(name, _)| *name == audit);
        let (_, sql) = fault.unwrap_or_else(|| panic!("no fault is planted for {audit}"));
        let conn = unguarded();
        conn.execute_batch(sql).unwrap_or_else(|error| panic!("{audit}: {error}"));
        assert!(found(&conn).contains(&audit), "{audit} does not see: {sql}");
    }
    assert_eq!(faults::FAULTS.len(), names().count(), "a fault of no audit");
}

fn names() -> impl Iterator<Item = &'static str> {
    AUDITS.iter().flat_map(|area| area.iter()).map(|audit| audit.name)
}
