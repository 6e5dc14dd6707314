//! Lanes: one run at a time, whole runs, in order, over all threads and processes.

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use lanebox::{Backoff, Ctx, Lane, Lanebox, NewJob, Outcome, Policy, Reactions};

use crate::child::Child;
use crate::scene::{
    Answer, Gate, LONG, Opens, Scene, enqueue, job, job_in, quick, rest, until, until_all_ended,
};

/// Part: drains lanes, and writes down when each run began and ended.
pub fn drain(path: &Path) {
    let lanebox = Lanebox::builder(path).workers(4).open().expect("a file");
    let host = lanebox.clone();
    let reactions = Reactions::new().on_kind("turn", quick(), move |ctx| -> Answer {
        let (lane, job) = (ctx.subject().unwrap_or("").to_owned(), ctx.payload().to_owned());
        let row = "INSERT INTO host (what, lane, job) VALUES (?1, ?2, ?3)";
        host.transaction(|tx| tx.execute(row, ["begin", &lane, &job]))?;
        ctx.finish_in(move |conn| conn.execute(row, ["end", &lane, &job]).map(|_| ()));
        Ok(Outcome::Done)
    });
    let running = lanebox.start(reactions).expect("started");
    until_all_ended(path);
    running.stop(LONG);
}

// fault: no-lane-index
#[test]
fn r65_a_lane_is_held_for_the_whole_handler_and_the_next_sees_what_it_left() {
    let scene = Scene::new();
    let lanebox = scene.open();
    scene.host_table();
    let gate = Gate::default();
    let _opens = Opens(gate.clone());
    let saw: Arc<Mutex<Vec<i64>>> = Arc::default();
    let (held, seen, host) = (gate.clone(), saw.clone(), lanebox.clone());
    let reactions = Reactions::new().on_kind("turn", quick(), move |ctx| -> Answer {
        let before = host.transaction(|tx| {
            tx.query_row("SELECT count(*) FROM host", [], |row| row.get::<_, i64>(0))
        })?;
        seen.lock().expect("no panic").push(before);
        held.wait();
        ctx.finish_in(|conn| {
            conn.execute("INSERT INTO host (what) VALUES ('answer')", []).map(|_| ())
        });
        Ok(Outcome::Done)
    });
    let other = Reactions::new().on_kind("other", quick(), |_ctx| -> Answer { Ok(Outcome::Done) });
    let running =
        [lanebox.start(reactions).expect("started"), lanebox.start(other).expect("started")];
    enqueue(&lanebox, job_in("turn", "ann"));
    gate.until_reached();
    enqueue(&lanebox, job_in("turn", "ann"));
    // Another lane's job comes and goes meanwhile: workers are free, and passes are made.
    enqueue(&lanebox, job_in("other", "bob"));
    scene.until_ended(1);
    assert_eq!(*saw.lock().expect("no panic"), [0]);
    gate.open();
    scene.until_ended(3);
    assert_eq!(*saw.lock().expect("no panic"), [0, 1]);
    drop(running);
}

// fault: retry-overtaken
#[test]
fn e52_r33_a_failed_job_is_not_overtaken_in_its_lane() {
    let scene = Scene::new();
    let lanebox = scene.open();
    let order: Arc<Mutex<Vec<String>>> = Arc::default();
    let told = order.clone();
    let reactions = Reactions::new().on_kind("turn", quick(), move |ctx| -> Answer {
        told.lock().expect("no panic").push(format!("{}.{}", ctx.payload(), ctx.attempt()));
        if ctx.payload() == "1" && ctx.attempt() < 3 {
            Err("429".into())
        } else {
            Ok(Outcome::Done)
        }
    });
    let new = |n: usize| NewJob::raw("turn", n.to_string(), Lane::of("ann")).org("acme");
    let _jobs = lanebox.enqueue_all((1..=3).map(new).collect()).expect("accepted");
    let running = lanebox.start(reactions).expect("started");
    scene.until_ended(3);
    assert_eq!(*order.lock().expect("no panic"), ["1.1", "1.2", "1.3", "2.1", "3.1"]);
    drop(running);
}

#[test]
fn e52_a_kind_that_declares_to_yield_lets_its_lane_go_on_while_it_waits() {
    for yields in [true, false] {
        let scene = Scene::new();
        let lanebox = scene.open();
        let hour = Duration::from_secs(3_600);
        let policy = Policy::default().backoff(Backoff::exponential(hour, hour));
        let policy = if yields { policy.yields() } else { policy };
        let reactions = Reactions::new()
            .on_kind("note", policy, |_ctx| -> Answer { Err("503".into()) })
            .on_kind("turn", quick(), |_ctx| -> Answer { Ok(Outcome::Done) });
        let running = lanebox.start(reactions).expect("started");
        let note = enqueue(&lanebox, job_in("note", "ann"));
        until("it has failed once", || scene.see(note).error.is_some());
        let next = enqueue(&lanebox, job_in("turn", "ann"));
        let beside = enqueue(&lanebox, job_in("turn", "bob"));
        scene.until_state(beside, "done");
        if yields {
            scene.until_state(next, "done");
        }
        assert_eq!(scene.state(next), if yields { "done" } else { "pending" });
        assert_eq!(scene.state(note), "pending");
        drop(running);
    }
}

