//! Registering consumers: every answer, and where each begins.

use super::*;
use crate::model::consumer::{Consumer, Form, LaneRule, Start};
use crate::model::job::instant;
use crate::store::bus::Registered;

fn subscribe(store: &SqliteStore, consumer: &Consumer) -> Registered {
    let registration = consumer.registration(Form::Route).expect("a good consumer");
    store.subscribe(registration).expect("registered")
}

fn generation(answer: &Registered) -> i64 {
    match answer {
        Registered::New { generation, .. }
        | Registered::Same { generation, .. }
        | Registered::Changed { generation, .. } => *generation,
        other => panic!("not ours: {other:?}"),
    }
}

fn position(scratch: &Scratch, key: &str) -> i64 {
    scratch.one(&format!("SELECT position FROM lanebox_consumer WHERE key = '{key}'"))
}

// fault: older-version-wins
#[test]
fn every_answer_is_a_value() {
    let scratch = Scratch::new();
    let store = scratch.store();
    let one = Consumer::new("drain", "a.b");
    assert_eq!(generation(&subscribe(&store, &one)), 1);
    assert!(matches!(subscribe(&store, &one), Registered::Same { generation: 1, .. }));
    assert!(matches!(subscribe(&scratch.store(), &one), Registered::Same { generation: 1, .. }));

    let other = Consumer::new("drain", "a.c").also("c.*").also("a.c");
    let Registered::Changed { generation: 2, added, removed, .. } = subscribe(&store, &other)
    else {
        panic!("the patterns changed");
    };
    assert_eq!(
        (added, removed),
        (vec!["a.c".to_owned(), "c.*".to_owned()], vec!["a.b".to_owned()])
    );
    let patterns = scratch.all::<String>("SELECT name FROM lanebox_pattern ORDER BY name");
    assert_eq!(patterns, ["a.c", "c.*"]);

    // The same words at a higher version are other code.
    assert!(matches!(
        subscribe(&store, &other.clone().version(2)),
        Registered::Changed { generation: 3, .. }
    ));
    assert_eq!(subscribe(&store, &other), Registered::Older { version: 2 });
    // And so is another lane or another form.
    let own_lane = other.clone().version(2).lane(LaneRule::Unordered);
    assert!(matches!(subscribe(&store, &own_lane), Registered::Changed { generation: 4, .. }));
    let form =
        store.subscribe(own_lane.registration(Form::Consume).expect("good")).expect("registered");
    assert!(matches!(form, Registered::Changed { generation: 5, .. }));

    scratch.run("UPDATE lanebox_consumer SET state = 'retired', retired_at = 1");
    assert_eq!(subscribe(&store, &one), Registered::Retired);
    assert_eq!(scratch.one::<i64>("SELECT generation FROM lanebox_front"), 5);
    scratch.assert_sound();
}

#[test]
fn what_is_no_consumer_is_refused() {
    let refused = |consumer: Consumer| match consumer.registration(Form::Consume) {
        Err(Error::Invalid { what, .. }) => what,
        other => panic!("not refused: {other:?}"),
    };
    for key in ["", "Drain", "a b", "a\0", &"x".repeat(121)] {
        assert_eq!(refused(Consumer::new(key, "a.b")), "consumer key", "{key:?}");
    }
    assert!(Consumer::new("x".repeat(120), "a.b").registration(Form::Consume).is_ok());
    for pattern in ["", "a", "a*", "a.*.b", "*.b", "**", "A.b"] {
        assert_eq!(refused(Consumer::new("drain", pattern)), "pattern", "{pattern:?}");
    }
    assert_eq!(refused(Consumer::new("drain", "*").version(0)), "consumer version");
    let policy = crate::Policy::default().max_attempts(0);
    assert_eq!(refused(Consumer::new("drain", "*").policy(policy)), "max attempts");
}

// E19, seen from where a consumer begins.
// fault: consumer-begins-at-the-beginning
#[test]
fn e19_a_consumer_begins_now_unless_it_says_otherwise() {
    let scratch = Scratch::new();
    let store = scratch.store();
    subscribe_at(&scratch, &store, "empty", Start::Beginning, 0);
    for _ in 0..3 {
        let _new = publish(&store, event("a.b")).expect("published");
    }
    // Now may lie beyond the front: nobody has adopted these events yet.
    assert_eq!(scratch.one::<i64>("SELECT seq FROM lanebox_front"), 0);
    subscribe_at(&scratch, &store, "now", Start::Now, 3);
    subscribe_at(&scratch, &store, "beginning", Start::Beginning, 0);
    // Where it began is where it stays, whatever a later registration says.
    let again = Consumer::new("now", "a.b").start(Start::Beginning);
    assert!(matches!(subscribe(&store, &again), Registered::Same { .. }));
    assert_eq!(position(&scratch, "now"), 3);
    // What is not there any more cannot be begun with.
    scratch.run("UPDATE lanebox_consumer SET position = 3; UPDATE lanebox_front SET seq = 3; DELETE FROM lanebox_event WHERE seq < 3");
    subscribe_at(&scratch, &store, "later", Start::Beginning, 2);
    scratch.run("UPDATE lanebox_consumer SET position = 3; DELETE FROM lanebox_event");
    subscribe_at(&scratch, &store, "last", Start::Beginning, 3);
}

