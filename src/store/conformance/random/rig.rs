//! A file with two handles and a model beside it: runs a group, compares after each operation.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::sync::Arc;

use super::choose::{Choice, Mood, Said};
use crate::Durability;
use crate::env::{Env, ManualClock};
use crate::model::id::{EventId, Held, JobId, ProcessNo};
use crate::model::job::Enqueued;
use crate::store::conformance::reference::accept::Accepted;
use crate::store::conformance::reference::{Model, Org, Process};
use crate::store::conformance::tables::{self, Tables};
use crate::store::conformance::world;

use crate::store::jobs::{Claimed, Lost, Requeued};
use crate::store::processes::Processes;
use crate::store::sqlite::door::{Answer, Step};
use crate::store::sqlite::{Opening, SqliteStore};

pub(super) use crate::store::conformance::world::MORNING;
pub(super) const PATIENCE_MS: i64 = 900_000;
pub(super) const KINDS: [&str; 6] =
    ["plain", "yielding", "stopping", "cancelling", "bounded", "capped"];
pub(super) const ORGS: [&str; 3] = ["-", "acme", "globex"];

pub(super) struct Rig {
    seed: u64,
    pub(super) mood: Mood,
    pub(super) operations: usize,
    pub(super) random: fastrand::Rng,
    pub(super) model: Model,
    pub(super) clock: Arc<ManualClock>,
    handles: Vec<SqliteStore>,
    pub(super) processes: Vec<ProcessNo>,
    /// Every claim so far: workers that were thought dead may still speak.
    pub(super) claims: Vec<Held>,
    ids: Vec<JobId>,
    trace: VecDeque<String>,
    dir: tempfile::TempDir,
    boots: u64,
}

impl Rig {
    pub(super) fn new(seed: u64) -> Rig {
        let clock = Arc::new(ManualClock::at(MORNING));
        let mut rig = Rig {
            seed,
            mood: [Mood::Calm, Mood::Losses, Mood::Sends][(seed % 3) as usize],
            operations: 0,
            random: fastrand::Rng::with_seed(seed),
            model: Model::new(MORNING, 1_000_000, "boot-1", PATIENCE_MS),
            clock,
            handles: Vec::new(),
            processes: Vec::new(),
            claims: Vec::new(),
            ids: Vec::new(),
            trace: VecDeque::new(),
            dir: tempfile::tempdir().expect("a directory"),
            boots: 1,
        };
        rig.open();
        rig.settle_in();
        rig
    }

    fn open(&mut self) {
        let path = self.dir.path().join("lanebox.db");
        let how = Opening { durability: Durability::Relaxed, ..Opening::default() };
        for i in 0..2 {
            let env = Env::new(self.clock.clone(), self.seed * 1000 + self.boots * 10 + i);
            let store = SqliteStore::open(&path, env, &how);
            let store = store.expect("it opens");
            store.on_writer(world::guard);
            self.handles.push(store);
        }
        for handle in [0, 0, 1] {
            self.register(handle);
        }
    }

    pub(super) fn register(&mut self, handle: usize) {
        let no = self.handles[handle].register().expect("registers");
        self.processes.push(no);
        self.model.processes.push(Process { boot: self.model.boot.clone(), gone: false });
    }

    // Orgs, kinds, channels and events that the operations speak of.
    fn settle_in(&mut self) {
        for name in KINDS {
            let no = self.handles[0].kind(name).expect("a kind");
            assert_eq!(no.0, self.model.kind_named(name));
        }
        let mut sql = String::new();
        for (no, name) in (1..).zip(ORGS) {
            if no > 1 {
                writeln!(sql, "INSERT INTO lanebox_org(name) VALUES ('{name}');").expect("text");
                self.model.orgs.push(Org { name: name.to_owned(), cap: None, paused: false });
            }
            writeln!(sql, "INSERT INTO lanebox_channel(org, name, timeout_ms, patience_ms) VALUES ({no}, 'chat', 1000, {PATIENCE_MS});")
                .expect("text");
        }
        for n in 1_u128..=3 {
            let id = uuid::Uuid::from_u128(n);
            self.model.events.push(EventId(id));
            writeln!(sql, "INSERT INTO lanebox_event(uuid, org, name) VALUES (x'{}', 'acme', 'message.received');", id.simple())
                .expect("text");
        }
        self.handles[0].step(Step::Sql(sql)).expect("settles in");
        let policies = self.policies();
        self.run(vec![policies]);
    }

    /// The whole machine is started anew: nobody of before is there, and the monotonic clock begins
    /// again.
    pub(super) fn reboot(&mut self) {
        self.trace("reboot".to_owned());
        self.boots += 1;
        let boot = format!("boot-{}", self.boots);
        self.handles.clear();
        self.processes.clear();
        self.clock = Arc::new(ManualClock::rebooted(self.model.now, &boot));
        (self.model.mono, self.model.boot) = (1_000, boot);
        self.open();
    }

