//! What a round met, in numbers.

use std::collections::BTreeMap;

/// Where in its life a process was killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// The tables were not all there.
    Creation,
    /// Holding the write lock of an old file.
    Migration,
    /// Before its file was open.
    StartUp,
    Running,
    /// Holding the write lock.
    Writing,
    /// Moving the log into the file.
    Checkpoint,
    /// After SIGTERM.
    Stop,
    /// Frozen past its lease.
    Frozen,
}

pub const PHASES: [Phase; 8] = [
    Phase::Creation,
    Phase::Migration,
    Phase::StartUp,
    Phase::Running,
    Phase::Writing,
    Phase::Checkpoint,
    Phase::Stop,
    Phase::Frozen,
];

#[derive(Default)]
pub struct Tally {
    kills: BTreeMap<Phase, u64>,
    /// Processes frozen past their lease: somebody else took their work.
    pub frozen: u64,
    /// Processes that ended in order after SIGTERM.
    pub stopped: u64,
    pub acknowledged: u64,
    /// Jobs that were done after a loss, an unknown send or a death.
    pub recovered: u64,
    pub lost: u64,
    pub unexpected: u64,
    pub duplicated: u64,
    /// Two runs of a lane at once, one of them in a process that stood still past its lease.
    pub overlapped: u64,
    /// Two letters of one send, one of them by a process that was frozen after its last check: what
    /// the product says it cannot prevent.
    pub excused: u64,
    /// What a person settled.
    pub words: u64,
    /// Single facts that were looked at and found right.
    pub checked: u64,
}

impl Tally {
    pub fn killed(&mut self, phase: Phase) {
        *self.kills.entry(phase).or_default() += 1;
    }

    pub fn kills_in(&self, phase: Phase) -> u64 {
        self.kills.get(&phase).copied().unwrap_or(0)
    }

    pub fn kills(&self) -> u64 {
        self.kills.values().sum()
    }

    pub fn add(&mut self, other: &Tally) {
        for (phase, kills) in &other.kills {
            *self.kills.entry(*phase).or_default() += kills;
        }
        self.frozen += other.frozen;
        self.stopped += other.stopped;
        self.acknowledged += other.acknowledged;
        self.recovered += other.recovered;
        self.lost += other.lost;
        self.unexpected += other.unexpected;
        self.duplicated += other.duplicated;
        self.overlapped += other.overlapped;
        self.excused += other.excused;
        self.words += other.words;
        self.checked += other.checked;
    }

    pub fn figures(&self) -> [(&'static str, u64); 19] {
        let of = |phase| self.kills_in(phase);
        [
            ("kills", self.kills()),
            ("in creation", of(Phase::Creation)),
            ("in a migration", of(Phase::Migration)),
            ("in start-up", of(Phase::StartUp)),
            ("running", of(Phase::Running)),
            ("in a write", of(Phase::Writing)),
            ("in a checkpoint", of(Phase::Checkpoint)),
            ("in a stop", of(Phase::Stop)),
            ("while frozen", of(Phase::Frozen)),
            ("frozen", self.frozen),
            ("stopped", self.stopped),
            ("acknowledged", self.acknowledged),
            ("recovered", self.recovered),
            ("settled by a person", self.words),
            ("lost", self.lost),
            ("unexpected", self.unexpected),
            ("duplicated", self.duplicated),
            ("overlapped while frozen", self.overlapped),
            ("sent twice after a freeze", self.excused),
        ]
    }
}
