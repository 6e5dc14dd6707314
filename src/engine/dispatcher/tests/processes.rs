//! Several processes on one file: who has the code dispatches, and nothing is created twice.

use super::*;
use crate::model::event::Published;

fn start(scratch: &Scratch) -> Process {
    Process::start(scratch, vec![route("drain", "*", one_turn), consume("a", "a.*")])
}

// fault: stale-look-is-written
#[test]
fn e15_two_that_look_at_the_same_time_create_nothing_twice() {
    let scratch = Scratch::new();
    let (mut one, mut other) = (start(&scratch), start(&scratch));
    one.publish(["a.b", "x.y", "a.b"].map(event));
    let prepare = |process: &mut Process| {
        process.dispatcher.prepare(&process.store).expect("ran").expect("events")
    };
    let (first, second) = (prepare(&mut one), prepare(&mut other));
    let done = commit(&one.store, first).expect("written");
    assert_eq!((done.deliveries, done.jobs, done.moved), (5, 5, false));
    let late = commit(&other.store, second).expect("nothing to write");
    assert_eq!((late.deliveries, late.jobs, late.moved), (0, 0, true));
    other.drain();
    assert_eq!((jobs(&scratch), deliveries(&scratch).len()), (5, 5));
    scratch.assert_sound();
}

// fault: stale-look-is-written
#[test]
fn e15_who_looked_further_than_the_one_that_came_first_drops_all_of_it() {
    let scratch = Scratch::new();
    let (mut one, mut other) = (start(&scratch), start(&scratch));
    let prepare = |process: &mut Process| {
        process.dispatcher.prepare(&process.store).expect("ran").expect("events")
    };
    one.publish([event("a.b")]);
    let short = prepare(&mut one);
    one.publish([event("a.b"), event("a.b")]);
    let long = prepare(&mut other);
    let first = commit(&one.store, short).expect("written");
    assert_eq!((first.deliveries, first.moved), (2, false));
    let second = commit(&other.store, long).expect("nothing to write");
    assert_eq!((second.deliveries, second.moved), (0, true));
    other.drain();
    assert_eq!((jobs(&scratch), deliveries(&scratch).len()), (6, 6));
    scratch.assert_sound();
}

#[test]
fn two_at_once_under_load_deliver_each_event_once_to_each_consumer() {
    let scratch = Scratch::new();
    let mut processes = [start(&scratch), start(&scratch)];
    let publisher = scratch.store();
    let raw = scratch.raw();
    std::thread::scope(|scope| {
        for process in &mut processes {
            scope.spawn(move || {
                for _ in 0..150 {
                    process.drain();
                }
            });
        }
        for n in 0..300 {
            if n % 3 == 0 {
                raw.execute(
                    "INSERT INTO lanebox_event(org, name) VALUES ('acme', 'a.foreign')",
                    [],
                )
                .expect("emitted");
            } else {
                let event =
                    event(if n % 3 == 1 { "a.b" } else { "x.y" }).dedupe(format!("k{}", n / 2));
                let _published = publisher.publish(vec![event]);
            }
        }
    });
    processes[0].drain();
    let events: i64 = scratch.one("SELECT count(*) FROM lanebox_event");
    assert_eq!(
        scratch.one::<i64>("SELECT count(*) FROM lanebox_delivery WHERE consumer = 1"),
        events
    );
    let wanted = "SELECT count(*) FROM lanebox_event WHERE name GLOB 'a.*'";
    assert_eq!(
        scratch.one::<i64>("SELECT count(*) FROM lanebox_delivery WHERE consumer = 2"),
        scratch.one::<i64>(wanted)
    );
    assert_eq!(jobs(&scratch), scratch.one::<i64>("SELECT count(*) FROM lanebox_delivery"));
    scratch.assert_sound();
}

#[test]
fn an_older_definition_stops_at_its_next_step_without_a_message() {
    let scratch = Scratch::new();
    let of = |version, kind: &'static str| {
        let made = route("drain", "*", move |_| Ok(vec![NewJob::raw(kind, "{}", Lane::NONE)]));
        Process::start(&scratch, vec![with(move |c| c.version(version), made)])
    };
    let mut old = of(1, "turn");
    old.publish([event("a.b")]);
    // It looked and ran its routes before the new one registered: the results are thrown away.
    let prepared = old.dispatcher.prepare(&old.store).expect("ran").expect("an event");
    let mut new = of(2, "new_turn");
    let late = commit(&old.store, prepared).expect("the front alone");
    assert_eq!((late.deliveries, late.moved), (0, true));
    assert_eq!(old.rest(), Step::OnBell);
    new.drain();
    let mut older = of(1, "turn");
    new.publish([event("a.b")]);
    older.drain();
    old.drain();
    assert_eq!(jobs(&scratch), 1);
    new.drain();
    let kinds = "SELECT k.name FROM lanebox_job j JOIN lanebox_kind k ON k.id = j.kind";
    assert_eq!(scratch.all::<String>(kinds), ["new_turn", "new_turn"]);
    scratch.assert_sound();
}

#[test]
fn changed_patterns_hold_from_the_position_on() {
    let scratch = Scratch::new();
    let of = |pattern: &str| Process::start(&scratch, vec![consume("a", pattern)]);
    let mut process = of("a.b");
    process.publish(["a.b", "a.c"].map(event));
    process.drain();
    drop(process);
    let mut process = of("a.c");
    process.publish(["a.b", "a.c"].map(event));
    process.drain();
    assert_eq!(deliveries(&scratch), ["a 1 job", "a 4 job"]);
}

