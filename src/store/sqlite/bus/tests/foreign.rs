//! Facts that other programs write by plain SQL, from triggers on tables of their own, under every
//! conflict clause.

use rusqlite::Connection;

use super::*;
use crate::engine::dispatcher::{Dispatcher, Step, Subscription};
use crate::model::consumer::Consumer;
use crate::store::jobs::{Jobs, Round};
use crate::store::processes::Processes;

/// A table of the host's whose every insert and update emits an event.
const HOST: &str = "
    CREATE TABLE deal(id INTEGER PRIMARY KEY, name TEXT, key TEXT, payload TEXT, seq INTEGER);
    INSERT INTO deal(id, name) VALUES (1, 'old');
    CREATE TRIGGER deal_made AFTER INSERT ON deal BEGIN
      INSERT INTO lanebox_event(seq, org, name, dedupe_key, payload) VALUES (NEW.seq, 'acme', NEW.name, NEW.key, NEW.payload);
    END;
    CREATE TRIGGER deal_changed AFTER UPDATE ON deal BEGIN
      INSERT INTO lanebox_event(seq, org, name, dedupe_key, payload) VALUES (NEW.seq, 'acme', NEW.name, NEW.key, NEW.payload);
    END;";

/// Every way in which a host may write its row, some of them onto the row that is there.
const WAYS: [&str; 11] = [
    "INSERT INTO deal VALUES (2, {})",
    "INSERT OR IGNORE INTO deal VALUES (2, {})",
    "INSERT OR REPLACE INTO deal VALUES (2, {})",
    "INSERT OR REPLACE INTO deal VALUES (1, {})",
    "REPLACE INTO deal VALUES (1, {})",
    "INSERT OR FAIL INTO deal VALUES (2, {})",
    "INSERT OR ABORT INTO deal VALUES (2, {})",
    "INSERT OR ROLLBACK INTO deal VALUES (2, {})",
    "INSERT INTO deal VALUES (1, {}) ON CONFLICT(id) DO UPDATE SET (name, key, payload, seq) = (excluded.name, excluded.key, excluded.payload, excluded.seq)",
    "UPDATE deal SET (name, key, payload, seq) = ({}) WHERE id = 1",
    "UPDATE OR REPLACE deal SET (name, key, payload, seq) = ({}) WHERE id = 1",
];

/// The host's connection, and one of the ways with recursive triggers or without.
struct Host {
    conn: Connection,
    way: String,
}

impl Host {
    fn write(&self, name: &str, key: &str, payload: &str, seq: &str) -> rusqlite::Result<usize> {
        let values = format!("{name}, {key}, {payload}, {seq}");
        self.conn.execute(&self.way.replace("{}", &values), [])
    }

    fn all(&self, sql: &str) -> Vec<String> {
        let mut statement = self.conn.prepare(sql).expect("a query");
        let rows = statement.query_map([], |row| row.get(0)).expect("rows");
        rows.collect::<rusqlite::Result<_>>().expect("texts")
    }

    /// What came of the events.
    fn deliveries(&self) -> Vec<String> {
        self.all("SELECT event || ' ' || state || ' ' || job FROM lanebox_delivery")
    }

    /// All that it has and all that it emitted.
    fn rows(&self) -> (Vec<String>, Vec<String>) {
        let events = "SELECT seq || ' ' || name || ' ' || coalesce(dedupe_key, '') || ' ' || payload || ' ' || coalesce(hex(uuid), '') \
                      FROM lanebox_event ORDER BY seq";
        (self.all("SELECT id || ' ' || coalesce(name, '') FROM deal ORDER BY id"), self.all(events))
    }

    fn has_won(&self) -> bool {
        self.rows().0.iter().filter(|deal| deal.ends_with("deal.won")).count() == 1
    }
}

/// One case for each way, each on a copy of the file in memory.
fn under_every_clause(scratch: &Scratch, case: impl Fn(&Host)) {
    scratch.run(HOST);
    let file = scratch.raw();
    for way in WAYS {
        for recursive in [false, true] {
            let mut conn = Connection::open_in_memory().expect("memory");
            let copy = rusqlite::backup::Backup::new(&file, &mut conn).expect("a copy");
            copy.run_to_completion(10_000, std::time::Duration::ZERO, None).expect("copied");
            drop(copy);
            conn.pragma_update(None, "recursive_triggers", recursive).expect("a pragma");
            case(&Host { conn, way: way.to_owned() });
        }
    }
}

