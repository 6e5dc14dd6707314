//! One pass: whoever leads commits the ends that wait, takes the next jobs in the same commit, and
//! hands them out.

use crate::engine::Engine;
use crate::engine::desk::Desk;
use crate::error::Result;
use crate::store::bus::{Dispatch, Dispatched};
use crate::store::jobs::{Ask, Ended, Finish, Handled, Reap, Round, Rounded};

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
            self.ring();
        }
        dispatched.unwrap_or(Ok(Dispatched::default()))
    }

    // The ends that wait and the next claim ride along with `round`.
    fn carry(&self, round: Round) -> Result<Option<Result<Dispatched>>> {
        let _leading = Leading { engine: self };
        let mut desk = self.desk.lock();
        let finish = desk.take_reports();
        let claim = self.ask(&desk);
        if claim.is_some() {
            desk.rung = false;
        }
        drop(desk);
        let kept = finish.clone();
        let want = claim.as_ref().map_or(0, |ask| ask.idle + ask.ahead);
        let from_us = self.env.mono_us();
        let done = self.store.round(Round { finish, claim, ..round });
        let took_us = self.env.mono_us() - from_us;
        match done {
            Ok(mut done) => {
                let dispatched = done.dispatched.take();
                self.hand_out(done, want, took_us);
                Ok(dispatched)
            }
            Err(error) => {
                self.keep(kept);
                Err(error)
            }
        }
    }

    /// Takes back what vanished holders held; of those that are gone for sure only, if `gone_only`.
    ///
    /// # Errors
    /// Whatever the store answers; nothing was taken back then.
    pub(crate) fn reap(&self, gone_only: bool) -> Result<()> {
        let reap = if gone_only { Reap::Gone } else { Reap::Expired };
        let done = self.store.round(Round { reap: Some(reap), ..Round::default() })?;
        if !done.reaped.is_empty() {
            self.hand_out(done, 0, 0);
            self.ring();
        }
        Ok(())
    }

    // What this process could run now: idle workers take anything, beyond them only kinds whose
    // runs are short.
    fn ask(&self, desk: &Desk) -> Option<Ask> {
        let idle = desk.idle();
        let want = (idle + desk.ahead()).saturating_sub(desk.queue.len());
        if want == 0 || desk.stopping {
            return None;
        }
        let idle = idle.saturating_sub(desk.queue.len());
        let kinds = self.handlers.keys();
        Some(Ask {
            process: self.process,
            kinds: kinds.map(|&kind| Handled { kind, short: desk.is_short(kind) }).collect(),
            idle,
            ahead: want - idle,
            lease_ms: self.settings.lease_ms,
            suspect_wait_ms: self.settings.suspect_wait_ms,
        })
    }

    fn hand_out(&self, done: Rounded, want: usize, took_us: i64) {
        for ended in &done.finished {
            if *ended == Ended::LeaseLost {
                tracing::info!("a late end was dropped: its lease is lost");
            }
        }
        let mut desk = self.desk.lock();
        if took_us > 0 {
            desk.committed(took_us);
        }
        let lost = done.reaped.iter().filter(|lost| lost.ended != Ended::Dead);
        desk.saw_lost(lost.map(|lost| lost.held.job), self.env.mono_us());
        // A full answer means that there may be more; anything less was all that could be taken.
        desk.rung |= (want > 0 && done.claimed.len() >= want) || !done.reaped.is_empty();
        if want > 0 {
            desk.next_due = done.next_due;
        }
        let new = done.claimed.len();
        desk.queue.extend(done.claimed);
        drop(desk);
        for _ in 0..new.min(self.settings.workers) {
            self.wake.notify_one();
        }
    }

    // Nothing of it was committed, so nothing of it is lost: the next pass tries again.
    fn keep(&self, finish: Vec<Finish>) {
        let mut desk = self.desk.lock();
        desk.committing.clear();
        desk.reports.extend(finish);
        desk.rung = true;
    }
}

/// However a pass ends, the next one can be led.
struct Leading<'e> {
    engine: &'e Engine,
}

impl Drop for Leading<'_> {
    fn drop(&mut self) {
        self.engine.desk.lock().leading = false;
        self.engine.pulse.notify_all();
    }
}