#[test]
fn a_process_without_the_code_moves_nobody_and_a_retired_consumer_gets_nothing() {
    let scratch = Scratch::new();
    drop(start(&scratch));
    let mut other = Process::start(&scratch, vec![consume("b", "*")]);
    other.publish([event("a.b")]);
    other.drain();
    assert_eq!(deliveries(&scratch), ["b 1 job"]);
    assert_eq!(scratch.all::<i64>("SELECT position FROM lanebox_consumer ORDER BY id"), [0, 0, 1]);
    scratch.run("UPDATE lanebox_consumer SET state = 'retired', retired_at = 1 WHERE key = 'a'");
    let mut process = start(&scratch);
    process.drain();
    assert_eq!(deliveries(&scratch), ["b 1 job", "drain 1 routed"]);
    scratch.assert_sound();
}

#[test]
fn the_front_is_moved_by_whoever_comes_first_and_the_others_deliver_behind_it() {
    let scratch = Scratch::new();
    let mut one = Process::start(&scratch, vec![consume("a", "*")]);
    let mut other = Process::start(&scratch, vec![consume("b", "*")]);
    scratch.run("INSERT INTO lanebox_event(org, name) VALUES ('acme', 'a.b')");
    for n in 0..3 {
        let (first, second) =
            if n % 2 == 0 { (&mut one, &mut other) } else { (&mut other, &mut one) };
        first.publish([event("a.b")]);
        first.drain();
        second.drain();
    }
    assert_eq!(
        scratch.all::<i64>("SELECT count(*) FROM lanebox_delivery GROUP BY consumer"),
        [4, 4]
    );
    assert_eq!(scratch.one::<i64>("SELECT seq FROM lanebox_front"), 4);
    scratch.assert_sound();
}

// A foreign event has no id when both look at it: each would give it one of its own.
#[test]
fn an_event_has_one_id_even_if_two_processes_were_about_to_give_it_one() {
    let scratch = Scratch::new();
    let tells = || {
        let tells = route("drain", "*", |event| {
            Ok(vec![NewJob::raw("turn", format!("\"{}\"", event.id()), Lane::NONE)])
        });
        Process::start(&scratch, vec![tells])
    };
    let mut other = Process::start(&scratch, vec![consume("a", "*")]);
    let mut one = tells();
    scratch.run("INSERT INTO lanebox_event(org, name) VALUES ('acme', 'a.b'), ('acme', 'a.c')");
    let prepared = one.dispatcher.prepare(&one.store).expect("ran").expect("events");
    other.drain();
    let late = commit(&one.store, prepared).expect("cut");
    assert_eq!((late.deliveries, late.moved), (0, true));
    one.drain();
    let ids = "SELECT hex(uuid) FROM lanebox_event ORDER BY seq";
    let told = "SELECT upper(replace(payload ->> '$', '-', '')) FROM lanebox_job WHERE consumer = 2 ORDER BY id";
    assert_eq!(scratch.all::<String>(ids), scratch.all::<String>(told));
    scratch.assert_sound();
}

// Trap 4: it turned out to be a duplicate between the look and the commit.
#[test]
fn an_event_that_turns_out_a_duplicate_meanwhile_is_delivered_to_nobody() {
    let scratch = Scratch::new();
    let (mut one, mut other) = (start(&scratch), start(&scratch));
    let first = one.store.publish(vec![event("a.b").dedupe("k")]).expect("published").remove(0);
    assert!(matches!(first, Published::New(_)));
    one.drain();
    // The body is gone, so that the guard cannot see the repetition.
    scratch.run(
        "DROP TRIGGER lanebox_event_keep; DELETE FROM lanebox_event; DELETE FROM lanebox_delivery",
    );
    scratch.run("INSERT INTO lanebox_event(org, name, dedupe_key) VALUES ('acme', 'a.b', 'k'); INSERT INTO lanebox_event(org, name) VALUES ('acme', 'x.y')");
    let prepared = one.dispatcher.prepare(&one.store).expect("ran").expect("events");
    other.drain();
    let _late = commit(&one.store, prepared).expect("written");
    one.drain();
    assert_eq!(deliveries(&scratch), ["drain 3 routed"]);
    assert_eq!(state(&scratch, 2), "duplicate");
}

#[test]
fn a_definition_that_changes_between_look_and_commit_is_counted_by_its_new_words() {
    let scratch = Scratch::new();
    let mut one = Process::start(&scratch, vec![]);
    one.publish(["a.b", "x.y"].map(event));
    let prepared = one.dispatcher.prepare(&one.store).expect("looked").expect("events");
    drop(Process::start(&scratch, vec![consume("a", "a.b")]));
    let _moved = commit(&one.store, prepared).expect("written");
    assert_eq!(scratch.all::<String>("SELECT name FROM lanebox_unhandled"), ["x.y"]);
}

// Trap 6: the front stands in the midst of a range by the time it is committed.
#[test]
fn an_event_is_counted_as_unhandled_once_whoever_looked_how_far() {
    let scratch = Scratch::new();
    let mut one = Process::start(&scratch, vec![]);
    let mut other = Process::start(&scratch, vec![]);
    let prepare = |process: &mut Process| {
        process.dispatcher.prepare(&process.store).expect("looked").expect("events")
    };
    one.publish([event("a.b")]);
    let short = prepare(&mut one);
    one.publish([event("a.b")]);
    let long = prepare(&mut other);
    let _first = commit(&one.store, short).expect("written");
    let _second = commit(&other.store, long).expect("written");
    one.drain();
    let counted = "SELECT count || ' ' || first || ' ' || last FROM lanebox_unhandled";
    assert_eq!(scratch.one::<String>(counted), "2 1 2");
}