#[test]
fn a_good_fact_is_recorded_with_the_hosts_row_under_every_clause() {
    under_every_clause(&Scratch::new(), |host| {
        host.write("'deal.won'", "'k1'", "'{}'", "NULL")
            .unwrap_or_else(|e| panic!("{}: {e}", host.way));
        assert_eq!(host.rows().1, ["1 deal.won k1 {} "], "{}", host.way);
        assert!(host.has_won(), "{}", host.way);
    });
}

// E119: REPLACE resolves conflicts by deleting rows; no event may go that way.
// fault: replace-takes-the-first
#[test]
fn e119_a_known_key_leaves_the_first_event_untouched_under_every_clause() {
    let scratch = Scratch::new();
    let store = scratch.store();
    let mut dispatcher = dispatch(&store);
    let _first = publish(&store, event("deal.won").dedupe("k1")).expect("published");
    drain(&store, &mut dispatcher);
    under_every_clause(&scratch, |host| {
        let before = (host.rows().1, host.deliveries());
        assert_eq!(before.1, ["1 job 1"]);
        host.write("'deal.won'", "'k1'", "'{}'", "NULL")
            .unwrap_or_else(|e| panic!("{}: {e}", host.way));
        assert_eq!((host.rows().1, host.deliveries()), before, "{}", host.way);
        assert!(host.has_won(), "{}", host.way);
    });
    // As it is with a dispatcher behind it: the fact of the second row is the first one's.
    scratch.run("INSERT OR REPLACE INTO deal VALUES (1, 'deal.won', 'k1', '{}', NULL)");
    drain(&store, &mut dispatcher);
    assert_eq!(scratch.one::<i64>("SELECT count(*) FROM lanebox_delivery"), 1);
    assert_eq!(scratch.one::<i64>("SELECT count(*) FROM lanebox_job"), 1);
}

// E120: never a host row without its fact.
// fault: bad-facts-are-ignored
#[test]
fn e120_a_bad_fact_refuses_the_hosts_row_under_every_clause() {
    let big = "printf('{\"a\":\"%1048576s\"}', 'x')";
    under_every_clause(&Scratch::new(), |host| {
        let before = host.rows();
        for (name, key, payload, why) in [
            ("'Deal.Won'", "NULL", "'{}'", "dotted lower case"),
            ("'deal'", "NULL", "'{}'", "dotted lower case"),
            ("'deal..won'", "NULL", "'{}'", "dotted lower case"),
            ("'1deal.won'", "NULL", "'{}'", "dotted lower case"),
            ("NULL", "NULL", "'{}'", "dotted lower case"),
            ("'a.b' || char(0)", "NULL", "'{}'", "dotted lower case"),
            ("'deal.won'", "NULL", "'{'", "JSON"),
            ("'deal.won'", "NULL", "'[1]'", "JSON"),
            ("'deal.won'", "NULL", "NULL", "JSON"),
            ("'deal.won'", "NULL", big, "1 MiB"),
            ("'deal.won'", "''", "'{}'", "1 to 512"),
            ("'deal.won'", "'k' || char(0)", "'{}'", "1 to 512"),
            ("'deal.won'", "printf('%600s', 'k')", "'{}'", "1 to 512"),
        ] {
            let refused = host.write(name, key, payload, "NULL");
            let error = refused.expect_err("refused").to_string();
            assert!(error.contains(why), "{} {name} {key}: {error}", host.way);
            assert_eq!(host.rows(), before, "{} {name} {key}", host.way);
        }
    });
}

// fault: foreign-conflict-is-taken
#[test]
fn e121_a_true_duplicate_does_not_abort_the_hosts_write_and_another_payload_does() {
    let emit = "INSERT INTO lanebox_event(org, name, dedupe_key, payload) VALUES ('acme', 'deal.won', 'k1', '{\"n\":1}')";
    under_every_clause(&Scratch::new(), |host| {
        host.conn.execute(emit, []).expect("the first");
        let before = host.rows();
        let conflict = host.write("'deal.won'", "'k1'", "'{\"n\":2}'", "NULL");
        let error = conflict.expect_err("a conflict").to_string();
        assert!(
            error.contains("this dedupe key was used with another event"),
            "{}: {error}",
            host.way
        );
        let other_name = host.write("'deal.lost'", "'k1'", "'{\"n\":1}'", "NULL");
        assert!(other_name.is_err(), "{}", host.way);
        assert_eq!(host.rows(), before, "{}", host.way);
        host.write("'deal.won'", "'k1'", "'{\"n\":1}'", "NULL")
            .unwrap_or_else(|e| panic!("{}: {e}", host.way));
        assert_eq!(host.rows().1, before.1, "{}", host.way);
        assert!(host.has_won(), "{}", host.way);
    });
}

