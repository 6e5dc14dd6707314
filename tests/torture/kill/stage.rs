//! The processes of a round, and what the rig remembers of each that is gone.

use std::collections::HashMap;
use std::path::PathBuf;

use fastrand::Rng;
use rusqlite::{Connection, Params};
use tempfile::TempDir;

use super::facts::{LEASE, ORG};
use super::people::People;
use super::tally::{Phase, Tally};
use crate::child::Child;
use crate::clock::{now, since};
use crate::eye::Eye;
use crate::part::{Ability, Order, Part, db};

const WORKERS: u32 = 3;
const PRODUCERS: u32 = 2;

/// A process that stood still: from, until.
pub struct Pause {
    pub life: u32,
    pub from: u64,
    pub to: u64,
}

/// A worker that stands still now.
struct Frozen {
    slot: usize,
    from: u64,
    tokens: Vec<i64>,
    kill: bool,
}

pub struct Stage {
    pub seed: u64,
    pub ability: Ability,
    pub dice: Rng,
    pub eye: Eye,
    pub tally: Tally,
    pub wrong: Vec<String>,
    /// Workers first, then producers.
    pub cast: Vec<Child>,
    pub provider: Option<Child>,
    pub people: Option<People>,
    /// Until when each one that is gone lived at least.
    pub deaths: HashMap<u32, u64>,
    pub pauses: Vec<Pause>,
    frozen: Option<Frozen>,
    lives: u32,
    dir: TempDir,
}

impl Stage {
    pub fn new(seed: u64, ability: Ability) -> Stage {
        let dir = tempfile::tempdir().expect("a directory");
        Stage {
            seed,
            ability,
            dice: Rng::with_seed(seed),
            eye: Eye::on(&db(dir.path())),
            tally: Tally::default(),
            wrong: Vec::new(),
            cast: Vec::new(),
            provider: None,
            people: None,
            deaths: HashMap::new(),
            pauses: Vec::new(),
            frozen: None,
            lives: 0,
            dir,
        }
    }

    pub fn dir(&self) -> PathBuf {
        self.dir.path().to_owned()
    }

    pub fn start(&mut self, part: Part, line: u32) -> Child {
        self.lives += 1;
        let (dir, seed, ability, life) = (self.dir(), self.seed, self.ability, self.lives);
        Child::start(&Order { part, dir, seed, ability, line, life })
    }

    /// Starts everybody.
    pub fn fill(&mut self) {
        let mut provider = self.start(Part::Provider, 0);
        assert!(provider.says("open"), "no provider: {}", provider.errors());
        self.provider = Some(provider);
        for line in 0..WORKERS {
            let worker = self.start(Part::Worker, line);
            self.cast.push(worker);
        }
        for line in 0..PRODUCERS {
            let producer = self.start(Part::Producer, line);
            self.cast.push(producer);
        }
        self.people = Some(People::new(&self.dir(), self.seed));
    }

    /// Somebody who is not frozen.
    pub fn anybody(&mut self) -> usize {
        loop {
            let slot = self.dice.usize(..self.cast.len());
            if !self.is_frozen(slot) {
                return slot;
            }
        }
    }

    pub fn slot_of(&self, pid: u32) -> Option<usize> {
        let slot = self.cast.iter().position(|child| child.id() == pid)?;
        (!self.is_frozen(slot)).then_some(slot)
    }

    fn is_frozen(&self, slot: usize) -> bool {
        self.frozen.as_ref().is_some_and(|frozen| frozen.slot == slot)
    }

    pub fn nobody_is_frozen(&self) -> bool {
        self.frozen.is_none()
    }

    /// Kills it and starts another in its place. The phase, if the rig knows better than what the
    /// process said.
    pub fn kill(&mut self, slot: usize, phase: Option<Phase>) {
        let died = self.cast[slot].kill();
        self.bury(slot, died, phase);
    }

