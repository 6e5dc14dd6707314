//! The front, what nobody wants, and how the cost is shared between those who are up to date and
//! those far behind.

use super::*;
use crate::model::consumer::Start;

fn position(scratch: &Scratch, key: &str) -> i64 {
    scratch.one(&format!("SELECT position FROM lanebox_consumer WHERE key = '{key}'"))
}

#[test]
fn the_front_moves_without_consumers_and_counts_what_nobody_wants_once() {
    let scratch = Scratch::new();
    let mut process = Process::start(&scratch, vec![]);
    process.publish([event("a.b"), event("a.b"), event("a.c")]);
    scratch.run("INSERT INTO lanebox_event(org, name) VALUES ('globex', 'a.b')");
    assert_eq!(process.rest(), Step::OnBell);
    process.publish([event("a.b")]);
    process.drain();
    Process::start(&scratch, vec![]).drain();
    assert_eq!(scratch.one::<i64>("SELECT seq FROM lanebox_front"), 5);
    let unhandled = "SELECT org || ' ' || name || ' ' || count || ' ' || first || ' ' || last FROM lanebox_unhandled ORDER BY 1";
    assert_eq!(
        scratch.all::<String>(unhandled),
        ["acme a.b 3 1 5", "acme a.c 1 3 3", "globex a.b 1 4 4"]
    );
    scratch.assert_sound();
}

#[test]
fn what_any_live_consumer_wants_is_handled_whoever_has_its_code() {
    let scratch = Scratch::new();
    drop(Process::start(&scratch, vec![consume("a", "a.b"), consume("b", "x.*")]));
    scratch.run("UPDATE lanebox_consumer SET state = 'paused' WHERE key = 'a'");
    let mut process = Process::start(&scratch, vec![]);
    process.publish([event("a.b"), event("x.y"), event("a.c")]);
    process.drain();
    assert_eq!(scratch.all::<String>("SELECT name FROM lanebox_unhandled"), ["a.c"]);
    // Another process retires one: this one's memory of patterns is out of date and it knows.
    scratch.run("UPDATE lanebox_consumer SET state = 'retired', retired_at = 1 WHERE key = 'b'; UPDATE lanebox_front SET generation = generation + 1");
    process.publish([event("x.y")]);
    process.drain();
    assert_eq!(scratch.all::<String>("SELECT name FROM lanebox_unhandled"), ["a.c", "x.y"]);
}

#[test]
fn invented_names_are_counted_under_one_row_beyond_a_thousand() {
    let scratch = Scratch::new();
    let mut process = Process::start(&scratch, vec![]);
    process.publish((0..1_100).map(|n| event(&format!("a.n{n}"))));
    process.publish([event("a.n7")]);
    process.drain();
    assert_eq!(scratch.one::<i64>("SELECT count(*) FROM lanebox_unhandled"), 1_001);
    assert_eq!(scratch.one::<i64>("SELECT count FROM lanebox_unhandled WHERE name = '*'"), 100);
    assert_eq!(scratch.one::<i64>("SELECT count FROM lanebox_unhandled WHERE name = 'a.n7'"), 2);
    assert_eq!(scratch.one::<i64>("SELECT sum(count) FROM lanebox_unhandled"), 1_101);
}

#[test]
fn the_first_event_of_each_hour_is_remembered() {
    let scratch = Scratch::new();
    let mut process = Process::start(&scratch, vec![]);
    for minutes in [0, 30, 60, -20, 20] {
        scratch.clock.step_wall(minutes * 60_000);
        process.publish([event("a.b")]);
    }
    process.drain();
    // At 0:00, 0:30, 1:30, 1:10, 1:30.
    let hours = "SELECT (hour - 490896) || ' ' || seq FROM lanebox_hour ORDER BY hour";
    assert_eq!(scratch.all::<String>(hours), ["0 1", "1 3"]);
}

#[test]
fn idle_writes_nothing() {
    let scratch = Scratch::new();
    let mut process = Process::start(&scratch, vec![consume("a", "*"), route("b", "*", one_turn)]);
    process.publish([event("a.b")]);
    process.drain();
    let commits = process.store.commits();
    for _ in 0..5 {
        assert_eq!(process.pass(), Step::OnBell);
    }
    assert_eq!(process.store.commits(), commits);
}

#[test]
fn one_event_costs_one_commit_and_the_claim_rides_along() {
    let scratch = Scratch::new();
    let mut process = Process::start(&scratch, vec![consume("a", "*"), route("b", "*", one_turn)]);
    process.publish([event("a.b")]);
    let (store, ask) = (&process.store, process.ask());
    let before = store.commits();
    let mut claimed = Vec::new();
    let step = process.dispatcher.step(store, |dispatch| {
        let round = Round { dispatch: Some(dispatch), claim: Some(ask), ..Round::default() };
        let mut done = store.round(round)?;
        claimed = std::mem::take(&mut done.claimed);
        done.dispatched.expect("it was asked for")
    });
    assert_eq!(step.expect("dispatched"), Step::OnBell);
    assert_eq!(claimed.len(), 2);
    assert_eq!(process.store.commits(), before + 1);
}