// fault: given-seq-is-taken
#[test]
fn e122_a_given_seq_is_refused_and_later_publishes_still_work() {
    let scratch = Scratch::new();
    let store = scratch.store();
    let _first = publish(&store, event("a.b")).expect("published");
    under_every_clause(&scratch, |host| {
        let before = host.rows();
        for seq in ["0", "1", "2", "5", "-1", "-5", "9223372036854775807"] {
            let refused = host.write("'deal.won'", "NULL", "'{}'", seq);
            let told = refused.is_err_and(|e| e.to_string().contains("seq is given by the file"));
            assert!(told, "{} {seq}", host.way);
            assert_eq!(host.rows(), before, "{} {seq}", host.way);
        }
        host.write("'deal.won'", "NULL", "'{}'", "NULL")
            .unwrap_or_else(|e| panic!("{}: {e}", host.way));
        assert!(host.rows().1[1].starts_with("2 deal.won"), "{}", host.way);
    });
    scratch.run("INSERT INTO lanebox_event(org, name) VALUES ('acme', 'a.c')");
    let refused = scratch
        .raw()
        .execute("INSERT INTO lanebox_event(seq, org, name) VALUES (9, 'acme', 'a.d')", []);
    assert!(refused.is_err());
    let _third = publish(&store, event("a.d")).expect("published");
    assert_eq!(events(&scratch), ["1 a.b  {}", "2 a.c  {}", "3 a.d  {}"]);
}

fn events(scratch: &Scratch) -> Vec<String> {
    scratch.all("SELECT seq || ' ' || name || ' ' || coalesce(dedupe_key, '') || ' ' || payload FROM lanebox_event ORDER BY seq")
}

#[test]
fn what_the_file_gives_cannot_be_written_from_outside() {
    let scratch = Scratch::new();
    let host = scratch.raw();
    for columns in [
        "(org, name, cause_event) VALUES ('acme', 'a.b', 0)",
        "(org, name, cause_job) VALUES ('acme', 'a.b', 1)",
        "(org, name, depth) VALUES ('acme', 'a.b', 1)",
        "(org, name, uuid, duplicate_of) VALUES ('acme', 'a.b', randomblob(16), randomblob(16))",
        "(org, name, payload, forgotten_at) VALUES ('acme', 'a.b', NULL, 1)",
        "(org, name, entity_type) VALUES ('acme', 'a.b', 'deal')",
        "(org, name, entity_id) VALUES ('acme', 'a.b', '1')",
        "(name) VALUES ('a.b')",
        "(org, name) VALUES (' acme', 'a.b')",
        "(org, name) VALUES ('', 'a.b')",
        "(org, name, occurred_at) VALUES ('acme', 'a.b', NULL)",
        "(org, name, recorded_at) VALUES ('acme', 'a.b', NULL)",
        "(org, name, uuid) VALUES ('acme', 'a.b', x'01')",
        "(org, name, uuid, depth) VALUES ('acme', 'a.b', randomblob(16), 17)",
        "(org, name, uuid, depth) VALUES ('acme', 'a.b', randomblob(16), NULL)",
    ] {
        // OR IGNORE drops what only a CHECK refuses, and says nothing.
        for insert in ["INSERT", "INSERT OR IGNORE"] {
            let refused = host.execute(&format!("{insert} INTO lanebox_event{columns}"), []);
            let error = refused.expect_err(columns).to_string();
            assert!(error.contains("lanebox: "), "{columns}: {error}");
        }
    }
    assert_eq!(events(&scratch), Vec::<String>::new());
}

fn dispatch(store: &SqliteStore) -> Dispatcher {
    let process = store.register().expect("registered");
    let consumer = Consumer::new("all", "*");
    let (mut dispatcher, _) =
        Dispatcher::start(store, process, vec![Subscription { consumer, route: None }])
            .expect("started");
    drain(store, &mut dispatcher);
    dispatcher
}

fn drain(store: &SqliteStore, dispatcher: &mut Dispatcher) {
    let commit = |dispatch| {
        let round = Round { dispatch: Some(dispatch), ..Round::default() };
        store.round(round)?.dispatched.expect("it was asked for")
    };
    while dispatcher.step(store, commit).expect("dispatched") == Step::Again {}
}

