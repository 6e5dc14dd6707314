//! E117, R7, R9: what a handle does as the disk fills up and empties, and how the log is taken
//! over.

use rusqlite::ffi;

use super::*;
use crate::model::event::NewEvent;
use crate::model::job::NewJob;
use crate::model::lane::Lane;
use crate::store::bus::Bus;
use crate::store::jobs::Jobs;
use crate::store::processes::Processes;
use crate::store::sqlite::door::{Fault, Point};
use crate::store::sqlite::scratch::Scratch;
use crate::store::sqlite::{Durability, Opening};

const MIB: u64 = 1 << 20;
const OPEN: &str =
    "SELECT kind || ' ' || cause || ' ' || severity FROM lanebox_notice WHERE state <> 'resolved'";

fn room(store: &SqliteStore, free_mib: u64) {
    store.pretend_room(Some(Room { free: free_mib * MIB, total: 100 << 30 }));
}

fn event(key: &str) -> NewEvent {
    NewEvent::new("acme", "message.received").dedupe(key)
}

fn job() -> NewJob {
    NewJob::raw("turn", "{}", Lane::NONE).org("acme")
}

#[track_caller]
fn is_refused<T: std::fmt::Debug>(answer: Result<T>) {
    let error = answer.expect_err("refused");
    let text = error.to_string();
    assert!(matches!(error, Error::NoRoom { free: 0, needed } if needed == 128 * MIB), "{text}");
    assert!(text.contains("nothing of this call was stored") && text.contains("free some space"));
}

// Fills the disk until a write finds no room.
fn fill(store: &SqliteStore) {
    room(store, 0);
    store.order_fault(Point::Commit, 0, Fault::Ended(ffi::SQLITE_FULL));
    let why = store.touch().expect_err("no room");
    assert!(matches!(why, Error::CommitUnknown(_)) && why.is_disk_full(), "{why}");
}

#[test]
fn e117_a_full_disk_refuses_what_is_new_and_records_what_runs() {
    let scratch = Scratch::new();
    let store = scratch.store();
    let path = scratch.path();
    room(&store, 1_000);
    assert_eq!(store.look_at_space(), RoomMode::Plenty);
    assert!(ballast::is_there(&path));
    let _accepted = store.publish(vec![event("a")]).expect("room");

    room(&store, 60);
    assert_eq!(store.look_at_space(), RoomMode::Low);
    assert!(ballast::is_there(&path), "nothing has failed yet");
    let _accepted = store.publish(vec![event("b")]).expect("facts are still accepted");

    fill(&store);
    assert_eq!(store.room_mode(), RoomMode::Full, "at once, not with the next look");
    assert!(!ballast::is_there(&path), "its room is for what runs");
    is_refused(store.publish(vec![event("c")]));
    is_refused(store.enqueue(vec![job()]));
    is_refused(store.transaction(|tx| tx.publish(&event("c"))));
    is_refused(store.transaction(|tx| tx.enqueue(&job())));
    let mut host = scratch.raw();
    let tx = host.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate);
    let tx = tx.expect("begun");
    is_refused(store.publish_in(&tx, &event("c")));
    drop(tx);
    store.touch().expect("what runs is written");
    let process = store.register().expect("registered");
    store.leave(process).expect("left");
    assert_eq!(scratch.one::<i64>("SELECT count(*) FROM lanebox_event"), 2);

    // Between the marks it stays as it is; with plenty of room all goes on, also without a look.
    scratch.clock.advance(FAILED_MS);
    room(&store, 100);
    assert_eq!(store.look_at_space(), RoomMode::Full);
    assert!(!ballast::is_there(&path));
    room(&store, 128);
    let _accepted = store.publish(vec![event("c")]).expect("room again");
    assert_eq!(store.look_at_space(), RoomMode::Plenty);
    assert!(ballast::is_there(&path), "laid anew");
}

#[test]
fn e117_another_process_hears_of_a_full_disk_by_the_ballast_that_is_gone() {
    let scratch = Scratch::new();
    let (mine, other) = (scratch.store(), scratch.store());
    room(&mine, 1_000);
    let _plenty = mine.look_at_space();
    for store in [&mine, &other] {
        room(store, 20);
        let _accepted = store.publish(vec![event("a")]).expect("the ballast is there");
    }
    fill(&mine);
    room(&other, 0);
    scratch.clock.advance(LOOK_MS);
    is_refused(other.publish(vec![event("b")]));
    room(&other, 1_000);
    let _accepted = other.publish(vec![event("b")]).expect("room again");
}

