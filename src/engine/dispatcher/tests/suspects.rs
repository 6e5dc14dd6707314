//! Routes that end their process. Its lock file names the route that it died in; here that note is
//! written by hand and the process dropped. `death.rs` does it with a process that really dies.

use super::*;
use crate::env::ManualClock;
use crate::store::sqlite::Durability;

/// Dies in this route.
fn die(process: Process, way: Way, event: i64) {
    let Watch { consumer, generation, .. } = *process.dispatcher.mine[0];
    let at = InRoute { way, consumer, generation, event: EventSeq(event) };
    process.store.note_route(process.no, Some(&at)).expect("noted");
}

fn marks(scratch: &Scratch) -> String {
    scratch.one("SELECT coalesce(routing, '-') || ' ' || coalesce(alone, '-') || ' ' || coalesce(holder, '-') FROM lanebox_consumer")
}

/// A route that remembers what it ran on.
fn remembers(ran: &Arc<parking_lot::Mutex<Vec<i64>>>) -> Subscription {
    let ran = ran.clone();
    route("drain", "a.*", move |event| {
        ran.lock().push(event.seq());
        one_turn(event)
    })
}

#[test]
fn after_a_death_in_a_range_it_goes_on_one_event_at_a_time_until_it_has_passed_it() {
    let scratch = Scratch::new();
    let ran = Arc::default();
    let start = || Process::start(&scratch, vec![remembers(&ran), consume("a", "*")]);
    let mut process = start();
    process.publish(["a.b", "x.y", "a.b", "a.b", "a.b"].map(event));
    let prepared = process.dispatcher.prepare(&process.store).expect("routes ran");
    assert!(prepared.is_some_and(|dispatch| dispatch.batches[0].made.len() == 9));
    die(process, Way::Range, 4);
    ran.lock().clear();

    let mut process = start();
    assert_eq!(
        scratch.all::<String>("SELECT coalesce(routing, '-') || '' FROM lanebox_consumer"),
        ["4", "-"]
    );
    let (mut seen, mut positions) = (Vec::new(), Vec::new());
    while process.pass() == Step::Again {
        seen.push(std::mem::take(&mut *ran.lock()));
        positions
            .push(scratch.one::<i64>("SELECT position FROM lanebox_consumer WHERE key = 'drain'"));
    }
    // The first pass moves the front; then each event of the range alone; what follows it together
    // again.
    assert_eq!(positions[..4], [0, 1, 3, 4]);
    assert_eq!(seen[..4], [vec![], vec![1], vec![3], vec![4]]);
    assert_eq!(
        scratch.one::<i64>("SELECT count(*) FROM lanebox_delivery WHERE state = 'routed'"),
        4
    );
    assert_eq!(
        scratch.all::<String>("SELECT coalesce(routing, '-') || '' FROM lanebox_consumer"),
        ["-", "-"]
    );
    // The other consumer was never slow.
    assert_eq!(scratch.one::<i64>("SELECT position FROM lanebox_consumer WHERE key = 'a'"), 5);
    assert_eq!(jobs(&scratch), 9);
    scratch.assert_sound();
}

#[test]
fn a_route_that_kills_its_process_with_nothing_beside_it_is_dead_and_the_rest_goes_on() {
    let scratch = Scratch::new();
    let ran = Arc::default();
    let start = || Process::start(&scratch, vec![remembers(&ran)]);
    let mut process = start();
    process.publish(["a.b", "a.b", "a.b"].map(event));
    let _ran = process.dispatcher.prepare(&process.store).expect("routes ran");
    die(process, Way::Range, 2);

    let mut process = start();
    process.drain_to(&scratch, 1);
    let taken = process.dispatcher.prepare(&process.store).expect("it ran");
    assert!(taken.is_some_and(|dispatch| dispatch.suspect.is_some()));
    assert_eq!(marks(&scratch), format!("2 2 {}", process.no));
    die(process, Way::Alone, 2);

    ran.lock().clear();
    let mut process = start();
    assert_eq!(marks(&scratch), "2 2 -");
    process.drain();
    assert_eq!(deliveries(&scratch), ["drain 1 routed", "drain 2 dead", "drain 3 routed"]);
    assert_eq!(*ran.lock(), [3], "what killed twice does not run again");
    assert_eq!(marks(&scratch), "- - -");
    assert_eq!(state(&scratch, 2), "dead");
    let notice = scratch.one::<String>("SELECT reason FROM lanebox_notice");
    assert!(
        notice.contains("its process died while this route ran with nothing beside it"),
        "{notice}"
    );
    scratch.assert_sound();
}

