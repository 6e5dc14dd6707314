//! Any sequence of verbs, over two handles of one file and two holders of leases, in a time that
//! the script moves. Each verb answers or refuses; at the end every audit is clean.

#![no_main]

use std::sync::LazyLock;
use std::time::Duration;

use lanebox::people::Filter;
use lanebox::testing::{self, Bare, Clock};
use lanebox::time::OffsetDateTime;
use lanebox::{BoxError, Durability, Error, JobId, Lane, Lanebox, NewEvent, NewJob, Outcome};
use lanebox_fuzz::{Bytes, place, put};
use libfuzzer_sys::fuzz_target;

/// Most verbs of a script.
const VERBS: usize = 64;

struct Scene {
    clock: Clock,
    handles: [Lanebox; 2],
    holders: [Bare; 2],
    jobs: Vec<JobId>,
    _dir: tempfile::TempDir,
}

/// A file of which each script has a copy.
static PREPARED: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let (_dir, path) = place();
    drop(Lanebox::builder(&path).durability(Durability::Relaxed).open().expect("a new file"));
    std::fs::read(path).expect("it is there")
});

impl Scene {
    fn new() -> Scene {
        let (dir, path) = place();
        put(&path, &PREPARED);
        let clock = Clock::at(OffsetDateTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000));
        let handle = |seed| {
            let builder = Lanebox::builder(&path).durability(Durability::Relaxed);
            testing::open(builder, &clock, seed).expect("it opens")
        };
        let handles = [handle(1), handle(2)];
        let holders = [3, 4].map(|seed| {
            let mut holder = Bare::open(&path, &clock, seed).expect("it opens");
            ["turn", "call"].iter().for_each(|kind| holder.handle(kind).expect("announced"));
            holder
        });
        Scene { clock, handles, holders, jobs: Vec::new(), _dir: dir }
    }

    fn verb(&mut self, bytes: &mut Bytes<'_>) -> Result<(), Error> {
        let which = bytes.below(2);
        let lanebox = self.handles[which].clone();
        match bytes.byte() % 12 {
            0 => lanebox.publish(event(bytes)).map(drop),
            1 | 2 => self.enqueue(&lanebox, job(bytes)),
            3 => lanebox.transaction(|tx| {
                let (event, job) = (tx.publish(event(bytes))?, tx.enqueue(job(bytes))?);
                let _ = (event, job);
                if bytes.byte() % 3 == 0 { Err(BoxError::from("no")) } else { Ok(()) }
            }),
            4 | 5 => self.pass(which, bytes),
            6 => self.holders[which].reap(),
            7 => {
                self.clock.pass(Duration::from_millis(u64::from(bytes.number() % 900_000)));
                Ok(())
            }
            8 => self.of_a_job(bytes, |job| lanebox.cancel(job, "ada").map(drop)),
            9 => self.of_a_job(bytes, |job| lanebox.requeue(job, "ada").map(drop)),
            10 => self.of_a_notice(&lanebox, bytes),
            _ => self.look(&lanebox, bytes),
        }
    }

    fn enqueue(&mut self, lanebox: &Lanebox, job: NewJob) -> Result<(), Error> {
        self.jobs.push(lanebox.enqueue(job)?.id());
        Ok(())
    }

    fn pass(&mut self, which: usize, bytes: &mut Bytes<'_>) -> Result<(), Error> {
        let (how, wait) = (bytes.byte() % 8, Duration::from_secs(u64::from(bytes.byte())));
        let until = self.handles[0].now() + wait;
        let outcome = || match how {
            0..3 => Outcome::Done,
            3 => Outcome::retry("the line is down"),
            4 => Outcome::dead("no such number"),
            5 => Outcome::postpone(until, "not now"),
            6 => Outcome::skip("not for us"),
            _ => Outcome::veto("opted out"),
        };
        self.holders[which].pass_with(bytes.below(4), outcome).map(drop)
    }

    fn of_a_job(
        &self,
        bytes: &mut Bytes<'_>,
        verb: impl FnOnce(JobId) -> Result<(), Error>,
    ) -> Result<(), Error> {
        match self.jobs.len() {
            0 => Ok(()),
            jobs => verb(self.jobs[bytes.below(jobs)]),
        }
    }

    fn of_a_notice(&self, lanebox: &Lanebox, bytes: &mut Bytes<'_>) -> Result<(), Error> {
        let no = (1 + bytes.below(4)).to_string();
        match bytes.byte() % 2 {
            0 => lanebox.acknowledge(&no, "ada").map(drop),
            _ => lanebox.resolve_notice(&no, "ada").map(drop),
        }
    }

    fn look(&self, lanebox: &Lanebox, bytes: &mut Bytes<'_>) -> Result<(), Error> {
        lanebox.jobs(&Filter::new())?;
        lanebox.lanes(&Filter::new())?;
        lanebox.stats()?;
        self.of_a_job(bytes, |job| lanebox.job(job).map(drop))
    }
}

fn event(bytes: &mut Bytes<'_>) -> NewEvent {
    let event = NewEvent::new("acme", "message.received").subject("+49151");
    match bytes.byte() % 4 {
        0 => event,
        key => event.dedupe(key.to_string()),
    }
}

fn job(bytes: &mut Bytes<'_>) -> NewJob {
    let kind = if bytes.byte() % 4 == 0 { "call" } else { "turn" };
    let lane = match bytes.byte() % 4 {
        0 => Lane::NONE,
        lane => Lane::of(format!("lane {lane}")),
    };
    let job = NewJob::raw(kind, "{}", lane).org("acme").max_attempts(1 + bytes.number() % 3);
    let job = job.priority(u16::from(bytes.byte()) * 4);
    let soon = Duration::from_secs(1_700_000_000 + u64::from(bytes.number() % 3_600));
    match bytes.byte() % 8 {
        0 => job.at(OffsetDateTime::UNIX_EPOCH + soon),
        1 => job.dedupe("the same"),
        2 => job.unique("one at a time"),
        _ => job,
    }
}

fuzz_target!(|data: &[u8]| {
    let mut bytes = Bytes(data);
    let mut scene = Scene::new();
    for _ in 0..VERBS {
        if bytes.is_empty() {
            break;
        }
        match scene.verb(&mut bytes) {
            Ok(()) | Err(Error::Host(_)) => {}
            Err(Error::NotFound { .. } | Error::Refused { .. }) => {}
            Err(Error::Invalid { .. } | Error::Conflict { .. }) => {}
            Err(error) => panic!("{error:?}"),
        }
    }
    let found = scene.handles[0].doctor().expect("a diagnosis");
    assert!(found.sound, "{found:?}");
});
