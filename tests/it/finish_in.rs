//! Host rows that belong to a completion, and host code in transactions that others ride: all of it
//! or nothing.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use lanebox::{Ctx, Error, Lanebox, NewEvent, Outcome, Reactions};
use rusqlite::Connection;

use crate::scene::{Answer, Gate, Opens, Scene, enqueue, job, quick, rest, until};

const INSERT: &str = "INSERT INTO host (what) VALUES (?1)";

fn insert(what: &'static str) -> impl FnOnce(&Connection) -> rusqlite::Result<()> + 'static {
    move |conn| conn.execute(INSERT, [what]).map(|_| ())
}

// fault: host-rows-are-dropped
#[test]
fn e49_host_rows_facts_and_completion_hold_together_or_not_at_all() {
    let scene = Scene::new();
    let lanebox = scene.open();
    scene.host_table();
    let reactions = Reactions::new().on_kind("turn", quick(), |ctx| -> Answer {
        ctx.finish_in(insert("reply"));
        ctx.publish(NewEvent::new("acme", "message.sent").dedupe(ctx.attempt().to_string()))?;
        if ctx.attempt() == 1 {
            // The second row cannot be written, so the first must not be either.
            ctx.finish_in(|conn| {
                conn.execute("INSERT INTO host (what) VALUES (NULL)", []).map(|_| ())
            });
        }
        Ok(Outcome::Done)
    });
    let running = lanebox.start(reactions).expect("started");
    let id = enqueue(&lanebox, job("turn"));
    scene.until_state(id, "done");
    assert_eq!(scene.host_rows(), ["reply"]);
    let facts = "SELECT group_concat(name || ' ' || dedupe_key) FROM lanebox_event";
    let facts: String = scene.sql().query_row(facts, [], |row| row.get(0)).expect("its fact");
    assert_eq!(facts, "message.sent 2");
    assert_eq!(scene.see(id).attempts, 2);
    let failed =
        "SELECT count(*) FROM lanebox_attempt WHERE error LIKE 'finish_in failed:%NOT NULL%'";
    assert_eq!(scene.number(failed, []), 1);
    drop(running);
}

#[test]
fn host_rows_of_a_run_that_is_not_done_are_not_written() {
    let scene = Scene::new();
    let lanebox = scene.open();
    scene.host_table();
    let ends: [fn() -> Answer; 4] = [
        || Ok(Outcome::veto("closed")),
        || Ok(Outcome::dead("gone")),
        || Err("trouble".into()),
        || panic!("trouble"),
    ];
    let reactions = Reactions::new().on_kind("turn", quick(), move |ctx: &Ctx<'_>| -> Answer {
        ctx.finish_in(insert("never"));
        ends[ctx.payload().parse::<usize>().expect("a number")]()
    });
    let running = lanebox.start(reactions).expect("started");
    for i in 0..4 {
        let new = lanebox::NewJob::raw("turn", i.to_string(), lanebox::Lane::NONE).org("acme");
        enqueue(&lanebox, new.max_attempts(1));
    }
    scene.until_ended(4);
    assert!(scene.host_rows().is_empty());
    drop(running);
}

#[test]
fn host_rows_that_panic_make_a_retry_and_no_thread_dies_of_it() {
    let scene = Scene::new();
    let lanebox = scene.builder().workers(1).open().expect("the file opens");
    scene.host_table();
    let reactions = Reactions::new().on_kind("turn", quick(), |ctx| -> Answer {
        let attempt = ctx.attempt();
        ctx.finish_in(move |conn| {
            conn.execute(INSERT, ["reply"])?;
            assert!(attempt > 1, "on purpose");
            Ok::<_, rusqlite::Error>(())
        });
        Ok(Outcome::Done)
    });
    let running = lanebox.start(reactions).expect("started");
    let ids = [enqueue(&lanebox, job("turn")), enqueue(&lanebox, job("turn"))];
    scene.until_ended(2);
    assert_eq!(scene.host_rows(), ["reply", "reply"]);
    assert!(ids.iter().all(|&id| scene.see(id).attempts == 2));
    drop(running);
}

