//! R7, R9, E117: a disk that fills up and a log that grows, with engines at work.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use lanebox::people::Filter;
use lanebox::{
    Checkpoint, Error, Lane, Lanebox, NewEvent, NewJob, Outcome, Reactions, RoomMode, Running,
};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::child::{Child, say};
use crate::scene::{Answer, Gate, Opens, Scene, enqueue, held_turns, job, quick, until};

const MIB: u64 = 1 << 20;

fn event(key: impl Into<String>) -> NewEvent {
    NewEvent::new("acme", "message.received").dedupe(key)
}

/// A fact of a million bytes.
fn large(n: usize) -> NewEvent {
    let text = "x".repeat(1_000_000);
    event(format!("large {n}")).payload_json(format!("{{\"text\":\"{text}\"}}"))
}

fn open_notices(lanebox: &Lanebox, kind: &str) -> usize {
    let filter = Filter::default();
    let rows = lanebox.notices(&filter).expect("notices").rows;
    rows.iter().filter(|notice| notice.kind == kind).count()
}

fn mode(running: &Running) -> RoomMode {
    running.health().room.mode
}

fn ballast(path: &Path) -> bool {
    path.with_file_name("crm.db-ballast").exists()
}

// A reader of another program holds an old snapshot while facts stream in: nobody waits for it, a
// person hears of it, and all is well again soon after it has gone.
// fault: log-is-never-taken-over
#[test]
fn r7_a_reader_that_stays_makes_an_alarm_and_stops_no_writer() {
    let scene = Scene::new();
    let busy = Duration::from_millis(100);
    let lanebox = scene.builder().busy_deadline(busy).open().expect("the file opens");
    let running = lanebox.start(Reactions::new()).expect("started");
    let reader = scene.sql();
    reader.execute_batch("BEGIN; SELECT count(*) FROM lanebox_event").expect("a snapshot");
    // Whoever is kept from writing for longer than that is told so.
    let publish = |n| lanebox.publish(large(n)).map(drop).expect("nobody is in the way");
    let mut published = 0;
    until("the alarm is raised", || {
        publish(published);
        published += 1;
        running.health().log.alarm
    });
    let log = running.health().log;
    assert!(log.bytes > 2 * log.limit_bytes && log.frames_behind > 30_000, "{log:?}");
    until("a person is told", || open_notices(&lanebox, "disk.log") == 1);
    until("a checkpoint has tried", || running.health().log.unfinished);
    assert!(running.health().log.stuck_for > Duration::ZERO);
    let found = lanebox.doctor().expect("a diagnosis");
    let fact = found.facts.iter().find(|fact| fact.name == "write-ahead log").expect("the fact");
    assert!(!found.sound && fact.wrong.is_some(), "{fact:?}");
    publish(published);

    drop(reader);
    until("the log is back", || {
        let log = running.health().log;
        !log.alarm && log.bytes <= log.limit_bytes && log.stuck_for == Duration::ZERO
    });
    until("it is taken back", || open_notices(&lanebox, "disk.log") == 0);
    assert!(lanebox.doctor().expect("a diagnosis").sound);
    let events = scene.number("SELECT count(*) FROM lanebox_event", []);
    assert_eq!(usize::try_from(events), Ok(published + 1));
    drop(running);
}

/// Frames in the log, and how many of them are in the file.
fn frames(scene: &Scene) -> (i64, i64) {
    let look = "PRAGMA wal_checkpoint(NOOP)";
    let frames = scene.sql().query_row(look, [], |row| Ok((row.get(1)?, row.get(2)?)));
    frames.expect("a look")
}

