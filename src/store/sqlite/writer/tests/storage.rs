//! E117, J48, R75: storage errors. Nothing half-stored, the first cause named, and either all well
//! again or closed for good.

use rusqlite::ffi;

use super::*;
use crate::store::sqlite::writer::faults::{Fault, Point};

impl Bench {
    fn order(&self, at: Point, k: u32, fault: Fault) {
        self.store.writer.faults.order(at, k, fault);
    }

    fn reads(&self) -> Result<usize> {
        self.store
            .read(|conn| Ok(conn.query_row("SELECT count(*) FROM note", [], |row| row.get(0))?))
    }
}

#[test]
fn a_full_disk_in_one_operation_is_told_to_all_by_its_name() {
    for k in 1..8 {
        let bench = Bench::new();
        bench.order(Point::Operation, k, Fault::Ended(ffi::SQLITE_FULL));
        let answers = bench.eight();
        assert_eq!(failed(&answers).len(), 8);
        for why in answers.into_iter().filter_map(Result::err) {
            assert!(matches!(why, Error::DiskFull(_)), "{why}");
        }
        assert!(bench.notes().is_empty());
        bench.works();
    }
}

#[test]
fn a_full_disk_under_the_leader_leaves_the_others_to_the_next() {
    let bench = Bench::new();
    bench.order(Point::Operation, 0, Fault::Ended(ffi::SQLITE_FULL));
    assert_eq!(failed(&bench.eight()), [0]);
    assert_eq!(bench.notes(), all_but(0));
}

#[test]
fn an_error_of_commit_is_unknown_to_all() {
    for code in [ffi::SQLITE_FULL, ffi::SQLITE_IOERR_WRITE, ffi::SQLITE_CORRUPT] {
        for (at, stored) in [(Point::Commit, 0), (Point::Committed, 8)] {
            let bench = Bench::new();
            assert_eq!(bench.reads().expect("a reader of before"), 0);
            bench.order(at, 0, Fault::Ended(code));
            let answers = bench.eight();
            assert_eq!(failed(&answers).len(), 8);
            for why in answers.into_iter().filter_map(Result::err) {
                assert!(matches!(why, Error::CommitUnknown(_)), "{why}");
                assert!(why.to_string().contains("on order"), "the first cause: {why}");
            }
            assert_eq!(bench.notes().len(), stored);
            assert_eq!(bench.reads().expect("a new reader"), stored);
            bench.works();
        }
    }
}

#[test]
fn after_a_storage_error_every_connection_is_opened_anew() {
    let bench = Bench::new();
    let name = "CREATE TEMP TABLE of_this_connection(x)";
    let has = |conn: &Connection| conn.prepare("SELECT * FROM of_this_connection").is_ok();
    bench.store.writer.host(|tx| Ok(tx.conn.execute_batch(name)?)).expect("made");
    assert!(bench.store.writer.host(|tx| Ok(has(tx.conn))).expect("asked"));
    bench.order(Point::Commit, 0, Fault::Ended(ffi::SQLITE_IOERR_READ));
    assert_eq!(failed(&bench.eight()).len(), 8);
    // The file cannot be opened for a while: each call says so, and nothing ends.
    for _ in 0..3 {
        bench.order(Point::Open, 0, Fault::Error(ffi::SQLITE_CANTOPEN));
        let why = bench.store.writer.write(|tx| note(1)(tx)).expect_err("it cannot be opened");
        assert!(why.to_string().contains("on order at Open"), "{why}");
    }
    bench.works();
    assert!(!bench.store.writer.host(|tx| Ok(has(tx.conn))).expect("asked"), "another connection");
}

#[test]
fn a_file_that_was_replaced_meanwhile_is_not_opened_anew() {
    let bench = Bench::new();
    bench.order(Point::Commit, 0, Fault::Ended(ffi::SQLITE_IOERR_READ));
    assert_eq!(failed(&bench.eight()).len(), 8);
    let aside = bench.dir.path().join("aside.db");
    std::fs::rename(&bench.path, &aside).expect("moved");
    let why = bench.store.writer.write(|tx| note(1)(tx)).expect_err("moved away").to_string();
    assert!(why.contains("moved or replaced"), "{why}");
    std::fs::rename(&aside, &bench.path).expect("moved back");
    bench.works();
}

// fault: moved-file-is-written
#[test]
fn r8_nothing_is_accepted_for_a_file_that_was_moved_or_replaced() {
    let bench = Bench::new();
    let aside = bench.dir.path().join("aside.db");
    std::fs::rename(&bench.path, &aside).expect("moved");
    assert_eq!(failed(&bench.eight()).len(), 8);
    std::fs::write(&bench.path, "another").expect("another file in its place");
    for answer in bench.eight() {
        let why = answer.expect_err("replaced").to_string();
        assert!(why.contains("moved or replaced"), "{why}");
    }
    std::fs::rename(&aside, &bench.path).expect("moved back");
    assert!(bench.notes().is_empty());
    bench.works();
}

