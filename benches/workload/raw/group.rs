//! The floor of an enqueue with a row of the host's, and of a commit that threads share.

use std::path::Path;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::Thread;

use lanebox::Durability;
use rusqlite::{Connection, params};

use super::{JOB, JOB_NEW, NOW, READY_NEW, count, create, run, uuid};
use crate::workload::{now, payload};

const WAITS: u8 = 0;
const LEADS: u8 = 1;
const DONE: u8 = 2;

/// Writes a job that can be claimed.
pub fn add(conn: &Connection, n: i64, payload: &str) -> rusqlite::Result<i64> {
    let nothing: Option<i64> = None;
    run(conn, JOB_NEW, params![uuid(n), nothing, NOW, nothing, nothing, nothing, payload])?;
    let id = conn.last_insert_rowid();
    run(conn, READY_NEW, params![NOW, id])?;
    Ok(id)
}

/// Jobs per second by one thread, each in a commit with a row of the host's.
pub fn with_host_rows(path: &Path, durability: Durability, jobs: usize) -> rusqlite::Result<f64> {
    let conn = create(path, durability, &[JOB, "CREATE TABLE host (text TEXT);"])?;
    let payload = payload();
    let from = now();
    for n in 0..jobs {
        run(&conn, "BEGIN IMMEDIATE", [])?;
        run(&conn, "INSERT INTO host VALUES ('hello')", [])?;
        add(&conn, n as i64, &payload)?;
        run(&conn, "COMMIT", [])?;
    }
    let took = from.elapsed().as_secs_f64();
    assert_eq!((count(&conn, "ready"), count(&conn, "host")), (jobs, jobs));
    Ok(jobs as f64 / took)
}

/// One thread's wish for one job.
struct Seat {
    thread: Thread,
    state: AtomicU8,
}

/// Whoever finds the connection free leads and writes for all who wait.
struct Group {
    queue: Mutex<Queue>,
    conn: Mutex<Connection>,
    commits: AtomicUsize,
    payload: String,
}

#[derive(Default)]
struct Queue {
    waiting: Vec<Arc<Seat>>,
    led: bool,
    written: i64,
}

impl Group {
    fn write(&self) -> rusqlite::Result<()> {
        let seat = Arc::new(Seat { thread: std::thread::current(), state: AtomicU8::new(WAITS) });
        {
            let mut queue = self.queue.lock().expect("no thread panicked");
            queue.waiting.push(seat.clone());
            if !std::mem::replace(&mut queue.led, true) {
                seat.state.store(LEADS, Ordering::Release);
            }
        }
        loop {
            match seat.state.load(Ordering::Acquire) {
                WAITS => std::thread::park(),
                DONE => return Ok(()),
                _ => return self.lead(),
            }
        }
    }

    fn lead(&self) -> rusqlite::Result<()> {
        let conn = self.conn.lock().expect("no thread panicked");
        run(&conn, "BEGIN IMMEDIATE", [])?;
        let (riders, first) = {
            let mut queue = self.queue.lock().expect("no thread panicked");
            let riders = std::mem::take(&mut queue.waiting);
            let first = queue.written;
            queue.written += riders.len() as i64;
            (riders, first)
        };
        for n in 0..riders.len() as i64 {
            add(&conn, first + n, &self.payload)?;
        }
        run(&conn, "COMMIT", [])?;
        drop(conn);
        self.commits.fetch_add(1, Ordering::Relaxed);
        {
            let mut queue = self.queue.lock().expect("no thread panicked");
            match queue.waiting.first() {
                Some(next) => {
                    next.state.store(LEADS, Ordering::Release);
                    next.thread.unpark();
                }
                None => queue.led = false,
            }
        }
        for rider in riders {
            rider.state.store(DONE, Ordering::Release);
            rider.thread.unpark();
        }
        Ok(())
    }
}

/// Jobs per second by so many threads, one job at a time each, and the mean group.
pub fn shared(
    path: &Path,
    durability: Durability,
    threads: usize,
    each: usize,
) -> rusqlite::Result<(f64, f64)> {
    let conn = create(path, durability, &[JOB])?;
    let group = Group {
        queue: Mutex::default(),
        conn: Mutex::new(conn),
        commits: AtomicUsize::new(0),
        payload: payload(),
    };
    let from = now();
    std::thread::scope(|scope| {
        let work = || (0..each).try_for_each(|_| group.write());
        let all: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        all.into_iter().try_for_each(|one| one.join().expect("no thread panicked"))
    })?;
    let took = from.elapsed().as_secs_f64();
    let jobs = threads * each;
    assert_eq!(count(&group.conn.lock().expect("no thread panicked"), "ready"), jobs);
    let commits = group.commits.load(Ordering::Relaxed);
    Ok((jobs as f64 / took, jobs as f64 / commits as f64))
}