#[test]
fn a_foreign_event_is_adopted_once_and_keeps_its_defaults() {
    let scratch = Scratch::new();
    let store = scratch.store();
    let mut dispatcher = dispatch(&store);
    let host = scratch.raw();
    host.execute("INSERT INTO lanebox_event(org, name) VALUES ('acme', 'deal.won')", [])
        .expect("emitted");
    drain(&store, &mut dispatcher);
    let id = scratch.one::<[u8; 16]>("SELECT uuid FROM lanebox_event");
    assert_eq!(uuid::Uuid::from_bytes(id).get_version_num(), 7);
    assert_eq!(events(&scratch), ["1 deal.won  {}"]);
    let recorded = "SELECT abs(recorded_at - CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)) < 60000 FROM lanebox_event";
    assert!(scratch.one::<bool>(recorded));
    // What a handler gets has the same id.
    let seen = scratch.one::<String>("SELECT payload ->> 'id' FROM lanebox_job");
    assert_eq!(seen, uuid::Uuid::from_bytes(id).to_string());
    drain(&store, &mut dispatcher);
    assert_eq!(scratch.one::<[u8; 16]>("SELECT uuid FROM lanebox_event"), id);
    scratch.assert_sound();
}

#[test]
fn a_publish_of_a_foreign_key_adopts_that_event_on_the_spot() {
    let scratch = Scratch::new();
    let store = scratch.store();
    let host = scratch.raw();
    let emit = "INSERT INTO lanebox_event(org, name, dedupe_key, payload) VALUES ('acme', 'deal.won', 'k1', '{\"n\":1}')";
    host.execute(emit, []).expect("emitted");
    let same = || event("deal.won").dedupe("k1").payload_json("{\"n\":1}");
    let known = publish(&store, same()).expect("known");
    assert!(matches!(known, Published::Duplicate(_)));
    assert_eq!(scratch.one::<[u8; 16]>("SELECT uuid FROM lanebox_event"), *known.id().0.as_bytes());
    assert_eq!(publish(&store, same()).expect("known"), known);
    let conflict = publish(&store, same().payload_json("{\"n\":2}"));
    assert!(matches!(conflict, Err(Error::Conflict { .. })));
    // The dispatcher that comes later finds the id and gives no other.
    let _dispatcher = dispatch(&store);
    assert_eq!(scratch.one::<[u8; 16]>("SELECT uuid FROM lanebox_event"), *known.id().0.as_bytes());
    scratch.assert_sound();
}

// Nothing in the file tells an id of another program from one of Lanebox's.
#[test]
fn a_publish_of_the_key_of_a_foreign_event_with_an_id_of_its_own_is_a_duplicate() {
    let scratch = Scratch::new();
    let store = scratch.store();
    scratch.run("INSERT INTO lanebox_event(uuid, org, name, dedupe_key) VALUES (zeroblob(16), 'acme', 'deal.won', 'k1')");
    let known = publish(&store, event("deal.won").dedupe("k1")).expect("known");
    assert_eq!(known, Published::Duplicate(crate::EventId(uuid::Uuid::nil())));
    assert_eq!(publish(&store, event("deal.won").dedupe("k1")).expect("known"), known);
    let other = publish(&store, event("deal.won").dedupe("k1").payload_json("{\"n\":2}"));
    assert!(matches!(other, Err(Error::Conflict { .. })));
    scratch.assert_sound();
}

