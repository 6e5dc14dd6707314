//! The model ends runs: as their workers report, or because their holder vanished.

use super::{Attempt, Ending, Fate, Model, OWN_WORDS, OnDead, Place, Run};
use crate::model::id::{Held, KindNo};
use crate::model::verdict::End;
use crate::store::jobs::{Ended, Lost, Reap, Renewed};

/// A postponement of at most this long keeps the lane.
const SHORT_MS: i64 = 60_000;
/// Unknown answers that a job may collect in a series.
const MOST_UNKNOWN: i64 = 5;

impl Model {
    /// The run that holds the job under this token, if it still does.
    fn run_of(&self, held: &Held) -> Option<&Run> {
        let job = self.jobs.iter().find(|job| job.id == held.job.0)?;
        match &job.place {
            Place::Running(run) if run.token == held.token.0 => Some(run),
            _ => None,
        }
    }

    pub(in super::super) fn renew(&mut self, held: &Held, lease_ms: i64) -> Renewed {
        let Some(run) = self.run_of(held) else { return Renewed::LeaseLost };
        let cancel_asked = run.cancel_asked;
        let lease_until = self.mono + lease_ms;
        if let Place::Running(run) = &mut self.job_mut(held.job.0).place {
            run.lease_until = lease_until;
        }
        Renewed::Held { cancel_asked }
    }

    pub(in super::super) fn end(&mut self, held: &Held, end: &End) -> Ended {
        match self.run_of(held).cloned() {
            Some(run) => self.over(held.job.0, &run, end),
            None => {
                self.see("stale end");
                Ended::LeaseLost
            }
        }
    }

    /// Takes back what nobody holds any more: the lease is over, the process is gone, or the
    /// machine was started anew.
    pub(in super::super) fn reap(&mut self, whose: Reap) -> Vec<Lost> {
        let mut lost = Vec::new();
        for id in 1..=i64::try_from(self.jobs.len()).expect("few") {
            let Place::Running(run) = self.job(id).place.clone() else { continue };
            let process = &self.processes[usize::try_from(run.process - 1).expect("from 1")];
            let reboot = process.boot != self.boot;
            let over = whose == Reap::Expired && run.lease_until < self.mono;
            if !reboot && !process.gone && !over {
                continue;
            }
            let held = self.held(id).expect("it runs");
            let kind = KindNo(self.job(id).kind);
            lost.push(Lost { held, kind, ended: self.over(id, &run, &End::Lost { reboot }) });
        }
        self.cascade();
        lost
    }

    fn over(&mut self, id: i64, run: &Run, end: &End) -> Ended {
        let blocking = self.sends_become_unknown(id, run.token);
        let job = self.job(id);
        let kind = self.kind(job.kind);
        let answered = !matches!(end, End::Lost { .. } | End::HandBack { .. });
        if let (End::Lost { reboot }, false) = (end, run.cancel_asked) {
            let alone = job.is_suspect() && !reboot;
            let twice_alone = alone && job.n.lost_alone >= 1;
            if job.max_attempts == 1 || twice_alone {
                self.see(if twice_alone { "dead: lost alone twice" } else { "dead: lost at all" });
                return self.die(id, run, OWN_WORDS, end);
            }
        }
        let too_many = job.n.unknowns >= MOST_UNKNOWN && answered && !run.cancel_asked;
        if blocking.is_some() && too_many {
            self.see("dead: too many unknown answers");
            return self.die(id, run, OWN_WORDS, end);
        }
        let stands =
            matches!(end, End::Done { .. } | End::Skip(_) | End::Veto(_)) && blocking.is_none();
        if run.cancel_asked && !stands {
            return self.cancelled(id, run, "operator", words_of(end), end);
        }
        if let Some(send) = blocking {
            return self.hold(id, run, send, end);
        }
        match end {
            End::Done { result } => {
                self.job_mut(id).result.clone_from(result);
                self.job_mut(id).error = None;
                self.finish(id, "done", None, Some(run));
                Ended::Done
            }
            End::Skip(why) => {
                self.see("skipped");
                self.job_mut(id).error = Some(why.clone());
                self.finish(id, "done", Some("skipped"), Some(run));
                Ended::Done
            }
            End::Veto(why) => self.cancelled(id, run, "vetoed", Some(why.clone()), end),
            End::Dead(error) => self.die(id, run, error, end),
            End::Retry { error, .. } if job.n.attempts >= job.max_attempts => {
                self.see("dead: attempts used up");
                self.die(id, run, error, end)
            }
            End::Postpone { counted: true, .. } if job.n.postponed >= kind.max_postponed => {
                self.see("dead: postponed too often");
                self.die(id, run, OWN_WORDS, end)
            }
            _ => self.wait(id, run, end),
        }
    }

    fn wait(&mut self, id: i64, run: &Run, end: &End) -> Ended {
        if let End::Lost { reboot } = end {
            self.see(if *reboot { "lost by reboot" } else { "lost" });
        }
        let now = self.now;
        let yields = self.kind(self.job(id).kind).yields;
        let n = self.job(id).n.attempts;
        let job = self.job_mut(id);
        let (mut due, mut keep, ended) = (now, true, told(end));
        if !matches!(end, End::HandBack { .. } | End::Lost { .. }) {
            (job.n.lost, job.n.lost_alone) = (0, 0);
        }
        if !matches!(end, End::Retry { .. }) {
            job.n.attempts -= 1;
        }
        match end {
            End::Retry { wait_ms, .. } => (due, keep) = (now + wait_ms, !yields),
            End::Postpone { until, keep_lane, counted, .. } => {
                due = *until;
                keep = keep_lane.unwrap_or(until - now <= SHORT_MS || job.sent);
                job.n.postponed += i64::from(*counted);
            }
            End::HandBack { started } => (due, keep) = (job.due, *started || run.kept_lane),
            End::Lost { reboot } => {
                job.n.lost_alone += i64::from(job.is_suspect() && !reboot);
                job.n.lost += 1;
            }
            _ => {}
        }
        job.due = due;
        job.keeps = keep && job.lane.is_some();
        let later = due > now && !matches!(end, End::HandBack { .. });
        job.place = if later { Place::Scheduled } else { Place::Due };
        job.may_expire = job.expires_at.is_some() && !job.sent;
        self.remember(id, run, n, ended, words_of(end));
        Ended::Waits { due }
    }

