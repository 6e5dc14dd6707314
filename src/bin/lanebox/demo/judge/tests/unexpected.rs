//! Duplicated and unexpected: what went out twice, or for nothing.

use super::super::super::log::{Answer, Taken};
use super::*;

const ANA: &str = "551100001111";

/// A message of Ana's, replied to with "oi" by token 7; only its accept is still to come.
fn scene() -> (Scene, i64, uuid::Uuid) {
    let mut scene = Scene::new();
    scene.replied("bystander", "551100009999", &["ok", "ok"]);
    let job = scene.message("m1", ANA);
    scene.claims(job, 7);
    scene.thinks(job, 7, &["oi"]);
    let key = scene.intends(job, 7, 1);
    (scene, job, key)
}

fn settle(scene: &mut Scene, job: i64, key: uuid::Uuid) -> Report {
    scene.learns(key);
    scene.done(job, 7, "m1");
    scene.judge()
}

#[test]
fn one_key_accepted_twice_is_a_duplicate() {
    let (mut scene, job, key) = scene();
    scene.takes(key, ANA, "oi");
    scene.takes(key, ANA, "oi");
    let report = settle(&mut scene, job, key);
    assert_eq!(figures(&report), [0, 1, 0, 0]);
    let fault = only_fault(&report, Figure::Duplicated);
    assert_eq!((fault.message.as_deref(), fault.bubble), (Some("m1"), Some(1)));
}

#[test]
fn a_repeat_that_the_provider_caught_is_none() {
    let (mut scene, job, key) = scene();
    scene.takes(key, ANA, "oi");
    scene.takes(key, ANA, "oi");
    scene.taken.last_mut().unwrap().what = Taken::Repeat;
    let report = settle(&mut scene, job, key);
    assert_eq!((figures(&report), report.provider_accepts), ([0; 4], 3));
}

#[test]
fn two_tries_of_one_send_accepted_are_a_duplicate_for_each_beyond_the_first() {
    let (mut scene, job, key) = scene();
    scene.takes(key, ANA, "oi");
    scene.is_rejected(key);
    let again = scene.intends(job, 7, 1);
    scene.takes(again, ANA, "oi");
    scene.takes(again, ANA, "oi");
    assert_eq!(figures(&settle(&mut scene, job, again)), [0, 2, 0, 0]);
}

#[test]
fn two_jobs_that_reply_to_one_message_are_a_duplicate() {
    let (mut scene, job, key) = scene();
    scene.takes(key, ANA, "oi");
    scene.learns(key);
    scene.ends(job, 7, "done", None);
    let twin = scene.turn("m1", ANA, true);
    scene.claims(twin, 8);
    scene.thinks(twin, 8, &["olá"]);
    let key = scene.intends(twin, 8, 1);
    scene.takes(key, ANA, "olá");
    scene.learns(key);
    scene.done(twin, 8, "m1");
    assert_eq!(figures(&scene.judge()), [0, 1, 0, 0]);
}

#[test]
fn an_accept_that_cannot_be_traced_is_unexpected() {
    for key in [None, Some("x".to_owned()), Some(uuid::Uuid::nil().to_string())] {
        let (mut scene, job, good) = scene();
        scene.takes(good, ANA, "oi");
        scene.takes_key(key.clone(), ANA, "oi");
        let report = settle(&mut scene, job, good);
        assert_eq!(figures(&report), [0, 0, 1, 0], "{key:?}");
        assert!(only_fault(&report, Figure::Unexpected).why.contains("key"), "{key:?}");
    }
}

