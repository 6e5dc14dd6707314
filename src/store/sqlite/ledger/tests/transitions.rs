//! The transition table of a try: every state, every event, and where its job is afterwards.

use crate::model::id::{Held, JobId, SendKey};
use crate::model::send::ability::Abilities;
use crate::model::verdict::End;
use crate::store::jobs::Ended;
use crate::store::ledger::tests::world::{BOTH, DEDUPE, LOOKUP, NEITHER, PATIENCE, SETTLE, World};
use crate::store::ledger::{Accepted, Begun, Ledger, LookedAnswer, Rejected, Word};

/// A try in some state, the run that made its call, and its job.
struct Scene {
    w: World,
    key: SendKey,
    held: Held,
    job: JobId,
}

const EVENTS: [&str; 9] = [
    "accepted",
    "rejected",
    "token ends",
    "echo",
    "not found",
    "resend",
    "mark as sent",
    "send again",
    "give up",
];

/// What each event makes of a try in each state: the state, and the place of its job.
const TABLE: &[(&str, [&str; 9])] = &[
    (
        "intended",
        [
            "accepted running",
            "rejected running",
            "unknown unknown",
            "accepted running",
            "intended running",
            "intended running",
            "intended running",
            "intended running",
            "intended running",
        ],
    ),
    (
        "unknown",
        [
            "accepted waiting",
            "rejected waiting",
            "unknown unknown",
            "accepted waiting",
            "abandoned(not_found) waiting",
            "intended running",
            "accepted waiting",
            "abandoned(send_again) waiting",
            "abandoned(given_up) given_up",
        ],
    ),
    (
        "patience over",
        [
            "accepted waiting",
            "rejected waiting",
            "unknown parked",
            "accepted waiting",
            "abandoned(not_found) waiting",
            "unknown parked",
            "accepted waiting",
            "abandoned(send_again) waiting",
            "abandoned(given_up) given_up",
        ],
    ),
    (
        "rejected",
        [
            "accepted waiting",
            "rejected waiting",
            "rejected waiting",
            "accepted waiting",
            "rejected waiting",
            "rejected waiting",
            "rejected waiting",
            "rejected waiting",
            "rejected waiting",
        ],
    ),
    (
        "rejected, another accepted",
        [
            "duplicate done",
            "rejected done",
            "rejected done",
            "duplicate done",
            "rejected done",
            "rejected done",
            "rejected done",
            "rejected done",
            "rejected done",
        ],
    ),
    (
        "abandoned",
        [
            "accepted waiting",
            "abandoned(not_found) waiting",
            "abandoned(not_found) waiting",
            "accepted waiting",
            "abandoned(not_found) waiting",
            "abandoned(not_found) waiting",
            "abandoned(not_found) waiting",
            "abandoned(not_found) waiting",
            "abandoned(not_found) waiting",
        ],
    ),
    ("accepted", ["accepted done"; 9]),
    ("duplicate", ["duplicate done"; 9]),
];

impl Scene {
    fn intended(abilities: Abilities) -> Scene {
        let w = World::new();
        let job = w.job("ann");
        let held = w.claim();
        let key = w.go(held, abilities);
        Scene { w, key, held, job }
    }

    fn unknown(abilities: Abilities) -> Scene {
        let scene = Scene::intended(abilities);
        assert_eq!(scene.w.end(scene.held, End::Unknown), Ended::Holds);
        scene
    }

    fn in_state(state: &str, abilities: Abilities) -> Scene {
        match state {
            "intended" => Scene::intended(abilities),
            "unknown" => Scene::unknown(abilities),
            "patience over" => {
                let scene = Scene::unknown(abilities);
                scene.w.advance(PATIENCE);
                assert!(matches!(scene.w.look(false)[..], [LookedAnswer::Told { .. }]));
                scene
            }
            "rejected" => {
                let scene = Scene::intended(abilities);
                assert_eq!(scene.w.refused(scene.held, scene.key), Rejected::Now);
                assert!(matches!(scene.w.retry(scene.held), Ended::Waits { .. }));
                scene
            }
            "rejected, another accepted" => {
                let scene = Scene::in_state("rejected", abilities);
                let held = scene.w.claim();
                let newer = scene.w.go(held, abilities);
                assert_eq!(scene.w.answered(newer, "r2"), Accepted::Now);
                assert_eq!(scene.w.done(held), Ended::Done);
                scene
            }
            "abandoned" => {
                let scene = Scene::unknown(LOOKUP);
                scene.w.advance(SETTLE);
                assert_eq!(scene.w.look(true), [LookedAnswer::NotFound]);
                scene
            }
            "accepted" => {
                let scene = Scene::intended(abilities);
                assert_eq!(scene.w.answered(scene.key, "r1"), Accepted::Now);
                assert_eq!(scene.w.done(scene.held), Ended::Done);
                scene
            }
            "duplicate" => {
                let scene = Scene::in_state("rejected, another accepted", abilities);
                assert_eq!(scene.w.echo(scene.key, "r1"), Accepted::Duplicate);
                scene
            }
            other => panic!("no such state: {other}"),
        }
    }