impl Process {
    /// Passes until the consumer stands there.
    fn drain_to(&mut self, scratch: &Scratch, position: i64) {
        let stands = "SELECT position FROM lanebox_consumer WHERE key = 'drain'";
        while scratch.one::<i64>(stands) < position {
            let _when_next = self.pass();
        }
    }
}

// A kill from outside hits a commit far more often than a route: nobody is accused of it.
#[test]
fn a_death_outside_of_a_route_accuses_nobody() {
    let scratch = Scratch::new();
    let ran = Arc::default();
    let start = || Process::start(&scratch, vec![remembers(&ran)]);
    let mut process = start();
    process.publish([event("a.b")]);
    let _ran = process.dispatcher.prepare(&process.store).expect("routes ran");
    drop(process);
    let mut process = start();
    assert_eq!(marks(&scratch), "- - -");
    // The same while it has a suspect and a due retry: both are free again, with nothing counted.
    scratch.run("UPDATE lanebox_consumer SET routing = 1");
    process.drain_to(&scratch, 0);
    let _front = process.pass();
    let _ran = process.dispatcher.prepare(&process.store).expect("it ran");
    drop(process);
    let mut process = start();
    assert!(["1 - -", "- - -"].contains(&marks(&scratch).as_str()));
    process.drain();
    assert_eq!(deliveries(&scratch), ["drain 1 routed"]);
    scratch.assert_sound();
}

#[test]
fn of_several_retries_that_a_process_had_taken_only_the_one_it_died_in_counts() {
    let scratch = Scratch::new();
    let heals = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let start = || {
        let heals = heals.clone();
        let fails = move |event: &Event| {
            if heals.load(Ordering::Relaxed) { one_turn(event) } else { Err("no".into()) }
        };
        Process::start(&scratch, vec![route("drain", "*", fails)])
    };
    let mut process = start();
    process.publish(["a.b", "a.b", "a.b"].map(event));
    process.drain();
    let marks = || scratch.all::<i64>("SELECT marks FROM lanebox_delivery ORDER BY event");
    for deaths in 1..=2 {
        scratch.clock.advance(3_600_000);
        let _ran = process.dispatcher.prepare(&process.store).expect("it ran");
        assert_eq!(marks(), [1, deaths, 1]);
        die(process, Way::Again, 2);
        process = start();
        assert_eq!(marks(), [0, deaths, 0]);
    }
    heals.store(true, Ordering::Relaxed);
    process.drain();
    assert_eq!(deliveries(&scratch), ["drain 1 routed", "drain 2 dead", "drain 3 routed"]);
    let error = scratch.one::<String>("SELECT last_error FROM lanebox_delivery WHERE event = 2");
    assert_eq!(error, "its process died twice while it was tried again");
    scratch.assert_sound();
}

#[test]
fn a_death_stays_counted_while_it_fails_and_is_forgotten_when_it_succeeds() {
    let scratch = Scratch::new();
    let ran = Count::default();
    let counted = ran.clone();
    let fails =
        route(
            "drain",
            "*",
            move |event| if counted.up() < 4 { Err("no".into()) } else { one_turn(event) },
        );
    let mut process = Process::start(&scratch, vec![fails]);
    process.publish([event("a.b")]);
    process.drain();
    scratch.run("UPDATE lanebox_delivery SET marks = 1");
    for _ in 0..2 {
        scratch.clock.advance(3_600_000);
        process.drain();
        assert_eq!(scratch.one::<i64>("SELECT marks FROM lanebox_delivery"), 1);
    }
    scratch.clock.advance(3_600_000);
    process.drain();
    assert_eq!(deliveries(&scratch), ["drain 1 routed"]);
}

