//! Every rule of the bus's tables refuses its illegal row, whoever writes it, and leaves the
//! bystanders alone.

use super::*;

const SOUND: &str = "
INSERT INTO lanebox_process(id, uuid, boot, os, pid, started_at) VALUES (1, randomblob(16), 'b', randomblob(16), 1, 0);
INSERT INTO lanebox_notice(id, org, kind, cause, severity, reason, next_step, first_at, last_at) VALUES (1, 1, 'delivery.dead', 'x', 'warn', 'x', 'x', 0, 0);
INSERT INTO lanebox_event(uuid, org, name) VALUES (zeroblob(16), 'acme', 'a.b'), (randomblob(16), 'acme', 'a.c'), (randomblob(16), 'acme', 'a.d');
INSERT INTO lanebox_event(org, name, dedupe_key) VALUES ('acme', 'a.e', 'k');
UPDATE lanebox_front SET seq = 3, generation = 5;
INSERT INTO lanebox_consumer(id, key, form, version, definition, generation, started, position) VALUES (1, 'c', 'route', 1, 'd', 2, 1, 2), (2, 'gone', 'route', 1, 'd', 1, 0, 0);
UPDATE lanebox_consumer SET state = 'retired', retired_at = 1 WHERE id = 2;
INSERT INTO lanebox_pattern VALUES ('a.*', 1), ('*', 2);
INSERT INTO lanebox_delivery(consumer, event, state, at, reason) VALUES (1, 1, 'skipped', 0, 'x');
INSERT INTO lanebox_delivery(consumer, event, state, at, attempts, next_at) VALUES (1, 2, 'retry', 0, 3, 9);
INSERT INTO lanebox_unhandled VALUES ('acme', 'a.e', 1, 4, 4);
INSERT INTO lanebox_event_key VALUES ('acme', randomblob(32), randomblob(32), 1, zeroblob(16), 0);
";

