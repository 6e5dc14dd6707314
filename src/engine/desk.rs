//! The desk between the store and the workers: what was claimed and waits for a worker, what runs,
//! and which ends wait for the next commit. It decides when a pass is due; whoever finds no leader
//! then leads it.

mod pace;
mod pulse;
#[cfg(test)]
mod tests;

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use crate::engine::signal::Signal;
use crate::model::id::{Held, JobNo, KindNo, Token};
use crate::model::verdict::End;
use crate::store::jobs::{Claimed, Finish};
use pace::Pace;

/// Most jobs taken ahead of need.
pub(crate) const MOST_AHEAD: usize = 64;

/// Waking a thread costs more than runs that take less than this in all.
const SHARE_US: i64 = 200;

/// Most threads that may hang in handlers and be replaced. Beyond it the workers become fewer.
const MOST_REPLACED: usize = 256;

/// What another process took over is not waited for any longer than this.
const LOST_FOR_US: i64 = 60_000_000;

/// An end waits at most this long for company before it is committed, and a job for a worker.
const LINGER_US: i64 = 1_000;

/// When no worker came for this long, what was taken ahead is handed back, and nothing more is.
const STUCK_US: i64 = 100_000;

/// After a pass that failed: the store may be busy or full. Doubles with each failure in a row,
/// five times at most.
const REST_US: i64 = 50_000;

/// A run that is under way on some thread.
#[derive(Clone, Debug)]
pub(crate) struct Busy {
    pub(crate) held: Held,
    pub(crate) since_us: i64,
    pub(crate) max_run_ms: i64,
    pub(crate) signal: Arc<Signal>,
    /// It ran longer than its kind allows: it was told to stop, and its lease runs out.
    pub(crate) overrun: bool,
    /// Another thread has taken the place of the one that it hangs on.
    pub(crate) replaced: bool,
}

/// The end of a run, as it waits for the commit.
#[derive(Clone, Debug)]
pub(crate) struct Report {
    pub(crate) finish: Finish,
    pub(crate) kind: KindNo,
    pub(crate) took_us: i64,
}

/// A job that a worker has taken.
#[derive(Debug)]
pub(crate) struct Begun {
    pub(crate) claimed: Claimed,
    pub(crate) signal: Arc<Signal>,
}

/// What a worker does next.
#[derive(Debug)]
pub(crate) enum Turn {
    Run(Box<Begun>),
    Lead,
    Wait,
    Leave,
}

/// How many jobs to claim now: for workers that have nothing to do, and ahead of need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Want {
    pub(crate) idle: usize,
    pub(crate) ahead: usize,
}

impl Want {
    pub(crate) fn all(self) -> usize {
        self.idle + self.ahead
    }
}

/// What became of runs since the stop began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stopped {
    pub(crate) finished: usize,
    pub(crate) handed_back: usize,
}

#[derive(Debug, Default)]
pub(crate) struct Desk {
    pub(crate) workers: usize,
    pub(crate) queue: VecDeque<Claimed>,
    /// By token: a job that was lost may run here again while its old run still hangs.
    pub(crate) busy: HashMap<Token, Busy>,
    pub(crate) reports: Vec<Report>,
    oldest_report_us: i64,
    /// Ends that a leader has taken and not committed yet: their leases are still ours.
    committing: Vec<Held>,
    pub(crate) leading: bool,
    /// Workers that wait to be woken.
    asleep: usize,
    /// A worker was woken and has not come yet.
    waking: bool,
    /// Something may have become claimable since the last claim.
    pub(crate) rung: bool,
    pub(crate) next_due: Option<i64>,
    /// Jobs whose holder vanished lately, and when that was seen: nothing is taken ahead until they
    /// have passed.
    lost: HashMap<JobNo, i64>,
    pace: Pace,
    /// What waits is too much for the worker that is awake anyway.
    shared: bool,
    /// Nothing waits, so the pulse has gone to sleep: whoever leaves something behind wakes it.
    pub(crate) pulse_rests: bool,
    /// The due time that it rests for.
    pulse_knows: Option<i64>,
    failures: u32,
    rest_until_us: i64,
    /// When a job last came or was taken.
    moved_us: i64,
    pub(crate) stopping: bool,
    /// The disk is nearly full: what is there is brought to its end, nothing is added.
    pub(crate) no_room: bool,
    pub(crate) stopped: Stopped,
}

impl Desk {
    pub(crate) fn new(workers: usize) -> Desk {
        Desk { workers, rung: true, ..Desk::default() }
    }

