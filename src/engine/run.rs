//! One run of one job: calls the handler and turns what it says, throws or panics with into the end
//! of the run.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use crate::engine::Engine;
use crate::engine::ctx::{Ctx, HostRows, StepError};
use crate::engine::desk::{Begun, Desk, Report, Turn};
use crate::engine::reactions::Handler;
use crate::engine::signal::{Signal, Stop};
use crate::error::{Error, Result};
use crate::model::id::Held;
use crate::model::job::duration_ms;
use crate::model::send::{self, error::Told};
use crate::model::text::scrub;
use crate::model::verdict::End;
use crate::store::jobs::{Claimed, Ended, Finish, HostWork};

/// Between two tries to write host rows while another program holds the file locked.
const BUSY_PAUSE: Duration = Duration::from_millis(50);

impl Engine {
    /// What a worker that has nothing in hand does next.
    pub(crate) fn turn(&self, desk: &mut Desk) -> Turn {
        let policy = |kind| self.handlers.get(&kind).map(|handler| handler.policy);
        let longest = |kind| policy(kind).unwrap_or_default().max_run_ms;
        self.note_room(desk);
        desk.turn(self.env.now_ms(), self.env.mono_us(), longest)
    }

    /// Runs a job that was begun, and reports its end. `false` if this thread was replaced
    /// meanwhile.
    pub(crate) fn run(&self, begun: &Begun) -> bool {
        let Begun { claimed, signal } = begun;
        let kind = claimed.kind;
        let Some(handler) = self.handlers.get(&kind) else {
            // Claims name the kinds that have code here; a job of another one goes back as it came.
            let finish = finish(claimed, End::HandBack { started: false });
            return self.report(Report { finish, kind, took_us: 0 });
        };
        let from_us = self.env.mono_us();
        let run = Run { engine: self, handler, claimed, signal };
        // Whatever of the host's panics (handler, rows, the text of its error), the job is tried
        // again and the thread lives.
        let ran = catch_unwind(AssertUnwindSafe(|| run.attempt()))
            .unwrap_or_else(|panic| Ran::Ends(run.failed(panic_text(&*panic))));
        let took_us = self.env.mono_us() - from_us;
        match ran {
            Ran::Ends(finish) => self.report(Report { finish, kind, took_us }),
            Ran::Ended(finish, ended) => {
                self.record_ends(&[Report { finish, kind, took_us }], &[ended]);
                let goes_on = self.leave(claimed.held);
                self.ring_all();
                goes_on
            }
            Ran::Lost => {
                self.record_dropped(&claimed.held, kind, took_us);
                let goes_on = self.leave(claimed.held);
                // What a provider said late may have freed the job that waits for it.
                self.ring_all();
                goes_on
            }
        }
    }

    // Nothing of the run waits for a commit.
    fn leave(&self, held: Held) -> bool {
        let mut desk = self.desk.lock();
        let replaced = desk.leave(held, false);
        self.tell_stop(&desk);
        !replaced
    }

    fn report(&self, report: Report) -> bool {
        let mut desk = self.desk.lock();
        let replaced = desk.report(report, self.env.mono_us());
        // It leads what no worker leads in time.
        self.wake_pulse(&mut desk);
        self.tell_stop(&desk);
        !replaced
    }

    // A stop waits for the last run.
    fn tell_stop(&self, desk: &Desk) {
        if desk.stopping {
            self.pulse.notify_all();
        }
    }
}

/// What a run left behind.
enum Ran {
    /// Its end, to be committed with others.
    Ends(Finish),
    /// Its end was committed with its host rows.
    Ended(Finish, Ended),
    /// Its lease is lost: whoever holds the job now, or the reaper, ends it.
    Lost,
}

/// One run under way on this thread.
struct Run<'e> {
    engine: &'e Engine,
    handler: &'e Handler,
    claimed: &'e Claimed,
    signal: &'e Signal,
}

