//! Who steps next, how time passes, and how a world comes to rest once nothing disturbs it.

use std::sync::Arc;

use super::process::Thread;
use super::world::World;
use super::{LEASE_MS, PATIENCE_MS};
use crate::model::send::ChannelState;

/// Rounds of everybody in which everything must settle.
const ROUNDS: i64 = 80;

/// After so many rounds time passes faster: what is due only after a clock went back waits long.
const PATIENT_ROUNDS: i64 = 40;

impl World {
    /// One step of anybody.
    pub(super) fn turn(self: &Arc<World>) {
        if self.has_failed() {
            return;
        }
        match self.below(100) {
            0..38 => self.thread(Thread::Worker),
            38..48 => self.thread(Thread::Dispatch),
            48..54 => self.thread(Thread::Resolve),
            54..62 => self.thread(Thread::Pulse),
            62..67 => self.thread(Thread::Renew),
            67..71 => self.thread(Thread::Reap),
            71 => self.thread(Thread::Space),
            72..82 => self.produce(),
            82..90 => self.some_time_passes(),
            90..92 => {
                self.hear_a_status();
            }
            92..95 if self.swarm.people => self.somebody_acts(),
            95..98 => self.disturb(),
            98.. => {
                self.start_missing();
            }
            _ => {}
        }
        self.wire();
    }

    fn thread(self: &Arc<World>, thread: Thread) {
        if let Some(process) = self.any_process() {
            process.step(self, thread);
        }
    }

    fn some_time_passes(self: &Arc<World>) {
        match self.below(40) {
            0..24 => self.clock.advance(self.between(1, 60)),
            24..34 => self.time_passes(self.between(60, 2_000)),
            34..38 => self.time_passes(self.between(2_000, 8_000)),
            38 => self.time_passes(LEASE_MS + 1),
            // Nobody ran meanwhile: a machine that swaps, a debugger.
            _ => {
                self.see("everybody stood still");
                self.clock.advance(PATIENCE_MS + self.between(1, LEASE_MS));
            }
        }
    }

    /// Whoever is not frozen does some of what it can.
    pub(super) fn everybody_works(self: &Arc<World>) {
        for process in self.living() {
            for thread in [Thread::Pulse, Thread::Resolve, Thread::Worker, Thread::Worker] {
                process.step(self, thread);
            }
        }
    }

    /// Time passes as it does for real: whoever is not frozen renews and reaps meanwhile.
    pub(super) fn time_passes(self: &Arc<World>, ms: i64) {
        let slice = LEASE_MS / 8;
        let mut left = ms;
        while left > 0 && !self.has_failed() {
            self.clock.advance(slice.min(left));
            left -= slice;
            for process in self.living() {
                process.step(self, Thread::Renew);
                process.step(self, Thread::Reap);
                process.step(self, Thread::Space);
            }
        }
    }

    /// Faults are over: everything settles in a bounded number of rounds.
    pub(super) fn settle(self: &Arc<World>) {
        self.no_more_faults();
        self.note("no more faults");
        for round in 0..ROUNDS {
            while self.start_missing() {}
            self.channel(ChannelState::Open);
            self.consent(true);
            self.hold(false);
            self.ask_again();
            while self.hear_a_status() {}
            for process in self.living() {
                for thread in [Thread::Pulse, Thread::Dispatch, Thread::Resolve, Thread::Worker] {
                    while process.step(self, thread) && !self.has_failed() {}
                }
            }
            self.settle_what_was_told();
            self.time_passes(LEASE_MS / 4);
            self.clock.advance((round - PATIENT_ROUNDS).max(0) * 60_000);
            self.wire();
            if self.has_failed() {
                return;
            }
            if self.unsettled().is_empty() {
                self.check_all();
                self.see_states();
                self.note_ends();
                return;
            }
        }
        self.fail(format!("it does not settle: {:?}", self.unsettled()));
    }
}