/// What must never be stored, and a word of the refusal.
const ILLEGAL: &[(&str, &str)] = &[
    // The front.
    ("UPDATE lanebox_front SET seq = 2", "never moves back"),
    ("UPDATE lanebox_front SET generation = 4", "never moves back"),
    ("DELETE FROM lanebox_front", "the front stays"),
    ("INSERT INTO lanebox_front VALUES (2, 0, 0)", "one = 1"),
    // Events.
    ("UPDATE lanebox_event SET payload = '{\"a\":1}' WHERE seq = 1", "does not change"),
    ("UPDATE lanebox_event SET uuid = randomblob(16) WHERE seq = 1", "does not change"),
    (
        "UPDATE lanebox_event SET name = 'x.y', uuid = randomblob(16) WHERE seq = 4",
        "does not change",
    ),
    (
        "UPDATE lanebox_event SET subject = 's', uuid = randomblob(16) WHERE seq = 4",
        "does not change",
    ),
    (
        "UPDATE lanebox_event SET recorded_at = 1, uuid = randomblob(16) WHERE seq = 4",
        "does not change",
    ),
    ("UPDATE lanebox_event SET uuid = randomblob(15) WHERE seq = 4", "CHECK"),
    ("UPDATE lanebox_event SET uuid = zeroblob(16) WHERE seq = 4", "does not change"),
    ("UPDATE OR REPLACE lanebox_event SET uuid = zeroblob(16) WHERE seq = 4", "does not change"),
    (
        "UPDATE lanebox_event SET uuid = randomblob(16), duplicate_of = randomblob(15) WHERE seq = 4",
        "CHECK",
    ),
    (
        "INSERT INTO lanebox_event(uuid, org, name, depth) VALUES (randomblob(16), 'acme', 'a.b', 17)",
        "given by the file",
    ),
    (
        "INSERT INTO lanebox_event(uuid, org, name, cause_event) VALUES (randomblob(16), 'acme', 'a.b', 99)",
        "CHECK",
    ),
    (
        "INSERT OR REPLACE INTO lanebox_event(uuid, org, name) VALUES (zeroblob(16), 'b', 'a.b')",
        "id is that of another event",
    ),
    ("DELETE FROM lanebox_event WHERE seq = 4", "not yet adopted"),
    ("DELETE FROM lanebox_event WHERE seq = 3", "a live consumer has not passed it"),
    ("DELETE FROM lanebox_event WHERE seq = 2", "a delivery still needs it"),
    // Their keys.
    (
        "INSERT INTO lanebox_event_key VALUES ('acme', randomblob(31), randomblob(32), 1, zeroblob(16), 0)",
        "CHECK",
    ),
    (
        "INSERT INTO lanebox_event_key VALUES ('acme', randomblob(32), randomblob(31), 1, zeroblob(16), 0)",
        "CHECK",
    ),
    (
        "INSERT INTO lanebox_event_key VALUES ('acme', randomblob(32), randomblob(32), 1, zeroblob(15), 0)",
        "CHECK",
    ),
    ("INSERT INTO lanebox_event_key SELECT * FROM lanebox_event_key", "UNIQUE"),
    // Consumers.
    ("UPDATE lanebox_consumer SET position = 1 WHERE id = 1", "never moves back"),
    ("UPDATE lanebox_consumer SET key = 'other' WHERE id = 1", "identity of a consumer is fixed"),
    ("UPDATE lanebox_consumer SET started = 0 WHERE id = 1", "identity of a consumer is fixed"),
    ("UPDATE lanebox_consumer SET generation = 1 WHERE id = 1", "identity of a consumer is fixed"),
    ("UPDATE lanebox_consumer SET id = 9 WHERE id = 2", "identity of a consumer is fixed"),
    ("DELETE FROM lanebox_consumer WHERE id = 2", "retired, not deleted"),
    ("UPDATE lanebox_consumer SET routing = 2 WHERE id = 1", "CHECK"),
    ("UPDATE lanebox_consumer SET routing = 9, alone = 2 WHERE id = 1", "CHECK"),
    ("UPDATE lanebox_consumer SET routing = 9, alone = 10 WHERE id = 1", "CHECK"),
    ("UPDATE lanebox_consumer SET alone = 3 WHERE id = 1", "CHECK"),
    ("UPDATE lanebox_consumer SET holder = 1 WHERE id = 1", "CHECK"),
    ("UPDATE lanebox_consumer SET state = 'retired' WHERE id = 1", "CHECK"),
    ("UPDATE lanebox_consumer SET state = 'asleep' WHERE id = 1", "CHECK"),
    ("UPDATE lanebox_consumer SET form = 'other' WHERE id = 1", "CHECK"),
    ("UPDATE lanebox_consumer SET version = 0 WHERE id = 1", "CHECK"),
    (
        "INSERT INTO lanebox_consumer(key, form, version, definition, generation, started, position) VALUES ('c', 'route', 1, 'd', 1, 0, 0)",
        "UNIQUE",
    ),
    (
        "INSERT INTO lanebox_consumer(key, form, version, definition, generation, started, position) VALUES ('C', 'route', 1, 'd', 1, 0, 0)",
        "CHECK",
    ),
    (
        "INSERT INTO lanebox_consumer(key, form, version, definition, generation, started, position) VALUES ('', 'route', 1, 'd', 1, 0, 0)",
        "CHECK",
    ),
    (
        "INSERT INTO lanebox_consumer(key, form, version, definition, generation, started, position) VALUES ('d', 'route', 1, 'd', 1, 5, 4)",
        "CHECK",
    ),
    (
        "INSERT INTO lanebox_consumer(key, form, version, definition, generation, started, position) VALUES ('d', 'route', 1, 'd', 1, -1, 4)",
        "CHECK",
    ),
    ("INSERT INTO lanebox_pattern VALUES ('a', 1)", "CHECK"),
    ("INSERT INTO lanebox_pattern VALUES ('A.b', 1)", "CHECK"),
    ("INSERT INTO lanebox_pattern VALUES ('a.*', 1)", "UNIQUE"),
    // Deliveries.
    (
        "INSERT INTO lanebox_delivery(consumer, event, state, at, reason) VALUES (1, 9, 'skipped', 0, 'x')",
        "no such adopted event",
    ),
    (
        "INSERT INTO lanebox_delivery(consumer, event, state, at, reason) VALUES (1, 4, 'skipped', 0, 'x')",
        "no such adopted event",
    ),
    (
        "INSERT INTO lanebox_delivery(consumer, event, state, at, reason) VALUES (1, 1, 'skipped', 0, 'x')",
        "delivered already",
    ),
    (
        "INSERT OR REPLACE INTO lanebox_delivery(consumer, event, state, at, reason) VALUES (1, 1, 'skipped', 0, 'y')",
        "delivered already",
    ),
    (
        "INSERT INTO lanebox_delivery(consumer, event, state, at, reason) VALUES (2, 3, 'skipped', 0, 'x')",
        "a consumer has ended",
    ),
    ("INSERT INTO lanebox_delivery(consumer, event, state, at) VALUES (1, 3, 'job', 0)", "CHECK"),
    (
        "INSERT INTO lanebox_delivery(consumer, event, state, at) VALUES (1, 3, 'skipped', 0)",
        "CHECK",
    ),
    (
        "INSERT INTO lanebox_delivery(consumer, event, state, at, reason) VALUES (1, 3, 'routed', 0, 'x')",
        "CHECK",
    ),
    ("INSERT INTO lanebox_delivery(consumer, event, state, at) VALUES (1, 3, 'retry', 0)", "CHECK"),
    (
        "INSERT INTO lanebox_delivery(consumer, event, state, at, next_at) VALUES (1, 3, 'routed', 0, 1)",
        "CHECK",
    ),
    ("INSERT INTO lanebox_delivery(consumer, event, state, at) VALUES (1, 3, 'dead', 0)", "CHECK"),
    (
        "INSERT INTO lanebox_delivery(consumer, event, state, at, notice) VALUES (1, 3, 'routed', 0, 1)",
        "CHECK",
    ),
    (
        "INSERT INTO lanebox_delivery(consumer, event, state, at, notice) VALUES (1, 3, 'dead', 0, 9)",
        "FOREIGN KEY",
    ),
    ("INSERT INTO lanebox_delivery(consumer, event, state, at) VALUES (1, 3, 'lost', 0)", "CHECK"),
    (
        "INSERT INTO lanebox_delivery(consumer, event, state, at, marks) VALUES (1, 3, 'routed', 0, 1)",
        "CHECK",
    ),
    (
        "INSERT INTO lanebox_delivery(consumer, event, state, at, next_at, holder) VALUES (1, 3, 'retry', 0, 1, 1)",
        "CHECK",
    ),
    (
        "INSERT INTO lanebox_delivery(consumer, event, state, at, next_at, marks) VALUES (1, 3, 'retry', 0, 1, 3)",
        "CHECK",
    ),
    (
        "UPDATE lanebox_delivery SET state = 'routed', reason = NULL WHERE event = 1",
        "only moves on",
    ),
    (
        "UPDATE lanebox_delivery SET state = 'retry', reason = NULL, next_at = 1 WHERE event = 1",
        "only moves on",
    ),
    ("UPDATE lanebox_delivery SET attempts = 2 WHERE event = 2", "only moves on"),
    ("UPDATE lanebox_delivery SET event = 3 WHERE event = 2", "only moves on"),
    ("UPDATE lanebox_delivery SET series = 0 WHERE event = 2", "only moves on"),
    ("DELETE FROM lanebox_delivery WHERE event = 1", "still needed"),
    ("DELETE FROM lanebox_delivery WHERE event = 2", "still needed"),
    (
        "DELETE FROM lanebox_notice WHERE id = 1; UPDATE lanebox_delivery SET state = 'dead', next_at = NULL, notice = 1 WHERE event = 2",
        "FOREIGN KEY",
    ),
    // Unhandled names.
    ("UPDATE lanebox_unhandled SET count = 0", "CHECK"),
    ("UPDATE lanebox_unhandled SET last = 3", "CHECK"),
];

