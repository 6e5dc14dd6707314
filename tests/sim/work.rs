//! What the hosts do: facts and jobs come in by every way, some twice, and handlers and routes
//! answer by chance. In the end every answer is a good one.

use std::sync::{Arc, Weak};

use super::mortal::Life;
use super::outside::Line;
use super::world::World;
use crate::engine::ctx::Ctx;
use crate::engine::reactions::Reactions;
use crate::env::Clock;
use crate::error::Error;
use crate::model::backoff::Backoff;
use crate::model::consumer::{Consumer, Skip, Start};
use crate::model::event::{Event, NewEvent};
use crate::model::id::{EventId, JobId};
use crate::model::job::{NewJob, Policy};
use crate::model::lane::Lane;
use crate::model::outcome::{BoxError, Outcome};

/// What is done, by kind.
pub(super) const KINDS: [&str; 6] = ["plain", "tells", "rows", "sends", "steps", KILLS];

/// A job of this kind ends its process whenever it is run, and so does the route of such an event:
/// each must come to its end all the same. One of each in a world where processes die.
const KILLS: &str = "kills";
const KILLER: &str = "lead.kills";

const CONTACTS: usize = 3;
pub(super) const RECIPIENT: &str = "+4915112345678";

/// What was offered, and what was answered: an answer is an acceptance, and no answer is neither.
#[derive(Default)]
pub(super) struct Accepted {
    pub(super) events: Vec<(NewEvent, Option<EventId>)>,
    pub(super) jobs: Vec<(NewJob, Option<JobId>)>,
    foreign: usize,
    killers: Killers,
}

/// Whether the one of its kind was made.
#[derive(Default)]
struct Killers {
    event: bool,
    job: bool,
}

impl World {
    pub(super) fn produce(self: &Arc<World>) {
        match self.below(10) {
            0..4 => {
                let kills = self.swarm.deaths && self.below(8) == 0;
                let mut event = self.fact();
                let at = {
                    let mut accepted = self.accepted.lock();
                    if kills && !std::mem::replace(&mut accepted.killers.event, true) {
                        event.name = KILLER.to_owned();
                    }
                    let event = event.dedupe(format!("e{}", accepted.events.len()));
                    accepted.events.push((event, None));
                    accepted.events.len() - 1
                };
                self.publish(at);
            }
            4..7 => {
                let at = {
                    let kills = self.swarm.deaths && self.below(8) == 0;
                    let kind = if self.below(3) == 0 { "sends" } else { KINDS[self.below(5)] };
                    let mut job = self.job(kind);
                    let mut accepted = self.accepted.lock();
                    if kills && !std::mem::replace(&mut accepted.killers.job, true) {
                        job.kind = KILLS.to_owned();
                    }
                    let job = job.dedupe(format!("j{}", accepted.jobs.len()));
                    accepted.jobs.push((job, None));
                    accepted.jobs.len() - 1
                };
                self.enqueue(at);
            }
            7 => self.emit(),
            _ => self.again(),
        }
    }

    // Twice, as a webhook comes: the answer is the first one's.
    fn again(self: &Arc<World>) {
        let (events, jobs) = {
            let accepted = self.accepted.lock();
            (accepted.events.len(), accepted.jobs.len())
        };
        if self.below(2) == 0 && events > 0 {
            self.publish(self.below(events));
        } else if jobs > 0 {
            self.enqueue(self.below(jobs));
        }
    }

    /// Whoever heard no answer asks again with the same key.
    pub(super) fn ask_again(self: &Arc<World>) {
        let (events, jobs) = {
            let accepted = self.accepted.lock();
            let unsure = |answers: Vec<bool>| -> Vec<usize> {
                (0..answers.len()).filter(|&i| answers[i]).collect()
            };
            let events = accepted.events.iter().map(|(_, id)| id.is_none()).collect();
            let jobs = accepted.jobs.iter().map(|(_, id)| id.is_none()).collect();
            (unsure(events), unsure(jobs))
        };
        events.into_iter().for_each(|at| self.publish(at));
        jobs.into_iter().for_each(|at| self.enqueue(at));
    }

