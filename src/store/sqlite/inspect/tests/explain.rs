//! Why a job waits: a sentence for each place.

use super::sends::with_sends;
use super::*;
use crate::store::processes::Announced;

#[test]
fn a_job_that_can_be_claimed_waits_for_a_worker_or_a_pause_or_a_cap() {
    let file = File::new();
    let id = file.job("turn", Lane::NONE);
    let turns = Announced { kind: "turn".to_owned(), yields: false };
    let _numbers = file.store.announce(file.process, vec![turns]).expect("announced");
    assert_eq!(
        file.sentence(id),
        "it can be claimed since 2030-03-17 17:46:40 UTC: it waits for a free worker that handles turn"
    );
    let pairs = [
        ("UPDATE lanebox_counter SET paused = 1", "it can be claimed, but all claims are paused"),
        (
            "UPDATE lanebox_counter SET paused = 0; UPDATE lanebox_org SET paused = 1",
            "it can be claimed, but org acme is paused",
        ),
        (
            "UPDATE lanebox_org SET paused = 0; UPDATE lanebox_kind SET paused = 1",
            "it can be claimed, but kind turn is paused",
        ),
        (
            "UPDATE lanebox_kind SET paused = 0, cap = 0",
            "it can be claimed, but 0 jobs of kind turn run already, its cap",
        ),
        (
            "UPDATE lanebox_org SET cap = 0",
            "it can be claimed, but 0 jobs of org acme run already, its cap",
        ),
    ];
    for (sql, sentence) in pairs {
        file.sql(sql);
        assert_eq!(file.sentence(id), sentence);
    }
}

// fault: no-worker-is-not-said
#[test]
fn e55_a_job_of_a_kind_without_code_is_said_to_have_no_worker() {
    let file = File::new();
    let id = file.job("future", Lane::NONE);
    let why = file.store.explain(id).expect("an explanation");
    let said = "it can be claimed, but no running process has code for kind future";
    assert_eq!((why.sentence.as_str(), why.waits_for), (said, "worker"));
    let future = || vec![Announced { kind: "future".to_owned(), yields: false }];
    let _numbers = file.store.announce(file.process, future()).expect("announced");
    assert!(file.sentence(id).contains("waits for a free worker"));
    file.store.leave(file.process).expect("it leaves");
    assert_eq!(file.sentence(id), said, "its code went with it");
}

#[test]
fn backoff_postponement_and_a_due_time_say_until_when() {
    let file = File::new();
    let id = file.job("k", Lane::NONE);
    let _ = file.run("k", retry("503 from the provider", 60_000));
    let why = file.store.explain(id).expect("an explanation");
    assert_eq!(
        why.sentence,
        "it failed attempt 1 of 10 (503 from the provider) and is tried again at 2030-03-17 17:47:40 UTC"
    );
    assert_eq!((why.waits_for, why.until), ("backoff", Some(T0 + 60_000)));
    file.clock.advance(60_000);
    let until = T0 + 3_600_000;
    let why = "outside the sending window".to_owned();
    let _ = file.run("k", End::Postpone { until, why, keep_lane: None, counted: true });
    assert_eq!(
        file.sentence(id),
        "it is postponed to 2030-03-17 18:46:40 UTC: outside the sending window"
    );
}

#[test]
fn a_queued_job_waits_for_the_occupant_and_says_what_that_waits_for() {
    let file = File::new();
    let first = file.job("k", Lane::of("ann"));
    let second = file.job("k", Lane::of("ann"));
    let third = file.job("k", Lane::of("ann"));
    let _ = file.run("k", retry("refused", 60_000));
    let why = file.store.explain(second).expect("an explanation");
    let expected = format!(
        "it waits for job {first} of the same lane, which failed attempt 1 of 10 (refused) and is tried again at 2030-03-17 17:47:40 UTC"
    );
    assert_eq!(why.sentence, expected);
    assert_eq!(
        (why.waits_for, why.id, why.until),
        ("lane", Some(first.to_string()), Some(T0 + 60_000))
    );
    let _ = file.store.cancel(first, "eva").expect("cancelled");
    assert_eq!(file.sentence(third), "it waits for the one job before it in its lane");
}