    /// What a worker that has nothing in hand does next. A job that it takes is renewed as running
    /// from here on; `longest` says how many milliseconds a run of its kind may take.
    pub(crate) fn turn(
        &mut self,
        now_ms: i64,
        now_us: i64,
        longest: impl Fn(KindNo) -> i64,
    ) -> Turn {
        if !self.leading && self.pass_is_due(now_ms, now_us) {
            self.leading = true;
            return Turn::Lead;
        }
        if self.stopping {
            return Turn::Leave;
        }
        let Some(claimed) = self.next_held(now_us) else {
            return Turn::Wait;
        };
        self.moved_us = now_us;
        let signal = Arc::<Signal>::default();
        let busy = Busy {
            held: claimed.held,
            since_us: now_us,
            max_run_ms: longest(claimed.kind),
            signal: signal.clone(),
            overrun: false,
            replaced: false,
        };
        self.busy.insert(claimed.held.token, busy);
        Turn::Run(Box::new(Begun { claimed, signal }))
    }

    // A process that stood still may come too late for what it had taken ahead: that is another's
    // by now, or soon will be, and goes back as if it had never been taken.
    fn next_held(&mut self, now_us: i64) -> Option<Claimed> {
        loop {
            let claimed = self.queue.pop_front()?;
            if claimed.lease_until > now_us / 1_000 {
                return Some(claimed);
            }
            self.hand_back(&claimed, now_us);
        }
    }

    /// Whether somebody should lead a pass now: ends have waited long enough, or workers will soon
    /// have nothing to do and there may be something to take.
    pub(crate) fn pass_is_due(&self, now_ms: i64, now_us: i64) -> bool {
        if now_us < self.rest_until_us {
            return false;
        }
        let runs_low = self.runs_low(now_us);
        if !self.reports.is_empty() {
            let waited = now_us - self.oldest_report_us >= LINGER_US;
            return waited || self.stopping || runs_low;
        }
        let due = self.rung || self.next_due.is_some_and(|due| due <= now_ms);
        due && runs_low && self.want(now_us).is_some()
    }

    // Workers that share what waits should never find it empty; one alone takes it to its end, for
    // a larger batch.
    fn runs_low(&self, now_us: i64) -> bool {
        match self.shared {
            true => self.queue.len() < self.idle() || self.queue.len() <= self.ahead(now_us) / 2,
            false => self.queue.is_empty(),
        }
    }

    /// How many jobs this process could take now; none while it stops or the disk is nearly full.
    pub(crate) fn want(&self, now_us: i64) -> Option<Want> {
        let idle = self.idle().saturating_sub(self.queue.len());
        let all = (self.idle() + self.ahead(now_us)).saturating_sub(self.queue.len());
        (all > 0 && !self.stopping && !self.no_room).then(|| Want { idle, ahead: all - idle })
    }

    /// A run has ended; its end waits for the next commit. Whether its thread was replaced
    /// meanwhile.
    pub(crate) fn report(&mut self, report: Report, now_us: i64) -> bool {
        let held = report.finish.held;
        self.pace.ran(report.kind, report.took_us);
        let handed_back = matches!(report.finish.end, End::HandBack { .. });
        self.put(report, now_us);
        self.leave(held, handed_back)
    }

    fn put(&mut self, report: Report, now_us: i64) {
        if self.reports.is_empty() {
            self.oldest_report_us = now_us;
        }
        self.reports.push(report);
    }

    /// A run is over. Whether its thread was replaced meanwhile.
    pub(crate) fn leave(&mut self, held: Held, handed_back: bool) -> bool {
        self.lost.remove(&held.job);
        if self.stopping {
            self.stopped.finished += usize::from(!handed_back);
            self.stopped.handed_back += usize::from(handed_back);
        }
        self.busy.remove(&held.token).is_some_and(|busy| busy.replaced)
    }

    /// Everything that no worker has started goes back with the next commit, without using an
    /// attempt.
    pub(crate) fn hand_back_queue(&mut self, now_us: i64) {
        for claimed in std::mem::take(&mut self.queue) {
            self.hand_back(&claimed, now_us);
        }
    }

    fn hand_back(&mut self, claimed: &Claimed, now_us: i64) {
        let end = End::HandBack { started: false };
        let finish = Finish { held: claimed.held, end, outbox: Vec::new() };
        self.put(Report { finish, kind: claimed.kind, took_us: 0 }, now_us);
        self.stopped.handed_back += usize::from(self.stopping);
    }

    /// A lease was renewed until then: it matters for what waits for a worker.
    pub(crate) fn renewed(&mut self, token: Token, until_ms: i64) {
        if let Some(claimed) = self.queue.iter_mut().find(|one| one.held.token == token) {
            claimed.lease_until = until_ms;
        }
    }

    /// These jobs lost their holder.
    pub(crate) fn saw_lost(&mut self, jobs: impl Iterator<Item = JobNo>, now_us: i64) {
        self.lost.retain(|_, &mut seen| now_us - seen < LOST_FOR_US);
        self.lost.extend(jobs.map(|job| (job, now_us)));
    }

    /// Takes the ends that wait, for a leader to commit.
    pub(crate) fn take_reports(&mut self) -> Vec<Report> {
        let reports = std::mem::take(&mut self.reports);
        self.committing = reports.iter().map(|report| report.finish.held).collect();
        reports
    }