// The body of the first event is gone, its key is not: the guard cannot see the repetition,
// adoption does.
// fault: foreign-key-is-forgotten, foreign-conflict-is-silent
#[test]
fn a_duplicate_found_at_adoption_is_kept_and_delivered_to_nobody() {
    let scratch = Scratch::new();
    let store = scratch.store();
    let mut dispatcher = dispatch(&store);
    let _first = publish(&store, event("deal.won").dedupe("k1").payload_json("{\"n\":1}"))
        .expect("published");
    drain(&store, &mut dispatcher);
    scratch.run(
        "DROP TRIGGER lanebox_event_keep; DELETE FROM lanebox_event; DELETE FROM lanebox_delivery",
    );
    scratch.run(
        "INSERT INTO lanebox_event(org, name, dedupe_key, payload) VALUES ('acme', 'deal.won', 'k1', '{\"n\":1}');
         INSERT INTO lanebox_event(org, name, dedupe_key, payload) VALUES ('globex', 'deal.won', 'k1', '{\"n\":2}')",
    );
    drain(&store, &mut dispatcher);
    let states = "SELECT e.org || ' ' || s.state FROM lanebox_event e JOIN lanebox_event_state s ON s.seq = e.seq ORDER BY e.seq";
    assert_eq!(scratch.all::<String>(states), ["acme duplicate", "globex pending"]);
    let notices = "SELECT count(*) FROM lanebox_notice";
    assert_eq!(scratch.one::<i64>(notices), 0);
    // Another payload under a known key can no longer be refused: a person is told, once per org.
    for n in [7, 8] {
        scratch.run(&format!("DELETE FROM lanebox_event WHERE org = 'acme'; INSERT INTO lanebox_event(org, name, dedupe_key, payload) VALUES ('acme', 'deal.won', 'k1', '{{\"n\":{n}}}')"));
        drain(&store, &mut dispatcher);
    }
    let notice = "SELECT kind || ' ' || count FROM lanebox_notice";
    assert_eq!(scratch.all::<String>(notice), ["event.conflict 2"]);
    assert_eq!(scratch.one::<i64>("SELECT count(*) FROM lanebox_job"), 2);
}

#[test]
fn what_is_not_utf8_stops_nobody() {
    let scratch = Scratch::new();
    let store = scratch.store();
    let mut dispatcher = dispatch(&store);
    scratch.run(
        "INSERT INTO lanebox_event(org, name, subject, dedupe_key, payload) VALUES
           (CAST(x'61ff62' AS TEXT), 'a.b', CAST(x'ff' AS TEXT), CAST(x'fe' AS TEXT), CAST(x'7b2261223a22ff227d' AS TEXT));
         INSERT INTO lanebox_event(org, name) VALUES ('acme', 'a.b')",
    );
    drain(&store, &mut dispatcher);
    assert_eq!(scratch.all::<String>("SELECT state FROM lanebox_delivery"), ["job", "job"]);
    let payloads = "SELECT payload ->> '$.payload.a' FROM lanebox_job ORDER BY id LIMIT 1";
    assert_eq!(scratch.one::<String>(payloads), "\u{FFFD}");
    assert_eq!(scratch.all::<i64>("SELECT length(key_hmac) FROM lanebox_event_key"), [32]);
}

#[test]
fn a_deeply_nested_foreign_payload_reaches_the_handler_and_is_an_error_there() {
    let scratch = Scratch::new();
    let store = scratch.store();
    let mut dispatcher = dispatch(&store);
    let deep = format!("{{\"a\":{}{}}}", "[".repeat(500), "]".repeat(500));
    let insert =
        format!("INSERT INTO lanebox_event(org, name, payload) VALUES ('acme', 'a.b', '{deep}')");
    scratch.run(&insert);
    drain(&store, &mut dispatcher);
    let envelope = scratch.one::<String>("SELECT payload FROM lanebox_job");
    let event = crate::Event::from_envelope(&envelope).expect("the envelope itself is fine");
    assert_eq!(event.payload_json(), deep);
    assert!(matches!(event.payload(), Err(Error::Undecodable { .. })));
}

// E123: the emission's own commit may be lost in a power cut; whatever Lanebox does because of it
// is in a later commit of a connection at FULL, which cannot be kept without it (one WAL).
// fault: normal-on-the-writer
#[test]
fn e123_nothing_comes_of_a_foreign_event_before_a_full_commit_follows_it() {
    let scratch = Scratch::with(crate::Durability::Full);
    let store = scratch.store();
    let mut dispatcher = dispatch(&store);
    let host = scratch.raw();
    host.execute_batch("PRAGMA synchronous = NORMAL").expect("a pragma");
    host.execute("INSERT INTO lanebox_event(org, name) VALUES ('acme', 'a.b')", [])
        .expect("emitted");
    assert_eq!(scratch.one::<i64>("SELECT count(*) FROM lanebox_job"), 0);
    let before = store.commits();
    drain(&store, &mut dispatcher);
    assert_eq!(store.commits(), before + 1, "adoption, delivery and job in one commit of ours");
    assert_eq!(scratch.one::<i64>("SELECT count(*) FROM lanebox_job"), 1);
    let synchronous = store
        .writer
        .host(|tx| Ok(tx.conn.query_row("PRAGMA synchronous", [], |row| row.get::<_, i64>(0))?));
    assert_eq!(synchronous.expect("read"), 2);
}
