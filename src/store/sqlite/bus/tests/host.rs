//! Facts and jobs inside the host's own transaction.

use rusqlite::{Connection, TransactionBehavior};

use super::*;
use crate::Enqueued;
use crate::model::job::NewJob;
use crate::model::lane::Lane;
use crate::store::sqlite::{Durability, publish as verb};

fn host(scratch: &Scratch) -> Connection {
    let conn = scratch.raw();
    conn.execute_batch("PRAGMA synchronous = FULL").expect("a pragma");
    conn
}

fn job() -> NewJob {
    NewJob::raw("turn", "{}", Lane::NONE).org("acme")
}

fn deals(scratch: &Scratch) {
    scratch.run(
        "CREATE TABLE deal(id INTEGER PRIMARY KEY, stage TEXT NOT NULL); INSERT INTO deal VALUES (1, 'open')",
    );
}

fn seen(scratch: &Scratch) -> (String, i64, i64) {
    let stage = scratch.one("SELECT stage FROM deal");
    let events = scratch.one("SELECT count(*) FROM lanebox_event");
    (stage, events, scratch.one("SELECT count(*) FROM lanebox_job"))
}

// R41: abort after each statement; the job exists if and only if the deal's row changed.
// fault: enqueue-commits
#[test]
fn e1_e29_r41_state_fact_and_job_appear_together_or_not_at_all() {
    let scratch = Scratch::new();
    deals(&scratch);
    let store = scratch.store();
    let mut conn = host(&scratch);
    for steps in 0..=3 {
        let tx = conn.transaction_with_behavior(TransactionBehavior::Immediate).expect("begun");
        if steps > 0 {
            tx.execute("UPDATE deal SET stage = 'won'", []).expect("a row of the host");
        }
        if steps > 1 {
            assert!(store.publish_in(&tx, &event("deal.won").dedupe("d1")).is_ok());
        }
        if steps > 2 {
            assert!(store.enqueue_in(&tx, &job()).is_ok());
        }
        tx.rollback().expect("rolled back");
        assert_eq!(seen(&scratch), ("open".to_owned(), 0, 0), "after {steps} steps");
    }
    let tx = conn.transaction_with_behavior(TransactionBehavior::Immediate).expect("begun");
    tx.execute("UPDATE deal SET stage = 'won'", []).expect("a row of the host");
    assert!(store.publish_in(&tx, &event("deal.won").dedupe("d1")).is_ok());
    assert!(store.enqueue_in(&tx, &job()).is_ok());
    tx.commit().expect("committed");
    assert_eq!(seen(&scratch), ("won".to_owned(), 1, 1));
    scratch.assert_sound();
}

// fault: host-error-is-committed
#[test]
fn e1_the_same_on_the_writer_of_the_handle() {
    let scratch = Scratch::new();
    deals(&scratch);
    let store = scratch.store();
    let failed: Result<()> = store.writer.host(|tx| {
        tx.conn.execute("UPDATE deal SET stage = 'won'", [])?;
        let _new = verb::publish(tx, &event("deal.won"))?;
        Err(Error::invalid("the host", "it changed its mind"))
    });
    assert!(failed.is_err());
    assert_eq!(seen(&scratch), ("open".to_owned(), 0, 0));
    let done = store.writer.host(|tx| {
        tx.conn.execute("UPDATE deal SET stage = 'won'", [])?;
        verb::publish(tx, &event("deal.won"))
    });
    assert!(matches!(done, Ok(Published::New(_))));
    assert_eq!(seen(&scratch), ("won".to_owned(), 1, 0));
}

#[test]
fn e30_a_duplicate_or_a_conflict_leaves_the_transaction_usable() {
    let scratch = Scratch::new();
    deals(&scratch);
    let store = scratch.store();
    let mut conn = host(&scratch);
    let tx = conn.transaction_with_behavior(TransactionBehavior::Immediate).expect("begun");
    let first = store.publish_in(&tx, &event("deal.won").dedupe("d1")).expect("new").id();
    let again = store.publish_in(&tx, &event("deal.won").dedupe("d1")).expect("known");
    assert_eq!(again, Published::Duplicate(first));
    let conflict = store.publish_in(&tx, &event("deal.lost").dedupe("d1"));
    assert!(matches!(conflict, Err(Error::Conflict { .. })));
    let once = store.enqueue_in(&tx, &job().once_for(first)).expect("new");
    let twice = store.enqueue_in(&tx, &job().once_for(first)).expect("known");
    assert_eq!(twice, Enqueued::Existing(once.id()));
    tx.execute("UPDATE deal SET stage = 'won'", []).expect("still usable");
    tx.commit().expect("committed");
    assert_eq!(seen(&scratch), ("won".to_owned(), 1, 1));
}

fn why<T: std::fmt::Debug>(answer: Result<T>) -> String {
    match answer {
        Err(Error::Refused { why, .. }) => why,
        other => panic!("not refused: {other:?}"),
    }
}