    /// A leader's commit took this long.
    pub(crate) fn committed(&mut self, took_us: i64) {
        self.committing.clear();
        (self.failures, self.rest_until_us) = (0, 0);
        self.pace.committed(took_us);
    }

    /// A leader's pass was not committed, so nothing of it is lost: the ends wait on, and a later
    /// pass tries again.
    pub(crate) fn not_committed(&mut self, reports: Vec<Report>, now_us: i64) {
        self.committing.clear();
        self.reports.extend(reports);
        self.rung = true;
        self.rest_until_us = now_us + (REST_US << self.failures.min(5));
        self.failures += 1;
    }

    /// Marks the runs that are over their kind's time and tells them to stop; which ones.
    pub(crate) fn overrun(&mut self, now_us: i64) -> Vec<Held> {
        let over = |busy: &&mut Busy| {
            !busy.overrun && now_us - busy.since_us > busy.max_run_ms.saturating_mul(1_000)
        };
        let mut marked = Vec::new();
        for busy in self.busy.values_mut().filter(over) {
            busy.overrun = true;
            busy.signal.raise(crate::engine::signal::Stop::Overrun);
            marked.push(busy.held);
        }
        marked
    }

    /// A run whose thread hangs and should be replaced, if there is one.
    pub(crate) fn hangs(&self) -> Option<Token> {
        let replaced = self.busy.values().filter(|busy| busy.replaced).count();
        let mut hanging = self.busy.values().filter(|busy| busy.overrun && !busy.replaced);
        let first = hanging.next().map(|busy| busy.held.token);
        first.filter(|_| replaced < MOST_REPLACED && !self.stopping)
    }

    /// Runs that count against the workers.
    fn working(&self) -> usize {
        self.busy.values().filter(|busy| !busy.replaced).count()
    }

    /// Workers that have nothing to do.
    pub(crate) fn idle(&self) -> usize {
        self.workers.saturating_sub(self.working())
    }

    /// Whether every worker has been at one job for so long that nobody will soon come for the
    /// next.
    pub(crate) fn is_stuck(&self, now_us: i64) -> bool {
        self.idle() == 0 && now_us - self.moved_us > STUCK_US
    }

    /// A kind whose runs are short beside a commit may be taken ahead of need.
    pub(crate) fn is_short(&self, kind: KindNo) -> bool {
        self.pace.is_short(kind)
    }

    /// How many jobs to hold beyond the idle workers: about what they finish during one commit.
    pub(crate) fn ahead(&self, now_us: i64) -> usize {
        if !self.lost.is_empty() || self.is_stuck(now_us) {
            return 0;
        }
        (self.workers * self.pace.runs_in_a_commit()).min(MOST_AHEAD)
    }

    /// These were claimed and wait for a worker.
    pub(crate) fn receive(&mut self, claimed: Vec<Claimed>, now_us: i64) {
        self.queue.extend(claimed);
        self.moved_us = now_us;
        self.shared = self.pace.takes_longer(self.queue.iter().map(|one| one.kind), SHARE_US);
    }

    /// What was thought to be little waits for longer than it should: it is shared after all.
    pub(crate) fn is_slow(&mut self, now_us: i64) -> bool {
        let slow = !self.queue.is_empty() && now_us - self.moved_us >= LINGER_US;
        self.shared |= slow;
        slow
    }

    /// Whether one more worker should come for what waits.
    pub(crate) fn wants_worker(&self) -> bool {
        self.shared && !self.waking && !self.queue.is_empty()
    }

    /// Whether no worker will come for what waits, a job or the next pass: who led the last one is
    /// none of them.
    pub(crate) fn wants_first(&self, now_ms: i64, now_us: i64) -> bool {
        let waits = !self.queue.is_empty() || self.pass_is_due(now_ms, now_us);
        waits && !self.waking && self.asleep >= self.idle()
    }

    /// A worker was woken, if one was asleep.
    pub(crate) fn wakes(&mut self, woken: bool) {
        self.waking = woken;
    }

    /// A worker finds nothing to do.
    pub(crate) fn falls_asleep(&mut self) {
        self.asleep += 1;
    }

    /// A worker comes.
    pub(crate) fn comes(&mut self) {
        self.asleep -= 1;
        self.waking = false;
    }

    /// Everything that this process holds and must renew: what runs, what waits for a worker, and
    /// what has ended and is not committed.
    pub(crate) fn held(&self) -> Vec<Held> {
        let busy = self.busy.values().filter(|busy| !busy.overrun).map(|busy| busy.held);
        let queued = self.queue.iter().map(|claimed| claimed.held);
        let ended = self.reports.iter().map(|report| report.finish.held);
        busy.chain(queued).chain(ended).chain(self.committing.iter().copied()).collect()
    }
}