fn subscribe_at(scratch: &Scratch, store: &SqliteStore, key: &str, start: Start, expected: i64) {
    let answer = subscribe(store, &Consumer::new(key, "a.b").start(start));
    assert!(matches!(answer, Registered::New { generation: 1, .. }), "{answer:?}");
    assert_eq!(position(scratch, key), expected, "{key}");
}

#[test]
fn a_start_at_a_time_is_exact_even_if_the_clock_stepped_back() {
    let scratch = Scratch::new();
    let store = scratch.store();
    let now = 1_767_225_600_000_i64;
    // Recorded at hours 0, 1, 2, then the clock steps back by one and goes on: 1.5, 2.5, 3.
    let half_hours: [i64; 6] = [0, 2, 4, 3, 5, 6];
    for halves in half_hours {
        let recorded_at = now + halves * 1_800_000;
        scratch.run(&format!("INSERT INTO lanebox_event(org, name, recorded_at) VALUES ('acme', 'a.b', {recorded_at})"));
    }
    scratch.clock.advance(24 * 3_600_000);
    let expected =
        |at: i64| half_hours.iter().position(|halves| now + halves * 1_800_000 >= at).unwrap_or(6);
    let mut n = 0;
    for front in [0, 3, 6] {
        // The front has met that many, hour by hour.
        for seq in 1..=front {
            let hour = (now + half_hours[usize::try_from(seq).expect("small") - 1] * 1_800_000)
                / 3_600_000;
            scratch.run(&format!(
                "INSERT INTO lanebox_hour VALUES ({hour}, {seq}) ON CONFLICT DO NOTHING"
            ));
        }
        scratch.run(&format!("UPDATE lanebox_front SET seq = {front}"));
        for quarters in -2..14 {
            let at = now + quarters * 900_000;
            n += 1;
            let start = Start::At(instant(at));
            subscribe_at(
                &scratch,
                &store,
                &format!("c{n}"),
                start,
                i64::try_from(expected(at)).expect("small"),
            );
        }
    }
    let future = Start::At(instant(now + 48 * 3_600_000));
    let registration =
        Consumer::new("future", "a.b").start(future).registration(Form::Route).expect("good");
    assert!(matches!(store.subscribe(registration), Err(Error::Invalid { .. })));
}

#[test]
fn two_deployments_that_fight_over_a_definition_are_told_of() {
    let scratch = Scratch::new();
    let store = scratch.store();
    let (one, other) = (Consumer::new("drain", "a.b"), Consumer::new("drain", "a.c"));
    let notices = || scratch.all::<String>("SELECT kind || ' ' || count FROM lanebox_notice");
    let _new = subscribe(&store, &one);
    let _changed = subscribe(&store, &other);
    assert!(notices().is_empty(), "one change is a deployment");
    scratch.clock.advance(1_000);
    let _changed = subscribe(&store, &one);
    assert_eq!(notices(), ["consumer.contested 1"]);
    scratch.clock.advance(2 * 3_600_000);
    let _changed = subscribe(&store, &other);
    let _changed = subscribe(&store, &one.version(2));
    assert_eq!(notices(), ["consumer.contested 1"]);
}

#[test]
fn another_definition_is_a_fresh_chance() {
    let scratch = Scratch::new();
    let store = scratch.store();
    let _new = subscribe(&store, &Consumer::new("drain", "a.b"));
    let _event = publish(&store, event("a.b")).expect("published");
    scratch.run(
        "INSERT INTO lanebox_process(uuid, boot, os, pid, started_at) VALUES (randomblob(16), 'b', randomblob(16), 1, 0);
         INSERT INTO lanebox_delivery(consumer, event, state, at, attempts, marks, holder, next_at) VALUES (1, 1, 'retry', 0, 3, 2, 1, 5);
         UPDATE lanebox_consumer SET position = 1, routing = 9, alone = 4, holder = 1",
    );
    let _same = subscribe(&store, &Consumer::new("drain", "a.b"));
    assert_eq!(scratch.one::<i64>("SELECT alone FROM lanebox_consumer"), 4);
    let _changed = subscribe(&store, &Consumer::new("drain", "a.b").version(2));
    let marks = "SELECT count(*) FROM lanebox_consumer WHERE routing IS NULL AND alone IS NULL AND holder IS NULL";
    assert_eq!(scratch.one::<i64>(marks), 1);
    let retry = "SELECT attempts || ' ' || marks || ' ' || (holder IS NULL) FROM lanebox_delivery";
    assert_eq!(scratch.one::<String>(retry), "3 0 1");
}
