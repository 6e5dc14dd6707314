//! Runs over their time, and the threads that hang in them.

use super::*;

// R17
// fault: hung-is-renewed, hung-is-not-replaced
#[test]
fn a_run_over_its_time_is_told_and_renewed_no_more_and_its_thread_is_replaced_once() {
    let mut scene = Scene::new();
    scene.all_busy();
    scene.us += 1_000_000;
    assert!(scene.desk.overrun(scene.us).is_empty());
    scene.us += 1;
    assert_eq!(scene.desk.overrun(scene.us).len(), WORKERS);
    assert!(scene.desk.overrun(scene.us).is_empty(), "told once");
    assert!(scene.desk.held().is_empty());
    assert_eq!(scene.desk.idle(), 0, "its thread hangs until another one is there");
    while let Some(token) = scene.desk.hangs() {
        assert_eq!(scene.desk.busy[&token].signal.why(), Some(Stop::Overrun));
        scene.desk.busy.get_mut(&token).expect("it hangs").replaced = true;
    }
    assert_eq!(scene.desk.idle(), WORKERS);
    assert!(scene.end(1), "a thread that comes back learns that it was replaced");
}

#[test]
fn a_job_that_runs_again_here_while_its_old_run_hangs_is_told_apart() {
    let mut scene = Scene::new();
    scene.pass(1);
    assert!(matches!(scene.turn(), Turn::Run(_)));
    scene.us += 1_000_001;
    scene.desk.overrun(scene.us);
    scene.desk.busy.get_mut(&Token(1)).expect("it hangs").replaced = true;
    let mut again = claimed(2);
    again.held.job = JobNo(1);
    scene.desk.queue.push_back(again);
    assert!(matches!(scene.turn(), Turn::Run(_)));
    assert_eq!(scene.desk.busy.len(), 2);
    assert!(scene.end(1), "the old thread was replaced");
    assert!(!scene.end(2), "the new one was not");
}

// R17
#[test]
fn hung_threads_are_bounded() {
    let mut scene = Scene::new();
    scene.desk.workers = 1_000;
    scene.pass(300);
    while matches!(scene.turn(), Turn::Run(_)) {}
    scene.us += 1_000_001;
    assert_eq!(scene.desk.overrun(scene.us).len(), 300);
    while let Some(token) = scene.desk.hangs() {
        scene.desk.busy.get_mut(&token).expect("it hangs").replaced = true;
    }
    assert_eq!(scene.desk.idle(), 1_000 - (300 - MOST_REPLACED));
}
