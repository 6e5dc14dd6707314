//! Processes that die: nothing is lost, a poison job comes to an end, and nobody else dies for it.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use lanebox::{Ctx, Lanebox, Outcome, Reactions};

use crate::child::Child;
use crate::scene::{Answer, LONG, Scene, count, enqueue, job, quick, rest, until, until_all_ended};

/// Part: works until everything has ended; a job of kind `poison` kills it.
pub fn mortal(path: &Path) {
    let lanebox =
        Lanebox::builder(path).workers(8).suspect_wait(Duration::ZERO).open().expect("a file");
    let begun = Arc::new(AtomicUsize::new(0));
    let (others, mine) = (begun.clone(), path.to_owned());
    let reactions = Reactions::new()
        .on_kind("good", quick(), move |ctx| -> Answer {
            begun.fetch_add(1, Ordering::SeqCst);
            // In the middle of its work when the poison kills its process, if it runs beside it.
            let poison = "SELECT count(*) FROM lanebox_running r JOIN lanebox_kind k ON k.id = r.kind WHERE k.name = 'poison'";
            while count(&mine, poison) > 0 && ctx.wait(Duration::from_millis(2)) {}
            Ok(Outcome::Done)
        })
        .on_kind("poison", quick(), move |_ctx| -> Answer {
            // With its seven bystanders if they are there, else when it is clear that it is alone.
            for _ in 0..100 {
                if others.load(Ordering::SeqCst) >= 7 {
                    break;
                }
                rest();
            }
            std::process::abort();
        });
    let running = lanebox.start(reactions).expect("started");
    until_all_ended(path);
    running.stop(LONG);
}

/// Part: the same with two engines, one for each kind. The poison writes down how many jobs run in
/// its process, itself included, before it kills it.
pub fn mortal_twins(path: &Path) {
    let lanebox =
        Lanebox::builder(path).workers(4).suspect_wait(Duration::ZERO).open().expect("a file");
    let mine = path.to_owned();
    let good = Reactions::new().on_kind("good", quick(), move |ctx| -> Answer {
        let poison = "SELECT count(*) FROM lanebox_running r JOIN lanebox_kind k ON k.id = r.kind WHERE k.name = 'poison'";
        while count(&mine, poison) > 0 && ctx.wait(Duration::from_millis(2)) {}
        Ok(Outcome::Done)
    });
    let file = path.to_owned();
    let poison = Reactions::new().on_kind("poison", quick(), move |_ctx| -> Answer {
        // Time for the other engine to take something, if it does.
        for _ in 0..100 {
            rest();
        }
        let conn = rusqlite::Connection::open(&file)?;
        conn.busy_timeout(LONG)?;
        let sql = "INSERT INTO host (what) SELECT count(*) FROM lanebox_running";
        conn.execute(sql, [])?;
        std::process::abort();
    });
    let running = [good, poison].map(|one| lanebox.start(one).expect("started"));
    until_all_ended(path);
    drop(running);
}

/// Part: holds what it claims for ever.
pub fn hold_jobs(path: &Path) {
    let lanebox = Lanebox::builder(path).workers(2).open().expect("a file");
    let held = |ctx: &Ctx<'_>| -> Answer {
        ctx.wait(LONG);
        Err("killed before this".into())
    };
    let _running = lanebox.start(Reactions::new().on_kind("turn", quick(), held)).expect("started");
    loop {
        rest();
    }
}

fn ok(_ctx: &Ctx<'_>) -> Answer {
    Ok(Outcome::Done)
}