    fn publish(self: &Arc<World>, at: usize) {
        let event = self.accepted.lock().events[at].0.clone();
        let Some(Ok(answers)) = self.host(|store| store.publish(vec![event])) else { return };
        let id = answers[0].id();
        let before = self.accepted.lock().events[at].1.replace(id);
        if before.is_some_and(|before| before != id) {
            self.fail(format!("event e{at} was {before:?} and is {id:?}"));
        }
    }

    fn enqueue(self: &Arc<World>, at: usize) {
        let job = self.accepted.lock().jobs[at].0.clone();
        let answers = match self.host(|store| store.enqueue(vec![job])) {
            Some(Ok(answers)) => answers,
            // Too late for it: the host asks for it without a last day.
            Some(Err(Error::Invalid { .. })) => {
                self.accepted.lock().jobs[at].0.expires_at = None;
                return;
            }
            _ => return,
        };
        let id = answers[0].id();
        let before = self.accepted.lock().jobs[at].1.replace(id);
        if before.is_some_and(|before| before != id) {
            self.fail(format!("job j{at} was {before:?} and is {id:?}"));
        }
    }

    /// A verb that the host of some process calls.
    pub(super) fn host<T>(
        self: &Arc<World>,
        verb: impl FnOnce(&dyn crate::store::Store) -> T,
    ) -> Option<T> {
        let process = self.any_process().filter(|process| !process.life.is_frozen())?;
        process.life.enter();
        let answer = verb(&*process.store);
        process.ring();
        process.life.leave();
        Some(answer)
    }

    fn emit(&self) {
        let (name, n) = (self.name(), self.below(1_000));
        let key = {
            let mut accepted = self.accepted.lock();
            accepted.foreign += 1;
            accepted.foreign
        };
        let at = self.clock.now_ms();
        let sql = "INSERT INTO lanebox_event(org, name, subject, payload, dedupe_key, occurred_at, recorded_at) VALUES ('acme', ?1, ?2, ?3, ?4, ?5, ?5)";
        let row = (name, self.contact(), format!("{{\"n\":{n}}}"), format!("f{key}"), at);
        self.raw.lock().execute(sql, row).expect("another program writes");
        self.note(&format!("another program emits f{key}"));
    }

    fn name(&self) -> &'static str {
        ["lead.new", "lead.won", "message.received", "nobody.cares"][self.below(4)]
    }

    fn contact(&self) -> String {
        format!("contact {}", self.below(CONTACTS))
    }

    fn fact(&self) -> NewEvent {
        let payload = format!("{{\"n\":{}}}", self.below(1_000));
        NewEvent::new("acme", self.name()).subject(self.contact()).payload_json(payload)
    }

    fn job(&self, kind: &str) -> NewJob {
        let lane = if self.below(4) == 0 { Lane::NONE } else { Lane::of(self.contact()) };
        let mut job = NewJob::raw(kind, "{}", lane).org("acme").max_attempts(4);
        let now = self.clock.now_ms();
        if self.below(8) == 0 {
            job.run_at = Some(now + self.between(1, 5_000));
        }
        if self.below(12) == 0 {
            job.expires_at = Some(now + self.between(1, 10_000));
        }
        job
    }
}

/// The code that a process has.
pub(super) fn reactions(world: &Arc<World>, life: &Arc<Life>) -> Reactions {
    let second = std::time::Duration::from_secs(1);
    let policy = Policy::default().max_attempts(4).backoff(Backoff::exponential(second, second));
    let at = |kind| Handles { world: Arc::downgrade(world), life: life.clone(), kind };
    let line = Line { world: Arc::downgrade(world), life: life.clone() };
    let (inbox, leads) = (at("inbox"), at("leads"));
    let mut reactions = Reactions::new()
        .channel("chat", line)
        .consume(
            Consumer::new("inbox", "message.*").start(Start::Beginning).policy(policy),
            move |ctx, _| inbox.run(ctx),
        )
        .route(
            Consumer::new("leads", "lead.*")
                .also("work.*")
                .start(Start::Beginning)
                .policy(policy.max_attempts(3)),
            move |event| leads.route(event),
        );
    for kind in KINDS {
        let handler = at(kind);
        reactions = reactions.on_kind(kind, policy, move |ctx| handler.run(ctx));
    }
    reactions
}

