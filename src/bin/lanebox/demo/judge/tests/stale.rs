//! Unexpected as well: ends of jobs by a token that was not the last.

use rusqlite::params;

use super::*;

const ANA: &str = "551100001111";

/// Token 1 lost the job; token 2 runs it.
fn scene() -> (Scene, i64) {
    let mut scene = Scene::new();
    scene.replied("bystander", "551100009999", &["ok"]);
    let job = scene.message("m1", ANA);
    scene.claims(job, 1);
    scene.run_ends(job, 1, "lost");
    scene.claims(job, 2);
    scene.thinks(job, 2, &["oi"]);
    let key = scene.intends(job, 2, 1);
    scene.takes(key, ANA, "oi");
    scene.learns(key);
    (scene, job)
}

#[test]
fn an_end_by_the_last_token_is_right() {
    let (mut scene, job) = scene();
    scene.done(job, 2, "m1");
    assert_eq!(figures(&scene.judge()), [0; 4]);
}

#[test]
fn an_end_by_a_token_that_had_lost_the_job_is_unexpected() {
    for state in ["done", "dead"] {
        let (scene, job) = scene();
        scene.sql("DELETE FROM lanebox_running WHERE id = ?1", [job]);
        scene.finished(job, (Some(1), Some(scene.now - 50), scene.now), state, None);
        let report = scene.judge();
        assert_eq!(report.unexpected, 1, "{state}: {:#?}", report.faults);
        assert!(report.faults[0].why.contains("token 1"), "{}", report.faults[0]);
    }
}

#[test]
fn each_trace_of_a_later_token_shows_that_an_end_was_stale() {
    let later = [
        "INSERT INTO lanebox_step(job, name, finished_at, token) VALUES (?1, 'think', 0, 2)",
        "INSERT INTO lanebox_attempt(job, token, series, n, process, started_at, ended_at, ended) \
         VALUES (?1, 2, 1, 1, 1, 0, 0, 'failed')",
        "INSERT INTO lanebox_running(id, org, kind, run_at, token, process, lease_until, \
         started_at, max_attempts) VALUES (?1, 1, 2, 0, 2, 1, 0, 0, 10)",
    ];
    for (n, sql) in later.iter().enumerate() {
        let mut scene = Scene::new();
        let job = scene.job(2, None, None, "{}");
        scene.claims(job, 1);
        scene.ends(job, 1, "done", None);
        assert_eq!(figures(&scene.judge()), [0; 4]);
        scene.sql(sql, params![job]);
        assert_eq!(figures(&scene.judge()), [0, 0, 1, 0], "trace {n}");
    }
}

#[test]
fn an_end_after_a_loss_is_unexpected_though_nobody_else_took_the_job() {
    let mut scene = Scene::new();
    let job = scene.job(2, None, None, "{}");
    scene.attempt(job, 1, (10, 20), "lost");
    scene.finished(job, (Some(1), Some(10), 30), "done", None);
    assert_eq!(figures(&scene.judge()), [0, 0, 1, 0]);
}

#[test]
fn a_try_of_a_later_token_shows_that_an_end_was_stale() {
    let (scene, job) = scene();
    scene.sql("DELETE FROM lanebox_attempt WHERE job = ?1", [job]);
    scene.sql("DELETE FROM lanebox_running WHERE id = ?1", [job]);
    scene.sql("UPDATE lanebox_step SET token = 1 WHERE job = ?1", [job]);
    scene.finished(job, (Some(1), Some(scene.now - 50), scene.now), "done", None);
    assert_eq!(figures(&scene.judge()), [0, 0, 1, 0]);
}

#[test]
fn a_job_that_is_done_by_no_token_is_unexpected_and_one_cancelled_while_it_waits_is_not() {
    for (state, reason, unexpected) in [("done", None, 1), ("cancelled", Some("operator"), 0)] {
        let mut scene = Scene::new();
        let job = scene.job(2, None, None, "{}");
        scene.finished(job, (None, None, scene.now), state, reason);
        assert_eq!(figures(&scene.judge()), [0, 0, unexpected, 0], "{state}");
    }
}

#[test]
fn a_dead_job_that_a_person_started_again_is_right() {
    let mut scene = Scene::new();
    let job = scene.job(2, None, None, "{}");
    scene.attempt(job, 1, (1, 2), "dead");
    scene.claims(job, 2);
    scene.ends(job, 2, "done", None);
    assert_eq!(figures(&scene.judge()), [0; 4]);
}
