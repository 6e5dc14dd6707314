//! Contention: six processes write all they can, one reads for seconds, one copies the file, and
//! one more is frozen while it holds the write lock, for less and for more than the busy deadline.

pub mod beside;
mod judge;
pub mod writer;

use std::path::Path;
use std::time::Duration;

use fastrand::Rng;
use rustix::process::Signal;
use tempfile::TempDir;

use crate::child::Child;
use crate::clock::{now, pass, since};
use crate::eye::{Eye, Midst};
use crate::part::{Ability, Order, Part, db};
use crate::say::Rig;
use writer::BUSY;

/// Seconds of every test run.
const IN_CI: u64 = 20;

/// Who is counted and compared.
const WRITERS: u32 = 6;

/// What the least served writer gets at least, in percent of what the best served one gets.
const LEAST_SHARE: u64 = 50;

// fault: waits-grow
#[test]
fn six_writers_a_reader_and_a_backup_share_one_lock_and_a_frozen_one_is_waited_for() {
    let _alone = crate::ONE_AT_A_TIME.lock().unwrap_or_else(|broken| broken.into_inner());
    let mut rig = Rig::new("contention", IN_CI);
    let mut crowd = Crowd::start(rig.seed);
    crowd.run(Duration::from_secs(rig.n));
    let (said, mut wrong) = crowd.leave();
    let met = judge::judge(&crowd);
    wrong.extend(met.wrong);
    let share = |of: &[u64]| {
        let (least, most) = (of.iter().min(), of.iter().max());
        least.zip(most).map_or(0, |(least, most)| least * 100 / most.max(&1))
    };
    for (what, of) in [("calls", &met.calls), ("commits", &said.commits)] {
        // They do not begin at the same moment: a short run says little of it.
        if rig.n >= IN_CI && share(of) < LEAST_SHARE {
            wrong.push(format!("a writer was starved: {what} of each {of:?}"));
        }
    }
    // Else nobody waited longer than the deadline.
    if crowd.freezes.iter().any(|one| one.long) && met.busy == 0 {
        wrong.push("nobody was refused while the lock was held past the deadline".to_owned());
    }
    rig.pass(met.checked);
    if !wrong.is_empty() {
        let first = wrong[..wrong.len().min(12)].join("\n");
        rig.fail(&format!("{} wrong things:\n{first}", wrong.len()), rig.seed, rig.n);
    }
    let long = crowd.freezes.iter().filter(|one| one.long).count();
    let figures = [
        ("calls", met.calls.iter().sum()),
        ("least of most calls in percent", share(&met.calls)),
        ("least of most commits in percent", share(&said.commits)),
        ("worst wait in ms", met.worst / 1_000_000),
        ("frozen below the deadline", (crowd.freezes.len() - long) as u64),
        ("frozen beyond it", long as u64),
        ("refused as busy", met.busy),
        ("snapshots", said.reads),
        ("copies", said.copies),
    ];
    for (what, often) in figures {
        rig.must_meet(what, often > 0);
    }
    rig.end(&figures);
}

/// In memory, if the machine has such a place: what other programs make of the disk is not
/// measured, and the lock changes hands more often.
fn place() -> TempDir {
    let memory = Path::new("/dev/shm");
    let base = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
    tempfile::tempdir_in(base).expect("a directory")
}

/// A time in which one process kept everybody else from writing.
struct Freeze {
    from: u64,
    to: u64,
    /// For longer than the busy deadline.
    long: bool,
}

impl Freeze {
    /// Whether a call fell into it.
    fn meets(&self, (from, to): (u64, u64)) -> bool {
        from < self.to && to > self.from
    }
}

/// What they said of themselves at the end.
#[derive(Default)]
struct Said {
    commits: Vec<u64>,
    reads: u64,
    copies: u64,
}

struct Crowd {
    dir: TempDir,
    dice: Rng,
    lives: u32,
    /// The counted writers, the one that is frozen, the reader, the backup.
    cast: Vec<Child>,
    victim: usize,
    freezes: Vec<Freeze>,
}

impl Crowd {
    fn start(seed: u64) -> Crowd {
        let dir = place();
        let victim = usize::try_from(WRITERS).expect("few");
        let dice = Rng::with_seed(seed);
        let (cast, freezes) = (Vec::new(), Vec::new());
        let mut crowd = Crowd { dir, dice, lives: 0, cast, victim, freezes };
        let writers = (0..=WRITERS).map(|_| Part::Writer);
        for part in writers.chain([Part::Reader, Part::Backup]) {
            let child = crowd.child(part);
            crowd.cast.push(child);
        }
        crowd
    }

    fn child(&mut self, part: Part) -> Child {
        let (dir, life) = (self.dir.path().to_owned(), self.lives);
        self.lives += 1;
        let order = Order { part, dir, seed: 0, ability: Ability::Neither, line: life, life };
        let mut child = Child::start(&order);
        assert!(child.says("open"), "{part:?}: {:?} {}", child.told("failed"), child.errors());
        child
    }

    /// Every writer that there was.
    fn lives(&self) -> std::ops::Range<u32> {
        0..self.lives
    }

    fn counted(&self) -> std::ops::Range<u32> {
        0..WRITERS
    }

    /// Free, frozen for a part of the deadline, free, frozen for longer; then thawed or killed.
    fn run(&mut self, time: Duration) {
        let from = now();
        let mut turn = 0;
        while since(from) < time {
            pass(Duration::from_millis(self.dice.u64(1_200..2_200)));
            let long = turn % 2 == 1;
            self.freeze(long, turn % 4 == 3);
            turn += 1;
        }
        pass(Duration::from_secs(2));
    }

    fn freeze(&mut self, long: bool, kill: bool) {
        let eye = Eye::on(&db(self.dir.path()));
        let pid = self.cast[self.victim].id();
        let asked = now();
        while since(asked) < Duration::from_secs(10) {
            if !eye.is_in(pid, Midst::Write) {
                continue;
            }
            let from = now();
            if self.cast[self.victim].freeze() && eye.is_in(pid, Midst::Write) {
                pass(if long { BUSY * 17 / 10 } else { BUSY * 4 / 10 });
                if kill {
                    // It never committed: whoever waits goes on.
                    self.cast[self.victim].kill();
                } else {
                    self.cast[self.victim].thaw();
                }
                self.freezes.push(Freeze { from, to: now(), long });
                if kill {
                    self.cast[self.victim] = self.child(Part::Writer);
                }
                return;
            }
            self.cast[self.victim].thaw();
        }
    }

    /// Everybody ends in order; what they said, and what was wrong with it.
    fn leave(&mut self) -> (Said, Vec<String>) {
        let (mut said, mut wrong) = (Said::default(), Vec::new());
        for child in &self.cast {
            child.signal(Signal::TERM);
        }
        for (slot, child) in self.cast.iter_mut().enumerate() {
            let well = child.ends_well() && child.says("stopped");
            if !well {
                let told = child.told("failed").unwrap_or_default();
                wrong.push(format!("a {:?}: {told} {}", child.order.part, child.errors()));
            }
            let number = |text: Option<String>| text.and_then(|n| n.parse().ok()).unwrap_or(0);
            match child.order.part {
                Part::Reader => said.reads = number(child.told("reads")),
                Part::Backup => said.copies = number(child.told("copies")),
                _ if slot < self.victim => said.commits.push(number(child.told("commits"))),
                _ => {}
            }
        }
        (said, wrong)
    }
}
