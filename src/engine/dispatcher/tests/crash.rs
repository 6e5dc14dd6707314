//! Crashes and errors between any two statements: a delivery is whole or not there, and nothing is
//! passed over.

use super::*;

/// One rule planted on each table that a dispatch writes, in its order.
const STEPS: [&str; 12] = [
    "BEFORE INSERT ON lanebox_event_key",
    "BEFORE UPDATE ON lanebox_event",
    "BEFORE INSERT ON lanebox_hour",
    "BEFORE INSERT ON lanebox_unhandled",
    "BEFORE UPDATE ON lanebox_front",
    "BEFORE UPDATE OF position ON lanebox_consumer",
    "BEFORE INSERT ON lanebox_kind",
    "BEFORE INSERT ON lanebox_lane",
    "BEFORE INSERT ON lanebox_job",
    "BEFORE INSERT ON lanebox_open",
    "BEFORE INSERT ON lanebox_ready",
    "BEFORE INSERT ON lanebox_delivery",
];

fn everything(scratch: &Scratch) -> Vec<i64> {
    ["event_key", "hour", "unhandled", "kind", "lane", "job", "open", "ready", "delivery"]
        .iter()
        .map(|table| scratch.one(&format!("SELECT count(*) FROM lanebox_{table}")))
        .chain([
            scratch.one("SELECT count(uuid) FROM lanebox_event"),
            scratch.one("SELECT seq FROM lanebox_front"),
            scratch.one("SELECT position FROM lanebox_consumer"),
        ])
        .collect()
}

fn emit(scratch: &Scratch) {
    scratch.run(
        "INSERT INTO lanebox_event(org, name, subject, dedupe_key) VALUES ('acme', 'a.b', 'ann', 'k');
         INSERT INTO lanebox_event(org, name) VALUES ('acme', 'x.y')",
    );
}

// E18, E26, R63: abort at each statement; then exactly one job.
// fault: dispatch-error-is-silent
#[test]
fn e18_e26_r63_an_error_at_any_statement_is_heard_and_leaves_nothing() {
    for step in STEPS {
        let scratch = Scratch::new();
        let mut process = Process::start(&scratch, vec![consume("a", "a.b")]);
        emit(&scratch);
        let before = everything(&scratch);
        scratch.run(&format!(
            "CREATE TRIGGER planted {step} BEGIN SELECT RAISE(ABORT, 'planted'); END"
        ));
        for _ in 0..2 {
            process.dispatcher.apart = false;
            let error = process.try_pass().expect_err(step).to_string();
            assert!(error.contains("planted"), "{step}: {error}");
            assert_eq!(everything(&scratch), before, "{step}");
        }
        scratch.run("DROP TRIGGER planted");
        process.drain();
        assert_eq!(
            (jobs(&scratch), deliveries(&scratch)),
            (1, vec!["a 1 job".to_owned()]),
            "{step}"
        );
        scratch.assert_sound();
    }
}

// E17, R63: the process dies with its routes run and nothing committed.
// fault: position-moves-alone
#[test]
fn e17_r63_what_was_routed_and_not_committed_is_routed_again() {
    let scratch = Scratch::new();
    let start =
        || Process::start(&scratch, vec![route("drain", "*", one_turn), consume("a", "a.b")]);
    let mut process = start();
    emit(&scratch);
    for _ in 0..3 {
        let prepared = process.dispatcher.prepare(&process.store).expect("ran").expect("events");
        assert_eq!(prepared.batches[0].made.len(), 3);
        drop(process);
        assert_eq!(jobs(&scratch), 0);
        process = start();
    }
    process.drain();
    assert_eq!(deliveries(&scratch), ["a 1 job", "drain 1 routed", "drain 2 routed"]);
    assert_eq!(jobs(&scratch), 3);
    scratch.assert_sound();
}

// R43: failures at random in thousands of events, restarts between passes: each subscriber sees the
// full set, and the jobs of a contact are made in the order of its events unless a delivery needed
// another try.
// fault: position-is-ahead
#[test]
fn r43_no_event_is_skipped_whatever_fails_and_whenever_it_restarts() {
    const EVENTS: i64 = 10_000;
    let scratch = Scratch::new();
    let tried = Count::default();
    let start = || {
        let flaky = |key: &str, every: i64| {
            let tried = tried.clone();
            let fails = move |event: &Event| {
                let n: i64 = event.payload_as::<HashMap<String, i64>>()?["n"];
                // Some heal at their second or third try, some never.
                if n % every == 0 && tried.up() % 3 > 0 {
                    Err("flaky".into())
                } else {
                    one_turn(event)
                }
            };
            with(tries(3), route(key, "*", fails))
        };
        Process::start(&scratch, vec![consume("a", "*"), flaky("seven", 7), flaky("eleven", 11)])
    };
    let mut random = fastrand::Rng::with_seed(43);
    let mut process = start();
    let mut published = 0;
    while published < EVENTS {
        let n = random.i64(1..200).min(EVENTS - published);
        let flaky = |n: i64| {
            event("a.b").subject(format!("s{}", n % 50)).payload(&serde_json::json!({ "n": n }))
        };
        process.publish((0..n).map(|i| flaky(published + i)));
        published += n;
        for _ in 0..random.usize(0..3) {
            let _when_next = process.pass();
        }
        if random.u8(0..4) == 0 {
            let _ran = process.dispatcher.prepare(&process.store).expect("ran");
            drop(process);
            process = start();
        }
        scratch.clock.advance(random.i64(0..2_000));
    }
    for _ in 0..4 {
        process.drain();
        scratch.clock.advance(3_600_000);
    }
    let seen =
        "SELECT count(*) || ' ' || count(DISTINCT event) FROM lanebox_delivery GROUP BY consumer";
    assert_eq!(scratch.all::<String>(seen), vec![format!("{EVENTS} {EVENTS}"); 3]);
    let open = "SELECT count(*) FROM lanebox_delivery WHERE state = 'retry'";
    assert_eq!(scratch.one::<i64>(open), 0);
    let disorder = "SELECT count(*) FROM lanebox_job j JOIN lanebox_job k ON k.consumer = j.consumer AND k.subject = j.subject \
                    AND k.id > j.id AND k.source_event < j.source_event WHERE j.consumer = 1";
    assert_eq!(scratch.one::<i64>(disorder), 0);
    scratch.assert_sound();
}
