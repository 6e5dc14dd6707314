//! Loops go on after errors and panics, say how they are, and end when they are told to.

use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use rusqlite::ffi;

use super::watch::Watch;
use super::*;
use crate::engine::Settings;
use crate::engine::reactions::Reactions;
use crate::env::Env;
use crate::error::Error;
use crate::model::verdict::End;
use crate::store::jobs::{Ended, Jobs};
use crate::store::ledger::tests::world::{NEITHER, PATIENCE, World};
use crate::store::processes::Processes;
use crate::store::sqlite::door::{Fault, Point};
use crate::store::sqlite::{Opening, SqliteStore};
use crate::{BoxError, Ctx, Lane, NewJob, Outcome, Policy};

const LONG: Duration = Duration::from_secs(600);

/// An engine with nothing to do, on a file of its own.
struct Scene {
    engine: Arc<Engine>,
    store: Arc<SqliteStore>,
    dir: tempfile::TempDir,
}

impl Scene {
    fn new() -> Scene {
        Scene::with(&Reactions::new(), |_| ())
    }

    fn with(reactions: &Reactions, prepare: impl FnOnce(&SqliteStore)) -> Scene {
        let dir = tempfile::tempdir().expect("a directory");
        let env = Env::system();
        let path = dir.path().join("loops.db");
        let store = SqliteStore::open(&path, env.clone(), &Opening::default()).expect("a file");
        prepare(&store);
        let process = store.register().expect("a process");
        let settings = Settings { workers: 1, lease_ms: 3_000, suspect_wait_ms: 0 };
        let store = Arc::new(store);
        let engine = Engine::new(store.clone(), env, process, settings, reactions, Arc::default())
            .expect("made");
        Scene { engine: Arc::new(engine), store, dir }
    }

    /// Starts it with one loop more; `step` hears how often it was called before.
    fn start(&self, step: impl Fn(u32) -> Result<Next> + Send + 'static) -> (Running, Calls) {
        let calls = Calls::default();
        let count = calls.0.clone();
        let step = Box::new(move || step(count.fetch_add(1, Ordering::SeqCst)));
        let one = Loop { name: "test", step };
        (Running::start(self.engine.clone(), vec![one]).expect("started"), calls)
    }
}

#[derive(Default)]
struct Calls(Arc<AtomicU32>);

impl Calls {
    fn until(&self, calls: u32) {
        until(|| self.0.load(Ordering::SeqCst) >= calls);
    }
}

fn until(mut holds: impl FnMut() -> bool) {
    for _ in 0..15_000 {
        if holds() {
            return;
        }
        std::thread::park_timeout(Duration::from_millis(2));
    }
    panic!("waited half a minute in vain");
}

fn of(running: &Running) -> LoopHealth {
    running.health().loops.into_iter().find(|one| one.name == "test").expect("the loop")
}

#[test]
fn a_loop_that_panics_or_fails_goes_on_and_tells_of_it() {
    let scene = Scene::new();
    let (running, calls) = scene.start(|before| match before {
        0 | 1 => panic!("on purpose"),
        2 => Err(Error::RolledBack),
        3 => Err(Error::Busy { waited_ms: 7 }),
        _ => Ok(Next::Rest(LONG)),
    });
    calls.until(4);
    let health = of(&running);
    assert!(health.failures_in_a_row >= 3 && health.last_good_at.is_none());
    assert!(!running.health().is_good());
    calls.until(5);
    until(|| of(&running).last_good_at.is_some());
    let health = of(&running);
    assert_eq!((health.failures_in_a_row, health.panics), (0, 2));
    assert!(health.last_error.is_some_and(|error| error.contains("longer than 7 ms")));
    until(|| running.health().is_good());
    drop(running);
}

