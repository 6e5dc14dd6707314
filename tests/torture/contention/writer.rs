//! A process that writes all it can: publishes, enqueues and works, and writes down how each call
//! went. A refused call is repeated until it is accepted.

use std::path::{Path, PathBuf};
use std::time::Duration;

use lanebox::{Error, Lane, Lanebox, NewEvent, NewJob, Outcome, Policy, Reactions, Running};
use rusqlite::Connection;

use crate::clock::{now, rest, within};
use crate::lines::Log;
use crate::part::{Order, fail, hear, is_set, say, told_to_stop};

pub const ORG: &str = "crowd";

/// How long a call waits for the lock before it is refused.
pub const BUSY: Duration = Duration::from_secs(2);

const LEASE: Duration = Duration::from_secs(30);

/// Much longer than the rest of the work takes.
const DRAIN: Duration = Duration::from_secs(60);

/// `ack KEY FROM TO`, `busy KEY FROM TO`, `half KEY`: it was stored although it was refused.
pub fn log(dir: &Path, life: u32) -> PathBuf {
    dir.join(format!("writer-{life}.log"))
}

struct Writer {
    lanebox: Lanebox,
    log: Log,
    life: u32,
}

/// Part: writes until SIGTERM, then works until nothing is left.
pub fn write(order: &Order) {
    let (told, _leash) = (told_to_stop(), hear());
    let lanebox = open(order);
    let running = start(&lanebox);
    let writer = Writer { lanebox, log: Log::open(&log(&order.dir, order.life)), life: order.life };
    say("open");
    let mut n = 0;
    while !is_set(&told) {
        writer.call(n);
        n += 1;
    }
    say(&format!("commits {}", lanebox::testing::commits(&writer.lanebox)));
    let look = Connection::open(order.db()).expect("the file opens");
    look.busy_timeout(DRAIN).expect("a timeout");
    let left = "SELECT count(*) FROM lanebox_job_state WHERE state IN ('pending', 'running')";
    let drained = within(DRAIN, || {
        look.query_row(left, [], |row| row.get::<_, i64>(0)).expect("a number") == 0
    });
    if !drained {
        fail("work is left that nobody does");
    }
    if !within(DRAIN, || running.health().is_good()) {
        fail(&format!("{:?}", running.health()));
    }
    running.stop(DRAIN);
    say("stopped");
}

fn open(order: &Order) -> Lanebox {
    loop {
        let builder = Lanebox::builder(order.db()).workers(1).lease(LEASE).busy_deadline(BUSY);
        match builder.open() {
            Ok(lanebox) => return lanebox,
            Err(Error::Busy { .. }) => rest(),
            Err(error) => fail(&format!("to open: {error}")),
        }
    }
}

fn start(lanebox: &Lanebox) -> Running {
    loop {
        let done = |_: &lanebox::Ctx<'_>| Ok::<_, lanebox::BoxError>(Outcome::Done);
        match lanebox.start(Reactions::new().on_kind("turn", Policy::default(), done)) {
            Ok(running) => return running,
            Err(Error::Busy { .. }) => rest(),
            Err(error) => fail(&format!("to start: {error}")),
        }
    }
}

impl Writer {
    /// One call in four is a job: workers share the lock with whoever enqueues.
    fn call(&self, n: u64) {
        let key = format!("{}-{n}", self.life);
        let payload = format!("{{\"key\":\"{key}\"}}");
        let mut refused = false;
        loop {
            let from = now();
            let answer = if n.is_multiple_of(4) {
                let job =
                    NewJob::raw("turn", payload.clone(), Lane::of(format!("lane {}", n % 32)));
                let answer = self.lanebox.enqueue(job.org(ORG).dedupe(&key));
                answer.map(|answer| matches!(answer, lanebox::Enqueued::New(_)))
            } else {
                let event = NewEvent::new(ORG, "crowd.wrote").payload_json(payload.clone());
                let answer = self.lanebox.publish(event.dedupe(&key));
                answer.map(|answer| matches!(answer, lanebox::Published::New(_)))
            };
            let (from, to) = (from.to_string(), now().to_string());
            match answer {
                Ok(new) => {
                    if refused && !new {
                        self.log.add(&["half", &key]);
                    }
                    self.log.add(&["ack", &key, &from, &to]);
                    return;
                }
                Err(Error::Busy { .. }) => self.log.add(&["busy", &key, &from, &to]),
                Err(error) => fail(&format!("{key}: {error}")),
            }
            refused = true;
        }
    }
}
