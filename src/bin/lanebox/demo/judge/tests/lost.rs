//! Lost: acknowledged, not sent, and nobody told; and what excuses it.

use rusqlite::params;

use super::*;

const ANA: &str = "551100001111";

/// One message well replied to, so that a judge that sees only faults is caught as well.
fn scene() -> Scene {
    let mut scene = Scene::new();
    scene.replied("bystander", "551100009999", &["ok"]);
    scene
}

/// A job that runs with token 7 and has thought of two bubbles.
fn thinking(scene: &mut Scene) -> i64 {
    let job = scene.message("m1", ANA);
    scene.claims(job, 7);
    scene.thinks(job, 7, &["um", "dois"]);
    job
}

fn sends(scene: &mut Scene, job: i64, bubble: i64, text: &str) {
    let key = scene.intends(job, 7, bubble);
    scene.takes(key, ANA, text);
    scene.learns(key);
}

#[test]
fn an_acknowledged_message_that_is_not_in_the_database_is_lost() {
    let mut scene = scene();
    scene.acknowledged("m1", ANA);
    let report = scene.judge();
    assert_eq!(figures(&report), [1, 0, 0, 0]);
    let fault = only_fault(&report, Figure::Lost);
    assert_eq!((fault.message.as_deref(), fault.bubble), (Some("m1"), Some(1)));
    assert!(fault.why.contains("its event is not in the database"), "{fault}");
}

#[test]
fn a_stored_message_that_no_job_replies_to_is_lost() {
    let mut scene = scene();
    scene.event("message.received", "m1");
    scene.acknowledged("m1", ANA);
    let report = scene.judge();
    assert_eq!(figures(&report), [1, 0, 0, 0]);
    assert!(only_fault(&report, Figure::Lost).why.contains("no job replies to it"));
}

#[test]
fn a_message_that_still_waits_or_runs_is_lost_and_says_so() {
    for running in [false, true] {
        let mut scene = scene();
        let job = scene.message("m1", ANA);
        if running {
            scene.claims(job, 7);
        }
        let report = scene.judge();
        assert_eq!((figures(&report), report.still_waiting), ([1, 0, 0, 0], 1));
        let fault = only_fault(&report, Figure::Lost);
        assert_eq!(fault.job, Some(job.to_string()));
        assert!(fault.why.contains("still waits or runs"), "{fault}");
    }
}

#[test]
fn a_job_that_is_done_without_sending_lost_each_bubble_that_its_step_recorded() {
    let mut scene = scene();
    let job = thinking(&mut scene);
    scene.done(job, 7, "m1");
    assert_eq!(figures(&scene.judge()), [2, 0, 0, 0]);
}

#[test]
fn the_second_bubble_alone_can_be_lost() {
    let mut scene = scene();
    let job = thinking(&mut scene);
    sends(&mut scene, job, 1, "um");
    scene.done(job, 7, "m1");
    let report = scene.judge();
    assert_eq!((figures(&report), report.replied), ([1, 0, 0, 0], 1));
    assert_eq!(only_fault(&report, Figure::Lost).bubble, Some(2));
}

#[test]
fn a_send_that_only_the_database_believes_in_is_lost() {
    let mut scene = scene();
    let job = scene.message("m1", ANA);
    scene.claims(job, 7);
    scene.thinks(job, 7, &["um"]);
    let key = scene.intends(job, 7, 1);
    scene.learns(key); // the provider's log has no such accept
    scene.done(job, 7, "m1");
    assert_eq!(figures(&scene.judge()), [1, 0, 0, 0]);
}

#[test]
fn a_reply_without_any_text_is_lost_as_one_bubble() {
    for result in ["[]", "{}", "[1]", "null"] {
        let mut scene = scene();
        let job = scene.message("m1", ANA);
        scene.claims(job, 7);
        scene.step(job, 7, result);
        scene.done(job, 7, "m1");
        assert_eq!(figures(&scene.judge()), [1, 0, 0, 0], "{result}");
    }
}

#[test]
fn an_open_notice_of_a_dead_job_excuses_and_a_resolved_one_does_not() {
    let mut scene = scene();
    let job = thinking(&mut scene);
    scene.ends(job, 7, "dead", None);
    let report = scene.judge();
    assert_eq!((figures(&report), report.noticed, report.jobs_dead), ([0; 4], 2, 1));
    scene.resolve_all_notices();
    let report = scene.judge();
    assert_eq!((figures(&report), report.notices_open), ([2, 0, 0, 0], 0));
}

#[test]
fn an_acknowledged_notice_is_still_open() {
    let mut scene = scene();
    let job = thinking(&mut scene);
    scene.ends(job, 7, "dead", None);
    scene.sql("UPDATE lanebox_notice SET state = 'acknowledged'", []);
    assert_eq!(figures(&scene.judge()), [0; 4]);
}

#[test]
fn an_unknown_send_with_an_open_notice_excuses_itself_and_what_waits_behind_it() {
    for (unknown, lost) in [(1, 0), (2, 1)] {
        let mut scene = scene();
        let job = thinking(&mut scene);
        let key = scene.intends(job, 7, unknown);
        scene.run_ends(job, 7, "unknown");
        let notice = scene.notice("unknown");
        scene.becomes_unknown(key, Some(notice));
        let report = scene.judge();
        assert_eq!(figures(&report), [lost, 0, 0, 0], "bubble {unknown} is unknown");
        assert_eq!((report.unknown_open, report.noticed), (1, 2 - lost));
    }
}

