//! The model promotes, expires and claims.

use std::collections::BTreeMap;

use super::{Job, Model, Place, Run};
use crate::store::jobs::Ask;

impl Model {
    /// What is due leaves the schedule, of one lane or of all; a send that is still unknown gives
    /// its lane back.
    pub(super) fn promote(&mut self, lane: Option<i64>) {
        let now = self.now;
        let mut parked = Vec::new();
        for job in &mut self.jobs {
            if job.place != Place::Scheduled || job.due > now {
                continue;
            }
            if lane.is_some() && job.lane != lane {
                continue;
            }
            if job.waits_for.is_some() {
                *self.seen.entry("patience is over").or_default() += 1;
                job.place = Place::Parked;
                job.keeps = false;
                parked.extend(job.waits_for);
            } else {
                job.place = Place::Due;
            }
        }
        parked.into_iter().for_each(|send| self.tell_of(send));
    }

    fn expire(&mut self) {
        let late = |job: &&Job| job.may_expire && job.expires_at.is_some_and(|at| at <= self.now);
        let ids: Vec<i64> = self.jobs.iter().filter(late).map(|job| job.id).collect();
        for id in ids {
            self.end_waiting(id, "expired");
        }
    }

    /// The jobs that a process takes, in this order.
    pub(in super::super) fn claim(&mut self, ask: &Ask) -> Vec<i64> {
        self.promote(None);
        self.expire();
        let me = ask.process.0;
        let all = i64::try_from(self.running().count()).expect("few");
        let mine: Vec<&Job> =
            self.running().filter(|(_, run)| run.process == me).map(|(job, _)| job).collect();
        if self.paused || all >= self.cap || mine.iter().any(|job| job.is_suspect()) {
            return Vec::new();
        }
        let busy = !mine.is_empty();
        let wanted = ask.idle + ask.ahead;
        let room = usize::try_from(self.cap - all).expect("checked");
        let mut suspects = Walk::new(self, ask, true);
        if let Some(suspect) = suspects.next(self) {
            if !busy && ask.idle > 0 {
                self.see("a suspect runs alone");
                let taken = self.start(suspect, ask);
                suspects.took(self, taken);
                return self.served_by(suspects, vec![taken]);
            }
            if self.job(suspect).due + ask.suspect_wait_ms <= self.now {
                self.see("a process runs empty for a suspect");
                return Vec::new();
            }
        }
        let mut walk = Walk::new(self, ask, false);
        let mut taken = Vec::new();
        while taken.len() < wanted.min(room) {
            let ahead = taken.len() >= ask.idle;
            if ahead {
                walk.only_short(ask);
            }
            let Some(next) = walk.next(self) else { break };
            if ahead && self.job(next).max_attempts == 1 {
                self.see("never taken ahead");
                walk.closed.push((self.job(next).kind, self.job(next).org));
                continue;
            }
            taken.push(self.start(next, ask));
            walk.took(self, next);
        }
        self.served_by(walk, taken)
    }

    fn served_by(&mut self, walk: Walk, taken: Vec<i64>) -> Vec<i64> {
        for (kind, owed) in walk.owed {
            if owed.is_some() && owed != self.kind(kind).owed {
                self.see("a full cap owes an org its turn");
            }
            self.kind_mut(kind).owed = owed;
        }
        if let Some(&last) = taken.last() {
            self.served = self.job(last).org;
        }
        taken
    }

    fn start(&mut self, id: i64, ask: &Ask) -> i64 {
        self.token += 1;
        let run = Run {
            token: self.token,
            process: ask.process.0,
            lease_until: self.mono + ask.lease_ms,
            started_at: self.now,
            kept_lane: self.job(id).keeps,
            cancel_asked: false,
        };
        let job = self.job_mut(id);
        job.place = Place::Running(run);
        job.keeps = false;
        job.may_expire = false;
        job.n.attempts += 1;
        id
    }
}

/// Who is next: orgs take turns behind the one served last, one job a turn; within an org the best.
struct Walk {
    suspects: bool,
    /// The kinds that may run here, and how many more of each.
    room: BTreeMap<i64, i64>,
    owed: BTreeMap<i64, Option<i64>>,
    circle: Vec<i64>,
    at: usize,
    progress: bool,
    closed: Vec<(i64, i64)>,
}