// fault: poison-for-ever
#[test]
fn e133_j44_r18_a_poison_job_ends_dead_with_its_notice_and_nobody_dies_for_it() {
    let scene = Scene::new();
    let lanebox = scene.open();
    let poison = enqueue(&lanebox, job("poison").priority(0));
    let beside: Vec<_> = (0..7).map(|_| enqueue(&lanebox, job("good").priority(1))).collect();
    let behind: Vec<_> = (0..10).map(|_| enqueue(&lanebox, job("good"))).collect();
    drop(lanebox);
    let mut deaths = 0;
    while !Child::start("mortal", &scene.path()).ended_well() {
        deaths += 1;
        assert!(deaths < 10, "the poison job does not end");
    }
    assert_eq!(deaths, 4, "lost twice with others, then twice alone");
    let seen = scene.see(poison);
    assert_eq!((seen.state.as_str(), seen.lost), ("dead", 4));
    let notice = "SELECT count(*) FROM lanebox_notice n JOIN lanebox_finished f ON f.notice = n.id WHERE n.kind = 'job.dead'";
    assert_eq!(scene.number(notice, []), 1);
    for id in beside.into_iter().chain(behind) {
        assert_eq!(scene.state(id), "done");
    }
}

#[test]
fn e133_engines_of_one_process_run_empty_together_for_a_poison_job() {
    let scene = Scene::new();
    let lanebox = scene.open();
    scene.host_table();
    let poison = enqueue(&lanebox, job("poison"));
    let _beside: Vec<_> = (0..40).map(|_| enqueue(&lanebox, job("good"))).collect();
    drop(lanebox);
    let mut deaths = 0;
    while !Child::start("mortal twins", &scene.path()).ended_well() {
        deaths += 1;
        assert!(deaths < 10, "the poison job does not end");
    }
    let beside = scene.host_rows();
    assert_eq!((deaths, beside.len()), (4, 4));
    assert_eq!(beside[2..], ["1", "1"], "alone in its process: {beside:?}");
    assert_eq!(scene.see(poison).state, "dead");
    let dead = "SELECT count(*) FROM lanebox_finished WHERE state = 'dead'";
    assert_eq!((scene.number(dead, []), scene.finished()), (1, 41));
}

#[test]
fn a_job_that_asked_never_to_be_started_twice_is_dead_with_its_process() {
    let scene = Scene::new();
    let lanebox = scene.open();
    let once = enqueue(&lanebox, job("poison").max_attempts(1));
    assert!(!Child::start("mortal", &scene.path()).ended_well());
    let ok = Reactions::new().on_kind("poison", quick(), ok);
    let running = lanebox.start(ok).expect("started");
    scene.until_state(once, "dead");
    assert_eq!(scene.number("SELECT count(*) FROM lanebox_notice WHERE kind = 'job.dead'", []), 1);
    drop(running);
}

#[test]
fn e66_e17_what_a_dead_process_held_is_taken_at_once_and_not_when_its_lease_ends() {
    let scene = Scene::new();
    let lanebox = scene.open();
    let ids = [enqueue(&lanebox, job("turn")), enqueue(&lanebox, job("turn"))];
    let mut child = Child::start("hold jobs", &scene.path());
    until("it holds both", || scene.running() == 2);
    child.kill();
    // Leases of a minute: half of one is all that a test waits.
    let running = lanebox.start(Reactions::new().on_kind("turn", quick(), ok)).expect("started");
    scene.until_ended(2);
    for id in ids {
        let seen = scene.see(id);
        assert_eq!((seen.state.as_str(), seen.lost, seen.attempts), ("done", 1, 1));
    }
    drop(running);
}

#[test]
fn r21_a_lost_run_that_cannot_be_written_keeps_nobody_else_from_coming_back() {
    let scene = Scene::new();
    let lanebox = scene.open();
    let (bad, good) = (enqueue(&lanebox, job("turn")), enqueue(&lanebox, job("turn")));
    let mut child = Child::start("hold jobs", &scene.path());
    until("it holds both", || scene.running() == 2);
    child.kill();
    let refuse = "CREATE TRIGGER refuse BEFORE INSERT ON lanebox_tried WHEN NEW.id = 1 BEGIN SELECT RAISE(ABORT, 'no'); END";
    scene.sql().execute_batch(refuse).expect("a fault");
    let running = lanebox.start(Reactions::new().on_kind("turn", quick(), ok)).expect("started");
    scene.until_state(good, "done");
    assert_eq!(scene.state(bad), "running");
    scene.sql().execute_batch("DROP TRIGGER refuse").expect("mended");
    scene.until_state(bad, "done");
    drop(running);
}