// The engine of the next job has nothing of its own that could wake it.
#[test]
fn r30_engines_of_one_handle_hand_a_lane_to_one_another() {
    let scene = Scene::new();
    let lanebox = scene.open();
    scene.host_table();
    let gate = Gate::default();
    let _opens = Opens(gate.clone());
    let held = gate.clone();
    let first = Reactions::new().on_kind("first", quick(), move |ctx| -> Answer {
        held.wait();
        if ctx.payload() == "1" {
            ctx.finish_in(|conn| {
                conn.execute("INSERT INTO host (what) VALUES ('1')", []).map(|_| ())
            });
        }
        Ok(Outcome::Done)
    });
    let next = Reactions::new().on_kind("next", quick(), |_ctx| -> Answer { Ok(Outcome::Done) });
    let running = [lanebox.start(first).expect("started"), lanebox.start(next).expect("started")];
    for lane in ["0", "1"] {
        let new = |kind: &str| NewJob::raw(kind, lane, Lane::of(lane)).org("acme");
        let _jobs = lanebox.enqueue_all(vec![new("first"), new("next")]).expect("accepted");
    }
    gate.until_reached();
    // Both have long looked for what they can do.
    for _ in 0..50 {
        rest();
    }
    gate.open();
    scene.until_ended(4);
    drop(running);
}

#[test]
fn r32_many_orgs_that_may_not_run_hide_nobody_behind_them() {
    let scene = Scene::new();
    let lanebox = scene.builder().workers(1).open().expect("the file opens");
    let new = |n: usize| NewJob::raw("turn", "{}", Lane::NONE).org(format!("org {n}"));
    let _jobs = lanebox.enqueue_all((0..400).map(new).collect()).expect("accepted");
    scene.sql().execute("UPDATE lanebox_org SET cap = 0 WHERE name <> '-'", []).expect("caps");
    let last = enqueue(&lanebox, job_in("turn", "ann").org("the last one"));
    let ok = |_ctx: &Ctx<'_>| -> Answer { Ok(Outcome::Done) };
    let running = lanebox.start(Reactions::new().on_kind("turn", quick(), ok)).expect("started");
    scene.until_state(last, "done");
    assert_eq!(scene.finished(), 1);
    drop(running);
}

#[test]
fn r24_two_processes_drain_one_file_and_no_lane_ever_has_two_runs() {
    let scene = Scene::new();
    let lanebox = scene.open();
    scene.host_table();
    let new = |n: usize| {
        let lane = format!("lane {}", n % 10);
        NewJob::raw("turn", n.to_string(), Lane::of(&lane)).org("acme").subject(lane)
    };
    let _jobs = lanebox.enqueue_all((0..150).map(new).collect()).expect("accepted");
    let path = scene.path();
    let mut children = [Child::start("drain lanes", &path), Child::start("drain lanes", &path)];
    assert!(children.iter_mut().all(Child::ended_well));
    let conn = scene.sql();
    let mut rows = conn.prepare("SELECT what, lane, job FROM host ORDER BY n").expect("the table");
    let rows = rows.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)));
    let rows: Vec<(String, String, String)> =
        rows.expect("rows").collect::<Result<_, _>>().expect("texts");
    assert_eq!(rows.len(), 300, "each job ran once");
    let mut lanes: HashMap<&str, (Option<&str>, Vec<usize>)> = HashMap::new();
    for (what, lane, job) in &rows {
        let (runs, ended) = lanes.entry(lane).or_default();
        if what == "begin" {
            assert_eq!(runs.replace(job), None, "two runs in {lane}");
        } else {
            assert_eq!(runs.take(), Some(job.as_str()));
            ended.push(job.parse().expect("a number"));
        }
    }
    assert!(lanes.values().all(|(_, ended)| ended.is_sorted()), "each lane in its order");
    let workers = "SELECT count(DISTINCT process) FROM lanebox_finished";
    assert_eq!(scene.number(workers, []), 2, "both had their share");
    assert_eq!(scene.running(), 0);
}

#[test]
fn every_idle_worker_comes_for_a_batch_of_long_runs() {
    const WORKERS: i64 = 8;
    let scene = Scene::new();
    let lanebox = scene.builder().workers(8).open().expect("the file opens");
    let present = Arc::new(AtomicI64::new(0));
    let met = present.clone();
    // Each waits for all the others: one that nobody wakes a worker for keeps them all.
    let reactions = Reactions::new().on_kind("turn", quick(), move |ctx| -> Answer {
        met.fetch_add(1, Ordering::SeqCst);
        while met.load(Ordering::SeqCst) < WORKERS && !ctx.cancelled() {
            ctx.wait(Duration::from_millis(1));
        }
        Ok(Outcome::Done)
    });
    let running = lanebox.start(reactions).expect("started");
    // They sleep by now, or soon: both must do.
    rest();
    let _jobs = lanebox.enqueue_all((0..8).map(|_| job("turn")).collect()).expect("accepted");
    scene.until_ended(WORKERS);
    assert_eq!(present.load(Ordering::SeqCst), WORKERS);
    drop(running);
}
