//! J51: what a host can count and measure, by one log record per ended attempt. E78: what no record
//! tells.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Mutex, OnceLock};
use std::time::Duration;

use lanebox::{
    Abilities, BoxError, Channel, Consumer, Delivery, Lane, Letter, NewEvent, NewJob, Outcome,
    Reactions,
};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

use crate::scene::{Answer, Gate, Opens, Scene, enqueue, job, quick, until};

type Fields = BTreeMap<String, String>;

/// What nobody may read in a log.
const CANARY: &str = "CANARY";

/// Records of any kind that tell it.
static LEAKS: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Keeps the records of attempts, and those that tell too much.
struct Attempts(&'static Mutex<Vec<Fields>>);

impl Attempts {
    fn keep(&self, target: &str, fields: Fields) {
        let told = format!("{target} {fields:?}");
        if told.contains(CANARY) {
            LEAKS.lock().expect("no panic").push(told);
        }
        if target == "lanebox::attempt" {
            self.0.lock().expect("no panic").push(fields);
        }
    }
}

struct Reading(Fields);

impl Visit for Reading {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.insert(field.name().to_owned(), format!("{value:?}"));
    }
}

impl Subscriber for Attempts {
    fn enabled(&self, of: &Metadata<'_>) -> bool {
        of.target().starts_with("lanebox")
    }

    fn new_span(&self, of: &Attributes<'_>) -> Id {
        let mut fields = Reading(Fields::new());
        of.record(&mut fields);
        self.keep("a span", fields.0);
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut fields = Reading(Fields::new());
        event.record(&mut fields);
        self.keep(event.metadata().target(), fields.0);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// The records of this program, from the first call on.
fn records() -> &'static Mutex<Vec<Fields>> {
    static RECORDS: Mutex<Vec<Fields>> = Mutex::new(Vec::new());
    static ONCE: OnceLock<()> = OnceLock::new();
    ONCE.get_or_init(|| {
        tracing::subscriber::set_global_default(Attempts(&RECORDS)).expect("the only one here");
    });
    &RECORDS
}

fn of(kind: &str) -> Vec<Fields> {
    let kind = format!("{kind:?}");
    let records = records().lock().expect("no panic");
    records.iter().filter(|fields| fields["kind"] == kind).cloned().collect()
}

fn outcomes(kind: &str) -> Vec<String> {
    of(kind).iter().map(|fields| fields["outcome"].trim_matches('"').to_owned()).collect()
}

#[test]
fn j51_each_way_of_ending_has_its_word_its_attempt_and_its_duration() {
    records();
    let scene = Scene::new();
    let lanebox = scene.open();
    let reactions = Reactions::new()
        .on_kind("rec.done", quick(), |_ctx| -> Answer { Ok(Outcome::Done) })
        .on_kind("rec.rows", quick(), |ctx| -> Answer {
            ctx.finish_in(|_conn| Ok::<_, rusqlite::Error>(()));
            Ok(Outcome::Done)
        })
        .on_kind("rec.fails", quick(), |_ctx| -> Answer { Err("no".into()) })
        .on_kind("rec.skip", quick(), |_ctx| -> Answer { Ok(Outcome::skip("no")) })
        .on_kind("rec.veto", quick(), |_ctx| -> Answer { Ok(Outcome::veto("no")) })
        .on_kind("rec.later", quick(), |ctx| -> Answer {
            match ctx.attempt() {
                1 => Ok(Outcome::postpone(ctx.now() + Duration::from_secs(600), "later")),
                _ => Ok(Outcome::Done),
            }
        });
    let running = lanebox.start(reactions).expect("started");
    for kind in ["rec.done", "rec.rows", "rec.fails", "rec.skip", "rec.veto", "rec.later"] {
        enqueue(&lanebox, job(kind).max_attempts(2));
    }
    scene.until_ended(5);
    until("the postponed one is told of", || !outcomes("rec.later").is_empty());
    // A record follows its commit.
    until("the others are", || {
        outcomes("rec.fails").len() == 2 && !outcomes("rec.rows").is_empty()
    });
    assert_eq!(outcomes("rec.done"), ["done"]);
    assert_eq!(outcomes("rec.rows"), ["done"]);
    assert_eq!(outcomes("rec.fails"), ["retry", "dead"]);
    assert_eq!(outcomes("rec.skip"), ["skipped"]);
    assert_eq!(outcomes("rec.veto"), ["vetoed"]);
    assert_eq!(outcomes("rec.later"), ["postponed"]);
    let attempts: Vec<_> = of("rec.fails").iter().map(|fields| fields["attempt"].clone()).collect();
    assert_eq!(attempts, ["1", "2"]);
    for fields in of("rec.fails") {
        assert!(fields["took_us"].parse::<i64>().is_ok_and(|us| us >= 0), "{fields:?}");
        assert!(fields["token"].parse::<i64>().is_ok(), "{fields:?}");
    }
    drop(running);
}

// fault: losses-are-told-as-retries
#[test]
fn j51_a_lost_lease_is_told_by_who_took_it_back_and_by_who_came_late() {
    records();
    let scene = Scene::new();
    let lanebox = crate::scene::hasty(scene.builder().workers(1), Duration::from_secs(1));
    let gate = Gate::default();
    let _opens = Opens(gate.clone());
    let held = gate.clone();
    let policy = quick().max_run(Duration::from_millis(1));
    let reactions = Reactions::new().on_kind("rec.hangs", policy, move |_ctx| -> Answer {
        if !held.reached() {
            held.wait();
        }
        Ok(Outcome::Done)
    });
    let running = lanebox.start(reactions).expect("started");
    enqueue(&lanebox, job("rec.hangs"));
    scene.until_ended(1);
    gate.open();
    until("the late one is told of", || outcomes("rec.hangs").len() == 3);
    assert_eq!(outcomes("rec.hangs"), ["reaped", "done", "lease_lost"]);
    drop(running);
}

// fault: hand-back-is-told-as-a-retry
#[test]
fn j51_a_run_that_is_handed_back_is_no_failure() {
    records();
    let scene = Scene::new();
    let lanebox = scene.open();
    let gate = Gate::default();
    gate.open();
    let begun = gate.clone();
    let reactions = Reactions::new().on_kind("rec.stops", quick(), move |ctx| -> Answer {
        begun.wait();
        if ctx.wait(crate::scene::LONG) { Ok(Outcome::Done) } else { Err("told to stop".into()) }
    });
    let running = lanebox.start(reactions).expect("started");
    enqueue(&lanebox, job("rec.stops"));
    gate.until_reached();
    running.stop(Duration::ZERO);
    until("it is told of", || !outcomes("rec.stops").is_empty());
    assert_eq!(outcomes("rec.stops"), ["handed_back"]);
}

/// Answers as the message says, and repeats all of it.
struct Parrot;

impl Channel for Parrot {
    fn abilities(&self) -> Abilities {
        Abilities::new(Duration::from_secs(1)).patience(Duration::from_millis(1))
    }