// R26: set, read back from the diagnosis, and seen to act. An engine at work takes the log over by
// itself, or leaves it to whoever was named.
#[test]
fn r26_checkpoint_says_who_takes_the_log_over() {
    for (checkpoint, word) in [(Checkpoint::Own, "own"), (Checkpoint::External, "external")] {
        let scene = Scene::new();
        let lanebox = scene.builder().checkpoint(checkpoint).open().expect("the file opens");
        let found = lanebox.doctor().expect("a diagnosis");
        let fact = found.facts.iter().find(|fact| fact.name == "checkpoint").expect("the fact");
        assert!(fact.value.starts_with(word), "{fact:?}");
        let running = lanebox.start(Reactions::new()).expect("started");
        for n in 0..40 {
            let _published = lanebox.publish(large(n)).expect("published");
        }
        match checkpoint {
            Checkpoint::Own => until("it is taken over", || {
                let (written, taken_over) = frames(&scene);
                written - taken_over < 3_000
            }),
            Checkpoint::External => {
                let seen = running.health().log;
                until("it was looked at", || running.health().log != seen);
                let (written, taken_over) = frames(&scene);
                assert!(written > 9_000 && taken_over == 0, "{written} {taken_over}");
            }
        }
        drop(running);
        let wal = scene.path().with_file_name("crm.db-wal");
        let bytes = || std::fs::metadata(&wal).map_or(0, |found| found.len());
        let before = bytes();
        drop(lanebox);
        // Threads of the engine may hold the file for a moment longer.
        match checkpoint {
            Checkpoint::Own => until("it is closed", || bytes() == 0),
            Checkpoint::External => assert_eq!(bytes(), before, "left to whoever was named"),
        }
    }
}

// fault: no-room-is-taken
#[cfg(feature = "testing")]
#[test]
fn e117_below_the_low_water_mark_nothing_new_is_begun_and_what_runs_is_recorded() {
    use lanebox::testing::pretend_room;
    let scene = Scene::new();
    let lanebox = scene.hasty(Duration::from_millis(600));
    let gate = Gate::default();
    let _opens = Opens(gate.clone());
    let every = lanebox::Consumer::new("every", "message.*");
    let reactions =
        held_turns(&gate).on_kind("short", quick(), |_| -> Answer { Ok(Outcome::Done) });
    let reactions = reactions.consume(every, |_ctx, _event| -> Answer { Ok(Outcome::Done) });
    let running = lanebox.start(reactions).expect("started");
    assert!(ballast(&scene.path()), "laid before anything is claimed");
    let runs = enqueue(&lanebox, job("turn"));
    gate.until_reached();

    pretend_room(&lanebox, Some(60 * MIB));
    until("it is seen", || mode(&running) == RoomMode::Low);
    let waits = enqueue(&lanebox, job("short"));
    let _published = lanebox.publish(event("a")).expect("still accepted");
    until("a person is told", || open_notices(&lanebox, "disk.room") == 1);
    // Longer than its lease: it is renewed.
    let renewals = || scene.number("SELECT coalesce(max(lease_until), 0) FROM lanebox_running", []);
    let first = renewals();
    until("it is renewed", || renewals() > first + 600);
    assert_eq!(scene.state(waits), "pending");
    let dispatched = "SELECT count(*) FROM lanebox_delivery";
    assert_eq!(scene.number(dispatched, []), 0);
    gate.open();
    scene.until_state(runs, "done");
    let cancelled = enqueue(&lanebox, job("short"));
    let _said = lanebox.cancel(cancelled, "ada").expect("people go on");
    let room = running.health().room;
    assert_eq!((room.free_bytes, room.low_water_bytes), (Some(60 * MIB), 64 * MIB));
    let found = lanebox.doctor().expect("a diagnosis");
    let fact = found.facts.iter().find(|fact| fact.name == "disk").expect("the fact");
    assert!(fact.value.starts_with("low: ") && fact.wrong.is_some(), "{fact:?}");
    assert_eq!(scene.state(waits), "pending", "nobody came for it");

    pretend_room(&lanebox, None);
    scene.until_state(waits, "done");
    until("the event arrives", || scene.number(dispatched, []) == 1);
    until("it is taken back", || open_notices(&lanebox, "disk.room") == 0);
    assert!(running.health().is_good());
    drop(running);
}

/// Part: starts an engine although no file of this process may be as large as a ballast. Nobody
/// ignores the signal that would end it.
pub fn small_limit(file: &Path) {
    let maximum = getrlimit(Resource::Fsize).maximum;
    setrlimit(Resource::Fsize, Rlimit { current: Some(4 * MIB), maximum }).expect("a soft limit");
    let lanebox = Lanebox::open(file).expect("opened");
    let running = lanebox.start(Reactions::new()).expect("it starts without one");
    say(&format!("started {}", ballast(file)));
    drop(running);
}