#[test]
fn laggards_take_turns_and_never_hold_up_who_is_up_to_date() {
    let scratch = Scratch::new();
    let mut process = Process::start(&scratch, vec![consume("a", "*")]);
    process.publish((0..5).map(|_| event("a.b")));
    scratch.clock.advance(1_000);
    let later = Start::At(crate::model::job::instant(1_767_225_601_000));
    process.publish((5..1_000).map(|_| event("a.b")));
    process.drain();
    drop(process);
    let from = |start, key: &str, pattern: &str| with(|c| c.start(start), consume(key, pattern));
    let mut process = Process::start(
        &scratch,
        vec![
            consume("a", "*"),
            from(Start::Beginning, "b", "*"),
            from(Start::Beginning, "c", "no.such"),
            from(later, "d", "*"),
        ],
    );
    process.publish([event("a.new")]);
    assert_eq!(process.pass(), Step::Again);
    assert_eq!(position(&scratch, "a"), 1_001, "the new event is seen in the first pass");
    let mut turns = HashMap::new();
    for _ in 0..40 {
        let before = ["b", "d"].map(|key| position(&scratch, key));
        let step = process.pass();
        let after = ["b", "d"].map(|key| position(&scratch, key));
        for (key, moved) in
            ["b", "d"].into_iter().zip(before.iter().zip(&after).map(|(b, a)| b < a))
        {
            *turns.entry(key).or_insert(0) += usize::from(moved);
        }
        if step != Step::Again {
            break;
        }
    }
    assert_eq!(["a", "b", "c", "d"].map(|key| position(&scratch, key)), [1_001; 4]);
    assert!(turns["b"] >= 3 && turns["d"] >= 3, "{turns:?}");
    let of = |key: &str| {
        scratch.one::<i64>(&format!("SELECT count(*) FROM lanebox_delivery d JOIN lanebox_consumer c ON c.id = d.consumer WHERE c.key = '{key}'"))
    };
    assert_eq!(["a", "b", "c", "d"].map(of), [1_001, 1_001, 0, 996]);
    scratch.assert_sound();
}

// Trap 3: a consumer that began beyond the front must not get what lies between.
#[test]
fn who_began_beyond_the_front_gets_nothing_from_before_it_began() {
    let scratch = Scratch::new();
    scratch.run("INSERT INTO lanebox_event(org, name) VALUES ('acme', 'a.b'), ('acme', 'a.b'), ('acme', 'a.b')");
    let mut process = Process::start(&scratch, vec![consume("a", "*")]);
    assert_eq!(position(&scratch, "a"), 3);
    process.publish([event("a.c")]);
    process.drain();
    assert_eq!(deliveries(&scratch), ["a 4 job"]);
    assert_eq!(scratch.one::<i64>("SELECT seq FROM lanebox_front"), 4);
    scratch.assert_sound();
}

#[test]
fn a_paused_consumer_waits_and_goes_on_where_it_stood() {
    let scratch = Scratch::new();
    let mut process = Process::start(&scratch, vec![consume("a", "*"), consume("b", "*")]);
    scratch.run("UPDATE lanebox_consumer SET state = 'paused' WHERE key = 'a'");
    process.publish([event("a.b"), event("a.c")]);
    assert_eq!(process.rest(), Step::OnBell);
    assert_eq!(deliveries(&scratch), ["b 1 job", "b 2 job"]);
    scratch.run("UPDATE lanebox_consumer SET state = 'active' WHERE key = 'a'");
    process.drain();
    assert_eq!(deliveries(&scratch), ["a 1 job", "b 1 job", "a 2 job", "b 2 job"]);
}

#[test]
fn many_consumers_at_once_share_one_scan_and_large_bodies_end_a_batch_early() {
    let scratch = Scratch::new();
    let keys: Vec<String> = (0..40).map(|n| format!("c{n}")).collect();
    let mut process = Process::start(&scratch, keys.iter().map(|key| consume(key, "*")).collect());
    process.publish((0..20).map(|_| event("a.b")));
    assert_eq!(process.pass(), Step::Again, "256 deliveries are what one commit takes");
    process.drain();
    assert_eq!(scratch.one::<i64>("SELECT count(*) FROM lanebox_delivery"), 800);
    let mut one = Process::start(&scratch, vec![consume("c0", "*")]);
    let big = format!("{{\"t\":\"{}\"}}", "x".repeat(1_000_000));
    one.publish((0..20).map(|_| event("a.b").payload_json(big.clone())));
    assert_eq!(one.pass(), Step::Again);
    assert_eq!(position(&scratch, "c0"), 29, "9 bodies of a megabyte are over the bound");
    one.drain();
    assert_eq!(position(&scratch, "c0"), 40);
}
