//! Starting: many at once, on nothing, on a host's file, on one left by a kill; and in the place of
//! one that died.

use std::path::Path;
use std::sync::mpsc::channel;
use std::time::Duration;

use lanebox::{
    BoxError, Consumer, Ctx, Error, Event, Lane, Lanebox, NewJob, Outcome, Policy, Reactions,
};
use rusqlite::Connection;

use crate::child::{Child, say, wait};
use crate::number;

/// Part: opens the file when it is nudged, and keeps it open until the test hangs up.
pub fn open(file: &Path) {
    say("ready");
    wait();
    match Lanebox::open(file) {
        Ok(lanebox) => {
            say("open");
            wait();
            drop(lanebox);
        }
        Err(error) => say(&error.to_string()),
    }
}

/// Six processes that open the file at the same moment; what each says.
fn six_at_once(file: &Path) -> Vec<Option<String>> {
    let mut six: Vec<Child> = (0..6).map(|_| Child::start("open", file)).collect();
    for child in &mut six {
        assert_eq!(child.hear().as_deref(), Some("ready"));
    }
    six.iter_mut().for_each(Child::nudge);
    six.iter_mut().map(Child::hear).collect()
}

#[track_caller]
fn all_open(file: &Path) {
    let said = six_at_once(file);
    assert!(said.iter().all(|one| one.as_deref() == Some("open")), "{said:?}");
    assert_eq!(number(file, "SELECT count(*) FROM lanebox_meta"), 1);
}

#[test]
fn a_setting_out_of_its_bounds_is_refused_and_no_file_is_made() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("crm.db");
    let day = Duration::from_secs(86_400);
    let builder = || Lanebox::builder(&file);
    for (settings, which) in [
        (builder().workers(0), "workers"),
        (builder().workers(257), "workers"),
        (builder().lease(Duration::from_secs(49)), "lease"),
        (builder().lease(day + Duration::from_millis(1)), "lease"),
        (builder().lease(Duration::MAX), "lease"),
        (builder().busy_deadline(Duration::MAX).lease(Duration::MAX), "lease"),
        (builder().suspect_wait(Duration::MAX), "suspect wait"),
    ] {
        let refused = settings.open().err().expect("refused");
        assert!(matches!(&refused, Error::Setting { what, .. } if *what == which), "{refused}");
    }
    assert!(!file.exists());
    assert!(builder().lease(day).suspect_wait(day).open().is_ok());
}

#[test]
fn r3_six_processes_start_at_once_on_nothing() {
    for _ in 0..20 {
        let dir = tempfile::tempdir().expect("a directory");
        all_open(&dir.path().join("crm.db"));
    }
}

#[test]
fn r14_six_processes_start_at_once_on_a_file_of_the_hosts() {
    for _ in 0..10 {
        let dir = tempfile::tempdir().expect("a directory");
        let file = dir.path().join("crm.db");
        let host = Connection::open(&file).expect("opened");
        host.execute_batch(
            "CREATE TABLE deal(id INTEGER PRIMARY KEY); INSERT INTO deal VALUES (1)",
        )
        .expect("a file of the host's");
        drop(host);
        all_open(&file);
        assert_eq!(number(&file, "SELECT count(*) FROM deal"), 1);
    }
}

#[test]
fn r14_six_processes_start_at_once_on_a_file_left_by_a_kill() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("crm.db");
    for round in 0..10 {
        let mut killed = Child::start("enqueue", &file);
        killed.hear().expect("one is accepted");
        killed.kill();
        let kept = number(&file, "SELECT count(*) FROM lanebox_job");
        assert!(kept > round, "each round added one");
        all_open(&file);
        assert_eq!(number(&file, "SELECT count(*) FROM lanebox_job"), kept);
    }
}

/// Part: takes the one job, says so, and never ends it.
pub fn hold(file: &Path) {
    let lanebox = Lanebox::open(file).expect("opened");
    let _running = lanebox.start(Reactions::new().on_kind("slow", Policy::default(), |ctx| {
        say(&format!("attempt {}", ctx.attempt()));
        ctx.wait(Duration::MAX);
        Ok::<_, BoxError>(Outcome::Done)
    }));
    wait();
}

// fault: reap-ignores-the-gone
#[test]
fn e66_a_restarted_worker_takes_what_its_predecessor_held_at_once() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("crm.db");
    let lanebox = Lanebox::open(&file).expect("opened");
    let job = lanebox
        .enqueue(NewJob::raw("slow", "{}", Lane::of("ann")).org("acme"))
        .expect("accepted")
        .id();
    let mut killed = Child::start("hold", &file);
    assert_eq!(killed.hear().as_deref(), Some("attempt 1"));
    killed.kill();

    let (ran, heard) = channel();
    let reactions = Reactions::new().on_kind("slow", Policy::default(), move |ctx| {
        ran.send(ctx.job()).expect("heard");
        Ok::<_, BoxError>(Outcome::Done)
    });
    let running = lanebox.start(reactions).expect("started");
    // Its lease holds for a minute: only the lock of the dead process can have told.
    assert_eq!(heard.recv_timeout(Duration::from_secs(30)), Ok(job));
    running.stop(Duration::from_secs(10));
    assert_eq!(number(&file, "SELECT count(*) FROM lanebox_process WHERE gone = 0"), 0);
    let left = crate::listing(dir.path());
    assert!(!left.keys().any(|name| name.contains("-process-")), "{left:?}");
}

#[test]
fn two_consumers_of_one_key_are_refused_by_that_key_and_nothing_is_registered() {
    fn hears(reactions: Reactions, key: &str) -> Reactions {
        let handler = |_: &Ctx<'_>, _: &Event| Ok::<_, BoxError>(Outcome::Done);
        reactions.consume(Consumer::new(key, "message.received"), handler)
    }
    fn routes(reactions: Reactions, key: &str) -> Reactions {
        reactions.route(Consumer::new(key, "deal.*"), |_| Ok(Vec::new()))
    }
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("crm.db");
    let lanebox = Lanebox::open(&file).expect("opened");
    for (one, other) in [
        (hears as fn(_, _) -> _, hears as fn(_, _) -> _),
        (hears, routes),
        (routes, hears),
        (routes, routes),
    ] {
        let refused = lanebox.start(other(one(Reactions::new(), "sentiment"), "sentiment"));
        let said = refused.err().expect("refused").to_string();
        let told = "two consumers have the key sentiment, and nothing was registered: give one of them another key";
        assert!(said.ends_with(told), "{said}");
    }
    let illegal = lanebox.start(hears(Reactions::new(), "Sentiment"));
    let said = illegal.err().expect("refused").to_string();
    assert!(said.starts_with("consumer key: \"Sentiment\" is not"), "{said}");
    for table in ["consumer", "kind", "process"] {
        assert_eq!(number(&file, &format!("SELECT count(*) FROM lanebox_{table}")), 0, "{table}");
    }
}