#[test]
fn e50_r26_a_late_completion_is_refused_and_its_rows_with_it() {
    let scene = Scene::new();
    // One worker: it cannot take the lost job again itself.
    let slow = scene.builder().workers(1).open().expect("the file opens");
    let quick_one = scene.open();
    scene.host_table();
    let gate = Gate::default();
    let _opens = Opens(gate.clone());
    let held = gate.clone();
    let late = Reactions::new().on_kind("turn", quick(), move |ctx| -> Answer {
        ctx.finish_in(insert("late"));
        held.wait();
        Ok(Outcome::Done)
    });
    let slow_one = slow.start(late).expect("started");
    let id = enqueue(&slow, job("turn"));
    gate.until_reached();
    let reactions = Reactions::new().on_kind("turn", quick(), |ctx| -> Answer {
        ctx.finish_in(insert("in time"));
        Ok(Outcome::Done)
    });
    let other = quick_one.start(reactions).expect("started");
    // Its lease ends, as if its process had stood still, and somebody else takes the job over;
    // whenever it comes first and renews, its lease ends again.
    until("the other one has done it", || {
        scene.lease_is_over();
        scene.state(id) == "done"
    });
    gate.open();
    assert_eq!(slow_one.stop(Duration::from_secs(20)).still_running, 0);
    assert_eq!(scene.host_rows(), ["in time"]);
    assert_eq!(scene.number("SELECT count(*) FROM lanebox_finished", []), 1);
    assert_eq!(scene.see(id).lost, 1);
    drop(other);
}

#[test]
fn a_file_that_is_locked_while_a_run_ends_costs_no_attempt() {
    let scene = Scene::new();
    let lanebox = scene.hasty(Duration::from_secs(60));
    scene.host_table();
    let gate = Gate::default();
    let _opens = Opens(gate.clone());
    let held = gate.clone();
    let reactions = Reactions::new().on_kind("turn", quick(), move |ctx| -> Answer {
        held.wait();
        ctx.finish_in(insert("reply"));
        Ok(Outcome::Done)
    });
    let running = lanebox.start(reactions).expect("started");
    let id = enqueue(&lanebox, job("turn").max_attempts(1));
    gate.until_reached();
    let stranger = scene.sql();
    stranger.execute_batch("BEGIN IMMEDIATE").expect("the lock");
    gate.open();
    for _ in 0..5 {
        let refused = lanebox.enqueue(job("turn"));
        assert!(matches!(refused, Err(Error::Busy { .. })), "{refused:?}");
    }
    stranger.execute_batch("ROLLBACK").expect("unlocked");
    scene.until_state(id, "done");
    assert_eq!(scene.host_rows(), ["reply"]);
    drop(running);
}

/// Enqueues from several threads while `host` runs again and again beside them; every answer must
/// be the truth.
fn beside(scene: &Scene, lanebox: &Lanebox, host: impl Fn(usize)) {
    let stop = Arc::new(AtomicUsize::new(0));
    let riders: Vec<_> = (0..4)
        .map(|_| {
            let (lanebox, stop) = (lanebox.clone(), stop.clone());
            std::thread::spawn(move || {
                let (mut kept, mut refused) = (Vec::new(), 0);
                while stop.load(Ordering::SeqCst) == 0 {
                    match lanebox.enqueue(job("rider")) {
                        Ok(answer) => kept.push(answer.id()),
                        Err(_) => refused += 1,
                    }
                }
                (kept, refused)
            })
        })
        .collect();
    (0..100).for_each(host);
    stop.store(1, Ordering::SeqCst);
    let (mut all, mut refused) = (0, 0);
    for rider in riders {
        let (kept, no) = rider.join().expect("no panic");
        for &id in kept.iter().take(50) {
            assert_eq!(scene.state(id), "pending", "it was told that its job is kept");
        }
        all += i64::try_from(kept.len()).expect("few");
        refused += no;
    }
    let stored = "SELECT count(*) FROM lanebox_job j JOIN lanebox_kind k ON k.id = j.kind WHERE k.name = 'rider'";
    assert_eq!(scene.number(stored, []), all, "{refused} were told no");
    assert_eq!(
        scene.number("SELECT count(*) FROM lanebox_ready", []),
        all,
        "nothing is half-written"
    );
}

#[test]
fn e134_a_closure_that_commits_is_told_so_and_nothing_of_lanebox_is_written_with_it() {
    let scene = Scene::new();
    let lanebox = scene.open();
    scene.host_table();
    beside(&scene, &lanebox, |_| {
        let answer = lanebox.transaction(|tx| {
            tx.execute(INSERT, ["its own"])?;
            tx.execute_batch("COMMIT")
        });
        assert!(matches!(answer, Err(Error::TransactionEnded)), "{answer:?}");
    });
    assert_eq!(scene.host_rows().len(), 100, "what it committed itself stands");
}