#[test]
fn an_accept_of_a_job_that_replies_to_nothing_is_unexpected() {
    // Another kind of job; a turn whose payload names no message.
    for (kind, payload) in [(2, r#"{"contact":"1","message":"m1"}"#), (1, "{}"), (1, "[]")] {
        let (mut scene, job, good) = scene();
        scene.takes(good, ANA, "oi");
        let other = scene.job(kind, None, None, payload);
        scene.claims(other, 8);
        let key = scene.intends(other, 8, 1);
        scene.takes(key, ANA, "oi");
        scene.learns(key);
        scene.ends(other, 8, "done", None);
        assert_eq!(figures(&settle(&mut scene, job, good)), [0, 0, 1, 0], "{kind} {payload}");
    }
}

#[test]
fn an_accept_of_a_send_with_a_name_is_unexpected() {
    let (mut scene, job, good) = scene();
    scene.takes(good, ANA, "oi");
    let sql = "INSERT INTO lanebox_send(org, origin, name) VALUES (1, ?1, 'welcome')";
    let send = scene.sql(sql, [format!("j{job}")]);
    let key = scene.intends_send(send, job, 7);
    scene.takes(key, ANA, "oi");
    scene.learns(key);
    assert_eq!(figures(&settle(&mut scene, job, good)), [0, 0, 1, 0]);
}

#[test]
fn a_reply_to_a_message_that_nobody_wrote_is_unexpected() {
    let (mut scene, job, key) = scene();
    scene.takes(key, ANA, "oi");
    scene.learns(key);
    scene.done(job, 7, "m1");
    let ghost = scene.turn("ghost", ANA, true);
    scene.claims(ghost, 8);
    scene.thinks(ghost, 8, &["buh"]);
    let key = scene.intends(ghost, 8, 1);
    scene.takes(key, ANA, "buh");
    scene.learns(key);
    scene.done(ghost, 8, "ghost");
    let report = scene.judge();
    assert_eq!(figures(&report), [0, 0, 1, 0]);
    assert!(only_fault(&report, Figure::Unexpected).why.contains("nobody wrote"));

    // Stored, but its acknowledgement is not on record: somebody may have written it.
    scene.event("message.received", "ghost");
    assert_eq!(figures(&scene.judge()), [0; 4]);
    scene.feed(Answer::Refused, "ghost", ANA, false);
    assert_eq!(figures(&scene.judge()), [0, 0, 1, 0]);
}

#[test]
fn a_reply_to_a_stop_is_unexpected() {
    let (mut scene, job, good) = scene();
    scene.takes(good, ANA, "oi");
    let stop = scene.turn("stop", "551100002222", true);
    scene.claims(stop, 8);
    scene.thinks(stop, 8, &["bye"]);
    let key = scene.intends(stop, 8, 1);
    scene.takes(key, "551100002222", "bye");
    scene.learns(key);
    scene.done(stop, 8, "stop");
    scene.event("message.received", "stop");
    scene.stop_acknowledged("stop", "551100002222");
    let report = settle(&mut scene, job, good);
    assert_eq!(figures(&report), [0, 0, 1, 0]);
    assert!(only_fault(&report, Figure::Unexpected).why.contains("is a STOP"));
}

#[test]
fn another_recipient_is_unexpected_and_another_way_to_write_the_same_is_not() {
    for (to, unexpected) in [("+55 11 0000-1111", 0), ("551100009999", 1)] {
        let (mut scene, job, key) = scene();
        scene.takes(key, to, "oi");
        assert_eq!(figures(&settle(&mut scene, job, key)), [0, 0, unexpected, 0], "{to}");
    }
}

#[test]
fn another_text_than_the_step_recorded_is_unexpected() {
    for text in ["oi!", "Oi", "oi ", ""] {
        let (mut scene, job, key) = scene();
        scene.takes(key, ANA, text);
        let report = settle(&mut scene, job, key);
        assert_eq!(figures(&report), [0, 0, 1, 0], "{text:?}");
        let why = &only_fault(&report, Figure::Unexpected).why;
        assert!(why.contains("not the one that its step recorded"), "{why}");
    }
}

#[test]
fn a_bubble_that_the_step_did_not_record_is_unexpected() {
    let (mut scene, job, key) = scene();
    scene.takes(key, ANA, "oi");
    scene.learns(key);
    let second = scene.intends(job, 7, 2);
    scene.takes(second, ANA, "oi");
    let report = settle(&mut scene, job, second);
    assert_eq!(figures(&report), [0, 0, 1, 0]);
    assert!(only_fault(&report, Figure::Unexpected).why.contains("recorded 1 bubbles only"));
}

#[test]
fn a_text_that_no_step_recorded_is_unexpected() {
    let (mut scene, job, key) = scene();
    scene.takes(key, ANA, "oi");
    scene.sql("DELETE FROM lanebox_step WHERE job = ?1", [job]);
    let report = settle(&mut scene, job, key);
    assert_eq!(figures(&report), [0, 0, 1, 0]);
    assert!(only_fault(&report, Figure::Unexpected).why.contains("no finished step"));
}

#[test]
fn an_intent_after_an_acknowledged_stop_is_unexpected_and_one_before_is_not() {
    let (mut scene, job, key) = scene();
    scene.event("message.received", "stop");
    scene.stop_acknowledged("stop", ANA);
    let stopped_at = scene.now;
    scene.takes(key, ANA, "oi"); // intended before, taken after
    scene.learns(key);
    scene.done(job, 7, "m1");
    assert_eq!(figures(&scene.judge()), [0; 4]);

    let moved = "UPDATE lanebox_send_try SET intended_at = ?2 WHERE key = ?1";
    for (at, unexpected) in [(stopped_at, 0), (stopped_at + 1, 1)] {
        scene.sql(moved, rusqlite::params![key.as_bytes(), at]);
        assert_eq!(figures(&scene.judge()), [0, 0, unexpected, 0]);
    }
    scene.stop_acknowledged("stop", ANA); // a duplicate of the STOP changes nothing
    assert_eq!(figures(&scene.judge()), [0, 0, 1, 0]);
}

#[test]
fn one_accept_with_several_objections_is_one_fault() {
    let (mut scene, job, key) = scene();
    scene.takes(key, "551100009999", "no");
    let report = settle(&mut scene, job, key);
    assert_eq!(figures(&report), [0, 0, 1, 0]);
    let why = &only_fault(&report, Figure::Unexpected).why;
    assert!(why.contains("another contact") && why.contains("its text"), "{why}");
}

#[test]
fn every_message_sent_beyond_the_first_is_unexpected() {
    let (mut scene, job, key) = scene();
    scene.takes(key, ANA, "oi");
    scene.event("message.sent", "m1");
    scene.event("message.sent", "m1");
    let report = settle(&mut scene, job, key);
    assert_eq!(figures(&report), [0, 0, 2, 0]);
    assert_eq!(report.faults[0].message.as_deref(), Some("m1"));
}

#[test]
fn a_flood_of_faults_is_counted_in_full_and_told_in_part() {
    let (mut scene, job, key) = scene();
    scene.takes(key, ANA, "oi");
    for _ in 0..50 {
        scene.takes_key(None, ANA, "oi");
    }
    let report = settle(&mut scene, job, key);
    assert_eq!((report.unexpected, report.faults.len()), (50, 20));
    assert!(report.to_string().contains("and 30 more faults"));
}