    /// Lets time pass, on both clocks or on the wall alone.
    pub(super) fn pass(&mut self, ms: i64, wall_alone: bool) {
        self.trace(format!("{ms} ms pass{}", if wall_alone { " on the wall alone" } else { "" }));
        self.model.now += ms;
        if wall_alone {
            self.clock.step_wall(ms);
        } else {
            self.model.mono += ms;
            self.clock.advance(ms);
        }
    }

    /// Chooses one to eight operations and runs them in one commit.
    pub(super) fn group(&mut self) {
        self.between();
        let size = self.random.usize(1..=8);
        let mut choices = Vec::new();
        while choices.len() < size {
            choices.extend(self.choose());
        }
        self.run(choices);
    }

    /// Runs what was chosen, and compares answer and state after each.
    pub(super) fn run(&mut self, choices: Vec<Choice>) {
        self.trace(format!("a commit of {}", choices.len()));
        let (mut steps, mut expected) = (Vec::new(), Vec::new());
        for Choice { step, said, tables } in choices {
            steps.push(step);
            expected.push((said, tables));
        }
        self.operations += steps.len();
        let handle = self.random.usize(0..self.handles.len());
        let texts: Vec<String> = steps.iter().map(|step| format!("{step:?}")).collect();
        let answers = self.handles[handle].group(steps, tables::read);
        let mut last = None;
        for ((text, (said, model)), answer) in texts.into_iter().zip(expected).zip(answers) {
            self.trace(text);
            let (answer, file) = match answer {
                Ok((answer, file)) => (Ok(answer), Some(file)),
                Err(error) => (Err(error), None),
            };
            if let Some(wrong) = self.contradicts(&said, answer) {
                self.fail(&wrong);
            }
            if let Some(file) = file {
                self.compare(&file, &model);
            }
            last = Some(model);
        }
        let committed = self.handles[1 - handle].look(tables::read);
        self.compare(&committed, &last.expect("a group has members"));
        let mut found = self.handles[handle].audit();
        // What ran when a cap was lowered may end.
        found.retain(|finding| !finding.name.ends_with("_over_cap"));
        if !found.is_empty() {
            self.fail(&format!("audit: {found:?}"));
        }
    }

    fn compare(&self, file: &Tables, model: &Tables) {
        let found = tables::differences(file, model);
        if !found.is_empty() {
            self.fail(&found.join("\n"));
        }
    }

    // What the store answered, against what the model said before.
    fn contradicts(&mut self, said: &Said, answer: Result<Answer, crate::Error>) -> Option<String> {
        let answer = match (said, answer) {
            (Said::Accepted(Accepted::Refused), Err(crate::Error::Conflict { .. })) => return None,
            (Said::Accepted(Accepted::Refused), Err(crate::Error::Invalid { .. })) => return None,
            (_, Err(error)) => return Some(format!("{said:?} but: {error:?}")),
            (_, Ok(answer)) => answer,
        };
        let agrees = match (said, &answer) {
            (Said::Accepted(Accepted::New(no)), Answer::Enqueued(Enqueued::New(id))) => {
                self.ids.push(*id);
                usize::try_from(*no).is_ok_and(|no| no == self.ids.len())
            }
            (Said::Accepted(Accepted::Existing(no)), Answer::Enqueued(Enqueued::Existing(id))) => {
                self.id_of(*no) == *id
            }
            (Said::Round(said), Answer::Round(done)) => {
                let claimed: Vec<Claimed> = done.claimed.clone();
                let by_job = |lost: &Lost| lost.held.job;
                let mut reaped = done.reaped.clone();
                reaped.sort_by_key(by_job);
                done.finished == said.finished
                    && done.renewed == said.renewed
                    && reaped == said.reaped
                    && done.next_due == said.next_due
                    && claimed.len() == said.claimed.len()
                    && claimed.iter().zip(&said.claimed).all(|(took, said)| {
                        took.held == said.held
                            && took.id == self.id_of(said.held.job.0)
                            && took.kind == said.kind
                            && i64::from(took.max_attempts) == said.max_attempts
                            && took.lease_until == said.lease_until
                    })
            }
            (Said::Cancelled(said), Answer::Cancelled(done)) => said == done,
            (Said::Requeued(said), Answer::Requeued(done)) => match said {
                Ok(said) => said == done,
                Err(by) => *done == Requeued::KeyTaken { by: self.id_of(*by) },
            },
            (Said::Nothing, Answer::Nothing) => true,
            _ => false,
        };
        (!agrees).then(|| format!("the model said {said:?}\nthe store answered {answer:?}"))
    }

    fn id_of(&self, no: i64) -> JobId {
        self.ids[usize::try_from(no - 1).expect("from 1")]
    }

    fn trace(&mut self, text: String) {
        self.trace.push_back(text);
        if self.trace.len() > 14 {
            self.trace.pop_front();
        }
    }

    pub(super) fn fail(&self, why: &str) -> ! {
        let last: Vec<&str> = self.trace.iter().map(String::as_str).collect();
        panic!("seed {}: {why}\n\nlast operations:\n{}", self.seed, last.join("\n"));
    }
}
