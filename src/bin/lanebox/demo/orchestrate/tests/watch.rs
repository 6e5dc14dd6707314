//! What is waited for: work that moves; not what waits for a person, nor for tomorrow.

use rusqlite::params;

use super::super::super::clock;
use super::super::super::judge::tests::scene::Scene;
use super::super::watch::{Standstill, Unsettled, Watch};

fn watch(scene: &Scene) -> Watch {
    Watch::open(&scene.dir.path().join("demo.db")).unwrap()
}

fn left(scene: &Scene) -> (u64, u64) {
    let Unsettled { jobs, events } = watch(scene).unsettled().unwrap();
    (jobs, events)
}

#[test]
fn a_finished_demo_is_settled() {
    let mut scene = Scene::new();
    scene.replied("m1", "551100001111", &["oi"]);
    assert!(watch(&scene).unsettled().unwrap().is_nothing());
}

#[test]
fn jobs_that_wait_or_run_are_waited_for() {
    let mut scene = Scene::new();
    let job = scene.message("m1", "551100001111");
    assert_eq!(left(&scene), (1, 0));
    scene.claims(job, 7);
    assert_eq!(left(&scene), (1, 0));
    assert!(watch(&scene).runs(7).unwrap() && !watch(&scene).runs(8).unwrap());
    scene.done(job, 7, "m1");
    assert_eq!(left(&scene), (0, 0));
}

#[test]
fn a_parked_job_waits_for_a_person_and_a_late_one_for_its_time() {
    let mut scene = Scene::new();
    let job = scene.message("m1", "551100001111");
    scene.claims(job, 7);
    let key = scene.intends(job, 7, 1);
    assert_eq!(watch(&scene).token_of(&key.to_string()).unwrap(), Some(7));
    assert_eq!(watch(&scene).token_of("no key").unwrap(), None);
    scene.run_ends(job, 7, "unknown");
    let tried = "INSERT INTO lanebox_tried(id, phase, run_at, series, attempts, lost, lost_alone, \
                 postponed, unknowns, sent, waits_send) \
                 VALUES (?1, ?2, 0, 1, 0, 0, 0, 0, 1, 1, (SELECT max(id) FROM lanebox_send))";
    scene.sql(tried, params![job, "unknown"]);
    assert_eq!(left(&scene), (1, 0));
    scene.sql("UPDATE lanebox_tried SET phase = 'parked'", []);
    assert_eq!(left(&scene), (0, 0));

    let later = scene.job(2, None, None, "{}");
    let at = "INSERT INTO lanebox_scheduled(run_at, id) VALUES (?1, ?2)";
    scene.sql(at, params![clock::now_ms() + 600_000, later]);
    assert_eq!(left(&scene), (0, 0));
    let soon = scene.job(2, None, None, "{}");
    scene.sql(at, params![clock::now_ms(), soon]);
    assert_eq!(left(&scene), (1, 0));
}

#[test]
fn events_that_a_consumer_has_not_reached_and_deliveries_to_retry_are_waited_for() {
    let mut scene = Scene::new();
    let event = scene.event("message.received", "m1");
    assert_eq!(left(&scene), (0, 0), "no pattern meets it");
    scene.sql("INSERT INTO lanebox_pattern(name, consumer) VALUES ('message.*', 1)", []);
    assert_eq!(left(&scene), (0, 1));
    scene.sql("UPDATE lanebox_consumer SET position = ?1", [event]);
    assert_eq!(left(&scene), (0, 0));
    scene.sql(
        "INSERT INTO lanebox_delivery(consumer, event, state, at, next_at) \
         VALUES (1, ?1, 'retry', 0, 0)",
        [event],
    );
    assert_eq!(left(&scene), (0, 1));
}

#[test]
fn whatever_happens_leaves_a_trace() {
    let mut scene = Scene::new();
    let mut seen = vec![watch(&scene).traces().unwrap()];
    let job = scene.message("m1", "551100001111");
    seen.push(watch(&scene).traces().unwrap());
    scene.claims(job, 7);
    let key = scene.intends(job, 7, 1);
    seen.push(watch(&scene).traces().unwrap());
    scene.learns(key);
    seen.push(watch(&scene).traces().unwrap());
    scene.run_ends(job, 7, "lost");
    seen.push(watch(&scene).traces().unwrap());
    scene.finished(job, (None, None, 0), "cancelled", Some("operator"));
    seen.push(watch(&scene).traces().unwrap());
    seen.dedup();
    assert_eq!(seen.len(), 6, "{seen:?}");
}

#[test]
fn a_standstill_is_many_looks_without_a_change_however_long_they_took() {
    let mut standstill = Standstill::default();
    let mut looks = |traces, n| (0..n).filter(|_| standstill.is_seen([traces; 7])).count();
    assert_eq!(looks(1, 150), 0);
    assert_eq!(looks(2, 150), 0);
    assert_eq!(looks(2, 1), 1);
}