#[test]
fn every_illegal_row_is_refused_and_changes_nothing() {
    let scratch = Scratch::new();
    let conn = scratch.raw();
    conn.execute_batch("PRAGMA foreign_keys = 1").expect("a pragma");
    conn.execute_batch(SOUND).expect("sound rows");
    let before = fingerprint(&scratch);
    for (sql, why) in ILLEGAL {
        let tx = conn.unchecked_transaction().expect("begun");
        let error = tx.execute_batch(sql).expect_err(sql).to_string();
        assert!(error.contains(why), "{sql}: {error}");
        tx.rollback().expect("rolled back");
        assert_eq!(fingerprint(&scratch), before, "{sql}");
    }
}

/// Every value of every row of the bus.
fn fingerprint(scratch: &Scratch) -> Vec<String> {
    let conn = scratch.raw();
    let mut values = Vec::new();
    for table in ["event", "consumer", "delivery", "front", "pattern", "unhandled", "event_key"] {
        let sql = format!("SELECT * FROM lanebox_{table}");
        let mut statement = conn.prepare(&sql).expect("a table");
        let columns = statement.column_count();
        let mut rows = statement.query([]).expect("rows");
        while let Some(row) = rows.next().expect("a row") {
            let row = (0..columns).map(|i| format!("{:?}", row.get_ref(i).expect("a column")));
            values.push(format!("{table}: {}", row.collect::<Vec<_>>().join(" ")));
        }
    }
    values
}
