//! Many at once, on one file: nobody hears of a lock, nobody is told of what is not committed.

use std::sync::{Arc, Mutex, mpsc};

use lanebox::{
    Consumer, Enqueued, Error, Lane, Lanebox, NewEvent, NewJob, Outcome, Published, Reactions,
};

use crate::scene::{Answer, LONG, Scene, job, job_in, quick, rest};

const ROUNDS: usize = 60;

fn event(name: &str) -> NewEvent {
    NewEvent::new("acme", name)
}

// Each reads before it writes: begun in any other way than IMMEDIATE, that fails at once.
fn write_in_every_way(lanebox: &Lanebox, n: usize) -> Result<(), Error> {
    for round in 0..ROUNDS {
        let key = format!("{n} {round}");
        let _accepted = lanebox.enqueue(job("turn").dedupe(&key))?;
        let _recorded = lanebox.publish(event("a.b").dedupe(&key))?;
        lanebox.transaction(|tx| {
            let sum: i64 = tx.query_row("SELECT count(*) FROM host", [], |row| row.get(0))?;
            tx.execute("INSERT INTO host (what) VALUES (?1)", [sum.to_string()])?;
            let _accepted = tx.enqueue(job("turn").unique(&key))?;
            Ok::<_, lanebox::BoxError>(())
        })?;
    }
    Ok(())
}

#[test]
fn r1_eight_writers_that_read_first_meet_no_lock_error_while_engines_and_a_stranger_write() {
    let scene = Scene::new();
    let (one, other) = (scene.open(), scene.open());
    scene.host_table();
    let ok = || Reactions::new().on_kind("turn", quick(), |_ctx| -> Answer { Ok(Outcome::Done) });
    let running = [one.start(ok()).expect("started"), other.start(ok()).expect("started")];
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..8)
            .map(|n| {
                let lanebox = if n % 2 == 0 { &one } else { &other };
                scope.spawn(move || write_in_every_way(lanebox, n))
            })
            .collect();
        let stranger = scene.sql();
        for _ in 0..ROUNDS {
            let write = "BEGIN IMMEDIATE; INSERT INTO host (what) VALUES ('stranger'); COMMIT";
            stranger.execute_batch(write).expect("it waits its turn");
            rest();
        }
        for writer in writers {
            writer.join().expect("no panic").expect("no lock error reaches a caller");
        }
    });
    let writes = i64::try_from(8 * ROUNDS).expect("few");
    scene.until_ended(2 * writes);
    assert!(running.iter().all(|running| running.health().is_good()));
    assert_eq!(scene.number("SELECT count(*) FROM lanebox_event", []), writes);
    assert_eq!(scene.host_rows().len(), 9 * ROUNDS);
    drop(running);
}

#[test]
fn r38_who_asks_for_the_key_of_an_open_transaction_waits_for_its_end() {
    for keeps in [false, true] {
        let scene = Scene::new();
        let (one, other) = (scene.open(), scene.open());
        let keyed = || job("turn").dedupe("order 7");
        let (told, hear) = mpsc::channel();
        let second = std::thread::scope(|scope| {
            let mut second = None;
            let first = one.transaction(|tx| {
                let _new = tx.enqueue(keyed())?;
                second = Some(scope.spawn(|| {
                    told.send(()).expect("heard");
                    other.enqueue(keyed()).expect("accepted")
                }));
                hear.recv().expect("it asks now");
                for _ in 0..50 {
                    rest();
                }
                let early = second.as_ref().is_some_and(|second| second.is_finished());
                assert!(!early, "it was told of what is not committed");
                let changed_mind = Err(Error::NotFound { what: "deal", id: "7".to_owned() });
                if keeps { Ok(()) } else { changed_mind }
            });
            assert_eq!(first.is_ok(), keeps);
            second.expect("it asked").join().expect("no panic")
        });
        assert_eq!(matches!(second, Enqueued::New(_)), !keeps, "{second:?}");
        assert_eq!(scene.number("SELECT count(*) FROM lanebox_job", []), 1);
    }
}

