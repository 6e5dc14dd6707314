//! One run of one job: calls the handler and turns what it says, throws or panics with into the end
//! of the run.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use crate::engine::Engine;
use crate::engine::ctx::{Ctx, HostRows, StepError};
use crate::engine::desk::{Busy, Desk};
use crate::engine::reactions::Handler;
use crate::engine::signal::{Signal, Stop};
use crate::error::Result;
use crate::model::id::{Held, KindNo};
use crate::model::job::Policy;
use crate::model::outcome::Outcome;
use crate::model::send::{self, error::Told};
use crate::model::text::scrub;
use crate::model::verdict::End;
use crate::store::jobs::{Claimed, Ended, Finish, HostWork};

/// What a run left behind: its end, and the host rows that belong to it.
struct Ran {
    finish: Finish,
    host_rows: Vec<HostRows>,
}

impl Engine {
    /// A worker has taken a claimed job: from here on it is renewed as running.
    pub(crate) fn begin(&self, desk: &mut Desk, claimed: &Claimed) {
        let policy = self.handlers.get(&claimed.kind).map(|handler| handler.policy);
        let busy = Busy {
            held: claimed.held,
            since_us: self.env.mono_us(),
            max_run_ms: policy.unwrap_or_default().max_run_ms,
            signal: Arc::default(),
            overrun: false,
        };
        desk.busy.insert(claimed.held.job, busy);
    }

    /// Runs a job that was begun, and reports its end. `false` if this thread was replaced
    /// meanwhile.
    pub(crate) fn run(&self, claimed: Claimed) -> bool {
        let signal = self.desk.lock().busy.get(&claimed.held.job).map(|busy| busy.signal.clone());
        let signal = signal.unwrap_or_default();
        let Some(handler) = self.handlers.get(&claimed.kind) else {
            // Claims name the kinds that have code here; a job of another one goes back as it came.
            let end = End::HandBack { started: false };
            let finish = Finish { held: claimed.held, end, outbox: Vec::new() };
            return self.report(finish, claimed.kind);
        };
        let Some(ran) = run(self, handler, &claimed, &signal) else {
            // The lease is lost: whoever holds the job now, or the reaper, ends it.
            return self.dropped(claimed.held);
        };
        if ran.host_rows.is_empty() {
            return self.report(ran.finish, claimed.kind);
        }
        match self.finish_with_rows(ran) {
            Ok(ended) => {
                tracing::debug!(?ended, "a run ended with host rows");
                let goes_on = self.dropped(claimed.held);
                self.ring();
                goes_on
            }
            Err(error) => {
                let finish = failed_rows(self, handler, &claimed, &error.to_string());
                self.report(finish, claimed.kind)
            }
        }
    }

    fn finish_with_rows(&self, ran: Ran) -> Result<Ended> {
        let mut rows = Some(ran.host_rows);
        let mut write = |conn: &rusqlite::Connection| {
            let rows = rows.take().unwrap_or_default();
            rows.into_iter().try_for_each(|write| write(conn))
        };
        self.store.finish_with(ran.finish, HostWork::Sqlite(&mut write))
    }

    // Nothing of the run waits for a commit.
    fn dropped(&self, held: Held) -> bool {
        let replaced = self.desk.lock().leave(held);
        self.pulse.notify_all();
        self.wake.notify_one();
        !replaced
    }

    fn report(&self, finish: Finish, kind: KindNo) -> bool {
        let mut desk = self.desk.lock();
        let replaced = desk.report(finish, kind, self.env.mono_us());
        if desk.reports.len() == 1 || desk.stopping {
            // The pulse leads what no worker leads in time; a stop waits for the last run.
            self.pulse.notify_all();
        }
        !replaced
    }
}

/// Runs a claimed job on this thread.
fn run(engine: &Engine, handler: &Handler, claimed: &Claimed, signal: &Signal) -> Option<Ran> {
    let ctx = Ctx::new(engine, claimed, signal);
    let answer = catch_unwind(AssertUnwindSafe(|| (handler.run)(&ctx)));
    let wait = backoff(engine, &handler.policy, claimed);
    let now = engine.env.now_ms();
    let end = match answer {
        Ok(Ok(outcome)) => outcome.into_end(now, wait),
        Ok(Err(error)) => end_of(error.as_ref(), wait)?,
        Err(panic) => Outcome::retry(panic_text(&*panic)).into_end(now, wait),
    };
    let end = scrubbed(stopped(end, signal), &claimed.payload);
    let done = matches!(end, End::Done { .. });
    let outbox = if done { ctx.outbox.take() } else { Vec::new() };
    let host_rows = if done { ctx.host_rows.take() } else { Vec::new() };
    Some(Ran { finish: Finish { held: claimed.held, end, outbox }, host_rows })
}

/// The host rows of a run could not be written, so nothing of its completion was: it is a failure
/// like any other.
fn failed_rows(engine: &Engine, handler: &Handler, claimed: &Claimed, error: &str) -> Finish {
    let error = scrub(&format!("finish_in failed: {error}"), &claimed.payload);
    let wait_ms = crate::model::job::duration_ms(backoff(engine, &handler.policy, claimed));
    Finish { held: claimed.held, end: End::Retry { error, wait_ms }, outbox: Vec::new() }
}

fn backoff(engine: &Engine, policy: &Policy, claimed: &Claimed) -> Duration {
    let wait_ms = policy.backoff.wait_ms(claimed.held.attempts, engine.env.unit());
    Duration::from_millis(wait_ms.unsigned_abs())
}

// An error of Lanebox's own means what it says, also inside an error of the host's; any other is a
// failure. `None`: the run is not its job's any more.
fn end_of(error: &(dyn std::error::Error + 'static), wait: Duration) -> Option<End> {
    let wait_ms = crate::model::job::duration_ms(wait);
    let mut links = std::iter::successors(Some(error), |error| error.source());
    if links.any(|link| matches!(link.downcast_ref(), Some(StepError::LeaseLost))) {
        return None;
    }
    match send::error::end_of(error, wait_ms) {
        Some(Told::End(end)) => Some(end),
        Some(Told::Drop) => None,
        None => Some(End::Retry { error: error.to_string(), wait_ms }),
    }
}

// Who answered the signal of a stopping process has not failed.
fn stopped(end: End, signal: &Signal) -> End {
    match (signal.why(), &end) {
        (Some(Stop::Leaving), End::Retry { .. }) => End::HandBack { started: true },
        _ => end,
    }
}

// Texts that people will read carry nothing of the payload.
fn scrubbed(end: End, payload: &str) -> End {
    match end {
        End::Retry { error, wait_ms } => End::Retry { error: scrub(&error, payload), wait_ms },
        End::Dead(error) => End::Dead(scrub(&error, payload)),
        End::Veto(why) => End::Veto(scrub(&why, payload)),
        End::Postpone { until, why, keep_lane, counted } => {
            End::Postpone { until, why: scrub(&why, payload), keep_lane, counted }
        }
        other => other,
    }
}

pub(crate) fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    format!("it panicked: {}", text.unwrap_or_default())
}