#[test]
fn e134_a_closure_that_hits_on_conflict_rollback_takes_nobody_with_it() {
    let scene = Scene::new();
    let lanebox = scene.open();
    scene.host_table();
    beside(&scene, &lanebox, |n| {
        let mut first = true;
        let answer = lanebox.transaction(|tx| {
            first = tx.execute("INSERT INTO host (n, what) VALUES (?1, 'kept')", [n / 50])? == 1;
            tx.execute("INSERT OR ROLLBACK INTO host (n, what) VALUES (?1, 'twice')", [n / 50])
        });
        assert!(answer.is_err(), "{answer:?}");
    });
    assert!(scene.host_rows().is_empty());
}

#[test]
fn e134_a_closure_that_fails_or_panics_takes_nobody_with_it() {
    let scene = Scene::new();
    let lanebox = scene.open();
    scene.host_table();
    beside(&scene, &lanebox, |n| {
        let run = || {
            lanebox.transaction(|tx| {
                tx.execute(INSERT, ["never"])?;
                assert!(n % 2 == 0, "on purpose");
                Err::<(), _>(rusqlite::Error::InvalidQuery)
            })
        };
        let answer = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run));
        assert!(
            answer.is_err() || answer.is_ok_and(|answer| matches!(answer, Err(Error::Host(_))))
        );
    });
    assert!(scene.host_rows().is_empty());
}

#[test]
fn e134_a_run_whose_rows_end_the_transaction_is_tried_again() {
    let scene = Scene::new();
    let lanebox = scene.open();
    scene.host_table();
    let order: Arc<Mutex<Vec<u32>>> = Arc::default();
    let saw = order.clone();
    let reactions = Reactions::new().on_kind("turn", quick(), move |ctx| -> Answer {
        let attempt = ctx.attempt();
        saw.lock().expect("no panic").push(attempt);
        ctx.finish_in(move |conn| {
            conn.execute(INSERT, [format!("row {attempt}")])?;
            match attempt {
                1 => conn.execute_batch("COMMIT"),
                2 => conn.execute_batch("ROLLBACK"),
                _ => Ok(()),
            }
        });
        Ok(Outcome::Done)
    });
    let running = lanebox.start(reactions).expect("started");
    let id = enqueue(&lanebox, job("turn"));
    scene.until_state(id, "done");
    assert_eq!(*order.lock().expect("no panic"), [1, 2, 3]);
    assert_eq!(scene.host_rows(), ["row 1", "row 3"]);
    drop(running);
}

#[test]
fn jobs_and_host_rows_of_one_transaction_are_seen_together() {
    let scene = Scene::new();
    let lanebox = scene.open();
    scene.host_table();
    let gate = Gate::default();
    let _opens = Opens(gate.clone());
    let ok = |_ctx: &Ctx<'_>| -> Answer { Ok(Outcome::Done) };
    let running = lanebox.start(Reactions::new().on_kind("turn", quick(), ok)).expect("started");
    for n in 0..20 {
        let answer = lanebox.transaction(|tx| {
            tx.execute(INSERT, ["deal"])?;
            let _job = tx.enqueue(job("turn"))?;
            if n % 2 == 1 { Err("changed its mind".into()) } else { Ok::<_, lanebox::BoxError>(()) }
        });
        assert_eq!(answer.is_ok(), n % 2 == 0, "R41");
    }
    scene.until_ended(10);
    until("the bell was rung for each", || scene.running() == 0);
    rest();
    assert_eq!(scene.number("SELECT count(*) FROM lanebox_job", []), 10);
    assert_eq!(scene.host_rows().len(), 10);
    drop(running);
}

#[test]
fn a_result_that_cannot_be_kept_ends_the_job_as_dead() {
    let scene = Scene::new();
    let lanebox = scene.open();
    let reactions = Reactions::new()
        .on_kind("deep", quick(), |_| -> Answer {
            let deep = (0..1_100).fold(serde_json::json!(1), |value, _| serde_json::json!([value]));
            Ok(Outcome::DoneWith(deep))
        })
        .on_kind("big", quick(), |_| -> Answer { Ok(Outcome::done_with("x".repeat(1 << 20))) });
    let running = lanebox.start(reactions).expect("started");
    for (kind, why) in
        [("deep", "result of the job: it nests"), ("big", "result of the job: it has")]
    {
        let id = enqueue(&lanebox, job(kind));
        scene.until_state(id, "dead");
        let told = lanebox.explain(id).expect("told").sentence;
        assert!(told.contains(why), "{told}");
    }
    drop(running);
}