#[test]
fn r38_a_key_is_free_again_after_a_rollback_to_a_savepoint_of_the_hosts() {
    let scene = Scene::new();
    let lanebox = scene.open();
    let keyed = || job("turn").dedupe("order 7");
    let answer = lanebox.transaction(|tx| {
        tx.execute_batch("SAVEPOINT outer; SAVEPOINT inner")?;
        let taken_back = tx.enqueue(keyed())?;
        tx.execute_batch("ROLLBACK TO inner; RELEASE inner")?;
        let kept = tx.enqueue(keyed())?;
        tx.execute_batch("RELEASE outer")?;
        Ok::<_, lanebox::BoxError>((taken_back, kept))
    });
    let (taken_back, kept) = answer.expect("committed");
    assert!(matches!((taken_back, kept), (Enqueued::New(_), Enqueued::New(_))));
    assert_ne!(taken_back.id(), kept.id());
    assert_eq!(lanebox.enqueue(keyed()).expect("known"), Enqueued::Existing(kept.id()));
    assert_eq!(scene.number("SELECT count(*) FROM lanebox_job", []), 1);
}

// fault: newest-first
#[test]
fn r45_what_many_enqueue_into_one_lane_at_once_runs_in_the_order_of_its_acceptance() {
    let scene = Scene::new();
    let (one, other) = (scene.open(), scene.open());
    let order: Arc<Mutex<Vec<lanebox::JobId>>> = Arc::default();
    let ran = order.clone();
    let reactions = Reactions::new().on_kind("turn", quick(), move |ctx| -> Answer {
        ran.lock().expect("no panic").push(ctx.job());
        Ok(Outcome::Done)
    });
    std::thread::scope(|scope| {
        for n in 0..4 {
            let lanebox = if n % 2 == 0 { &one } else { &other };
            scope.spawn(move || {
                for _ in 0..10 {
                    let some = (0..5).map(|_| job_in("turn", "ann")).collect();
                    let _accepted = lanebox.enqueue_all(some).expect("accepted");
                }
            });
        }
    });
    let running = one.start(reactions).expect("started");
    scene.until_ended(200);
    running.stop(LONG);
    let conn = scene.sql();
    let mut rows = conn.prepare("SELECT uuid FROM lanebox_job ORDER BY id").expect("the table");
    let rows = rows.query_map([], |row| row.get::<_, [u8; 16]>(0)).expect("rows");
    let accepted: Vec<[u8; 16]> = rows.collect::<Result<_, _>>().expect("ids");
    let ran: Vec<_> = order.lock().expect("no panic").iter().map(|id| *id.0.as_bytes()).collect();
    assert_eq!(ran, accepted);
}

#[test]
fn r62_sixteen_parallel_posts_of_one_id_are_one_event_and_one_reply() {
    let scene = Scene::new();
    let (one, other) = (scene.open(), scene.open());
    scene.host_table();
    let reactions = || {
        Reactions::new()
            .route(Consumer::new("turns", "message.received"), |_event| {
                Ok(vec![NewJob::raw("turn", "{}", Lane::NONE)])
            })
            .on_kind("turn", quick(), |ctx| -> Answer {
                ctx.finish_in(|conn| {
                    conn.execute("INSERT INTO host (what) VALUES ('reply')", []).map(|_| ())
                });
                Ok(Outcome::Done)
            })
    };
    let running =
        [one.start(reactions()).expect("started"), other.start(reactions()).expect("started")];
    let answers: Vec<Published> = std::thread::scope(|scope| {
        let post = |n: usize| {
            let lanebox = if n.is_multiple_of(2) { &one } else { &other };
            move || lanebox.publish(event("message.received").dedupe("wamid.1")).expect("accepted")
        };
        let posts: Vec<_> = (0..16).map(|n| scope.spawn(post(n))).collect();
        posts.into_iter().map(|post| post.join().expect("no panic")).collect()
    });
    let new = answers.iter().filter(|answer| matches!(answer, Published::New(_))).count();
    assert_eq!(new, 1);
    // Behind it: whatever else came of the first one would have run before.
    let last = one.publish(event("message.received").dedupe("wamid.2")).expect("accepted");
    assert!(matches!(last, Published::New(_)));
    scene.until_ended(2);
    for running in running {
        running.stop(LONG);
    }
    assert_eq!(scene.host_rows(), ["reply", "reply"], "one for each message");
    assert_eq!(scene.number("SELECT count(*) FROM lanebox_job", []), 2);
}
