//! E117: a disk without room under an engine at work. What runs is recorded, nothing new is begun
//! or accepted, and all goes on by itself when there is room again.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use lanebox::testing::pretend_room;
use lanebox::{
    BoxError, Error, JobId, Lane, Lanebox, NewEvent, NewJob, Outcome, Policy, Reactions, RoomMode,
};

use crate::shop::FILE;
use crate::trouble::{self, Kind, Trouble};
use crate::{ONE_AT_A_TIME, place, shim};

/// Holds back the first run.
#[derive(Default)]
struct Gate {
    open: Mutex<bool>,
    opens: Condvar,
    reached: AtomicBool,
    runs: AtomicUsize,
}

impl Gate {
    fn wait(&self) {
        self.runs.fetch_add(1, Ordering::SeqCst);
        self.reached.store(true, Ordering::SeqCst);
        let open = self.open.lock().expect("no panic");
        let long = Duration::from_secs(60);
        drop(self.opens.wait_timeout_while(open, long, |open| !*open).expect("no panic"));
    }

    fn open(&self) {
        *self.open.lock().expect("no panic") = true;
        self.opens.notify_all();
    }
}

fn until(what: &str, mut holds: impl FnMut() -> bool) {
    for _ in 0..30_000 {
        if holds() {
            return;
        }
        std::thread::park_timeout(Duration::from_millis(2));
    }
    panic!("waited a minute in vain until {what}");
}

fn state(lanebox: &Lanebox, job: JobId) -> String {
    lanebox.job(job).expect("a job").job.state
}

fn event(key: &str) -> NewEvent {
    NewEvent::new("acme", "message.received").dedupe(key)
}

fn full(dir: &Path) {
    let lanebox = Lanebox::builder(dir.join(FILE)).workers(1).open().expect("a new file");
    let ballast = dir.join(format!("{FILE}-ballast"));
    let gate = Arc::new(Gate::default());
    let held = gate.clone();
    let reactions = Reactions::new().on_kind("turn", Policy::default(), move |_ctx| {
        held.wait();
        Ok::<_, BoxError>(Outcome::Done)
    });
    let running = lanebox.start(reactions).expect("started");
    let turn = || NewJob::raw("turn", "{}", Lane::NONE).org("acme");
    let runs = lanebox.enqueue(turn()).expect("accepted").id();
    until("it runs", || gate.reached.load(Ordering::SeqCst));
    let waits = lanebox.enqueue(turn()).expect("accepted").id();
    assert!(ballast.exists());

    pretend_room(&lanebox, Some(0));
    trouble::begin(Trouble { kind: Kind::Full, at: 0, lasting: true });
    let why = lanebox.publish(event("a")).expect_err("no room");
    assert!(matches!(why, Error::DiskFull(_) | Error::CommitUnknown(_)), "{why}");
    assert!(why.to_string().contains("full"), "the first cause: {why}");
    assert!(!ballast.exists(), "it is removed at the first write that finds no room");
    // Its room is there now, and for what runs only.
    assert!(trouble::end());
    assert!(matches!(lanebox.publish(event("a")), Err(Error::NoRoom { free: 0, .. })));
    gate.open();
    until("its end is recorded", || state(&lanebox, runs) == "done");
    assert_eq!(running.health().room.mode, RoomMode::Full);
    assert_eq!((state(&lanebox, waits).as_str(), gate.runs.load(Ordering::SeqCst)), ("pending", 1));

    pretend_room(&lanebox, None);
    until("it goes on by itself", || state(&lanebox, waits) == "done");
    let _accepted = lanebox.publish(event("a")).expect("accepted");
    until("it is laid anew", || ballast.exists());
    drop(running);
    let audits = lanebox.doctor().expect("a diagnosis").audits;
    assert!(audits.iter().all(|audit| audit.count == 0), "{audits:?}");
}

#[test]
fn e117_what_runs_is_recorded_on_a_full_disk_and_nothing_new_is_begun() {
    let _alone = ONE_AT_A_TIME.lock();
    let dir = place();
    let _log = shim::record(dir.path(), || full(dir.path()));
}