impl Walk {
    fn new(model: &Model, ask: &Ask, suspects: bool) -> Walk {
        let mut room = BTreeMap::new();
        for handled in &ask.kinds {
            let kind = model.kind(handled.kind.0);
            let running = model.running().filter(|(job, _)| job.kind == handled.kind.0).count();
            let left = kind.cap.map_or(i64::MAX, |cap| cap - i64::try_from(running).expect("few"));
            let ready = model.ready();
            let mut of_kind = ready.iter().filter(|job| job.kind == handled.kind.0);
            let some = of_kind.any(|job| job.is_suspect() == suspects);
            if some && !kind.paused && left > 0 {
                room.insert(handled.kind.0, left);
            }
        }
        let has_some = |org: &i64| {
            let ready = model.ready();
            let mut of_org = ready.iter().filter(|job| job.org == *org);
            of_org.any(|job| job.is_suspect() == suspects && room.contains_key(&job.kind))
        };
        let orgs = i64::try_from(model.orgs.len()).expect("few");
        let circle = (model.served + 1..=orgs).chain(1..=model.served.min(orgs)).filter(has_some);
        let owed = room.keys().map(|&kind| (kind, model.kind(kind).owed)).collect();
        let circle = circle.collect();
        Walk { suspects, owed, circle, room, at: 0, progress: true, closed: Vec::new() }
    }

    fn only_short(&mut self, ask: &Ask) {
        self.room.retain(|kind, _| {
            ask.kinds.iter().any(|handled| handled.kind.0 == *kind && handled.short)
        });
    }

    fn next(&mut self, model: &Model) -> Option<i64> {
        loop {
            if self.at >= self.circle.len() {
                if !std::mem::take(&mut self.progress) {
                    return None;
                }
                self.at = 0;
            }
            let org = *self.circle.get(self.at)?;
            self.at += 1;
            if let Some(best) = self.best_of(model, org) {
                self.progress = true;
                return Some(best);
            }
        }
    }

    fn best_of(&mut self, model: &Model, org: i64) -> Option<i64> {
        if !has_room(model, org) {
            return None;
        }
        let open: Vec<i64> = self.open().collect();
        let kinds: Vec<i64> =
            open.into_iter().filter(|&kind| self.may_serve(model, kind, org)).collect();
        let ready = model.ready();
        let mine = ready.iter().filter(|job| {
            job.org == org
                && job.is_suspect() == self.suspects
                && kinds.contains(&job.kind)
                && !self.closed.contains(&(job.kind, org))
        });
        mine.min_by_key(|job| job.order()).map(|job| job.id)
    }

    fn open(&self) -> impl Iterator<Item = i64> {
        self.room.iter().filter(|(_, room)| **room > 0).map(|(kind, _)| *kind)
    }

    // While the org that a full cap made wait can be served, the kind is nobody else's. Suspects
    // pass beside that.
    fn may_serve(&mut self, model: &Model, kind: i64, org: i64) -> bool {
        let Some(owed) = self.owed[&kind].filter(|owed| *owed != org && !self.suspects) else {
            return true;
        };
        if waits_for_its_turn(model, kind, owed) {
            return false;
        }
        self.owed.insert(kind, None);
        true
    }

    fn took(&mut self, model: &Model, id: i64) {
        if self.suspects {
            return;
        }
        let Job { kind, org, .. } = *model.job(id);
        let open: Vec<i64> = self.open().collect();
        for open in open {
            // Served now, or it chose something better.
            if self.owed[&open] == Some(org) {
                self.owed.insert(open, None);
            }
        }
        let room = self.room.get_mut(&kind).expect("it was open");
        *room -= 1;
        if *room == 0 {
            self.owed.insert(kind, next_in_circle(model, kind, org));
        }
    }
}

fn has_room(model: &Model, org: i64) -> bool {
    let running = model.running().filter(|(job, _)| job.org == org).count();
    let Some(cap) = model.org(org).cap else { return !model.org(org).paused };
    !model.org(org).paused && i64::try_from(running).expect("few") < cap
}

fn waits_for_its_turn(model: &Model, kind: i64, org: i64) -> bool {
    let ready = model.ready();
    let mut of_kind = ready.iter().filter(|job| job.kind == kind && job.org == org);
    has_room(model, org) && of_kind.any(|job| !job.is_suspect())
}

fn next_in_circle(model: &Model, kind: i64, org: i64) -> Option<i64> {
    let ready = model.ready();
    let others = ready.iter().filter(|job| job.kind == kind && job.org != org && !job.is_suspect());
    others.map(|job| job.org).min_by_key(|&other| (other < org, other))
}