#[test]
fn e117_a_write_that_finds_no_room_is_believed_although_the_disk_shows_some() {
    let scratch = Scratch::new();
    let store = scratch.store();
    store.order_fault(Point::Operation, 0, Fault::Ended(ffi::SQLITE_FULL));
    assert!(matches!(store.touch(), Err(Error::DiskFull(_))));
    assert_eq!(store.look_at_space(), RoomMode::Full, "a quota, say: nothing new is begun");
    let _accepted = store.publish(vec![event("a")]).expect("it may have room, and has");
    scratch.clock.advance(FAILED_MS);
    assert_eq!(store.look_at_space(), RoomMode::Plenty);
}

#[test]
fn e117_a_person_is_told_once_and_it_is_taken_back() {
    let scratch = Scratch::new();
    let (store, other) = (scratch.store(), scratch.store());
    let told = |store: &SqliteStore, free_mib| {
        room(store, free_mib);
        let _mode = store.look_at_space();
        store.tell_space().expect("told")
    };
    assert!(!told(&store, 1_000), "nothing to say, nothing is written");
    assert!(told(&store, 60));
    assert!(!told(&store, 60) && !told(&store, 55));
    assert!(!told(&other, 60), "the other process has told it");
    assert_eq!(scratch.one::<String>(OPEN), "disk.room low warn");
    fill(&store);
    assert!(told(&store, 0));
    assert_eq!(scratch.one::<String>(OPEN), "disk.room full critical");
    scratch.clock.advance(FAILED_MS);
    assert!(told(&store, 1_000));
    assert!(scratch.all::<String>(OPEN).is_empty());
    // A new life of the process finds what an old one has left open.
    assert!(told(&store, 60));
    assert!(told(&scratch.store(), 1_000));
    assert!(scratch.all::<String>(OPEN).is_empty());
    scratch.assert_sound();
}

#[test]
fn r7_a_log_beyond_twice_its_limit_is_told_until_it_is_back() {
    let scratch = Scratch::new();
    let store = scratch.store();
    for (mib, alarm) in [(1, false), (128, false), (129, true), (65, true), (64, false)] {
        store.disk.saw_log(&store.env, mib * MIB, Frames::default());
        assert_eq!(store.space().1.alarm, alarm, "{mib} MiB");
        store.tell_space().expect("told");
        assert_eq!(scratch.all::<String>(OPEN).len(), usize::from(alarm), "{mib} MiB");
    }
    let told = "SELECT reason || next_step FROM lanebox_notice WHERE kind = 'disk.log'";
    let told: String = scratch.one(told);
    assert!(told.contains("grown to 129 MiB") && told.contains("end what reads"), "{told}");
}

#[test]
fn r7_a_read_has_a_longest_time_and_ends_with_an_error_that_says_so() {
    const LONG: &str = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 1000000) SELECT max(i) FROM n";
    let scratch = Scratch::new();
    let store = scratch.store();
    let read = |ms| {
        store.read(|conn| {
            scratch.clock.advance(ms);
            assert_eq!(store.space().1.oldest_read, Duration::from_millis(ms.unsigned_abs()));
            Ok(conn.query_row(LONG, [], |row| row.get::<_, i64>(0))?)
        })
    };
    assert_eq!(read(30_000).expect("in time"), 1_000_000);
    let why = read(30_001).expect_err("ended");
    assert!(matches!(why, Error::ReadTooLong { longest_ms: 30_000 }), "{why}");
    assert_eq!(store.space().1.oldest_read, Duration::ZERO);
    assert_eq!(read(0).expect("the next one begins anew"), 1_000_000);
}

/// Commits so many pages.
fn write(store: &SqliteStore, pages: usize) {
    let text = "x".repeat(200_000);
    for n in 0..pages.div_ceil(49) {
        let payload = format!("{{\"text\":\"{text}\"}}");
        let job = NewJob::raw("turn", payload, Lane::NONE).org("acme").priority(n as u16 % 1_000);
        let _accepted = store.enqueue(vec![job]).expect("accepted");
    }
}

fn behind(scratch: &Scratch) -> u64 {
    checkpoint::frames(&scratch.raw()).expect("a look").behind()
}

