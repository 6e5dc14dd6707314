//! Keeping what is held: renewals, runs over their time, prefetched jobs that nobody gets to, and
//! what others left behind.

use crate::engine::Engine;
use crate::engine::signal::Stop;
use crate::error::Result;
use crate::model::id::Held;
use crate::model::verdict::End;
use crate::store::jobs::{Finish, Renewed, Round};

/// A prefetched job that no worker got to for this long is handed back.
const STALE_QUEUE_US: i64 = 100_000;

impl Engine {
    /// Renews everything that this process holds and hears who was asked to stop.
    ///
    /// # Errors
    /// Whatever the store answers; nothing was renewed then.
    pub(crate) fn renew(&self) -> Result<()> {
        let held = self.desk.lock().held();
        if held.is_empty() {
            return Ok(());
        }
        let renew = held.clone();
        let round = Round { renew, lease_ms: self.settings.lease_ms, ..Round::default() };
        let renewed = self.store.round(round)?.renewed;
        for (held, answer) in held.into_iter().zip(renewed) {
            match answer {
                Renewed::Held { cancel_asked: false } => {}
                Renewed::Held { cancel_asked: true } => self.tell(held, Stop::Cancelled),
                Renewed::LeaseLost => self.lease_lost(held),
            }
        }
        Ok(())
    }

    fn tell(&self, held: Held, why: Stop) {
        let desk = self.desk.lock();
        if let Some(busy) = desk.busy.get(&held.job).filter(|busy| busy.held == held) {
            busy.signal.raise(why);
        }
    }

    fn lease_lost(&self, held: Held) {
        self.tell(held, Stop::LeaseLost);
        let mut desk = self.desk.lock();
        desk.queue.retain(|claimed| claimed.held != held);
    }

    /// Runs that are over their kind's time: told to stop, not renewed any more. How many threads
    /// are to be replaced.
    pub(crate) fn overruns(&self) -> usize {
        let now_us = self.env.mono_us();
        let mut desk = self.desk.lock();
        let mut replaced = 0;
        for busy in desk.busy.values_mut().filter(|busy| !busy.overrun) {
            if now_us - busy.since_us > busy.max_run_ms.saturating_mul(1_000) {
                busy.overrun = true;
                busy.signal.raise(Stop::Overrun);
                replaced += 1;
                tracing::warn!(job = %busy.held.job, "a run is over its time; its lease runs out");
            }
        }
        replaced
    }

    /// Prefetched jobs that wait behind long runs go back, unstarted, without using an attempt.
    pub(crate) fn hand_back_stale(&self) {
        let now_us = self.env.mono_us();
        let mut desk = self.desk.lock();
        if desk.idle() == 0 && now_us - desk.last_taken_us > STALE_QUEUE_US {
            desk.hand_back_queue();
        }
    }

    /// Whether somebody should lead although no worker is free to.
    pub(crate) fn lingers(&self) -> bool {
        let (now_ms, now_us) = (self.env.now_ms(), self.env.mono_us());
        let mut desk = self.desk.lock();
        let due = !desk.leading && desk.pass_is_due(now_ms, now_us);
        desk.leading |= due;
        due
    }
}

impl crate::engine::desk::Desk {
    /// Everything that no worker has started goes back with the next commit.
    pub(crate) fn hand_back_queue(&mut self) {
        let end = End::HandBack { started: false };
        let queue = std::mem::take(&mut self.queue);
        let ends = queue.into_iter().map(|claimed| Finish {
            held: claimed.held,
            end: end.clone(),
            outbox: Vec::new(),
        });
        self.reports.extend(ends);
    }
}
