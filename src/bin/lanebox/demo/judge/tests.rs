//! A judge that cannot see a fault proves nothing: every fault in each of its forms, beside a
//! bystander that is well, and every excuse.

mod files;
mod lanes;
mod lost;
pub mod scene;
mod stale;
mod unexpected;

use super::fault::{Fault, Figure};
use super::report::Report;
use scene::Scene;

/// Lost, duplicated, unexpected, overlapped.
fn figures(report: &Report) -> [u64; 4] {
    [report.lost, report.duplicated, report.unexpected, report.overlapped]
}

/// The only fault, which must be of this figure.
fn only_fault(report: &Report, figure: Figure) -> &Fault {
    let [fault] = report.faults.as_slice() else {
        panic!("expected one fault, got {:#?}", report.faults);
    };
    assert_eq!(fault.figure, figure, "{fault}");
    fault
}

#[test]
fn a_demo_that_kept_its_word_is_clean() {
    let mut scene = Scene::new();
    scene.replied("m1", "551100001111", &["oi", "tudo bem?"]);
    scene.replied("m2", "US.1349", &["שלום 👋"]);
    scene.acknowledged("m1", "551100001111"); // a duplicate, acknowledged again
    let report = scene.judge();
    assert_eq!(figures(&report), [0; 4], "{:#?}", report.faults);
    assert!(report.guilty().is_empty());
    assert_eq!((report.replies_expected, report.replied, report.provider_accepts), (2, 2, 3));
    assert_eq!((report.events, report.jobs_dead, report.notices_open), (4, 0, 0));
    assert_eq!((report.lanes, report.lanes_in_parallel, report.survived), (2, 1, 0));
    assert!(report.elapsed_ms > 0 && report.accepts_per_s > 0.0);
}

#[test]
fn the_sends_of_a_routed_job_are_known_by_the_delivery_that_it_was_born_of() {
    let mut scene = Scene::new();
    let event = scene.event("message.received", "m1");
    scene.acknowledged("m1", "551100001111");
    let job = scene.sql(
        "INSERT INTO lanebox_job(uuid, org, kind, priority, run_at, max_attempts, \
         source_event, consumer, ordinal, created_at, payload) \
         VALUES (randomblob(16), 1, 1, 500, 0, 10, ?1, 1, 2, 0, \
         '{\"message\":\"m1\",\"contact\":\"551100001111\"}')",
        [event],
    );
    scene.claims(job, 7);
    scene.thinks(job, 7, &["oi"]);
    let key = scene.intends_as(&format!("e{event}.c1.2"), job, 7, 1);
    scene.takes(key, "551100001111", "oi");
    scene.learns(key);
    scene.done(job, 7, "m1");
    let report = scene.judge();
    assert_eq!((figures(&report), report.replied), ([0; 4], 1), "{:#?}", report.faults);
}

#[test]
fn nothing_happened_is_clean_too() {
    let report = Scene::new().judge();
    assert_eq!(figures(&report), [0; 4]);
    assert_eq!((report.elapsed_ms, report.replies_expected), (0, 0));
    assert!(report.lanes_over_time.is_empty());
}

#[test]
fn a_reply_that_survived_a_crash_is_clean_and_named() {
    let mut scene = Scene::new();
    let job = scene.message("m1", "551100001111");
    scene.claims(job, 1);
    scene.thinks(job, 1, &["oi"]);
    let key = scene.intends(job, 1, 1);
    scene.takes(key, "551100001111", "oi");
    scene.run_ends(job, 1, "lost");
    scene.becomes_unknown(key, None);
    scene.learns(key);
    scene.claims(job, 2);
    scene.done(job, 2, "m1");
    let report = scene.judge();
    assert_eq!(figures(&report), [0; 4], "{:#?}", report.faults);
    let survivor = report.survivor.unwrap();
    assert_eq!((report.survived, survivor.message.as_str(), survivor.losses), (1, "m1", 1));
}

#[test]
fn the_report_has_the_fields_that_programs_read() {
    let report = serde_json::to_value(Scene::new().judge()).unwrap();
    for field in [
        "events",
        "replies_expected",
        "provider_accepts",
        "lost",
        "duplicated",
        "unexpected",
        "overlapped",
        "unknown_open",
        "kills",
        "jobs_dead",
        "notices_open",
        "elapsed_ms",
    ] {
        assert!(report[field].is_u64(), "{field}: {report}");
    }
}

#[test]
fn people_get_figures_a_picture_and_each_fault() {
    let mut scene = Scene::new();
    scene.replied("m1", "551100001111", &["oi"]);
    scene.acknowledged("m2", "551100002222");
    let text = scene.judge().to_string();
    assert!(text.contains("..1111 ") && text.contains("===="), "{text}");
    assert!(text.contains("lost: message m2 bubble 1: it was acknowledged"), "{text}");
    assert!(!text.contains("551100001111"), "contacts are masked: {text}");
}