    fn deliver(&self, letter: &Letter<'_>) -> Delivery {
        let reason = format!("502 for {}: {}", letter.recipient, letter.body);
        match letter.body.split_once(' ').expect("a word first").0 {
            "taken" => Delivery::accepted(letter.key.to_string()),
            "refused" => Delivery::rejected_for_good(reason),
            "later" => Delivery::rejected_for_now(reason),
            "away" => Delivery::NotCalled { reason },
            _ => Delivery::Unknown { reason },
        }
    }
}

#[test]
fn e78_no_record_tells_a_body_a_recipient_or_a_payload() {
    records();
    let scene = Scene::new();
    let lanebox = scene.open();
    let reactions = Reactions::new()
        .channel("chat", Parrot)
        .route(Consumer::new("routes", "a.b"), |event| Err(event.payload_json().into()))
        .on_kind("rec.says", quick(), |ctx| -> Answer {
            let word = ctx.subject().unwrap_or_default();
            let body = format!("{word} CANARY body");
            ctx.send("chat", "+49 CANARY 15112345678", &body)?;
            Ok(Outcome::Done)
        })
        .on_kind("rec.typed", quick(), |ctx| -> Answer {
            let n: u32 = serde_json::from_str(ctx.payload()).map_err(BoxError::from)?;
            Ok(Outcome::done_with(n))
        });
    let running = lanebox.start(reactions).expect("started");
    let payload = r#"{"text":"CANARY payload"}"#;
    let say = |word: &str| {
        let job = NewJob::raw("rec.says", payload, Lane::NONE).org("acme");
        job.subject(word).max_attempts(2)
    };
    let words = ["taken", "refused", "later", "away", "lost"];
    let _jobs = lanebox.enqueue_all(words.map(say).into()).expect("accepted");
    let typed = NewJob::raw("rec.typed", payload, Lane::NONE).org("acme").max_attempts(1);
    enqueue(&lanebox, typed);
    let event = NewEvent::new("acme", "a.b").payload_json(payload);
    let _recorded = lanebox.publish(event).expect("recorded");
    scene.until_ended(5);
    let told = "SELECT count(*) FROM lanebox_notice WHERE kind = 'send.unknown'";
    until("a person is told of the unknown one", || scene.number(told, []) == 1);
    let failed = "SELECT count(*) FROM lanebox_delivery WHERE state = 'retry'";
    until("its route has failed", || scene.number(failed, []) == 1);
    running.stop(crate::scene::LONG);
    assert!(outcomes("rec.says").len() >= 7, "{:?}", outcomes("rec.says"));
    tracing::error!(target: "lanebox", "this one does: {CANARY}");
    let leaks = LEAKS.lock().expect("no panic");
    assert_eq!(leaks.len(), 1, "{leaks:?}");
}
