//! The desk between the store and the workers: what was claimed and waits for a worker, what runs,
//! and which ends wait for the next commit. It decides when a pass is due; whoever finds no leader
//! then leads it.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use crate::engine::signal::Signal;
use crate::model::id::{Held, JobNo, KindNo};
use crate::store::jobs::{Claimed, Finish};

/// Most jobs taken ahead of need.
pub(crate) const MOST_AHEAD: usize = 64;

/// What another process took over is not waited for any longer than this.
const LOST_FOR_US: i64 = 60_000_000;

/// An end waits at most this long for company before it is committed.
const LINGER_US: i64 = 1_000;

/// A run that is under way on some thread.
#[derive(Clone, Debug)]
pub(crate) struct Busy {
    pub(crate) held: Held,
    pub(crate) since_us: i64,
    pub(crate) max_run_ms: i64,
    pub(crate) signal: Arc<Signal>,
    /// It ran longer than its kind allows: its lease runs out, and its thread does not count any
    /// more.
    pub(crate) overrun: bool,
}

/// What a worker does next.
#[derive(Debug)]
pub(crate) enum Turn {
    Run(Box<Claimed>),
    Lead,
    Wait,
    Leave,
}

#[derive(Debug, Default)]
pub(crate) struct Desk {
    pub(crate) workers: usize,
    pub(crate) queue: VecDeque<Claimed>,
    pub(crate) busy: HashMap<JobNo, Busy>,
    pub(crate) reports: Vec<Finish>,
    oldest_report_us: i64,
    /// Ends that a leader has taken and not committed yet: their leases are still ours.
    pub(crate) committing: Vec<Held>,
    pub(crate) leading: bool,
    /// Something may have become claimable since the last claim.
    pub(crate) rung: bool,
    pub(crate) next_due: Option<i64>,
    /// Jobs whose holder vanished lately, and when that was seen: nothing is taken ahead until they
    /// have passed.
    lost: HashMap<JobNo, i64>,
    run_us: HashMap<KindNo, i64>,
    commit_us: i64,
    pub(crate) stopping: bool,
    pub(crate) last_taken_us: i64,
}

impl Desk {
    pub(crate) fn new(workers: usize) -> Desk {
        Desk { workers, rung: true, commit_us: 500, ..Desk::default() }
    }

    /// What a worker that has nothing in hand does next.
    pub(crate) fn turn(&mut self, now_ms: i64, now_us: i64) -> Turn {
        if !self.leading && self.pass_is_due(now_ms, now_us) {
            self.leading = true;
            return Turn::Lead;
        }
        match self.queue.pop_front() {
            Some(claimed) => {
                self.last_taken_us = now_us;
                Turn::Run(Box::new(claimed))
            }
            None if self.stopping => Turn::Leave,
            None => Turn::Wait,
        }
    }

    /// Whether somebody should lead a pass now: ends have waited long enough, or workers will soon
    /// have nothing to do and there may be something to take.
    pub(crate) fn pass_is_due(&self, now_ms: i64, now_us: i64) -> bool {
        let runs_low = self.queue.len() < self.idle() || self.queue.len() <= self.ahead() / 2;
        if !self.reports.is_empty() {
            let waited = now_us - self.oldest_report_us >= LINGER_US;
            return waited || self.stopping || runs_low;
        }
        let due = self.rung || self.next_due.is_some_and(|due| due <= now_ms);
        let can_take = self.idle() + self.ahead() > self.queue.len();
        due && can_take && runs_low && !self.stopping
    }

    /// A run has ended; its end waits for the next commit. Whether its thread was replaced
    /// meanwhile.
    pub(crate) fn report(&mut self, finish: Finish, kind: KindNo, now_us: i64) -> bool {
        let held = finish.held;
        if let Some(busy) = self.busy.get(&held.job).filter(|busy| busy.held == held) {
            let took = now_us - busy.since_us;
            let mean = self.run_us.entry(kind).or_insert(took);
            *mean += (took - *mean) / 8;
        }
        if self.reports.is_empty() {
            self.oldest_report_us = now_us;
        }
        self.reports.push(finish);
        self.leave(held)
    }

    /// A run is over. Whether its thread was replaced meanwhile.
    pub(crate) fn leave(&mut self, held: Held) -> bool {
        self.lost.remove(&held.job);
        let mine = self.busy.get(&held.job).is_some_and(|busy| busy.held == held);
        mine && self.busy.remove(&held.job).is_some_and(|busy| busy.overrun)
    }

    /// These jobs lost their holder.
    pub(crate) fn saw_lost(&mut self, jobs: impl Iterator<Item = JobNo>, now_us: i64) {
        self.lost.retain(|_, &mut seen| now_us - seen < LOST_FOR_US);
        self.lost.extend(jobs.map(|job| (job, now_us)));
    }

    /// Takes the ends that wait, for a leader to commit.
    pub(crate) fn take_reports(&mut self) -> Vec<Finish> {
        let reports = std::mem::take(&mut self.reports);
        self.committing = reports.iter().map(|report| report.held).collect();
        reports
    }

    /// A leader's commit took this long.
    pub(crate) fn committed(&mut self, took_us: i64) {
        self.committing.clear();
        self.commit_us += (took_us - self.commit_us) / 8;
    }

    /// Runs that still count against the workers: one that overran has had its thread replaced.
    fn working(&self) -> usize {
        self.busy.values().filter(|busy| !busy.overrun).count()
    }

    /// Workers that have nothing to do.
    pub(crate) fn idle(&self) -> usize {
        self.workers.saturating_sub(self.working())
    }

    /// A kind whose runs are short beside a commit may be taken ahead of need.
    pub(crate) fn is_short(&self, kind: KindNo) -> bool {
        self.run_us.get(&kind).is_some_and(|&mean| mean < 2 * self.commit_us)
    }

    /// How many jobs to hold beyond the idle workers: about what they finish during one commit.
    pub(crate) fn ahead(&self) -> usize {
        if !self.lost.is_empty() {
            return 0;
        }
        let shortest = self.run_us.values().copied().min().unwrap_or(i64::MAX);
        if shortest >= 2 * self.commit_us {
            return 0;
        }
        let per_worker = usize::try_from(self.commit_us / shortest.max(1)).unwrap_or(0) + 1;
        (self.workers * per_worker).min(MOST_AHEAD)
    }

    /// Everything that this process holds and must renew.
    pub(crate) fn held(&self) -> Vec<Held> {
        let busy = self.busy.values().filter(|busy| !busy.overrun).map(|busy| busy.held);
        let queued = self.queue.iter().map(|claimed| claimed.held);
        busy.chain(queued).chain(self.committing.iter().copied()).collect()
    }
}