#[test]
fn the_bell_wakes_who_waits_for_it_and_nobody_who_rests() {
    let scene = Scene::new();
    let (running, waiting) = scene.start(|_| Ok(Next::After(LONG)));
    for heard in 1..20 {
        waiting.until(heard);
        scene.engine.ring();
    }
    drop(running);
    let scene = Scene::new();
    let (running, resting) = scene.start(|_| Ok(Next::Rest(LONG)));
    resting.until(1);
    let pulse = || running.health().loops.iter().find(|one| one.name == "pulse").cloned();
    for _ in 0..5 {
        let before = pulse();
        scene.engine.ring();
        until(|| pulse() != before);
    }
    assert_eq!(resting.0.load(Ordering::SeqCst), 1);
    drop(running);
}

// fault: stop-wakes-nobody
#[test]
fn e46_whoever_waits_or_rests_ends_with_the_engine() {
    for next in [|| Next::After(LONG), || Next::Rest(LONG), || Next::Now] {
        let scene = Scene::new();
        let (running, calls) = scene.start(move |_| Ok(next()));
        calls.until(1);
        let shared = running.shared.clone();
        drop(running);
        until(|| *shared.threads.lock() == 0);
    }
}

// fault: blind-look-waits
#[test]
fn e44_who_cannot_see_whether_others_committed_still_claims_what_they_enqueue_and_says_so() {
    use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
    let blind = |at: AuthContext<'_>| match at.action {
        AuthAction::Pragma { pragma_name: "data_version", .. } => Authorization::Deny,
        _ => Authorization::Allow,
    };
    let ok = |_: &Ctx<'_>| Ok::<_, BoxError>(Outcome::Done);
    let reactions = Reactions::new().on_kind("turn", Policy::default(), ok);
    let scene = Scene::with(&reactions, |store| {
        store.on_writer(|conn| conn.authorizer(Some(blind))).expect("a hook");
    });
    let (running, _) = scene.start(|_| Ok(Next::Rest(LONG)));
    let watch = || running.health().loops.into_iter().find(|one| one.name == "watch");
    until(|| watch().is_some_and(|watch| watch.failures_in_a_row > 0));
    let path = scene.dir.path().join("loops.db");
    let other = SqliteStore::open(&path, Env::system(), &Opening::default()).expect("the file");
    let job = NewJob::raw("turn", "{}", Lane::NONE).org("acme");
    let _accepted = other.enqueue(vec![job]).expect("accepted");
    until(|| scene.engine.store.stats().expect("counted").ready.n == 0);
    let watch = watch().expect("the loop");
    assert!(watch.failures_in_a_row > 0, "{watch:?}");
    assert!(watch.last_error.is_some_and(|error| error.contains("not authorized")));
    drop(running);
}

#[test]
fn a_loop_that_always_fails_ends_too_and_does_not_spin() {
    let scene = Scene::new();
    let (running, calls) = scene.start(|_| Err(Error::RolledBack));
    calls.until(3);
    let shared = running.shared.clone();
    drop(running);
    until(|| *shared.threads.lock() == 0);
    // 200 ms, 400 ms, then half a second at these leases: a loop that span would be far beyond.
    assert!(calls.0.load(Ordering::SeqCst) < 100);
}

