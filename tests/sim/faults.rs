//! Faults by chance: which of them a seed may meet, and when one happens.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use rusqlite::ffi;

use super::mortal::Life;
use super::world::World;
use super::{LEASE_MS, NESTING, SETTLE_MS, TIMEOUT_MS};
use crate::store::sqlite::SqliteStore;
use crate::store::sqlite::door::{Fault, Point};

/// What may happen in one run: a few kinds of faults find more together than all at once.
#[derive(Clone, Copy, Debug)]
pub(super) struct Swarm {
    pub(super) deaths: bool,
    pub(super) freezes: bool,
    pub(super) storage: bool,
    pub(super) clock_steps: bool,
    pub(super) people: bool,
    /// Others go on between any two verbs.
    pub(super) overtaking: bool,
}

impl Swarm {
    pub(super) fn new(chance: &mut fastrand::Rng) -> Swarm {
        let mut on = || chance.u32(0..10) < 6;
        Swarm {
            deaths: on(),
            freezes: on(),
            storage: on(),
            clock_steps: on(),
            people: on(),
            overtaking: on(),
        }
    }
}

/// Storage errors by name, where the writer meets them, and as what.
const STORAGE: [(&str, Point, Fault); 10] = [
    ("busy", Point::Begin, Fault::Error(ffi::SQLITE_BUSY)),
    ("begin fails", Point::Begin, Fault::Error(ffi::SQLITE_IOERR_READ)),
    ("full", Point::Operation, Fault::Ended(ffi::SQLITE_FULL)),
    ("write error", Point::Operation, Fault::Ended(ffi::SQLITE_IOERR_WRITE)),
    ("a broken rule", Point::Operation, Fault::Error(ffi::SQLITE_CONSTRAINT)),
    ("a panic in a verb", Point::Operation, Fault::Panic),
    ("full before the commit", Point::Commit, Fault::Ended(ffi::SQLITE_FULL)),
    ("error before the commit", Point::Commit, Fault::Ended(ffi::SQLITE_IOERR_WRITE)),
    ("error behind the commit", Point::Committed, Fault::Error(ffi::SQLITE_IOERR_WRITE)),
    ("failed flush", Point::Committed, Fault::Error(ffi::SQLITE_IOERR_FSYNC)),
];

/// What every seed together must have met.
pub(super) const MUST_MEET: [&str; 18] = [
    "busy",
    "begin fails",
    "full",
    "write error",
    "a broken rule",
    "a panic in a verb",
    "full before the commit",
    "error before the commit",
    "error behind the commit",
    "failed flush",
    "death at a verb",
    "death during a call",
    "death between steps",
    "frozen in a step",
    "frozen between steps",
    "clock step",
    "orderly stop",
    "reboot",
];

impl World {
    /// Between two steps of a process: it may die, stand still past its lease, or be overtaken.
    pub(super) fn point(self: &Arc<World>, life: &Arc<Life>, what: &'static str) {
        if self.is_quiet() || life.is_dead() || self.has_failed() {
            return;
        }
        let (dice, swarm) = (self.below(1_000), self.swarm);
        match dice {
            0..8 if swarm.deaths => {
                self.see("death at a verb");
                self.note(&format!("{} dies at {what}", life.name));
                life.die();
            }
            8..14 if swarm.freezes && self.depth() < NESTING => self.freeze_in(life, what),
            14..150 if swarm.overtaking => self.others(life),
            150..400 => self.clock.advance(self.between(1, 4)),
            _ => {}
        }
    }

    /// All threads of the process stand still, wherever they are; the others go on, until its
    /// leases are over for sure.
    pub(super) fn freeze_in(self: &Arc<World>, life: &Arc<Life>, what: &'static str) {
        if life.is_frozen() {
            return;
        }
        self.see("frozen in a step");
        self.note(&format!("{} stands still at {what}", life.name));
        life.freeze(true);
        self.deeper(|| {
            self.time_passes(LEASE_MS + self.between(1, 3_000));
            self.everybody_works();
            // Long enough for an unknown send of it to be looked at.
            self.time_passes(self.between(1, 2 * (TIMEOUT_MS + SETTLE_MS)));
            self.everybody_works();
            for _ in 0..self.between(0, 6) {
                self.turn();
            }
        });
        life.freeze(false);
        self.note(&format!("{} goes on", life.name));
    }

    // A slow step is not a frozen process: its other threads go on too.
    fn others(self: &Arc<World>, life: &Arc<Life>) {
        if self.depth() >= NESTING {
            return;
        }
        self.note(&format!("{} is overtaken", life.name));
        self.deeper(|| {
            for _ in 0..self.between(1, 4) {
                self.turn();
            }
        });
    }

    pub(super) fn deeper(&self, body: impl FnOnce()) {
        self.depth.fetch_add(1, Ordering::SeqCst);
        body();
        self.depth.fetch_sub(1, Ordering::SeqCst);
    }

    /// Orders a storage error for the next verb of this store; which.
    pub(super) fn order_fault(&self, store: &SqliteStore) -> Option<&'static str> {
        if self.is_quiet() || !self.swarm.storage || self.below(100) > 2 {
            return None;
        }
        let (name, at, fault) = STORAGE[self.below(STORAGE.len())];
        store.order_fault(at, 0, fault);
        Some(name)
    }

    // The machine is off for a while: nobody is left, and the monotonic clock begins anew.
    fn reboot(self: &Arc<World>) {
        let off = self.between(100, 60_000);
        let up = self.before_boot.load(Ordering::SeqCst) + self.mono_ms() + off;
        self.clock.reboot(off, &format!("boot at {up}"));
        self.before_boot.store(up - self.mono_ms(), Ordering::SeqCst);
        self.see("reboot");
        self.note("the machine starts anew");
        self.living().iter().for_each(|process| process.life.die());
        self.bury();
    }

    /// A fault of a whole process, or of the machine and its clock.
    pub(super) fn disturb(self: &Arc<World>) {
        let Some(process) = self.any_process() else { return };
        match self.below(8) {
            0 if self.swarm.deaths && !process.life.is_entered() => {
                self.see("death between steps");
                process.life.die();
            }
            1 if self.swarm.freezes && !process.life.is_entered() => {
                self.see("frozen between steps");
                process.life.freeze(true);
            }
            2 if self.swarm.clock_steps => {
                self.see("clock step");
                let ms = [-3_600_000, -5_000, -1, 1, 5_000, 3_600_000][self.below(6)];
                self.clock.step_wall(ms);
            }
            3..5 => process.life.freeze(false),
            5 if !process.life.is_entered() && !process.life.is_frozen() => {
                self.see("orderly stop");
                process.stop();
            }
            6 if self.swarm.deaths && self.depth() == 0 && self.below(3) == 0 => self.reboot(),
            _ => {}
        }
    }
}
