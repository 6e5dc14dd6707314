//! Letters on their way out when the power fails: who reads the file afterwards must know of each
//! call that was begun.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use lanebox::testing::{self, Clock, Step, Stepped};
use lanebox::time::OffsetDateTime;
use lanebox::{
    Abilities, BoxError, Channel, Delivery, Durability, Error, Lane, Lanebox, Letter, NewJob,
    Outcome, Policy, Reactions,
};

use crate::check::{Fault, Promised};
use crate::shim::{self, Ack};
use crate::shop::FILE;

const LETTERS: usize = 4;

/// So often everybody gets a turn.
const ROUNDS: usize = 8;

const STEPS: [Step; 5] = [Step::Reap, Step::Work, Step::Work, Step::Pulse, Step::Resolve];

/// Has each letter that it was called with; of every second one its answer is lost.
#[derive(Clone, Default)]
struct Provider(Arc<Mutex<Vec<String>>>);

impl Channel for Provider {
    fn abilities(&self) -> Abilities {
        Abilities::new(Duration::from_millis(100)).patience(Duration::from_secs(1))
    }

    fn deliver(&self, letter: &Letter<'_>) -> Delivery {
        let body = letter.body.to_owned();
        shim::ack(Ack::Called(body.clone()));
        let mut has = self.0.lock().expect("no panic");
        has.push(body);
        if has.len().is_multiple_of(2) {
            return Delivery::Unknown { reason: "no answer".to_owned() };
        }
        Delivery::accepted(letter.key.to_string())
    }
}

fn open(path: &Path, seed: u64) -> Result<(Lanebox, Clock), Error> {
    let clock = Clock::at(OffsetDateTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000));
    let (busy, lease) = (Duration::from_millis(5), Duration::from_secs(1));
    let builder = Lanebox::builder(path).busy_deadline(busy).lease(lease);
    let builder = builder.durability(Durability::Relaxed).suspect_wait(Duration::ZERO);
    Ok((testing::open(builder, &clock, seed)?, clock))
}

/// Works for a while with a provider.
fn work(lanebox: &Lanebox, clock: &Clock, provider: &Provider) -> Result<(), Error> {
    let reactions = Reactions::new().channel("chat", provider.clone());
    let reactions = reactions.on_kind("letter", Policy::default(), |ctx| {
        ctx.send("chat", "+4915112345678", ctx.payload())?;
        Ok::<_, BoxError>(Outcome::Done)
    });
    let mut process = Stepped::start(lanebox, reactions)?;
    for _ in 0..ROUNDS {
        for step in STEPS {
            process.step(step)?;
        }
        clock.pass(Duration::from_secs(2));
    }
    Ok(())
}

/// A new file whose letters go out one after the other.
pub fn send(dir: &Path) {
    let (lanebox, clock) = open(&dir.join(FILE), 1).expect("a new file");
    for n in 0..LETTERS {
        let job = NewJob::raw("letter", n.to_string(), Lane::NONE).org("acme");
        let _new = lanebox.enqueue(job).expect("accepted");
    }
    shim::ack(Ack::Opened);
    let provider = Provider::default();
    work(&lanebox, &clock, &provider).expect("no trouble");
    let has = provider.0.lock().expect("no panic").len();
    assert_eq!(has, LETTERS, "each went out once");
}

/// Goes on with a file that was found: nothing goes out that went out before.
pub fn check(path: &Path, promised: &Promised, _: bool) -> Result<(), Fault> {
    if !promised.opened {
        return Ok(());
    }
    let corrupt = |error: Error| Fault::Corrupt(error.to_string());
    let (lanebox, clock) = open(path, 2).map_err(corrupt)?;
    clock.pass(Duration::from_secs(10));
    let provider = Provider::default();
    work(&lanebox, &clock, &provider).map_err(corrupt)?;
    let sent = provider.0.lock().expect("no panic");
    match sent.iter().find(|letter| promised.called.contains(*letter)) {
        Some(letter) => Err(Fault::Lost(format!("the call of letter {letter} was forgotten"))),
        None => Ok(()),
    }
}
