//! Everything that a program does with a file, done with one that may be damaged. Each answer is
//! right, or an error that says what to do.

use std::path::Path;
use std::time::Duration;

use lanebox::people::Filter;
use lanebox::{
    Abilities, BoxError, Channel, Consumer, Delivery, Error, EventId, Lane, Lanebox, Letter,
    NewEvent, NewJob, Outcome, Policy, Reactions,
};
use rusqlite::Connection;
use rusqlite::backup::{Backup, StepResult};

/// What came of a visit.
#[derive(Debug, Default)]
pub struct Visit {
    pub opened: bool,
    /// The doctor said that something is wrong.
    pub ill: bool,
    /// Of what a person sees, as text; none if any of it could not be read.
    pub seen: Option<String>,
    /// Errors, each of which must say what to do.
    pub errors: Vec<Error>,
    pub wrong: Vec<String>,
}

impl Visit {
    /// Visits the file.
    pub fn of(path: &Path) -> Visit {
        let mut visit = Visit::default();
        let (busy, lease) = (Duration::from_millis(20), Duration::from_millis(200));
        let builder = Lanebox::builder(path).must_exist().workers(2);
        let builder = builder.busy_deadline(busy).lease(lease).suspect_wait(Duration::ZERO);
        if let Some(lanebox) = visit.heard(builder.open()) {
            visit.opened = true;
            visit.diagnose(&lanebox);
            visit.look(&lanebox);
            visit.write(&lanebox);
            visit.work(&lanebox);
        }
        back_up(path);
        visit
    }

    fn heard<T>(&mut self, answer: Result<T, Error>) -> Option<T> {
        answer.map_err(|error| self.errors.push(error)).ok()
    }

    fn diagnose(&mut self, lanebox: &Lanebox) {
        let found = self.heard(lanebox.doctor());
        self.ill = found.is_none_or(|found| !found.sound);
    }

    fn look(&mut self, lanebox: &Lanebox) {
        let all = Filter::new().limit(200);
        let before = self.errors.len();
        let mut text = String::new();
        let mut see = |seen: Option<String>| text.extend(seen);
        see(self.heard(lanebox.jobs(&all)).map(|page| format!("{:?}", page.rows)));
        see(self.heard(lanebox.lanes(&all)).map(|page| format!("{:?}", page.rows)));
        see(self.heard(lanebox.sends(&all)).map(|page| format!("{:?}", page.rows)));
        see(self.heard(lanebox.notices(&all)).map(|page| format!("{:?}", page.rows)));
        see(self.heard(lanebox.consumers()).map(|all| format!("{all:?}")));
        self.heard(lanebox.stats());
        self.heard(lanebox.has_org("acme"));
        let events = self.heard(lanebox.events(&all)).map(|page| page.rows).unwrap_or_default();
        see(Some(format!("{events:?}")));
        for id in events.iter().filter_map(|event| event.id).take(3) {
            see(self.heard(lanebox.trace(&id.to_string())).map(|seen| format!("{seen:?}")));
        }
        for job in self.heard(lanebox.jobs(&all)).map(|page| page.rows).unwrap_or_default() {
            self.heard(lanebox.job(job.id));
        }
        self.seen = (self.errors.len() == before).then_some(text);
    }

    fn write(&mut self, lanebox: &Lanebox) {
        let event = NewEvent::new("acme", "message.received").subject("+49151");
        let event = event.payload(&serde_json::json!({ "text": "x".repeat(3_000) }));
        if let Some(published) = self.heard(lanebox.publish(event)) {
            self.must_be_there(lanebox, published.id());
        }
        let job = NewJob::raw("turn", "{}", Lane::of("ann")).org("acme");
        if let Some(accepted) = self.heard(lanebox.enqueue(job)) {
            self.heard(lanebox.job(accepted.id()));
            self.heard(lanebox.cancel(accepted.id(), "ada"));
        }
    }

    fn must_be_there(&mut self, lanebox: &Lanebox, id: EventId) {
        if let Err(error) = lanebox.event(id) {
            let lost = matches!(error, Error::NotFound { .. });
            self.errors.push(error);
            // Where an index is damaged it may be there and not be found: the doctor has said so.
            if lost && !self.ill {
                self.wrong.push("an event that was acknowledged is not there".to_owned());
            }
        }
    }

    // For a short time: long enough for each loop to have had its turn.
    fn work(&mut self, lanebox: &Lanebox) {
        let Some(running) = self.heard(lanebox.start(reactions())) else { return };
        let mut rests = 0;
        let well = |loops: &[lanebox::LoopHealth]| {
            loops.iter().all(|one| one.last_good_at.is_some() || one.failures_in_a_row > 0)
        };
        while !well(&running.health().loops) && rests < 1_000 {
            std::thread::park_timeout(Duration::from_millis(1));
            rests += 1;
        }
        let _ = running.stop(Duration::from_millis(20));
    }
}

/// Takes everything.
struct Post;

impl Channel for Post {
    fn abilities(&self) -> Abilities {
        Abilities::new(Duration::from_millis(1))
    }

    fn deliver(&self, letter: &Letter<'_>) -> Delivery {
        Delivery::accepted(letter.key.to_string())
    }
}

fn reactions() -> Reactions {
    let lead = |_: &lanebox::Event| Ok(vec![NewJob::raw("lead", "{}", Lane::of("ann"))]);
    let reactions = Reactions::new()
        .channel("chat", Post)
        .consume(Consumer::new("inbox", "message.*"), |_, _| Ok::<_, BoxError>(Outcome::Done))
        .route(Consumer::new("leads", "lead.*"), lead);
    ["turn", "lead", "ready", "failed", "due-again", "handed-back", "unknown"].iter().fold(
        reactions,
        |reactions, kind| {
            reactions.on_kind(kind, Policy::default(), |ctx| {
                ctx.send("chat", "+4915112345678", "hello")?;
                Ok::<_, BoxError>(Outcome::Done)
            })
        },
    )
}

// As a host does it; what SQLite says about it is SQLite's.
fn back_up(path: &Path) {
    let (from, to) = (Connection::open(path), Connection::open_in_memory());
    let (Ok(from), Ok(mut to)) = (from, to) else { return };
    let Ok(backup) = Backup::new(&from, &mut to) else { return };
    while matches!(backup.step(64), Ok(StepResult::More)) {}
}