impl Run<'_> {
    fn attempt(&self) -> Ran {
        let ctx = Ctx::new(self.engine, self.claimed, self.signal);
        let end = match (self.handler.run)(&ctx) {
            Ok(outcome) => Some(outcome.into_end(self.engine.env.now_ms(), self.backoff())),
            Err(error) => self.end_of(error.as_ref()),
        };
        let Some(end) = end else { return Ran::Lost };
        if !matches!(end, End::Done { .. }) {
            return Ran::Ends(self.last_word(end));
        }
        let end = Finish { outbox: ctx.outbox.take(), ..finish(self.claimed, end) };
        let rows = ctx.host_rows.take();
        if rows.is_empty() {
            return Ran::Ends(end);
        }
        match self.finish_with(&end, rows) {
            Ok(ended) => Ran::Ended(end, ended),
            // Nothing of the completion was written: a failure like any other.
            Err(error) => Ran::Ends(self.failed(format!("finish_in failed: {error}"))),
        }
    }

    // Another program that holds the file locked is no failure of the job's: its lease goes on
    // meanwhile.
    fn finish_with(&self, end: &Finish, rows: Vec<HostRows>) -> Result<Ended> {
        let mut rows = Some(rows);
        let mut write = |conn: &rusqlite::Connection| {
            let rows = rows.take().unwrap_or_default();
            rows.into_iter().try_for_each(|write| write(conn))
        };
        loop {
            match self.engine.store.finish_with(end.clone(), HostWork::Sqlite(&mut write)) {
                Err(Error::Busy { .. }) if !self.signal.wait(BUSY_PAUSE) => {}
                answer => return answer,
            }
        }
    }

    // An error of Lanebox's own means what it says, also inside an error of the host's; any other
    // is a failure. `None`: the run is not its job's any more.
    fn end_of(&self, error: &(dyn std::error::Error + 'static)) -> Option<End> {
        let mut links = std::iter::successors(Some(error), |error| error.source());
        if links.any(|link| matches!(link.downcast_ref(), Some(StepError::LeaseLost))) {
            return None;
        }
        match send::error::end_of(error, duration_ms(self.backoff())) {
            Some(Told::End(end)) => Some(end),
            Some(Told::Drop) => None,
            None => Some(self.retry(error.to_string())),
        }
    }

    fn failed(&self, error: String) -> Finish {
        self.last_word(self.retry(error))
    }

    fn retry(&self, error: String) -> End {
        End::Retry { error, wait_ms: duration_ms(self.backoff()) }
    }

    fn backoff(&self) -> Duration {
        let failures = self.claimed.held.attempts;
        let wait_ms = self.handler.policy.backoff.wait_ms(failures, self.engine.env.unit());
        Duration::from_millis(wait_ms.unsigned_abs())
    }

    // Who answered the signal of a stopping process has not failed. Texts that people will read
    // carry nothing of the payload.
    fn last_word(&self, end: End) -> Finish {
        let end = match (self.signal.why(), end) {
            (Some(Stop::Leaving), End::Retry { .. }) => End::HandBack { started: true },
            (_, end) => scrubbed(end, &self.claimed.payload),
        };
        finish(self.claimed, end)
    }
}

fn finish(claimed: &Claimed, end: End) -> Finish {
    Finish { held: claimed.held, end, outbox: Vec::new() }
}

fn scrubbed(end: End, payload: &str) -> End {
    match end {
        End::Retry { error, wait_ms } => End::Retry { error: scrub(&error, payload), wait_ms },
        End::Dead(error) => End::Dead(scrub(&error, payload)),
        End::Skip(why) => End::Skip(scrub(&why, payload)),
        End::Veto(why) => End::Veto(scrub(&why, payload)),
        End::GivenUp(why) => End::GivenUp(scrub(&why, payload)),
        End::Postpone { until, why, keep_lane, counted } => {
            End::Postpone { until, why: scrub(&why, payload), keep_lane, counted }
        }
        other => other,
    }
}

/// What a panic said.
pub(crate) fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    format!("it panicked: {}", text.unwrap_or_default())
}
