//! Trouble at every call: each operation is done with each of its calls to the disk failing, once
//! and from then on. What it says is true, nothing is half there, the file stays sound, and when
//! the trouble is over, the same again does it once.
//!
//! `cargo rig trouble --seed S --n N`: the trouble begins with the S-th call of an operation, and
//! with each of the N - 1 after it.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::Duration;

use lanebox::people::Filter;
use lanebox::{BoxError, Error, JobId, Lane, Lanebox, NewEvent, NewJob};
use rusqlite::Connection;

use crate::orders::{self, Run};
use crate::say::Rig;
use crate::shop::FILE;
use crate::trouble::{self, KINDS, Kind, Trouble};
use crate::{OLD, ONE_AT_A_TIME, engine, place, shim};

/// More calls than any operation makes.
const MOST: u64 = 400;

/// An engine is worth more time than one call: some of its calls do.
const ENGINES: usize = 13;

/// Every call of a creation and of a migration is much like the one before it.
const OPENS: usize = 3;

/// Every order of a person's writes much as the others do.
const ORDERS: usize = 3;

/// What is there once somebody has only looked.
const NOTHING: &str = "SELECT 1";

/// What is done while there is trouble.
struct Operation {
    name: &'static str,
    run: fn(&Lanebox, JobId) -> Result<(), Error>,
    /// What is there once it is done, by SQL.
    done: &'static str,
}

const OPERATIONS: [Operation; 6] = [
    Operation {
        name: "publish",
        run: |lanebox, _| lanebox.publish(event("a")).map(drop),
        done: "SELECT count(*) = 1 FROM lanebox_event WHERE name = 'message.a'",
    },
    Operation {
        name: "publish_all",
        run: |lanebox, _| lanebox.publish_all(vec![event("b"), event("c")]).map(drop),
        done: "SELECT count(*) = 2 FROM lanebox_event WHERE name IN ('message.b', 'message.c')",
    },
    Operation {
        name: "enqueue",
        run: |lanebox, _| {
            let job = NewJob::raw("turn", "{}", Lane::of("ann")).org("acme").dedupe("d");
            lanebox.enqueue(job).map(drop)
        },
        done: "SELECT count(*) = 2 FROM lanebox_job",
    },
    Operation {
        name: "transaction",
        run: |lanebox, _| {
            lanebox.transaction(|tx| -> Result<(), Error> {
                let published = tx.publish(event("e"))?;
                if matches!(published, lanebox::Published::New(_)) {
                    tx.execute("INSERT INTO own VALUES (1)", []).map_err(Error::Sqlite)?;
                }
                Ok(())
            })
        },
        done: "SELECT count(*) = 1 FROM own",
    },
    Operation {
        name: "cancel",
        run: |lanebox, job| lanebox.cancel(job, "me").map(drop),
        done: "SELECT count(*) = 1 FROM lanebox_finished WHERE state = 'cancelled'",
    },
    Operation {
        name: "look",
        run: |lanebox, _| lanebox.jobs(&Filter::default()).map(drop),
        done: NOTHING,
    },
];

fn event(name: &str) -> NewEvent {
    NewEvent::new("acme", format!("message.{name}")).dedupe(name)
}

pub fn open(path: &Path) -> Result<Lanebox, Error> {
    let (busy, lease) = (Duration::from_millis(5), Duration::from_millis(200));
    Lanebox::builder(path).busy_deadline(busy).lease(lease).open()
}

/// A file with a job that waits, closed in order.
fn prepared() -> (Vec<u8>, JobId) {
    let dir = place();
    let path = dir.path().join(FILE);
    let lanebox = open(&path).expect("a new file");
    let table = "CREATE TABLE own (n INTEGER PRIMARY KEY)";
    lanebox.transaction(|tx| tx.execute_batch(table).map_err(BoxError::from)).expect("a table");
    engine::prepare(&lanebox);
    let job = NewJob::raw("turn", "{}", Lane::of("ann")).org("acme");
    let job = lanebox.enqueue(job).expect("accepted").id();
    let _first = lanebox.publish(NewEvent::new("acme", "message.first")).expect("published");
    drop(lanebox);
    let conn = Connection::open(&path).expect("opened");
    let all = "PRAGMA wal_checkpoint(TRUNCATE)";
    conn.query_row(all, [], |_| Ok(())).expect("a checkpoint");
    drop(conn);
    (std::fs::read(path).expect("read"), job)
}

/// What the file says by itself.
pub fn says(path: &Path, sql: &str) -> bool {
    let conn = Connection::open(path).expect("opened");
    conn.query_row(sql, [], |row| row.get(0)).expect("an answer")
}

/// Whether there was trouble at all.
fn case(path: &Path, run: &Run, done: &str, sound: fn(&Path), trouble: Trouble) -> bool {
    let lanebox = open(path).expect("opened");
    trouble::begin(trouble);
    let answer = run(&lanebox);
    let met = trouble::end();
    match &answer {
        Ok(()) => assert!(says(path, done), "it said that it is done"),
        Err(error) => {
            tells_what_happened(error);
            let unknown = matches!(error, Error::CommitUnknown(_) | Error::Closed { .. });
            let stored = done != NOTHING && says(path, done);
            assert!(unknown || !stored, "it said that nothing was stored: {error:?}");
        }
    }
    sound(path);
    again(path, lanebox, run);
    assert!(says(path, done), "it is done once");
    sound(path);
    met
}

