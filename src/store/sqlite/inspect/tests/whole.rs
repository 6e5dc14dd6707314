//! The file in numbers, consumers, and its health.

use super::events::EVENTS;
use super::jobs::every_place;
use super::sends::{SENDS, with_sends};
use super::*;
use crate::store::sqlite::inspect::jobs::STATES;
use crate::store::sqlite::inspect::query::scanned;

#[test]
fn stats_count_what_waits_runs_and_died() {
    let (file, _) = with_sends();
    let _ = (file.job("turn", Lane::of("ann")), file.job("turn", Lane::NONE));
    let _ = file.job("other", Lane::NONE);
    let _ = file.run("other", End::Dead("gone".to_owned()));
    let stats = file.store.stats().expect("stats");
    assert_eq!((stats.jobs, stats.running, stats.queued.n, stats.ready.n), (4, 1, 1, 1));
    assert_eq!((stats.done.n, stats.cancelled.n, stats.scheduled.n), (0, 0, 0));
    assert_eq!((stats.dead.n, stats.unknown_sends.n, stats.open_notices.n), (1, 1, 2));
    assert_eq!(stats.oldest_ready_at, Some(T0));
    let turn = stats.kinds.iter().find(|kind| kind.name == "turn").expect("the kind");
    assert_eq!((turn.ready.n, turn.running, turn.dead.n, turn.ready.more), (1, 1, 0, false));
    assert_eq!(stats.orgs.len(), 1);
    assert_eq!((stats.orgs[0].name.as_str(), stats.orgs[0].dead.n), ("acme", 1));
    assert!(stats.database_bytes > 0);
}

/// A file with a job in every state and place.
pub(super) fn everywhere() -> File {
    let file = File::new();
    let _ = (file.job("turn", Lane::of("dan")), file.job("turn", Lane::of("eve")));
    let sending = file.claim(&["turn"], 2);
    file.sql(SENDS);
    file.sql(
        "INSERT INTO lanebox_send(id, org, origin, seq) VALUES (3, 2, 'j2', 1); \
         INSERT INTO lanebox_send_try(send, n, key, channel, recipient_hmac, recipient_mask, hash, state, job, token, intended_at) \
           SELECT 3, 1, zeroblob(16), 1, zeroblob(32), '', zeroblob(32), 'intended', 2, token, 0 FROM lanebox_running WHERE id = 2",
    );
    for claimed in sending {
        assert_eq!(file.end(claimed.held, End::Unknown), Ended::Holds);
    }
    let _ = every_place(&file);
    // One keeps a lane that was paused meanwhile.
    let _ = (file.job("keeps", Lane::of("kim")), file.run("keeps", retry("no", 1_000)));
    file.sql("INSERT INTO lanebox_pause(lane, by_operator) SELECT id, 1 FROM lanebox_lane WHERE name = 'kim'");
    file.clock.advance(1_000);
    assert!(file.claim(&["keeps"], 1).is_empty());
    file
}

#[test]
fn every_job_is_counted_once_by_the_words_of_the_list() {
    let file = everywhere();
    let stats = serde_json::to_value(file.store.stats().expect("stats")).expect("json");
    let mut all = 0;
    for state in STATES.into_iter().filter(|&state| state != "pending") {
        let listed = file.listed(Filter::new().state(state)).len();
        let counted = stats[state].as_u64().or(stats[state]["n"].as_u64());
        assert_eq!(counted, Some(listed as u64), "{state}: {stats}");
        assert!(listed > 0, "{state}");
        all += listed;
    }
    assert_eq!(stats["jobs"], all);
}

#[test]
fn the_default_lists_walk_an_index_whatever_the_file_holds() {
    let (file, _) = with_sends();
    for _ in 0..50 {
        let _ = file.job("turn", Lane::NONE);
    }
    file.sql(EVENTS);
    for org in [Filter::new(), Filter::new().org("acme")] {
        let _ = file.store.jobs(&org).expect("jobs");
        let _ = file.store.events(&org).expect("events");
        let _ = file.store.sends(&org).expect("sends");
    }
    assert_eq!(scanned::take(), 0);
    // A state that is common is found among the newest jobs; nothing is sorted.
    for state in ["ready", "pending"] {
        let _ = file.store.jobs(&Filter::new().state(state).limit(1)).expect("jobs");
    }
    assert_eq!(scanned::take(), 0);
}

#[test]
fn consumers_show_position_lag_and_what_failed() {
    let file = File::new();
    file.sql(EVENTS);
    let consumers = file.store.consumers().expect("consumers");
    let one = &consumers[0];
    assert_eq!((one.key.as_str(), one.position, one.lag, one.seen), ("sentiment", 3, 2, 2));
    assert_eq!(
        (one.patterns.as_slice(), one.retries, one.dead),
        (&["message.*".to_owned()][..], 0, 1)
    );
}

#[test]
fn a_sound_file_is_sound_and_a_planted_fault_is_seen() {
    let file = File::new();
    let _ = file.job("k", Lane::of("ann"));
    let health = file.store.doctor().expect("a diagnosis");
    assert!(health.sound, "{health:#?}");
    file.sql("DELETE FROM lanebox_ready; CREATE TRIGGER theirs AFTER INSERT ON lanebox_event BEGIN SELECT 1; END");
    let health = file.store.doctor().expect("a diagnosis");
    assert!(!health.sound);
    let found: Vec<_> = health.audits.iter().filter(|a| a.count > 0).map(|a| a.name).collect();
    assert_eq!(found, ["claimable_not_ready"]);
    let wrong: Vec<_> = health.facts.iter().filter(|f| f.wrong.is_some()).collect();
    assert_eq!(wrong.len(), 1);
    assert!(wrong[0].value.contains("theirs"), "{wrong:?}");
}
