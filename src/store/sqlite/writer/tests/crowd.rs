//! Many threads at once, with and without faults; and which commits of a relaxed file are flushed.

use std::collections::BTreeSet;

use parking_lot::Mutex;
use rusqlite::ffi;

use super::*;
use crate::store::sqlite::writer::faults::{Fault, Point};

/// Eight threads of operations and two of the host's, each number once; what each was told.
fn crowd(bench: &Bench, each: i64) -> Vec<(i64, Result<()>)> {
    let writer = &bench.store.writer;
    let told = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for thread in 0..10 {
            let told = &told;
            scope.spawn(move || {
                for n in thread * 1_000..thread * 1_000 + each {
                    let answer = match thread {
                        0 | 1 => writer.host(|tx| note(n)(tx)),
                        2 => writer.write_full(move |tx| note(n)(tx)),
                        _ => writer.write(move |tx| note(n)(tx)),
                    };
                    told.lock().push((n, answer));
                }
            });
        }
    });
    told.into_inner()
}

#[test]
fn each_of_many_threads_gets_its_own_answer() {
    for durability in [Durability::Full, Durability::Relaxed] {
        let bench = Bench::with(durability, 1_000);
        let told = crowd(&bench, 200);
        assert!(told.iter().all(|(_, answer)| answer.is_ok()));
        let told: BTreeSet<i64> = told.into_iter().map(|(n, _)| n).collect();
        assert_eq!(told.len(), 2_000);
        assert_eq!(bench.notes(), told.into_iter().collect::<Vec<_>>());
    }
}

#[test]
fn what_is_told_is_what_is_in_the_file_whatever_fails() {
    let mut random = fastrand::Rng::with_seed(4);
    for _ in 0..12 {
        let bench = Bench::new();
        for _ in 0..40 {
            let at = [Point::Begin, Point::Operation, Point::Commit, Point::Committed, Point::Open];
            let faults = [
                Fault::Error(ffi::SQLITE_BUSY),
                Fault::Ended(ffi::SQLITE_FULL),
                Fault::Ended(ffi::SQLITE_IOERR_WRITE),
                Fault::Error(ffi::SQLITE_CONSTRAINT),
                Fault::Error(ffi::SQLITE_NOMEM),
            ];
            let (at, fault) = (at[random.usize(0..5)], faults[random.usize(0..5)]);
            bench.store.writer.faults.order(at, random.u32(0..200), fault);
        }
        let told = crowd(&bench, 40);
        let stored: BTreeSet<i64> = bench.notes().into_iter().collect();
        for (n, answer) in &told {
            match answer {
                Ok(()) => assert!(stored.contains(n), "{n} was acknowledged and is not there"),
                Err(Error::CommitUnknown(_)) => {}
                Err(error) => assert!(!stored.contains(n), "{n} is there, yet: {error}"),
            }
        }
        assert!(told.iter().any(|(_, answer)| answer.is_err()), "the faults were met");
        bench.store.writer.faults.clear();
        bench.works();
    }
}

const SYNCHRONOUS: &str = "PRAGMA synchronous";

fn level(tx: &Tx<'_>) -> Result<i64> {
    Ok(tx.one(SYNCHRONOUS, [], |row| row.get(0))?.expect("a level"))
}

// fault: normal-on-the-writer
#[test]
fn r13_what_asks_for_a_flush_gets_one_in_a_relaxed_file_too() {
    let bench = Bench::with(Durability::Relaxed, 20);
    let writer = &bench.store.writer;
    assert_eq!(writer.write(level).expect("asked"), 1);
    assert_eq!(writer.write_full(level).expect("asked"), 2);
    assert_eq!(writer.write(level).expect("asked"), 1, "and the next does not");
    let full = Bench::new();
    assert_eq!(full.store.writer.write(level).expect("asked"), 2);
}

// fault: rides-without-a-flush
#[test]
fn r13_what_asks_for_a_flush_does_not_ride_in_a_commit_without_one() {
    let bench = Bench::with(Durability::Relaxed, 20);
    let writer = &bench.store.writer;
    let (relaxed, rider) = std::thread::scope(|scope| {
        let (entered, go) = std::sync::mpsc::channel();
        let relaxed = scope.spawn(move || {
            writer.host(|tx| {
                entered.send(()).expect("heard");
                while writer.queue.lock().waiting.is_empty() {
                    std::thread::yield_now();
                }
                level(tx)
            })
        });
        go.recv().expect("it leads");
        let rider = scope.spawn(|| writer.write_full(level));
        (relaxed.join().expect("no panic"), rider.join().expect("no panic"))
    });
    assert_eq!(relaxed.expect("stored"), 1);
    assert_eq!(rider.expect("stored"), 2);
}

#[test]
fn r13_one_who_asks_for_a_flush_makes_the_next_commit_one_for_all_who_wait() {
    let bench = Bench::with(Durability::Relaxed, 20);
    let writer = &bench.store.writer;
    let waiting = |n: usize| {
        while writer.queue.lock().waiting.len() < n {
            std::thread::yield_now();
        }
    };
    let (before, levels) = std::thread::scope(|scope| {
        let (entered, go) = std::sync::mpsc::channel();
        let (leave, left) = std::sync::mpsc::channel();
        let host = scope.spawn(move || {
            writer.host(|_| {
                entered.send(()).expect("heard");
                left.recv().expect("told");
                // Neither rides along: one is the host's too, the other asks for a flush.
                Ok(writer.commits())
            })
        });
        go.recv().expect("it leads");
        let second = scope.spawn(|| writer.host(level));
        waiting(1);
        let third = scope.spawn(|| writer.write_full(level));
        waiting(2);
        leave.send(()).expect("it goes on");
        let before = host.join().expect("no panic").expect("stored");
        (before, [second, third].map(|one| one.join().expect("no panic").expect("stored")))
    });
    assert_eq!(levels, [2, 2]);
    assert_eq!(writer.commits(), before + 2, "the first host's, and one for both");
}