#[test]
fn a_ballast_that_may_not_be_made_prevents_no_start() {
    let scene = Scene::new();
    let said = Child::start("small limit", &scene.path()).rest();
    assert_eq!(said, ["started false"]);
}

/// Part: an engine on a disk of 64 MiB that another program fills.
pub fn small_disk(file: &Path) {
    let lanebox = Lanebox::builder(file).workers(1).open().expect("opened");
    let gate = Gate::default();
    let _opens = Opens(gate.clone());
    let running = lanebox.start(held_turns(&gate)).expect("started");
    say(&format!("ballast {}", ballast(file)));
    let runs = enqueue(&lanebox, job("turn"));
    gate.until_reached();
    let waits = enqueue(&lanebox, job("turn"));
    let filler = file.with_file_name("filler");
    fill(&filler);
    let refused = until_refused(&lanebox);
    say(&format!("refused {}", matches!(refused, Error::NoRoom { .. })));
    say(&format!("ballast {}", ballast(file)));
    gate.open();
    until("the end of the run is recorded", || {
        lanebox.job(runs).expect("a job").job.state == "done"
    });
    say(&format!("waits {}", lanebox.job(waits).expect("a job").job.state));
    until("a person is told", || open_notices(&lanebox, "disk.room") == 1);
    std::fs::remove_file(filler).expect("removed");
    until("it goes on by itself", || lanebox.job(waits).expect("a job").job.state == "done");
    let _accepted = lanebox.publish(event("after")).expect("accepted again");
    until("the ballast is laid anew", || ballast(file));
    running.stop(Duration::from_secs(10));
    let audits = lanebox.doctor().expect("a diagnosis").audits;
    say(&format!("sound {}", audits.iter().all(|audit| audit.count == 0)));
}

// To the last byte.
fn fill(filler: &Path) {
    use std::io::Write;
    let mut file = std::fs::File::create(filler).expect("a file");
    for size in [1 << 20, 4_096, 1] {
        let block = vec![1; size];
        while file.write_all(&block).is_ok() {}
    }
}

// First SQLite finds no room; from then on nothing new is tried.
fn until_refused(lanebox: &Lanebox) -> Error {
    for n in 0..100_000 {
        let job = NewJob::raw("noop", "{}", Lane::NONE).org("acme").dedupe(format!("key {n}"));
        match lanebox.enqueue(job) {
            Err(error @ Error::NoRoom { .. }) => return error,
            Ok(_) | Err(Error::DiskFull(_) | Error::CommitUnknown(_)) => {}
            Err(other) => return other,
        }
    }
    panic!("everything was accepted on a full disk");
}

// A file system of its own, in memory: whoever may not mount one sees the same in `tests/disk`,
// where a layer below SQLite says that there is no room.
#[test]
fn e117_on_a_full_disk_what_runs_is_recorded_and_all_goes_on_when_there_is_room() {
    use std::io::Write;
    let scene = Scene::new();
    let directory = scene.path().parent().expect("a directory").to_owned();
    let mount = "mount -t tmpfs -o size=64m,mode=700 lanebox \"$DISK\"";
    let own = std::env::current_exe().expect("this binary");
    let namespace = |script: &str| {
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-root-user", "--mount", "sh", "-c", script]).arg(&own);
        command.env("DISK", &directory);
        command
    };
    if !namespace(mount).status().is_ok_and(|done| done.success()) {
        let why = "no mounts here: the full disk is tried in tests/disk alone";
        writeln!(std::io::stderr(), "{why}").expect("a line");
        return;
    }
    let script = format!("{mount} && exec \"$0\" \"$@\"");
    let said = Child::run(&mut namespace(&script), "small disk", &scene.path()).rest();
    let right = ["ballast true", "refused true", "ballast false", "waits pending", "sound true"];
    assert_eq!(said, right);
}
