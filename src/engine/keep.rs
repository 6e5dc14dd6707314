//! Keeping what is held: renewals, runs over their time, prefetched jobs that nobody gets to, and
//! what was committed elsewhere.

#[cfg(test)]
mod tests;

use crate::engine::Engine;
use crate::engine::signal::Stop;
use crate::error::Result;
use crate::model::id::{Held, Token};
use crate::store::jobs::{Renewed, Round};

/// How often runs are looked at: for how long they take, and for a person who asks them to stop.
const LOOK_MS: i64 = 1_000;

/// Renews every lease at a third of its time, and looks more often at how long runs take and who
/// asks them to stop.
#[derive(Default)]
pub(crate) struct Renewer {
    due_ms: i64,
}

impl Renewer {
    /// One look.
    ///
    /// # Errors
    /// Whatever the store answers; the next look does it again.
    pub(crate) fn step(&mut self, engine: &Engine) -> Result<()> {
        engine.end_overruns();
        let now = engine.env.mono_ms();
        if now < self.due_ms {
            return engine.hear_cancels();
        }
        engine.renew()?;
        self.due_ms = now + engine.settings.lease_ms / 3;
        Ok(())
    }

    /// In how many milliseconds it wants the next look.
    pub(crate) fn pause_ms(&self, engine: &Engine) -> i64 {
        (self.due_ms - engine.env.mono_ms()).clamp(1, LOOK_MS)
    }
}

impl Engine {
    /// What was committed elsewhere since `generation`.
    ///
    /// # Errors
    /// Whatever the store answers.
    pub(crate) fn look_elsewhere(&self, generation: &mut u64) -> Result<()> {
        let now = self.store.generation();
        // Who cannot see whether others have committed looks as if they had: what is there does not
        // wait for it.
        if now.as_ref().map_or(true, |&now| std::mem::replace(generation, now) != now) {
            self.ring();
        }
        now.map(|_| ())
    }

    /// What is due by now, and ends that nobody leads.
    ///
    /// # Errors
    /// Whatever the store answers.
    pub(crate) fn beat(&self) -> Result<()> {
        self.hand_back_stale();
        if self.lingers() {
            self.lead()?;
        }
        self.hurry();
        Ok(())
    }

    /// Renews everything that this process holds and hears who was asked to stop.
    ///
    /// # Errors
    /// Whatever the store answers; nothing was renewed then.
    pub(crate) fn renew(&self) -> Result<()> {
        let held = self.desk.lock().held();
        if held.is_empty() {
            return Ok(());
        }
        let (renew, lease_ms) = (held.clone(), self.settings.lease_ms);
        let until_ms = self.env.mono_ms() + lease_ms;
        let done = self.store.round(Round { renew, lease_ms, ..Round::default() })?;
        self.hear(&held, &done.renewed, until_ms);
        Ok(())
    }

    /// Hears who was asked to stop, without a write.
    ///
    /// # Errors
    /// Whatever the store answers.
    pub(crate) fn hear_cancels(&self) -> Result<()> {
        if self.running() == 0 {
            return Ok(());
        }
        let asked = self.store.cancel_asked(self.process)?;
        let desk = self.desk.lock();
        for busy in asked.iter().filter_map(|token| desk.busy.get(token)) {
            busy.signal.raise(Stop::Cancelled);
        }
        Ok(())
    }

    /// What the store answered to a renewal of these; it holds at least until then.
    pub(crate) fn hear(&self, held: &[Held], renewed: &[Renewed], until_ms: i64) {
        let mut desk = self.desk.lock();
        for (held, answer) in held.iter().zip(renewed) {
            if *answer != Renewed::LeaseLost {
                desk.renewed(held.token, until_ms);
            }
            let why = match answer {
                Renewed::Held { cancel_asked: false } => continue,
                Renewed::Held { cancel_asked: true } => Stop::Cancelled,
                Renewed::LeaseLost => Stop::LeaseLost,
            };
            if let Some(busy) = desk.busy.get(&held.token) {
                busy.signal.raise(why);
            }
            if why == Stop::LeaseLost {
                desk.queue.retain(|claimed| claimed.held != *held);
            }
        }
    }

    /// Runs that are over their kind's time are told to stop and renewed no more.
    pub(crate) fn end_overruns(&self) {
        let overrun = self.desk.lock().overrun(self.env.mono_us());
        for held in overrun {
            tracing::warn!(job = %held.job, "a run is over its time; its lease runs out");
        }
    }

    /// A run whose thread hangs in it and should be replaced by a new one.
    pub(crate) fn hangs(&self) -> Option<Token> {
        self.desk.lock().hangs()
    }

    /// The thread of this run was replaced: when it comes back it ends.
    pub(crate) fn replaced(&self, token: Token) {
        if let Some(busy) = self.desk.lock().busy.get_mut(&token) {
            busy.replaced = true;
        }
    }

    /// Prefetched jobs that wait behind long runs go back, unstarted.
    pub(crate) fn hand_back_stale(&self) {
        let now_us = self.env.mono_us();
        let mut desk = self.desk.lock();
        if desk.is_stuck(now_us) {
            desk.hand_back_queue(now_us);
        }
    }

    /// A worker comes for jobs that wait longer than they should.
    fn hurry(&self) {
        let now_us = self.env.mono_us();
        let mut desk = self.desk.lock();
        if desk.is_slow(now_us) {
            self.wake_next(&mut desk);
        }
    }

    /// Whether somebody should lead although no worker is free to.
    pub(crate) fn lingers(&self) -> bool {
        let (now_ms, now_us) = (self.env.now_ms(), self.env.mono_us());
        let mut desk = self.desk.lock();
        self.note_room(&mut desk);
        let due = !desk.leading && desk.pass_is_due(now_ms, now_us);
        desk.leading |= due;
        due
    }
}
