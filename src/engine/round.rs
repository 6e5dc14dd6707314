//! One pass: whoever leads commits the ends that wait, takes the next jobs in the same commit, and
//! hands them out.

#[cfg(test)]
mod tests;

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::engine::Engine;
use crate::engine::desk::{Desk, Report, Want};
use crate::engine::run::panic_text;
use crate::error::{Error, Result};
use crate::store::bus::{Dispatch, Dispatched};
use crate::store::jobs::{Ask, Ended, Handled, Lost, Reap, Round, Rounded};

/// When a claim looked at as many orgs as it may and found nothing, the rest of them is looked at
/// after this long.
const NEXT_LOOK_MS: i64 = 200;

impl Engine {
    /// Leads a pass. The caller has set `desk.leading`; it is cleared here, whatever happens.
    ///
    /// # Errors
    /// Whatever the store answers. The ends are kept and committed by a later pass; their leases go
    /// on meanwhile.
    pub(crate) fn lead(&self) -> Result<()> {
        self.carry(Round::default()).map(|_| ())
    }

    /// Commits what routes made of events, with the ends that wait and the next claim in the same
    /// transaction unless another thread is leading.
    ///
    /// # Errors
    /// Whatever the store answers; nothing was dispatched then.
    pub(crate) fn dispatch(&self, dispatch: Dispatch) -> Result<Dispatched> {
        let round = Round { dispatch: Some(dispatch), ..Round::default() };
        let leads = !std::mem::replace(&mut self.desk.lock().leading, true);
        let dispatched = if leads {
            // What it makes may be claimed at once.
            self.desk.lock().rung = true;
            self.carry(round)?
        } else {
            self.store.round(round)?.dispatched
        };
        if !leads {
            self.ring_all();
        }
        dispatched.unwrap_or(Ok(Dispatched::default()))
    }

    // The ends that wait and the next claim ride along with `round`.
    fn carry(&self, round: Round) -> Result<Option<Result<Dispatched>>> {
        let _leading = Leading { engine: self };
        let from_us = self.env.mono_us();
        let (reports, claim) = self.take_up(from_us);
        if reports.is_empty() && claim.is_none() && round.dispatch.is_none() {
            return Ok(None);
        }
        let want = claim.as_ref().map(|ask| Want { idle: ask.idle, ahead: ask.ahead });
        let finish = reports.iter().map(|report| report.finish.clone()).collect();
        let done = self.pass(Round { finish, claim, ..round });
        let now_us = self.env.mono_us();
        match done {
            Ok(mut done) => {
                self.desk.lock().committed(now_us - from_us);
                self.record_ends(&reports, &done.finished);
                let dispatched = done.dispatched.take();
                if !reports.is_empty() || dispatched.is_some() {
                    self.peers.ring_others(self);
                }
                self.hand_out(done, want, now_us);
                Ok(dispatched)
            }
            Err(error) => {
                self.desk.lock().not_committed(reports, now_us);
                Err(error)
            }
        }
    }

    // A defect of ours must cost a pass, not a thread.
    fn pass(&self, round: Round) -> Result<Rounded> {
        catch_unwind(AssertUnwindSafe(|| self.store.round(round)))
            .unwrap_or_else(|panic| Err(Error::Defect { what: panic_text(&*panic) }))
    }

    fn take_up(&self, now_us: i64) -> (Vec<Report>, Option<Ask>) {
        let mut desk = self.desk.lock();
        self.note_room(&mut desk);
        let claim = desk.want(now_us).map(|want| self.ask(&desk, want));
        if claim.is_some() {
            // Before the claim, so that a bell that rings meanwhile is not missed.
            desk.rung = false;
        }
        (desk.take_reports(), claim)
    }

    // What this process could run now: idle workers take anything, beyond them only kinds whose
    // runs are short.
    fn ask(&self, desk: &Desk, want: Want) -> Ask {
        let kinds = self.handlers.keys();
        Ask {
            process: self.process,
            kinds: kinds.map(|&kind| Handled { kind, short: desk.is_short(kind) }).collect(),
            idle: want.idle,
            ahead: want.ahead,
            lease_ms: self.settings.lease_ms,
            suspect_wait_ms: self.settings.suspect_wait_ms,
        }
    }

    /// Takes back what vanished holders held; of those that are gone for sure only, if `gone_only`.
    /// What this process itself still holds is renewed in the same commit: it is not lost, however
    /// late its renewal is.
    ///
    /// # Errors
    /// Whatever the store answers; nothing was taken back then.
    pub(crate) fn reap(&self, gone_only: bool) -> Result<()> {
        let held = self.desk.lock().held();
        let (renew, lease_ms) = (held.clone(), self.settings.lease_ms);
        let reap = Some(if gone_only { Reap::Gone } else { Reap::Expired });
        let until_ms = self.env.mono_ms() + lease_ms;
        let done = self.store.round(Round { renew, lease_ms, reap, ..Round::default() })?;
        self.hear(&held, &done.renewed, until_ms);
        for Lost { held, kind, ended } in &done.reaped {
            self.record_lost(held, *kind, ended);
        }
        if !done.reaped.is_empty() || done.cascaded {
            self.hand_out(done, None, self.env.mono_us());
            self.ring_all();
        }
        Ok(())
    }

    fn hand_out(&self, done: Rounded, want: Option<Want>, now_us: i64) {
        let new = done.claimed.len();
        let mut desk = self.desk.lock();
        let lost = done.reaped.iter().filter(|lost| lost.ended != Ended::Dead);
        desk.saw_lost(lost.map(|lost| lost.held.job), now_us);
        if let Some(want) = want {
            // A full answer means that there may be more; anything less was all that could be
            // taken.
            desk.rung |= new >= want.all();
            desk.next_due = done.next_due;
            if done.more {
                let soon = self.env.now_ms() + NEXT_LOOK_MS;
                desk.rung |= new > 0;
                desk.next_due = Some(done.next_due.map_or(soon, |due| due.min(soon)));
            }
        }
        if new > 0 {
            desk.receive(done.claimed, now_us);
            // It sees to it that somebody comes for them.
            self.wake_pulse(&mut desk);
        }
        if desk.stopping {
            desk.hand_back_queue(now_us);
        }
    }
}

/// However a pass ends, the next one can be led.
struct Leading<'e> {
    engine: &'e Engine,
}

impl Drop for Leading<'_> {
    fn drop(&mut self) {
        let env = &self.engine.env;
        let mut desk = self.engine.desk.lock();
        // Before anybody is woken: who comes while another leads sleeps again.
        desk.leading = false;
        if desk.wants_first(env.now_ms(), env.mono_us()) || desk.wants_worker() {
            self.engine.wake_one(&mut desk);
        }
        if desk.stopping {
            // The stop waits for the last leader.
            self.engine.pulse.notify_all();
        } else if desk.is_news_to_pulse() {
            self.engine.wake_pulse(&mut desk);
        }
    }
}