#[test]
fn a_paused_lane_is_the_reason() {
    let file = File::new();
    let id = file.job("k", Lane::of("ann"));
    file.store
        .writer
        .write(|tx| crate::store::sqlite::pause::pause_lane(tx, crate::model::id::LaneNo(1)))
        .expect("paused");
    assert_eq!(file.sentence(id), "it waits until a person resumes its lane");
    file.sql("UPDATE lanebox_pause SET by_operator = 0, dead_job = 1");
    assert!(file.sentence(id).starts_with("it waits: its lane stands still since job "));
}

#[test]
fn an_unknown_send_is_the_reason_first_in_the_lane_then_outside() {
    let (file, id) = with_sends();
    file.sql(
        "DELETE FROM lanebox_running; INSERT INTO lanebox_scheduled VALUES (1900000900000, 1, 1); \
         INSERT INTO lanebox_tried(id, lane, phase, run_at, series, attempts, lost, lost_alone, postponed, unknowns, sent, waits_send) \
         VALUES (1, 1, 'unknown', 1900000900000, 1, 0, 0, 0, 0, 1, 1, 2)",
    );
    let why = file.store.explain(id).expect("an explanation");
    assert_eq!(
        why.sentence,
        "it waits in its lane for news of send 2 (whatsapp to +49***45), until 2030-03-17 18:01:40 UTC at most"
    );
    assert_eq!((why.waits_for, why.id.as_deref()), ("send", Some("2")));
    file.sql(
        "DELETE FROM lanebox_scheduled; UPDATE lanebox_tried SET phase = 'parked', lane = NULL",
    );
    let why = file.store.explain(id).expect("an explanation");
    assert_eq!(why.waits_for, "person");
    assert!(why.sentence.contains("`lanebox resolve 2 --sent`"), "{}", why.sentence);
}

#[test]
fn what_runs_or_has_ended_is_said_too() {
    let file = File::new();
    let id = file.job("k", Lane::NONE);
    let claimed = file.claim(&["k"], 1).pop().expect("a claim");
    let _ = file.store.cancel(id, "eva").expect("asked");
    assert_eq!(
        file.sentence(id),
        "it runs since 2030-03-17 17:46:40 UTC, attempt 1 of 10; it was asked to stop"
    );
    let _ = file.end(claimed.held, retry("late", 1));
    assert_eq!(file.sentence(id), "it was cancelled at 2030-03-17 17:46:40 UTC (operator): late");
    let dead = file.job("k", Lane::NONE);
    let _ = file.run("k", End::Dead("gone".to_owned()));
    assert_eq!(
        file.sentence(dead),
        "it died at 2030-03-17 17:46:40 UTC: gone; it stays so until a person requeues it"
    );
}

#[test]
fn a_job_whose_process_is_gone_says_so() {
    let file = File::new();
    let id = file.job("k", Lane::NONE);
    assert_eq!(file.claim(&["k"], 1).len(), 1);
    let File { store, clock, _dir: dir, .. } = file;
    let path = dir.path().join("people.db");
    let how = Opening { durability: Durability::Relaxed, ..Opening::default() };
    let other = SqliteStore::open(&path, Env::new(clock, 8), &how).expect("a second handle");
    let runs = other.explain(id).expect("an explanation");
    assert!(runs.sentence.ends_with("attempt 1 of 10"), "{}", runs.sentence);
    drop(store);
    let stuck = other.explain(id).expect("an explanation");
    let why =
        "attempt 1 of 10; its process is gone, and it waits until a running one takes it back";
    assert!(stuck.sentence.ends_with(why), "{}", stuck.sentence);
    assert_eq!(stuck.waits_for, "worker");
    assert_eq!(other.job(id).expect("a job").explanation, stuck);
}
