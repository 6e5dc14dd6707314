//! A job in each of its places, with bystanders: one behind it in its lane, one in another lane,
//! one of another org, one that runs, one that has ended.

use crate::model::id::{Held, JobNo, LaneNo, SendNo};
use crate::model::job::NewJob;
use crate::model::lane::Lane;
use crate::model::verdict::End;
use crate::store::conformance::world::{World, due, lane_less, laned, postpone, retry};
use crate::store::jobs::Cancelled;

/// A job in its place.
pub(super) struct Subject {
    pub(super) world: World,
    pub(super) job: JobNo,
    /// The last claim of it, whether it still holds or not.
    pub(super) held: Option<Held>,
    pub(super) send: Option<SendNo>,
}

type Make = fn() -> Subject;

pub(super) const PLACES: &[(&str, Make)] = &[
    ("scheduled", || untried(|world| due(laned("ann"), world.now() + 1_000))),
    ("ready without a lane", || untried(|_| lane_less())),
    ("head of its line", || untried(|_| laned("ann"))),
    ("behind in its line", behind),
    ("head of a paused line", paused),
    ("running", || tried(None)),
    ("running, asked to stop", asked),
    ("running, with an intended send", || sending(None)),
    ("backing off, keeps its lane", || tried(Some(retry(1_000)))),
    ("due again, keeps its lane", || tried(Some(retry(0)))),
    ("parked until later, gave its lane back", || later(3_600_000)),
    ("waits for a send in its lane", || sending(Some(End::Unknown))),
    ("waits for a send outside its lane", parked),
    ("done", || tried(Some(End::Done { result: None }))),
    ("dead", || tried(Some(End::Dead("no such number".to_owned())))),
    ("dead, its lane stands still", stopped),
    ("cancelled", || tried(Some(End::Veto("opted out".to_owned())))),
];

fn around() -> World {
    let world = World::new();
    let other = |lane: &str| NewJob::raw("reply", "{}", Lane::of(lane));
    world.enqueue(other("ann").org("globex").priority(0));
    let _running = world.take();
    world.enqueue(other("eve").org("globex").priority(0));
    let ended = world.take();
    let _done = world.done(ended);
    world
}

fn beside(world: &World) {
    world.enqueue(laned("ann").priority(600));
    world.enqueue(laned("bob"));
    world.enqueue(due(laned("bob"), world.now() + 9_999));
    world.enqueue(NewJob::raw("reply", "{}", Lane::of("ann")).org("globex"));
}

fn untried(job: impl Fn(&World) -> NewJob) -> Subject {
    let world = around();
    let job = world.enqueue(job(&world));
    beside(&world);
    Subject { world, job, held: None, send: None }
}

fn behind() -> Subject {
    let world = around();
    world.enqueue(laned("ann"));
    let job = world.enqueue(laned("ann"));
    beside(&world);
    Subject { world, job, held: None, send: None }
}

fn paused() -> Subject {
    let subject = untried(|_| laned("ann"));
    subject.world.pause(subject.lane());
    subject
}

fn tried(end: Option<End>) -> Subject {
    let world = around();
    let job = world.enqueue(laned("ann"));
    let held = world.take();
    beside(&world);
    if let Some(end) = end {
        let _ended = world.end(held, end);
    }
    Subject { world, job, held: Some(held), send: None }
}

fn later(wait_ms: i64) -> Subject {
    let subject = tried(None);
    let until = subject.world.now() + wait_ms;
    let _waits = subject.world.end(subject.held.expect("it was taken"), postpone(until));
    subject
}

fn asked() -> Subject {
    let subject = tried(None);
    assert_eq!(subject.world.cancel(subject.job), Cancelled::Asked);
    subject
}

fn stopped() -> Subject {
    let world = around();
    world.sql("UPDATE lanebox_kind SET on_dead = 'stop' WHERE name = 'reply'");
    let job = world.enqueue(laned("ann"));
    let held = world.take();
    beside(&world);
    let _dead = world.end(held, End::Dead("no such number".to_owned()));
    Subject { world, job, held: Some(held), send: None }
}

fn sending(end: Option<End>) -> Subject {
    let subject = tried(None);
    let held = subject.held.expect("it was taken");
    let send = subject.world.intend(held);
    if let Some(end) = end {
        let _holds = subject.world.end(held, end);
    }
    Subject { send: Some(send), ..subject }
}

fn parked() -> Subject {
    let subject = sending(Some(End::Unknown));
    subject.world.clock.advance(900_001);
    // A claim that takes nothing still moves what is due.
    assert_eq!(subject.world.taken(0), []);
    subject
}

impl Subject {
    /// Its lane; of a job without one the lane of a bystander.
    pub(super) fn lane(&self) -> LaneNo {
        let sql = format!("SELECT coalesce(lane, 1) FROM lanebox_job WHERE id = {}", self.job);
        LaneNo(self.world.one(&sql))
    }
}
