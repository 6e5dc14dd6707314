//! The pulse rests until something is due, and hears of what it does not know of.

use std::time::Duration;

use super::*;

const LONG: Duration = Duration::from_secs(600);
const NOW_MS: i64 = 5_000;

fn rest(scene: &mut Scene) -> Duration {
    scene.desk.rest(NOW_MS, scene.us, LONG)
}

#[test]
fn it_rests_until_the_next_job_is_due_or_a_failed_pass_may_be_tried_again() {
    let mut scene = Scene::new();
    scene.pass(0);
    assert_eq!(rest(&mut scene), LONG);
    scene.desk.next_due = Some(NOW_MS + 70);
    assert_eq!(rest(&mut scene), Duration::from_millis(70));
    scene.desk.not_committed(Vec::new(), scene.us);
    assert_eq!(rest(&mut scene), Duration::from_millis(50));
    // What is due and cannot be taken waits for whoever is in the way, not for time.
    scene.pass(0);
    scene.desk.next_due = Some(NOW_MS);
    assert_eq!(rest(&mut scene), LONG);
}

#[test]
fn it_hears_of_a_bell_a_due_time_and_a_failure_that_came_while_it_rested() {
    let mut scene = Scene::new();
    scene.pass(0);
    rest(&mut scene);
    scene.desk.rung = false;
    assert!(!scene.desk.is_news_to_pulse());
    scene.desk.next_due = Some(NOW_MS + 70);
    assert!(scene.desk.is_news_to_pulse());
    rest(&mut scene);
    assert!(!scene.desk.is_news_to_pulse(), "it knows");
    scene.desk.rung = true;
    assert!(scene.desk.is_news_to_pulse());
    scene.desk.rung = false;
    scene.desk.not_committed(Vec::new(), scene.us);
    assert!(scene.desk.is_news_to_pulse());
}

#[test]
fn it_looks_often_while_something_waits_for_company_or_for_a_worker() {
    let mut scene = Scene::new();
    scene.all_busy();
    scene.end(1);
    assert_eq!(rest(&mut scene), Duration::from_millis(1));
    assert!(!scene.desk.pulse_rests);
}