/// The same again does it, on a handle of its own if this one was closed for good.
fn again(path: &Path, lanebox: Lanebox, run: &Run) {
    let mut lanebox = lanebox;
    for _ in 0..3 {
        match run(&lanebox) {
            Ok(()) => return,
            Err(Error::Closed { .. }) => lanebox = open(path).expect("opened anew"),
            Err(error) => panic!("after the trouble: {error}"),
        }
    }
    panic!("it is not done after three calls");
}

/// Trouble with the disk is told as that, and never as a mistake of the caller's, a damaged file or
/// a defect.
pub fn tells_what_happened(error: &Error) {
    let told = matches!(
        error,
        Error::Busy { .. }
            | Error::NoReader { .. }
            | Error::DiskFull(_)
            | Error::NoRoom { .. }
            | Error::CommitUnknown(_)
            | Error::Closed { .. }
            | Error::RolledBack
            | Error::Sqlite(_)
    );
    assert!(told, "{error:?}");
}

/// The same of a file that cannot be opened: nobody is sent for a backup.
fn tells_what_happened_to(error: &Error) {
    match error {
        Error::Unusable { why, .. } => assert!(!why.contains("restore"), "{error}"),
        error => tells_what_happened(error),
    }
}

pub fn sound(path: &Path) {
    nothing_is_found(path);
    let halves = "SELECT (SELECT count(*) FROM own) = (SELECT count(*) FROM lanebox_event WHERE name = 'message.e') \
                  AND (SELECT count(*) FROM lanebox_event WHERE name = 'message.b') = (SELECT count(*) FROM lanebox_event WHERE name = 'message.c') \
                  AND EXISTS (SELECT 1 FROM lanebox_event WHERE name = 'message.first')";
    assert!(says(path, halves), "something is half there");
}

fn nothing_is_found(path: &Path) {
    let lanebox = open(path).expect("the file opens");
    let audits = lanebox.doctor().expect("a diagnosis").audits;
    let wrong: Vec<_> = audits.iter().filter(|audit| audit.count > 0).collect();
    assert!(wrong.is_empty(), "{wrong:?}");
}

fn open_in_trouble(path: &Path, trouble: Trouble) -> bool {
    trouble::begin(trouble);
    let answer = open(path);
    let met = trouble::end();
    answer.err().iter().for_each(tells_what_happened_to);
    nothing_is_found(path);
    met
}

/// The cases of an operation, each `stride`-th of them, until one meets no trouble any more. How
/// many there were, by kind.
fn all(
    what: &str,
    file: &[u8],
    stride: usize,
    rig: &mut Rig,
    one: impl Fn(&Path, Trouble) -> bool,
) -> BTreeMap<String, u64> {
    let mut cases = BTreeMap::new();
    for (kind, lasting) in KINDS.into_iter().flat_map(|kind| [(kind, false), (kind, true)]) {
        for call in (rig.seed..rig.seed + rig.n).step_by(stride) {
            let at = usize::try_from(call - 1).expect("fits");
            let (dir, trouble) = (place(), Trouble { kind, at, lasting });
            let path = dir.path().join(FILE);
            if !file.is_empty() {
                std::fs::write(&path, file).expect("written");
            }
            let mut met = Ok(false);
            let _log = shim::record(dir.path(), || {
                met = catch_unwind(AssertUnwindSafe(|| one(&path, trouble)));
            });
            trouble::end();
            match met {
                Ok(true) => *cases.entry(format!("{kind:?}")).or_insert(0) += 1,
                Ok(false) => break,
                Err(_) => rig.fail(&format!("{what}: {trouble:?}"), call, 1),
            }
        }
    }
    rig.pass(cases.values().sum());
    cases
}

// fault: commit-error-is-silent
#[test]
fn whatever_call_fails_what_is_said_is_true_and_nothing_is_half_there() {
    let _alone = ONE_AT_A_TIME.lock();
    let mut rig = Rig::new("trouble", MOST);
    let (file, job) = prepared();
    let mut kinds = BTreeMap::new();
    let mut count = |cases: BTreeMap<String, u64>| {
        cases.into_iter().for_each(|(kind, n)| *kinds.entry(kind).or_insert(0) += n);
    };
    for operation in &OPERATIONS {
        let (operate, done) = (operation.run, operation.done);
        let run: Run = Box::new(move |lanebox| operate(lanebox, job));
        let one = |path: &Path, trouble| case(path, &run, done, sound, trouble);
        let cases = all(operation.name, &file, 1, &mut rig, one);
        let wrote = cases.contains_key(&format!("{:?}", Kind::Full));
        let what = format!("a write of {}", operation.name);
        rig.must_meet(&what, wrote || operation.name == "look");
        count(cases);
    }
    let (lived_in, orders) = orders::all();
    for (name, done, run) in &orders {
        let one = |path: &Path, trouble| case(path, run, done, nothing_is_found, trouble);
        let cases = all(name, &lived_in, ORDERS, &mut rig, one);
        rig.must_meet(&format!("trouble of {name}"), !cases.is_empty());
        count(cases);
    }
    count(all("open", &file, 1, &mut rig, open_in_trouble));
    count(all("create", &[], OPENS, &mut rig, open_in_trouble));
    let old = std::fs::read(OLD).expect("a file of the first schema");
    count(all("migrate", &old, OPENS, &mut rig, open_in_trouble));
    count(all("engine", &file, ENGINES, &mut rig, engine::case));
    let figures: Vec<_> = kinds.iter().map(|(kind, n)| (kind.as_str(), *n)).collect();
    rig.end(&figures);
}
