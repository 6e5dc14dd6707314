//! The model does what a person asks: cancel, requeue, pause, resume, and say what became of a
//! send.

use super::{Attempt, Counters, Fate, Model, Place};
use crate::store::jobs::{Cancelled, Requeued};

impl Model {
    pub(in super::super) fn cancel(&mut self, id: i64) -> Cancelled {
        match &mut self.job_mut(id).place {
            Place::Running(run) => {
                run.cancel_asked = true;
                Cancelled::Asked
            }
            Place::Ended(_) => Cancelled::Ended,
            _ => {
                self.end_waiting(id, "operator");
                Cancelled::Now
            }
        }
    }

    pub(super) fn end_waiting(&mut self, id: i64, reason: &'static str) {
        let job = self.job(id);
        self.see(match (&job.place, job.keeps, reason) {
            (_, _, "expired") => "expired",
            (Place::Parked, ..) => "cancelled while parked",
            (_, true, _) => "cancelled while it kept its lane",
            _ => "cancelled in line",
        });
        self.finish(id, "cancelled", Some(reason), None);
        self.tell_of_unknown(id);
    }

    /// The job has ended: a person hears of each of its sends that nobody decided.
    pub(super) fn tell_of_unknown(&mut self, id: i64) {
        for at in 0..self.sends.len() {
            if self.sends[at].job == id {
                self.tell_of(at);
            }
        }
    }

    /// A person hears that a send is unknown, once.
    pub(super) fn tell_of(&mut self, send: usize) {
        let org = self.job(self.sends[send].job).org;
        let send = &mut self.sends[send];
        if send.fate == Fate::Unknown && !send.noticed {
            send.noticed = true;
            self.notice(org, "send.unknown", "channel chat".to_owned());
        }
    }

    /// Or the unfinished job that took its unique key.
    pub(in super::super) fn requeue(&mut self, id: i64) -> Result<Requeued, i64> {
        let Place::Ended(ending) = self.job(id).place.clone() else {
            return Ok(Requeued::NotDead);
        };
        if ending.state != "dead" {
            return Ok(Requeued::NotDead);
        }
        if self.job(id).expires_at.is_some_and(|at| at <= self.now) {
            self.see("requeue refused: expired");
            return Ok(Requeued::Expired);
        }
        if let Some(key) = self.job(id).unique.clone() {
            let other = self.uniques[&key];
            if other != id && !self.has_ended(other) {
                self.see("requeue refused: its key is taken");
                return Err(other);
            }
            if other != id {
                self.see("requeued with its key taken back");
                self.uniques.insert(key, id);
            }
        }
        let (lane, priority) = (self.job(id).lane, self.job(id).priority);
        let stopped = lane
            .filter(|lane| self.pauses.get(lane).is_some_and(|pause| pause.dead_job == Some(id)));
        let end = self.end_of_line(lane, priority);
        self.see(if stopped.is_some() { "requeued in its place" } else { "requeued at the end" });
        let has_sends = self.sends.iter().any(|send| send.job == id);
        let sent = self.sends.iter().any(|send| send.job == id && send.fate == Fate::Accepted);
        let job = self.job_mut(id);
        let run = ending.last.expect("only a run makes a job dead");
        job.history.push(Attempt {
            run,
            series: job.n.series,
            n: job.n.attempts.max(1),
            at: ending.at,
            ended: "dead",
            error: job.error.take(),
        });
        job.n = Counters { series: job.n.series + 1, ..Counters::default() };
        job.due = if stopped.is_some() { job.run_at } else { end };
        job.place = Place::Due;
        job.tried = true;
        job.sent = has_sends;
        job.may_expire = job.expires_at.is_some() && !has_sends;
        if let Some(lane) = stopped {
            self.unpause(lane, |pause| pause.dead_job = None);
        }
        Ok(Requeued::Again { sent })
    }

    pub(in super::super) fn pause_lane(&mut self, lane: i64) {
        self.pauses.entry(lane).or_default().by_operator = true;
    }

    /// Ends a person's pause and a death's stop; a cancellation under way goes on.
    pub(in super::super) fn resume_lane(&mut self, lane: i64) {
        self.unpause(lane, |pause| (pause.by_operator, pause.dead_job) = (false, None));
    }

    fn unpause(&mut self, lane: i64, change: impl FnOnce(&mut super::Pause)) {
        let Some(pause) = self.pauses.get_mut(&lane) else { return };
        change(pause);
        if *pause == super::Pause::default() {
            self.pauses.remove(&lane);
        } else {
            self.see("one of two pauses of a lane goes");
        }
    }

    /// After a death with the policy `cancel`: what stands in the line ends with it. One lane a
    /// pass.
    pub(super) fn cascade(&mut self) {
        let found = self.pauses.iter().find_map(|(lane, pause)| Some((*lane, pause.cancel_upto?)));
        let Some((lane, upto)) = found else { return };
        let line = self.line(lane);
        let ids: Vec<i64> = line.iter().map(|job| job.id).filter(|id| *id <= upto).collect();
        for id in ids {
            self.see("cancelled after a death before it");
            self.end_waiting(id, "operator");
        }
        self.unpause(lane, |pause| pause.cancel_upto = None);
    }

    /// The run that holds the job begins a send.
    pub(in super::super) fn intend(&mut self, id: i64) -> usize {
        let Place::Running(run) = &self.job(id).place else { panic!("only a run intends") };
        let token = run.token;
        self.job_mut(id).sent = true;
        let fate = Fate::Intended;
        self.sends.push(super::Send { job: id, token, fate, wait_until: 0, noticed: false });
        self.sends.len() - 1
    }

    /// Somebody knows what became of a send.
    pub(in super::super) fn settle(&mut self, send: usize, fate: Fate) {
        self.sends[send].fate = fate;
    }

    /// Who waited for a send goes on: in its lane, or at the end of its line if it was parked.
    pub(in super::super) fn free(&mut self, send: usize) {
        let job = self.jobs.iter().find(|job| job.waits_for == Some(send));
        let Some(job) = job else { return };
        let (id, lane, priority) = (job.id, job.lane, job.priority);
        let suspect = job.is_suspect();
        let due = match job.place {
            Place::Parked if suspect => {
                self.see("a parked suspect goes on");
                self.end_of_line(lane, priority)
            }
            Place::Parked => {
                self.see("a parked job goes on");
                self.end_of_line(lane, priority)
            }
            _ => {
                self.see("a send is decided in time");
                self.now
            }
        };
        let job = self.job_mut(id);
        (job.due, job.place, job.waits_for) = (due, Place::Due, None);
    }
}