#[test]
fn after_a_failed_flush_the_handle_is_closed_for_good() {
    for code in [ffi::SQLITE_IOERR_FSYNC, ffi::SQLITE_IOERR_DIR_FSYNC] {
        let bench = Bench::new();
        bench.order(Point::Committed, 0, Fault::Error(code));
        let answers = bench.eight();
        assert!(answers.iter().all(|answer| matches!(answer, Err(Error::CommitUnknown(_)))));
        let write = bench.store.writer.write(|tx| note(100)(tx));
        let host = bench.store.writer.host(|tx| note(101)(tx));
        let read = bench.reads().map(|_| ());
        for answer in [write, host, read] {
            let why = answer.expect_err("closed");
            assert!(matches!(why, Error::Closed { .. }), "{why}");
            assert!(why.to_string().contains("on order at Committed"), "the first cause: {why}");
        }
        assert_eq!(bench.notes(), all_but(-1), "as it happened, it holds");
    }
}

#[test]
fn a_short_lock_of_another_program_is_waited_for() {
    let bench = Bench::new();
    for _ in 0..5 {
        bench.order(Point::Begin, 0, Fault::Error(ffi::SQLITE_BUSY));
    }
    assert!(failed(&bench.eight()).is_empty());
    assert!(bench.store.writer.faults.all_met());
}

#[test]
fn a_long_lock_is_an_error_for_all_who_waited_as_long() {
    let bench = Bench::new();
    let other = bench.elsewhere();
    other.execute_batch("BEGIN IMMEDIATE").expect("it holds the lock");
    let answers = bench.eight();
    for answer in &answers {
        assert!(matches!(answer, Err(Error::Busy { waited_ms: 20.. })), "{answer:?}");
    }
    other.execute_batch("COMMIT").expect("it lets go");
    bench.works();
    assert_eq!(bench.notes(), [100]);
}

#[test]
fn a_deadline_is_waited_for_once_and_not_by_one_after_the_other() {
    let bench = Bench::with(Durability::Full, 0);
    bench.order(Point::Begin, 0, Fault::Error(ffi::SQLITE_BUSY));
    assert_eq!(failed(&bench.eight()).len(), 8, "a second leader would have had more luck");
    bench.works();
}

#[test]
fn after_a_storage_error_no_reader_of_before_is_used_again() {
    let bench = Bench::new();
    let of_before = |conn: &Connection| {
        let marked = conn.query_row("PRAGMA cache_size", [], |row| row.get::<_, i64>(0))? == 77;
        conn.pragma_update(None, "cache_size", 77)?;
        Ok(marked)
    };
    assert!(!bench.store.read(of_before).expect("read"));
    assert!(bench.store.read(of_before).expect("read"), "the same again");
    bench.order(Point::Commit, 0, Fault::Ended(ffi::SQLITE_IOERR_READ));
    assert_eq!(failed(&bench.eight()).len(), 8);
    assert!(!bench.store.read(of_before).expect("read"), "another one");
}

#[test]
fn a_leader_that_panics_hangs_nobody() {
    // From COMMIT on what rode with it may hold, and is told so.
    for (at, in_doubt, stored) in
        [(Point::Begin, false, 1), (Point::Commit, true, 0), (Point::Committed, true, 2)]
    {
        let bench = Bench::new();
        bench.order(at, 0, Fault::Panic);
        let second = std::thread::scope(|scope| {
            let (entered, go) = std::sync::mpsc::channel();
            let writer = &bench.store.writer;
            let leader = scope.spawn(move || {
                writer.host(|tx| {
                    entered.send(()).expect("heard");
                    while writer.queue.lock().waiting.is_empty() {
                        std::thread::yield_now();
                    }
                    note(1)(tx)
                })
            });
            // At `Begin` the leader panics before its closure runs.
            let second = match go.recv() {
                Ok(()) => scope.spawn(|| writer.write(|tx| note(2)(tx))).join().expect("no panic"),
                Err(_) => writer.write(|tx| note(2)(tx)),
            };
            assert!(leader.join().is_err(), "the panic is its own");
            second
        });
        assert_eq!(matches!(second, Err(Error::CommitUnknown(_))), in_doubt, "{second:?}");
        assert_eq!((second.is_err(), bench.notes().len()), (in_doubt, stored), "{at:?}");
        bench.works();
    }
}