    fn bury(&mut self, slot: usize, died: Option<u64>, phase: Option<Phase>) {
        let child = &mut self.cast[slot];
        let (open, stopping) = (child.has_said("open"), child.has_said("stopping"));
        self.deaths.insert(child.order.life, died.unwrap_or_else(now));
        match died {
            Some(_) if !open => self.tally.killed(Phase::StartUp),
            Some(_) if stopping => self.tally.killed(Phase::Stop),
            Some(_) => self.tally.killed(phase.unwrap_or(Phase::Running)),
            None if child.has_said("stopped") => self.tally.stopped += 1,
            None => {
                let told = child.told("failed").unwrap_or_default();
                let (who, errors) = (child.order.part, child.errors());
                self.wrong.push(format!("a {who:?} ended by itself: {told} {errors}"));
            }
        }
        let Order { part, line, .. } = self.cast[slot].order;
        self.cast[slot] = self.start(part, line);
    }

    /// Stands still from now on, until its lease is somebody else's: it runs something, and keeps
    /// nobody out.
    pub fn freeze(&mut self, slot: usize) -> bool {
        let pid = self.cast[slot].id();
        if !self.cast[slot].freeze() {
            return false;
        }
        let from = now();
        if !self.eye.keeps_others_out(pid) {
            let tokens = self.tokens_of(pid);
            if !tokens.is_empty() {
                // The first one of a round does not come back.
                let kill = self.tally.frozen == 0 || self.dice.u8(..4) == 0;
                self.frozen = Some(Frozen { slot, from, tokens, kill });
                return true;
            }
        }
        self.cast[slot].thaw();
        false
    }

    /// What has to be done meanwhile: whoever was frozen long enough goes on, people look.
    pub fn tend(&mut self) {
        if let Some(frozen) = self.frozen.take() {
            let pid = self.cast[frozen.slot].id();
            let held = self.tokens_of(pid);
            let taken = frozen.tokens.iter().all(|token| !held.contains(token));
            if taken || since(frozen.from) > LEASE * 4 {
                self.wake(&frozen, taken);
            } else {
                self.frozen = Some(frozen);
            }
        }
        if let Some(people) = &mut self.people {
            people.look(&mut self.tally);
        }
    }

    fn wake(&mut self, frozen: &Frozen, taken: bool) {
        self.tally.frozen += u64::from(taken);
        let life = self.cast[frozen.slot].order.life;
        if frozen.kill && taken {
            self.kill(frozen.slot, Some(Phase::Frozen));
        } else {
            self.cast[frozen.slot].thaw();
        }
        self.pauses.push(Pause { life, from: frozen.from, to: now() });
    }

    fn tokens_of(&self, pid: u32) -> Vec<i64> {
        let sql = "SELECT r.token FROM lanebox_running r JOIN lanebox_process p ON p.id = r.process
                   WHERE p.pid = ?1 AND p.gone = 0";
        self.column(sql, [pid])
    }

    /// A stranger's connection.
    pub fn sql(&self) -> Connection {
        let conn = Connection::open(db(self.dir.path())).expect("the file opens");
        conn.busy_timeout(LEASE * 20).expect("a timeout");
        conn
    }

    pub fn column(&self, sql: &str, params: impl Params) -> Vec<i64> {
        let conn = self.sql();
        let mut rows = conn.prepare(sql).expect("the tables");
        let rows = rows.query_map(params, |row| row.get(0)).expect("rows");
        rows.collect::<Result<_, _>>().expect("numbers")
    }

    /// How many rows of ours; `?1` is our org's number.
    pub fn count(&self, sql: &str) -> i64 {
        let sql = format!("SELECT count(*) FROM ({sql})");
        let org = "SELECT coalesce(max(id), 0) FROM lanebox_org WHERE name = ?1";
        let org = self.column(org, [ORG])[0];
        self.column(&sql, [org])[0]
    }
}