#[test]
fn a_reboot_accuses_no_route() {
    let scratch = Scratch::new();
    let start = |clock| Process::on(scratch.store_at(clock), vec![route("drain", "*", one_turn)]);
    let mut process = start(scratch.clock.clone());
    process.publish([event("a.b"), event("a.b")]);
    let _ran = process.dispatcher.prepare(&process.store).expect("it ran");
    die(process, Way::Range, 1);
    let rebooted = Arc::new(ManualClock::rebooted(1_767_225_700_000, "boot-2"));
    let mut process = start(rebooted);
    assert_eq!(marks(&scratch), "- - -");
    process.drain();
    assert_eq!(deliveries(&scratch), ["drain 1 routed", "drain 2 routed"]);
}

// Traps 1 and 8: whoever is paused or redefined while its suspect runs loses the result and keeps
// no mark.
#[test]
fn a_suspect_that_is_paused_or_redefined_meanwhile_keeps_no_mark() {
    for meanwhile in [
        "UPDATE lanebox_consumer SET state = 'paused'",
        "UPDATE lanebox_consumer SET generation = generation + 1",
    ] {
        let scratch = Scratch::new();
        let path = scratch.path();
        let interrupted = route("drain", "*", move |event| {
            let other = rusqlite::Connection::open(&path).expect("the file");
            other.execute_batch(meanwhile).expect("changed");
            one_turn(event)
        });
        let mut process = Process::start(&scratch, vec![interrupted]);
        process.publish([event("a.b")]);
        scratch.run("UPDATE lanebox_consumer SET routing = 1");
        process.drain();
        assert!(deliveries(&scratch).is_empty(), "{meanwhile}");
        assert_eq!(marks(&scratch), "1 - -", "{meanwhile}");
    }
}

#[test]
fn a_retry_that_is_paused_or_redefined_meanwhile_keeps_no_mark_and_no_attempt() {
    let scratch = Scratch::new();
    let path = scratch.path();
    let ran = Count::default();
    let counted = ran.clone();
    let interrupted = route("drain", "*", move |_| {
        if counted.up() == 2 {
            let other = rusqlite::Connection::open(&path).expect("the file");
            other.execute_batch("UPDATE lanebox_consumer SET state = 'paused'").expect("paused");
        }
        Err("no".into())
    });
    let mut process = Process::start(&scratch, vec![interrupted]);
    process.publish([event("a.b")]);
    process.drain();
    scratch.clock.advance(5_000);
    process.drain();
    let row =
        "SELECT attempts || ' ' || marks || ' ' || coalesce(holder, '-') FROM lanebox_delivery";
    assert_eq!((ran.get(), scratch.one::<String>(row)), (2, "1 0 -".to_owned()));
}

// A commit that failed leaves what it had taken with the process: it runs again, and no second mark
// is made.
#[test]
fn what_a_failed_commit_leaves_taken_is_run_again_by_the_same_process() {
    let scratch = Scratch::new();
    let ran = Count::default();
    let counted = ran.clone();
    let heals = route("drain", "*", move |event| match counted.up() {
        1 => Err("no".into()),
        _ => one_turn(event),
    });
    let mut process = Process::start(&scratch, vec![heals]);
    process.publish([event("a.b")]);
    process.drain();
    process.publish([event("a.b")]);
    scratch.run(
        "UPDATE lanebox_consumer SET routing = 2;
         CREATE TRIGGER planted BEFORE INSERT ON lanebox_job BEGIN SELECT RAISE(ABORT, 'planted'); END",
    );
    let _front_moves = process.pass();
    scratch.clock.advance(5_000);
    for _ in 0..3 {
        process.dispatcher.apart = false;
        assert!(process.try_pass().is_err());
        let row = "SELECT marks || ' ' || holder FROM lanebox_delivery WHERE event = 1";
        assert_eq!(scratch.one::<String>(row), format!("1 {}", process.no));
        assert_eq!(marks(&scratch), format!("2 2 {}", process.no));
    }
    assert_eq!(ran.get(), 1 + 3 * 2);
    scratch.run("DROP TRIGGER planted");
    process.drain();
    assert_eq!(deliveries(&scratch), ["drain 1 routed", "drain 2 routed"]);
    assert_eq!(marks(&scratch), "- - -");
}

