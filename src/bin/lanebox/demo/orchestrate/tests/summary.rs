//! Several acts become one document: sums, but the most lanes at once.

use super::super::super::judge::Report;
use super::super::super::judge::tests::scene::Scene;
use super::super::super::provider::Mode;
use super::super::act::Outcome;
use super::super::summary::Summary;

fn act(mode: Mode, change: impl FnOnce(&mut Report)) -> Outcome {
    let mut report = Scene::new().judge();
    change(&mut report);
    Outcome { mode, report, missed: 1, settled: true }
}

#[test]
fn figures_are_added_and_the_most_lanes_at_once_are_kept() {
    let acts = [
        act(Mode::Dedupe, |report| {
            (report.events, report.lanes_in_parallel, report.elapsed_ms) = (5, 3, 1_000);
            report.provider_accepts = 4;
        }),
        act(Mode::Lookup, |report| {
            (report.events, report.lanes_in_parallel, report.elapsed_ms) = (7, 2, 3_000);
            report.provider_accepts = 4;
        }),
    ];
    let summary = Summary { acts: &acts, kept: None };
    let json = summary.json();
    assert_eq!((&json["events"], &json["lanes_in_parallel"]), (&12.into(), &3.into()));
    assert_eq!((&json["elapsed_ms"], &json["blows_missed"]), (&4_000.into(), &2.into()));
    assert_eq!((&json["accepts_per_s"], &json["dir"]), (&2.0.into(), &serde_json::Value::Null));
    assert_eq!(json["modes"][1]["mode"], "lookup");
    assert_eq!(json["modes"][1]["report"]["events"], 7);
    assert!(summary.guilty().is_empty());
    assert!(summary.table().to_string().contains("dedupe"));
}

#[test]
fn a_fault_in_one_act_is_told_with_its_mode() {
    let acts = [
        act(Mode::Dedupe, |_| {}),
        act(Mode::Neither, |report| (report.lost, report.overlapped) = (1, 2)),
    ];
    let summary = Summary { acts: &acts, kept: None };
    assert_eq!(summary.guilty(), ["neither: 1 lost, 2 overlapped"]);
    let json = summary.json();
    for field in ["replies_expected", "provider_accepts", "unknown_open", "kills", "jobs_dead"] {
        assert_eq!(json[field], 0, "{field}");
    }
    assert_eq!((&json["lost"], &json["overlapped"]), (&1.into(), &2.into()));
}

#[test]
fn an_act_that_did_not_come_to_its_end_is_no_success() {
    let acts = [Outcome { settled: false, ..act(Mode::Lookup, |_| {}) }];
    let summary = Summary { acts: &acts, kept: None };
    assert_eq!(summary.guilty(), ["lookup: something stood still before all was done"]);
}
