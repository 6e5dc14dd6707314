//! Who comes for what waits: the worker that is awake, or more.

use super::*;

#[test]
fn little_work_is_left_to_the_worker_that_is_awake_and_its_ends_are_one_batch() {
    let mut scene = Scene::new();
    scene.short_runs();
    (1..WORKERS).for_each(|_| scene.desk.falls_asleep());
    scene.pass(60);
    assert!(!scene.wants_first(), "who led comes");
    for token in 5..65 {
        assert!(!scene.desk.wants_worker(), "waking one takes longer");
        assert!(!scene.is_due());
        assert!(matches!(scene.turn(), Turn::Run(_)));
        assert!(!scene.desk.wants_worker());
        scene.end(token);
    }
    assert!(matches!(scene.turn(), Turn::Lead));
    assert_eq!(scene.desk.take_reports().len(), 60);
}

#[test]
fn what_may_take_long_is_shared() {
    let mut scene = Scene::new();
    (1..WORKERS).for_each(|_| scene.desk.falls_asleep());
    scene.pass(3);
    assert!(scene.desk.wants_worker(), "nobody knows how long it takes");
    scene.desk.wakes(true);
    assert!(!scene.desk.wants_worker(), "one comes, and wakes the next");
    scene.desk.comes();
    assert!(scene.desk.wants_worker());
    (0..3).for_each(|_| assert!(matches!(scene.turn(), Turn::Run(_))));
    scene.us += SHARE_US;
    (1..=3).for_each(|token| assert!(!scene.end(token)));
    scene.pass(1);
    assert!(!scene.desk.wants_worker(), "one job is for one worker");
    scene.pass(1);
    assert!(scene.desk.wants_worker());
}

#[test]
fn what_takes_longer_than_was_thought_is_shared_after_all() {
    let mut scene = Scene::new();
    scene.short_runs();
    (1..WORKERS).for_each(|_| scene.desk.falls_asleep());
    scene.pass(20);
    assert!(matches!(scene.turn(), Turn::Run(_)));
    scene.us += LINGER_US - 1;
    assert!(!scene.desk.is_slow(scene.us));
    scene.us += 1;
    assert!(scene.desk.is_slow(scene.us));
    assert!(scene.desk.wants_worker());
}

#[test]
fn one_run_that_had_to_wait_for_a_processor_says_little() {
    let mut pace = Pace::default();
    (0..100).for_each(|_| pace.ran(KIND, 1));
    pace.ran(KIND, 1_000_000);
    assert!(!pace.takes_longer([KIND].into_iter(), 2));
    (0..200).for_each(|_| pace.ran(KIND, 1_000_000));
    assert!(pace.takes_longer([KIND].into_iter(), 900_000));
    assert!(!pace.is_short(KIND));
}

#[test]
fn a_worker_comes_for_what_another_thread_received() {
    let mut scene = Scene::new();
    scene.short_runs();
    (0..WORKERS).for_each(|_| scene.desk.falls_asleep());
    scene.pass(1);
    assert!(!scene.desk.wants_worker());
    assert!(scene.wants_first(), "nobody is awake");
}

#[test]
fn a_worker_comes_for_the_end_that_it_left_while_another_thread_led() {
    let mut scene = Scene::new();
    (1..WORKERS).for_each(|_| scene.desk.falls_asleep());
    scene.pass(1);
    assert!(matches!(scene.turn(), Turn::Run(_)));
    scene.desk.leading = true;
    scene.end(1);
    assert!(matches!(scene.turn(), Turn::Wait), "it cannot lead");
    scene.desk.falls_asleep();
    scene.desk.leading = false;
    assert!(scene.wants_first(), "else the end waits for the pulse");
    assert!(scene.is_due());
}