// fault: log-is-never-taken-over
#[test]
fn r9_of_all_engines_on_a_file_one_takes_the_log_over() {
    let scratch = Scratch::new();
    let (mine, other) = (scratch.store(), scratch.store());
    let first = mine.register().expect("registered");
    let (second, third) = (mine.register().expect("beside"), other.register().expect("elsewhere"));
    assert_eq!(mine.checkpoint(first).expect("a look"), Checkpointed::NotDue, "too little waits");
    assert_eq!(mine.checkpoint(first).expect("a look"), Checkpointed::Quiet, "nobody wrote");
    write(&mine, 3_200);
    assert_eq!(mine.checkpoint(second).expect("a look"), Checkpointed::NotDue);
    assert_eq!(other.checkpoint(third).expect("a look"), Checkpointed::NotDue);
    assert_eq!(mine.checkpoint(first).expect("its turn"), Checkpointed::Done);
    assert_eq!(behind(&scratch), 0);
    mine.leave(first).expect("left");
    write(&mine, 3_200);
    assert_eq!(other.checkpoint(third).expect("a look"), Checkpointed::NotDue);
    assert_eq!(mine.checkpoint(second).expect("its turn"), Checkpointed::Done);
}

#[test]
fn r9_whoever_is_first_and_stands_still_is_not_waited_for_for_ever() {
    let scratch = Scratch::new();
    let (frozen, other) = (scratch.store(), scratch.store());
    frozen.register().expect("the first");
    let me = other.register().expect("registered");
    // A reader keeps the writer from taking it over itself.
    let reader = pinned(&scratch);
    write(&other, 13_000);
    drop(reader);
    assert_eq!(other.checkpoint(me).expect("overdue"), Checkpointed::Done);
}

/// Another program that reads for long.
fn pinned(scratch: &Scratch) -> Connection {
    let reader = scratch.raw();
    reader.execute_batch("BEGIN; SELECT count(*) FROM lanebox_event").expect("a snapshot");
    reader
}

#[test]
fn r7_a_reader_in_the_way_is_reported_as_not_done_and_cuts_nothing() {
    let scratch = Scratch::new();
    let store = scratch.store();
    let me = store.register().expect("registered");
    let reader = pinned(&scratch);
    write(&store, 17_000);
    let long = checkpoint::log_bytes(&scratch.path());
    assert!(long > LOG_LIMIT, "{long}");
    for _ in 0..2 {
        assert_eq!(store.checkpoint(me).expect("tried"), Checkpointed::NotDone);
        scratch.clock.advance(60_000);
    }
    let health = store.space().1;
    assert!(health.unfinished && health.frames_behind >= 16_000, "{health:?}");
    assert_eq!(health.stuck_for, Duration::from_secs(120));
    assert_eq!(checkpoint::log_bytes(&scratch.path()), long, "it was not cut");

    drop(reader);
    // It holds the newest state: nothing waits for it, but the log cannot be emptied.
    let reader = pinned(&scratch);
    assert_eq!(store.checkpoint(me).expect("tried"), Checkpointed::NotDone);
    assert_eq!(behind(&scratch), 0);
    write(&store, 1);
    drop(reader);
    assert_eq!(store.checkpoint(me).expect("done"), Checkpointed::Done);
    assert_eq!(checkpoint::log_bytes(&scratch.path()), 0, "cut");
    let health = store.space().1;
    assert!(!health.unfinished && health.stuck_for == Duration::ZERO, "{health:?}");
    scratch.assert_sound();
}

#[test]
fn a_log_that_another_program_empties_is_left_alone() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("crm.db");
    let how = Opening {
        durability: Durability::Relaxed,
        checkpoint: Checkpoint::External,
        ..Opening::default()
    };
    let store = SqliteStore::open(&path, Env::system(), &how).expect("opened");
    let me = store.register().expect("registered");
    write(&store, 9_000);
    assert_eq!(store.checkpoint(me).expect("a look"), Checkpointed::NotDue);
    let frames = store.read(checkpoint::frames).expect("a look");
    assert!(frames.taken_over == 0 && frames.written >= 9_000, "{frames:?}");
    drop(store);
    assert!(checkpoint::log_bytes(&path) > 9_000 * 4_096, "not even when it is closed");
}

#[test]
fn a_checkpoint_that_finds_no_room_gives_the_ballast_back() {
    let scratch = Scratch::new();
    let store = scratch.store();
    let _mode = store.look_at_space();
    assert!(ballast::is_there(&scratch.path()));
    let full = ffi::Error::new(ffi::SQLITE_FULL);
    store.writer.doubt(&rusqlite::Error::SqliteFailure(full, None).into());
    assert_eq!(store.room_mode(), RoomMode::Full);
    assert!(!ballast::is_there(&scratch.path()));
}