/// The code for one kind, in one process.
struct Handles {
    world: Weak<World>,
    life: Arc<Life>,
    kind: &'static str,
}

impl Handles {
    fn run(&self, ctx: &Ctx<'_>) -> Result<Outcome, BoxError> {
        let world = self.world.upgrade().expect("the world outlives its processes");
        let (job, token) = (ctx.claimed.held.job, ctx.token());
        world.note(&format!("{} runs {job} as {token}: {}", self.life.name, self.kind));
        world.point(&self.life, "handler");
        match self.kind {
            "tells" => {
                let told =
                    |payload: String| NewEvent::new("acme", "work.told").payload_json(payload);
                ctx.publish(told(format!("{{\"job\":{job}}}")))?;
                // Two facts with one key, which are refused when the first of all is written.
                if !world.is_quiet() && world.below(6) == 0 {
                    for n in 0..2 {
                        ctx.publish(told(format!("{{\"n\":{n}}}")).dedupe(format!("t{token}")))?;
                    }
                }
            }
            KILLS => {
                world.see("a job kills its process");
                self.life.die();
            }
            "rows" => ctx.finish_in(move |conn| {
                let row = "INSERT INTO effect(job, token) VALUES (?1, ?2)";
                conn.execute(row, (job.0, token)).map(drop)
            }),
            "steps" => {
                // Whoever comes later hears what the first to finish it said.
                let first = ctx.step("think", || Ok::<_, BoxError>(token))?;
                world.note(&format!("{job} was thought of by {first}"));
            }
            "sends" => {
                ctx.send("chat", RECIPIENT, "hello")?;
                if job.0 % 2 == 0 {
                    ctx.send_named("note", "chat", RECIPIENT, "and more")?;
                }
            }
            _ => {}
        }
        world.point(&self.life, "handler");
        self.answer(&world, ctx)
    }

    fn answer(&self, world: &World, ctx: &Ctx<'_>) -> Result<Outcome, BoxError> {
        if world.is_quiet() {
            return Ok(Outcome::Done);
        }
        match world.below(100) {
            0..8 => Err("it failed".into()),
            8..13 => {
                let until = ctx.now() + time::Duration::milliseconds(world.between(1, 5_000));
                Ok(Outcome::postpone(until, "not now"))
            }
            13..16 => Ok(Outcome::veto("opted out")),
            16..19 => Ok(Outcome::dead("no such number")),
            // Without the hook, which would print it.
            19..22 => std::panic::resume_unwind(Box::new("planned")),
            _ => Ok(Outcome::Done),
        }
    }

    fn route(&self, event: &Event) -> Result<Vec<NewJob>, BoxError> {
        let world = self.world.upgrade().expect("the world outlives its processes");
        world.point(&self.life, "route");
        if event.name() == KILLER {
            world.see("a route kills its process");
            self.life.die();
        }
        let lane = Lane::of(event.subject().unwrap_or("nobody"));
        let job = |kind: &str| NewJob::raw(kind, "{}", lane.clone()).org("acme").max_attempts(4);
        let n = event.payload()?["n"].as_u64().unwrap_or(0);
        match n % 6 {
            _ if event.name() == "work.told" => Err(Skip::because("it was only told").into()),
            0 => Err(Skip::because("it is not a customer").into()),
            1 if !world.is_quiet() && world.below(3) > 0 => Err("the catalogue is down".into()),
            2 => Ok(vec![job("sends"), job("rows")]),
            _ => Ok(vec![job(if n % 6 == 3 { "tells" } else { "sends" })]),
        }
    }
}