    /// Waits for the fate of a send: in its lane for the channel's patience, outside it once a
    /// person was told.
    fn hold(&mut self, id: i64, run: &Run, send: usize, end: &End) -> Ended {
        let now = self.now;
        let super::Send { noticed, wait_until, .. } = self.sends[send];
        self.see(if noticed { "held outside the lane" } else { "held in the lane" });
        if matches!(end, End::Lost { .. }) {
            self.see("lost with an open intent");
        }
        let job = self.job_mut(id);
        let n = job.n.attempts;
        job.n.attempts -= 1;
        match end {
            End::Lost { reboot } => {
                job.n.lost_alone += i64::from(job.is_suspect() && !reboot);
                job.n.lost += 1;
            }
            End::HandBack { .. } => {}
            _ => {
                (job.n.lost, job.n.lost_alone) = (0, 0);
                job.n.unknowns += 1;
            }
        }
        job.waits_for = Some(send);
        job.keeps = !noticed && job.lane.is_some();
        (job.place, job.due) =
            if noticed { (Place::Parked, now) } else { (Place::Scheduled, wait_until) };
        self.remember(id, run, n, "unknown", Some(OWN_WORDS.to_owned()));
        self.job_mut(id).error = None;
        Ended::Holds
    }

    fn remember(&mut self, id: i64, run: &Run, n: i64, ended: &'static str, error: Option<String>) {
        let at = self.now;
        let job = self.job_mut(id);
        job.tried = true;
        job.error.clone_from(&error);
        let series = job.n.series;
        job.history.push(Attempt { run: run.clone(), series, n, at, ended, error });
    }

    fn cancelled(
        &mut self,
        id: i64,
        run: &Run,
        reason: &'static str,
        error: Option<String>,
        end: &End,
    ) -> Ended {
        self.job_mut(id).n.lost += i64::from(matches!(end, End::Lost { .. }));
        self.job_mut(id).error = error;
        self.see(if reason == "vetoed" { "vetoed" } else { "cancelled at its end" });
        self.finish(id, "cancelled", Some(reason), Some(run));
        self.tell_of_unknown(id);
        Ended::Cancelled
    }

    fn die(&mut self, id: i64, run: &Run, error: &str, end: &End) -> Ended {
        self.job_mut(id).n.lost += i64::from(matches!(end, End::Lost { .. }));
        self.job_mut(id).error = Some(error.to_owned());
        self.finish(id, "dead", None, Some(run));
        let (org, kind, lane) = (self.job(id).org, self.job(id).kind, self.job(id).lane);
        let cause = format!("{}: {error}", self.kind(kind).name);
        self.notice(org, "job.dead", cause);
        self.tell_of_unknown(id);
        let newest = i64::try_from(self.jobs.len()).expect("few");
        if let Some(lane) = lane {
            match self.kind(kind).on_dead {
                OnDead::Go => {}
                OnDead::Stop => {
                    self.see("a death stops its lane");
                    self.pauses.entry(lane).or_default().dead_job = Some(id);
                }
                OnDead::Cancel => {
                    self.see("a death cancels its line");
                    self.pauses.entry(lane).or_default().cancel_upto = Some(newest);
                }
            }
        }
        Ended::Dead
    }

    pub(super) fn finish(
        &mut self,
        id: i64,
        state: &'static str,
        reason: Option<&'static str>,
        run: Option<&Run>,
    ) {
        let ending = Ending { state, reason, at: self.now, last: run.cloned() };
        let job = self.job_mut(id);
        job.place = Place::Ended(ending);
        job.keeps = false;
        job.waits_for = None;
        job.may_expire = false;
    }

    /// What this run intended and nobody decided is unknown now; the first undecided send of the
    /// job.
    fn sends_become_unknown(&mut self, id: i64, token: i64) -> Option<usize> {
        let until = self.now + self.patience_ms;
        for send in self.sends.iter_mut().filter(|send| send.job == id) {
            if send.fate == Fate::Intended && send.token == token {
                send.fate = Fate::Unknown;
                send.wait_until = until;
            }
        }
        let undecided = |send: &super::Send| {
            send.job == id && matches!(send.fate, Fate::Intended | Fate::Unknown)
        };
        self.sends.iter().position(undecided)
    }
}

fn told(end: &End) -> &'static str {
    match end {
        End::Postpone { .. } => "postponed",
        End::HandBack { .. } => "handed_back",
        End::Lost { .. } => "lost",
        End::Unknown => "unknown",
        _ => "failed",
    }
}

fn words_of(end: &End) -> Option<String> {
    match end {
        End::Retry { error: words, .. }
        | End::Dead(words)
        | End::Skip(words)
        | End::Veto(words)
        | End::GivenUp(words)
        | End::Postpone { why: words, .. } => Some(words.clone()),
        End::Lost { .. } => Some(OWN_WORDS.to_owned()),
        End::Done { .. } | End::Unknown | End::HandBack { .. } => None,
    }
}
