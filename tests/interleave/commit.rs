//! The commit of many: each operation runs once at most, whoever leads; each hears of its own
//! commit and only after it; host code runs on its own thread; nobody is left behind whatever
//! fails.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use fastrand::Rng;
use rusqlite::{Connection, ffi};
use shuttle::thread;

use crate::engine::run::panic_text;
use crate::env::{Env, ManualClock};
use crate::error::{Error, Result};
use crate::store::sqlite::door::{Alone, Fault, Point};

const NOW: i64 = 1_700_000_000_000;

/// A file of its own, in memory if the machine has such a place.
pub(super) fn place() -> (tempfile::TempDir, PathBuf) {
    let memory = std::path::Path::new("/dev/shm");
    let base = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
    let dir = tempfile::tempdir_in(base).expect("a directory");
    let path = dir.path().join("crm.db");
    (dir, path)
}

/// How a write is asked for, and what its own code does.
#[derive(Clone, Copy)]
enum Way {
    Rides,
    Flushed,
    Host,
    Fails,
    Panics,
    /// The host's code panics, and its thread with it.
    HostPanics,
}

struct Scene {
    writer: Alone,
    /// Another program's eyes.
    eyes: parking_lot::Mutex<Connection>,
    ran: [AtomicU32; 12],
}

pub(super) fn each_hears_what_became_of_it(seed: u64) {
    let mut random = Rng::with_seed(seed);
    let (_dir, path) = place();
    let env = Env::new(Arc::new(ManualClock::at(NOW)), seed);
    let writer = Alone::open(&path, env).expect("the file opens");
    let table = "CREATE TABLE note (n INTEGER PRIMARY KEY)";
    writer.ride(false, |conn| Ok(conn.execute_batch(table)?)).expect("a table");
    let eyes = parking_lot::Mutex::new(Connection::open(&path).expect("it opens"));
    let scene = Arc::new(Scene { writer, eyes, ran: Default::default() });
    if random.bool() {
        fault(&scene.writer, &mut random);
    }
    let threads: Vec<_> = (0..random.usize(2..5))
        .map(|who| {
            let (scene, mut random) = (scene.clone(), random.fork());
            thread::spawn(move || {
                for n in 0..random.usize(1..4) {
                    scene.write(who * 3 + n, way(&mut random));
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().expect("no panic"));
    scene.writer.end_faults();
    scene.writer.host(|conn| Ok(conn.execute_batch("SELECT 1")?)).expect("the next one leads");
}

fn way(random: &mut Rng) -> Way {
    match random.u8(..11) {
        0..4 => Way::Rides,
        4 | 5 => Way::Flushed,
        6 | 7 => Way::Host,
        8 => Way::Fails,
        9 => Way::Panics,
        _ => Way::HostPanics,
    }
}

fn fault(writer: &Alone, random: &mut Rng) {
    let points = [Point::Begin, Point::Operation, Point::Commit, Point::Committed];
    let faults = [
        Fault::Error(ffi::SQLITE_CONSTRAINT),
        Fault::Ended(ffi::SQLITE_FULL),
        Fault::Ended(ffi::SQLITE_IOERR_WRITE),
        Fault::Panic,
    ];
    let at = points[random.usize(..points.len())];
    writer.order_fault(at, random.u32(..4), faults[random.usize(..faults.len())]);
}

impl Scene {
    fn write(self: &Arc<Scene>, n: usize, way: Way) {
        let me = thread::current().id();
        let scene = self.clone();
        let body = move |conn: &Connection| {
            scene.ran[n].fetch_add(1, Ordering::SeqCst);
            // Others come meanwhile.
            thread::yield_now();
            conn.execute("INSERT INTO note VALUES (?1)", [n])?;
            match way {
                Way::Rides | Way::Flushed => {}
                Way::Fails => return Err(Error::invalid("it", "was half-way")),
                Way::Host => assert!(me == thread::current().id(), "host code on another thread"),
                // Without the hook, which would print it.
                Way::Panics | Way::HostPanics => resume_unwind(Box::new("on purpose")),
            }
            Ok(())
        };
        let answer = catch_unwind(AssertUnwindSafe(|| match way {
            Way::Host | Way::HostPanics => self.writer.host(body),
            Way::Flushed => self.writer.ride(true, body),
            _ => self.writer.ride(false, body),
        }));
        match answer {
            Ok(answer) => self.judge(n, way, &answer),
            // The leader's own thread hears nothing else; whatever rode with it was told.
            Err(panic) if panic.is::<&str>() || panic.is::<String>() => {
                let why = panic_text(&*panic);
                assert!(why.contains("on purpose") || why.contains("on order"), "{why}");
            }
            // The model ends its threads.
            Err(panic) => resume_unwind(panic),
        }
    }

    // At once: it must hold already when it is answered.
    fn judge(&self, n: usize, way: Way, answer: &Result<()>) {
        let there = "SELECT count(*) FROM note WHERE n = ?1";
        let there: bool = self.eyes.lock().query_row(there, [n], |row| row.get(0)).expect("asked");
        let ran = self.ran[n].load(Ordering::SeqCst);
        match answer {
            Ok(()) => assert!(there && ran == 1, "{n} was acknowledged: {there}, it ran {ran}"),
            Err(Error::CommitUnknown(_)) => assert!(ran == 1, "it ran {ran}"),
            Err(error) => assert!(!there && ran <= 1, "{n} is there, yet: {error}; it ran {ran}"),
        }
        if matches!(way, Way::Fails) {
            let of_another = matches!(answer, Err(Error::Invalid { .. })) == (ran == 1);
            let ended = !matches!(answer, Err(Error::Invalid { .. }) | Ok(()));
            assert!(of_another || ended, "it hears of another's failure: {answer:?}");
        }
    }
}