#[test]
fn what_would_make_it_unsafe_is_refused_before_anything_is_written() {
    let scratch = Scratch::with(Durability::Full);
    let store = scratch.store();
    let mut conn = host(&scratch);
    assert!(why(store.publish_in(&conn, &event("a.b"))).contains("begin one"));

    conn.execute_batch("PRAGMA synchronous = NORMAL").expect("a pragma");
    let tx = conn.transaction_with_behavior(TransactionBehavior::Immediate).expect("begun");
    assert!(why(store.publish_in(&tx, &event("a.b"))).contains("synchronous = FULL"));
    drop(tx);
    conn.execute_batch("PRAGMA synchronous = FULL").expect("a pragma");

    // It has read, then somebody else wrote: SQLite can never give it the lock.
    let stale = conn.transaction().expect("begun deferred");
    let count = "SELECT count(*) FROM lanebox_event";
    let _read: i64 = stale.query_row(count, [], |row| row.get(0)).expect("read");
    let _new = publish(&store, event("a.b")).expect("published");
    assert!(why(store.publish_in(&stale, &event("a.b"))).contains("begin with IMMEDIATE"));
    drop(stale);

    let elsewhere = Scratch::new();
    elsewhere.run("UPDATE lanebox_meta SET file_uuid = randomblob(16)");
    let mut other = host(&elsewhere);
    let tx = other.transaction_with_behavior(TransactionBehavior::Immediate).expect("begun");
    assert!(why(store.publish_in(&tx, &event("a.b"))).contains("another file"));
    assert!(why(store.enqueue_in(&tx, &job())).contains("another file"));
    drop(tx);
    assert_eq!(scratch.one::<i64>(count), 1);
    assert_eq!(elsewhere.one::<i64>(count), 0);
}

// fault: read-first-is-taken
#[test]
fn r1_a_deferred_transaction_that_has_read_is_refused_also_when_nobody_else_writes() {
    let scratch = Scratch::new();
    deals(&scratch);
    let store = scratch.store();
    let mut conn = host(&scratch);
    let read = conn.transaction().expect("begun deferred");
    let _read: i64 = read.query_row("SELECT id FROM deal", [], |row| row.get(0)).expect("read");
    assert!(why(store.publish_in(&read, &event("a.b"))).contains("begin with IMMEDIATE"));
    assert!(why(store.enqueue_in(&read, &job())).contains("begin with IMMEDIATE"));
    // It wrote after all, so it has the lock: nothing can go wrong any more.
    read.execute("UPDATE deal SET stage = 'won'", []).expect("a row of the host");
    assert!(store.publish_in(&read, &event("deal.won")).is_ok());
    read.commit().expect("committed");
    // It has done nothing yet: the lock is taken for it.
    let fresh = conn.transaction().expect("begun deferred");
    assert!(store.enqueue_in(&fresh, &job()).is_ok());
    fresh.commit().expect("committed");
    assert_eq!(seen(&scratch), ("won".to_owned(), 1, 1));
}

#[test]
fn a_relaxed_file_takes_what_a_relaxed_host_writes() {
    let scratch = Scratch::new();
    let store = scratch.store();
    let mut conn = scratch.raw();
    conn.execute_batch("PRAGMA synchronous = NORMAL").expect("a pragma");
    let tx = conn.transaction_with_behavior(TransactionBehavior::Immediate).expect("begun");
    assert!(store.publish_in(&tx, &event("a.b")).is_ok());
    tx.commit().expect("committed");
    assert_eq!(scratch.one::<i64>("SELECT count(*) FROM lanebox_event"), 1);
}

#[test]
fn a_file_that_is_only_attached_or_hidden_is_refused_before_anything_is_written() {
    let scratch = Scratch::new();
    let store = scratch.store();
    let attached = Connection::open_in_memory().expect("a connection");
    attached.execute("ATTACH ?1 AS crm", [scratch.path().to_string_lossy()]).expect("attached");
    attached.execute_batch("PRAGMA crm.synchronous = OFF; BEGIN IMMEDIATE").expect("begun");
    let hidden = host(&scratch);
    for (conn, why) in [(&attached, "main one"), (&hidden, "temporary table")] {
        if conn.is_autocommit() {
            hidden
                .execute_batch("CREATE TEMP TABLE lanebox_event AS SELECT * FROM main.lanebox_event; BEGIN IMMEDIATE")
                .expect("begun");
        }
        let told = store.publish_in(conn, &event("deal.won")).expect_err(why).to_string();
        assert!(told.contains(why), "{told}");
        conn.execute_batch("ROLLBACK").expect("rolled back");
    }
    assert_eq!(scratch.one::<i64>("SELECT count(*) FROM lanebox_event"), 0);
}

// fault: temporary-ids-count
#[test]
fn ids_that_the_host_counts_in_a_table_of_its_own_are_not_ours() {
    let scratch = Scratch::new();
    let store = scratch.store();
    let host = host(&scratch);
    host.execute_batch(
        "CREATE TEMP TABLE mine (id INTEGER PRIMARY KEY AUTOINCREMENT); INSERT INTO mine VALUES (70); \
         INSERT INTO temp.sqlite_sequence VALUES ('lanebox_job', 70)",
    )
    .expect("a table of the host's");
    for _ in 0..2 {
        host.execute_batch("BEGIN IMMEDIATE").expect("begun");
        let _new = store.enqueue_in(&host, &job()).expect("accepted");
        host.execute_batch("COMMIT").expect("committed");
    }
    assert_eq!(scratch.all::<i64>("SELECT id FROM lanebox_job"), [1, 2]);
}