// R5: of a claim whose commit failed no handler begins, be it stored or not.
// fault: commit-error-is-silent
#[test]
fn r5_no_handler_begins_before_its_claim_is_committed() {
    let (full, broken) = (ffi::SQLITE_FULL, ffi::SQLITE_IOERR_WRITE);
    for (at, fault, lost) in
        [(Point::Commit, Fault::Ended(full), 0), (Point::Committed, Fault::Error(broken), 1)]
    {
        let (path, begun) = (Arc::<OnceLock<PathBuf>>::default(), Arc::new(AtomicU32::new(0)));
        let (file, count) = (path.clone(), begun.clone());
        let turn = move |ctx: &Ctx<'_>| {
            count.fetch_add(1, Ordering::SeqCst);
            let other = rusqlite::Connection::open(file.get().expect("set before the start"))?;
            let held = "SELECT count(*) FROM lanebox_running WHERE token = ?1";
            let held: i64 = other.query_row(held, [ctx.token()], |row| row.get(0))?;
            let answer = Outcome::done_with(held);
            Ok::<_, BoxError>(if held == 1 { answer } else { Outcome::dead("not committed") })
        };
        let reactions = Reactions::new().on_kind("turn", Policy::default(), turn);
        let scene = Scene::with(&reactions, |store| {
            let job = NewJob::raw("turn", "{}", Lane::NONE).org("acme");
            let _accepted = store.enqueue(vec![job]).expect("accepted");
        });
        path.set(scene.dir.path().join("loops.db")).expect("set once");
        // The first commit of a started engine is its claim.
        scene.store.order_fault(at, 0, fault);
        let (running, _) = scene.start(|_| Ok(Next::Rest(LONG)));
        let ended =
            "SELECT group_concat(state || ' ' || attempts || ' ' || lost) FROM lanebox_finished";
        let look = |conn: &rusqlite::Connection| {
            conn.query_row(ended, [], |row| row.get::<_, Option<String>>(0)).expect("an answer")
        };
        until(|| scene.store.look(look).is_some());
        assert!(scene.store.end_faults(), "{at:?} was met");
        assert_eq!(scene.store.look(look), Some(format!("done 1 {lost}")));
        assert_eq!(begun.load(Ordering::SeqCst), 1, "{at:?}");
        drop(running);
    }
}

// fault: woken-by-nobody
#[test]
fn whoever_lets_a_lane_go_on_without_its_send_sees_to_it_that_somebody_looks() {
    let w = World::new();
    let held = w.claim_of("ann");
    let _key = w.go(held, NEITHER);
    assert_eq!(w.end(held, End::Unknown), Ended::Holds);
    let engine = Arc::new(crate::engine::reaper::tests::engine(&w));
    let mut resolve = resolve(engine.clone());
    for (waited_ms, rings) in [(0, false), (PATIENCE, true)] {
        engine.desk.lock().rung = false;
        w.advance(waited_ms);
        let _next = (resolve.step)().expect("a pass");
        assert_eq!(engine.desk.lock().rung, rings, "after {waited_ms} ms");
    }
}

/// Another program, which rings nothing here.
struct Stranger(rusqlite::Connection);

impl Stranger {
    fn on(scene: &Scene) -> Stranger {
        let path = scene.dir.path().join("loops.db");
        let conn = rusqlite::Connection::open(path).expect("it opens");
        conn.busy_timeout(LONG).expect("it waits");
        conn.execute_batch("CREATE TABLE host(n)").expect("a table");
        Stranger(conn)
    }

    fn commits(&self) {
        self.0.execute("INSERT INTO host VALUES (1)", []).expect("committed");
    }
}

// With hints, without, and with hints that end.
#[test]
fn a_commit_of_another_program_rings_the_bell() {
    for (hints, end) in [(true, false), (false, false), (true, true)] {
        let scene = Scene::new();
        let stranger = Stranger::on(&scene);
        let other = scene.dir.path().join("other");
        std::fs::write(&other, "").expect("a file");
        let hint = if end { scene.engine.env.hint(&other) } else { scene.store.hint() };
        std::fs::remove_file(&other).expect("removed");
        let shared = Shared::new(scene.engine.clone(), hint.filter(|_| hints));
        let mut watch = Watch::new(shared.hint.clone());
        for _ in 0..20 {
            stranger.commits();
            let heard = scene.engine.bell.heard();
            while scene.engine.bell.heard() == heard {
                watch.step(&shared).expect("it can look");
            }
        }
    }
}

// Nothing else rings: it rests for ten minutes, and yet it hears each commit.
#[cfg(target_os = "linux")]
#[test]
fn who_rests_is_woken_by_a_commit_of_another_program_and_by_the_stop() {
    let scene = Scene::new();
    let stranger = Stranger::on(&scene);
    let hint = scene.store.hint().expect("hints");
    assert!(!hint.taken().expect("none yet"));
    for _ in 0..20 {
        stranger.commits();
        hint.wait(LONG).expect("it waits");
        while hint.taken().expect("it is there") {}
    }
    hint.rouse();
    hint.wait(LONG).expect("roused");
    assert!(!hint.taken().expect("it is there"));
}