#[test]
fn an_unknown_send_that_nobody_was_told_of_excuses_nothing() {
    let mut scene = scene();
    let job = thinking(&mut scene);
    let key = scene.intends(job, 7, 1);
    scene.run_ends(job, 7, "unknown");
    scene.becomes_unknown(key, None);
    let report = scene.judge();
    assert_eq!((figures(&report), report.still_waiting), ([2, 0, 0, 0], 2));
}

#[test]
fn a_notice_of_a_second_delivery_excuses_nothing() {
    let mut scene = scene();
    let job = thinking(&mut scene);
    let key = scene.intends(job, 7, 1);
    scene.takes(key, ANA, "um");
    scene.is_rejected(key);
    scene.done(job, 7, "m1");
    let notice = scene.notice("duplicate");
    scene.sql(
        "UPDATE lanebox_send_try SET state = 'duplicate', notice = ?2 WHERE job = ?1",
        params![job, notice],
    );
    assert_eq!(figures(&scene.judge()), [1, 0, 0, 0]);
}

#[test]
fn of_two_jobs_for_one_message_the_longer_reply_is_expected() {
    for (first, second) in [(&["a"][..], &["a", "b"][..]), (&["a", "b"], &["a"])] {
        let mut scene = scene();
        let job = scene.message("m1", ANA);
        let twin = scene.turn("m1", ANA, true);
        scene.thinks(job, 7, first);
        scene.thinks(twin, 8, second);
        assert_eq!(figures(&scene.judge()), [2, 0, 0, 0]);
    }
}

#[test]
fn a_dead_delivery_on_the_way_to_the_reply_excuses_and_one_beside_it_does_not() {
    for (consumer, lost) in [(1, 0), (2, 1)] {
        let mut scene = scene();
        let event = scene.event("message.received", "m1");
        scene.acknowledged("m1", ANA);
        let notice = scene.notice("delivery");
        scene.sql(
            "INSERT INTO lanebox_delivery(consumer, event, state, at, notice) \
             VALUES (?1, ?2, 'dead', 0, ?3)",
            params![consumer, event, notice],
        );
        assert_eq!(figures(&scene.judge()), [lost, 0, 0, 0], "consumer {consumer}");
        scene.resolve_all_notices();
        assert_eq!(figures(&scene.judge()), [1, 0, 0, 0], "consumer {consumer}");
    }
}

#[test]
fn a_dead_job_on_the_way_to_the_reply_excuses_and_one_beside_it_does_not() {
    for (consumer, lost) in [(1, 0), (2, 1)] {
        let mut scene = scene();
        let event = scene.event("message.received", "m1");
        scene.acknowledged("m1", ANA);
        let job = scene.sql(
            "INSERT INTO lanebox_job(uuid, org, kind, priority, run_at, max_attempts, \
             source_event, consumer, ordinal, created_at, payload) \
             VALUES (randomblob(16), 1, 2, 500, 0, 10, ?1, ?2, 0, 0, '{}')",
            params![event, consumer],
        );
        scene.claims(job, 8);
        scene.ends(job, 8, "dead", None);
        assert_eq!(figures(&scene.judge()), [lost, 0, 0, 0], "consumer {consumer}");
    }
}

#[test]
fn a_veto_after_a_stop_excuses() {
    let mut scene = scene();
    let job = thinking(&mut scene);
    sends(&mut scene, job, 1, "um");
    scene.event("message.received", "stop");
    scene.stop_acknowledged("stop", ANA);
    scene.ends(job, 7, "cancelled", Some("vetoed"));
    let report = scene.judge();
    assert_eq!((figures(&report), report.vetoed), ([0; 4], 1));
    assert_eq!(report.replies_expected, 2, "a STOP expects none");
}

#[test]
fn a_veto_excuses_only_after_an_acknowledged_stop_of_that_contact() {
    // Without any STOP; with one of another contact; with one that was not stored; not
    // acknowledged.
    for case in 0..4 {
        let mut scene = scene();
        let job = thinking(&mut scene);
        if matches!(case, 1 | 3) {
            scene.event("message.received", "stop");
        }
        match case {
            1 => scene.stop_acknowledged("stop", "551100009999"),
            2 => scene.stop_acknowledged("stop", ANA),
            _ => {}
        }
        scene.ends(job, 7, "cancelled", Some("vetoed"));
        assert_eq!(figures(&scene.judge()), [2, 0, 0, 0], "case {case}");
    }
}

#[test]
fn a_veto_before_the_stop_excuses_nothing() {
    let mut scene = scene();
    let job = thinking(&mut scene);
    scene.ends(job, 7, "cancelled", Some("vetoed"));
    scene.event("message.received", "stop");
    scene.stop_acknowledged("stop", ANA);
    let report = scene.judge();
    assert_eq!(figures(&report), [2, 0, 0, 0]);
    assert!(report.faults[0].why.contains("not after a STOP"), "{}", report.faults[0]);
}

#[test]
fn a_job_cancelled_for_another_reason_is_lost() {
    for reason in ["operator", "superseded", "expired", "given_up"] {
        let mut scene = scene();
        let job = scene.message("m1", ANA);
        scene.event("message.received", "stop");
        scene.stop_acknowledged("stop", ANA);
        scene.finished(job, (None, None, scene.now), "cancelled", Some(reason));
        let report = scene.judge();
        assert_eq!(figures(&report), [1, 0, 0, 0], "{reason}");
        assert!(only_fault(&report, Figure::Lost).why.contains(reason));
    }
}

#[test]
fn a_stop_and_a_refused_message_expect_no_reply() {
    let mut scene = scene();
    scene.stop_acknowledged("stop", ANA);
    scene.feed(super::super::super::log::Answer::Refused, "m1", ANA, false);
    let report = scene.judge();
    assert_eq!((figures(&report), report.replies_expected), ([0; 4], 1));
}
