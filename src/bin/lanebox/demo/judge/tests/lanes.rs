//! Overlapped: two runs of one lane at one time; and the picture of lanes that are well.

use super::*;

/// A scene with a job in a lane of its own name, and one beside it in another.
fn scene() -> (Scene, i64, i64) {
    let mut scene = Scene::new();
    scene.replied("bystander", "551100009999", &["ok"]);
    let lane = scene.lane("deal-1");
    let first = scene.job(2, Some(lane), None, "{}");
    let second = scene.job(2, Some(lane), None, "{}");
    (scene, first, second)
}

/// Begin and end.
type Times = (i64, i64);

/// The runs of token 1 and token 2, and how many overlaps they are.
const CASES: [(Times, Times, u64); 8] = [
    ((10, 20), (30, 40), 0),
    ((10, 20), (20, 30), 0), // they touch
    ((10, 10), (10, 20), 0),
    ((10, 10), (10, 10), 0),
    ((10, 20), (19, 30), 1),
    ((10, 20), (12, 14), 1),
    ((10, 20), (10, 10), 1),
    ((30, 40), (10, 20), 1), // the later token ended before the earlier one began
];

#[test]
fn two_runs_of_one_lane_overlap_or_do_not() {
    for (one, two, overlapped) in CASES {
        let (scene, first, second) = scene();
        scene.attempt(first, 1, one, "failed");
        scene.attempt(second, 2, two, "failed");
        let report = scene.judge();
        assert_eq!(figures(&report), [0, 0, 0, overlapped], "{one:?} {two:?}");
    }
}

#[test]
fn two_runs_of_one_job_overlap_as_well() {
    let (scene, first, _) = scene();
    scene.attempt(first, 1, (10, 20), "lost");
    scene.attempt(first, 2, (15, 30), "failed");
    let report = scene.judge();
    assert_eq!(figures(&report), [0, 0, 0, 1]);
    assert_eq!(only_fault(&report, Figure::Overlapped).job, Some(first.to_string()));
}

#[test]
fn a_finished_run_and_one_that_still_runs_are_runs_too() {
    let (scene, first, second) = scene();
    scene.finished(first, (Some(1), Some(10), 20), "done", None);
    scene.attempt(second, 2, (15, 30), "failed");
    assert_eq!(figures(&scene.judge()), [0, 0, 0, 1]);

    let (mut scene, first, second) = self::scene();
    scene.claims(first, 1);
    scene.attempt(second, 2, (scene.now + 5, scene.now + 9), "failed");
    let report = scene.judge();
    assert_eq!(figures(&report), [0, 0, 0, 1]);
    assert!(only_fault(&report, Figure::Overlapped).why.contains("has not ended"));
}

#[test]
fn a_long_run_is_remembered_behind_short_ones() {
    let (scene, first, second) = scene();
    scene.attempt(first, 1, (10, 100), "failed");
    scene.attempt(second, 2, (20, 30), "failed");
    scene.attempt(second, 3, (40, 50), "failed");
    scene.attempt(second, 4, (100, 110), "failed");
    assert_eq!(figures(&scene.judge()), [0, 0, 0, 2]);
}

#[test]
fn a_run_with_two_ends_lasted_until_the_later_one() {
    let (scene, first, second) = scene();
    scene.attempt(first, 1, (10, 20), "lost");
    scene.finished(first, (Some(1), Some(10), 40), "done", None);
    scene.attempt(second, 2, (30, 35), "failed");
    assert_eq!(figures(&scene.judge()), [0, 0, 1, 1]);
}

#[test]
fn lanes_run_beside_one_another_and_so_do_jobs_without_lane() {
    let (mut scene, first, _) = scene();
    let lane = scene.lane("deal-2");
    let other = scene.job(2, Some(lane), None, "{}");
    let (free, freer) = (scene.job(2, None, None, "{}"), scene.job(2, None, None, "{}"));
    for (token, job) in (1..).zip([first, other, free, freer]) {
        scene.attempt(job, token, (10, 20), "failed");
    }
    assert_eq!(figures(&scene.judge()), [0; 4]);
}

#[test]
fn a_worker_that_forgets_the_lane_does_not_pass() {
    let mut scene = Scene::new();
    scene.replied("bystander", "551100009999", &["ok"]);
    let first = scene.turn("m1", "551100001111", false);
    let second = scene.turn("m2", "551100001111", false);
    scene.attempt(first, 1, (scene.now, scene.now + 20), "failed");
    scene.attempt(second, 2, (scene.now + 10, scene.now + 30), "failed");
    let report = scene.judge();
    assert_eq!(figures(&report), [0, 0, 0, 1]);
    assert!(report.lanes_over_time.concat().contains('!'), "{report}");
}

#[test]
fn a_run_in_a_lane_of_its_contact_is_one_overlap_not_two() {
    let mut scene = Scene::new();
    let first = scene.turn("m1", "551100001111", true);
    let second = scene.turn("m2", "551100001111", true);
    scene.attempt(first, 1, (10, 20), "failed");
    scene.attempt(second, 2, (15, 30), "failed");
    assert_eq!(figures(&scene.judge()), [0, 0, 0, 1]);
}

#[test]
fn the_picture_shows_how_runs_ended_and_how_many_lanes_ran_at_once() {
    let mut scene = Scene::new();
    let ana = scene.turn("m1", "551100001111", true);
    let bea = scene.turn("m2", "551100002222", true);
    scene.attempt(ana, 1, (0, 32), "lost");
    scene.attempt(ana, 3, (48, 64), "unknown");
    scene.attempt(bea, 2, (16, 48), "failed");
    let report = scene.judge();
    assert_eq!((report.lanes, report.lanes_in_parallel, report.elapsed_ms), (2, 2, 64));
    let ana = format!("..1111 {}x{}{}?", "=".repeat(32), ".".repeat(15), "=".repeat(15));
    let bea = format!("..2222 {}{}{}", ".".repeat(16), "=".repeat(33), ".".repeat(15));
    assert_eq!(report.lanes_over_time, [ana, bea]);
}

#[test]
fn touching_runs_are_not_at_once_and_the_picture_is_bounded() {
    let mut scene = Scene::new();
    for n in 0..40 {
        let job = scene.turn(&format!("m{n}"), &format!("contact-{n}"), true);
        scene.attempt(job, n + 1, (n * 10, n * 10 + 10), "failed");
    }
    let report = scene.judge();
    assert_eq!((report.lanes, report.lanes_in_parallel), (40, 1));
    assert_eq!(report.lanes_over_time.len(), 17);
    assert_eq!(report.lanes_over_time[16].trim(), "(24 more lanes)");
}