    fn happens(&self, event: &str) {
        let Scene { w, key, held, .. } = self;
        let person = |word| {
            let _answer = w.store.resolve(*key, word, "ann").expect("an answer");
        };
        match event {
            "accepted" => {
                let _answer = w.answered(*key, "r1");
            }
            "rejected" => {
                let _answer = w.refused(*held, *key);
            }
            "token ends" => {
                let _answer = w.end(*held, End::Unknown);
            }
            "echo" => {
                let _answer = w.echo(*key, "r1");
            }
            "not found" => {
                w.advance(600_000);
                w.look(true);
            }
            "resend" => self.resend(),
            "mark as sent" => person(Word::Sent),
            "send again" => person(Word::SendAgain),
            "give up" => person(Word::GiveUp),
            other => panic!("no such event: {other}"),
        }
    }

    // The resolver permits it, and a run begins; whoever cannot be permitted stays where it is.
    fn resend(&self) {
        let w = &self.w;
        w.advance(PATIENCE / 32);
        if w.look(false) == [LookedAnswer::Permitted] {
            let Begun::Go { key, .. } = w.begin(w.claim(), 1, DEDUPE) else { panic!("it goes") };
            assert_eq!(key, self.key);
        }
    }

    fn shows(&self) -> String {
        format!("{} {}", self.w.state_of(self.key), self.w.place_of(self.job))
    }
}

#[test]
fn every_state_of_a_try_meets_every_event() {
    for (state, row) in TABLE {
        for (event, expected) in EVENTS.iter().zip(row) {
            let abilities = if *event == "resend" { DEDUPE } else { LOOKUP };
            let scene = Scene::in_state(state, abilities);
            scene.happens(event);
            assert_eq!(scene.shows(), *expected, "{state}: {event}");
            scene.w.sound();
            // Twice is once: a second click, a doubled status, a late answer.
            if !["token ends", "not found", "resend"].contains(event) {
                scene.happens(event);
                assert_eq!(scene.shows(), *expected, "{state}: {event}, twice");
                scene.w.sound();
            }
        }
    }
}

#[test]
fn who_is_told() {
    let scene = Scene::unknown(LOOKUP);
    assert_eq!(scene.w.notices(), [""; 0], "inside the patience nobody");
    let scene = Scene::in_state("patience over", LOOKUP);
    assert_eq!(scene.w.notices(), ["send.unknown 1"]);
    scene.happens("echo");
    assert_eq!(scene.w.notices(), [""; 0], "settled: its notice is closed");
    let scene = Scene::in_state("duplicate", LOOKUP);
    assert_eq!(scene.w.notices(), ["send.duplicate 1"]);
    let severity: String = scene.w.ask("SELECT severity FROM lanebox_notice");
    assert_eq!(severity, "critical");
}

#[test]
fn not_found_before_the_settle_time_or_inside_the_memory_changes_nothing() {
    let scene = Scene::unknown(LOOKUP);
    scene.w.advance(SETTLE - 1);
    assert_eq!(scene.w.look(true), [], "nobody asks before");
    let scene = Scene::unknown(BOTH);
    scene.w.advance(SETTLE);
    assert!(matches!(scene.w.look(true)[..], [LookedAnswer::Later { .. }]));
    assert_eq!(scene.shows(), "unknown unknown");
    scene.w.sound();
}

#[test]
fn the_abilities_of_the_code_that_runs_now_are_what_counts() {
    let w = World::new();
    w.job("ann");
    let held = w.claim();
    assert!(matches!(w.begin(held, 1, NEITHER), Begun::Go { .. }));
    assert!(matches!(w.begin(held, 2, BOTH), Begun::Go { .. }));
    assert_eq!(w.ask::<i64>("SELECT lookup_settle_ms FROM lanebox_channel"), SETTLE);
    assert_eq!(w.ask::<i64>("SELECT count(*) FROM lanebox_channel"), 1);
}