#[test]
fn a_suspect_that_a_living_process_has_is_left_to_it() {
    let scratch = Scratch::new();
    let start = || Process::start(&scratch, vec![route("drain", "*", one_turn)]);
    let (mut one, mut other) = (start(), start());
    one.publish([event("a.b"), event("a.b")]);
    scratch.run("UPDATE lanebox_consumer SET routing = 2");
    let _front_moves = one.pass();
    let prepared = one.dispatcher.prepare(&one.store).expect("it ran").expect("a suspect");
    assert_eq!(other.rest(), Step::OnBell);
    assert!(deliveries(&scratch).is_empty());
    let round = Round { dispatch: Some(prepared), ..Round::default() };
    let done = one.store.round(round).expect("committed").dispatched.expect("dispatched");
    assert_eq!(done.expect("written").deliveries, 1);
    other.drain();
    assert_eq!(deliveries(&scratch), ["drain 1 routed", "drain 2 routed"]);
}

// Trap 7: what lies beyond the front is not adopted; the suspect waits until the lead has passed
// it.
#[test]
fn a_suspect_beyond_the_front_waits_for_it() {
    let scratch = Scratch::new();
    let mut process = Process::start(&scratch, vec![route("drain", "*", one_turn)]);
    scratch.run(
        "INSERT INTO lanebox_event(org, name) VALUES ('acme', 'a.b'), ('acme', 'a.b'); UPDATE lanebox_consumer SET routing = 2",
    );
    process.drain();
    assert_eq!(deliveries(&scratch), ["drain 1 routed", "drain 2 routed"]);
    assert_eq!(scratch.one::<i64>("SELECT seq FROM lanebox_front"), 2);
    scratch.assert_sound();
}

// Nothing that it wants is left in the range: the ordinary walk goes on.
#[test]
fn a_suspect_with_nothing_left_in_its_range_is_none() {
    let scratch = Scratch::new();
    let mut process = Process::start(&scratch, vec![route("drain", "a.*", one_turn)]);
    process.publish(["x.y", "x.y", "a.b"].map(event));
    scratch.run("UPDATE lanebox_consumer SET routing = 2");
    process.drain();
    assert_eq!(
        (deliveries(&scratch), marks(&scratch)),
        (vec!["drain 3 routed".to_owned()], "- - -".to_owned())
    );
    scratch.assert_sound();
}

// An orderly end in the midst of it: whatever it had taken is free.
#[test]
fn who_leaves_lets_go_of_what_it_had_taken() {
    let scratch = Scratch::with(Durability::Relaxed);
    let mut process = Process::start(&scratch, vec![route("drain", "*", one_turn)]);
    process.publish([event("a.b")]);
    scratch.run("UPDATE lanebox_consumer SET routing = 1");
    let _front_moves = process.pass();
    let _ran = process.dispatcher.prepare(&process.store).expect("it ran");
    assert_eq!(marks(&scratch), format!("1 1 {}", process.no));
    process.store.leave(process.no).expect("left");
    assert_eq!(marks(&scratch), "1 - -");
    let refused = process.store.note_route(process.no, None).expect_err("it has left");
    assert!(refused.to_string().contains("given up its lock"), "{refused}");
}
