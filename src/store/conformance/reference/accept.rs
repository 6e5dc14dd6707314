//! The model accepts a job.

use super::{Counters, HORIZON_MS, Job, Kind, Model, OnDead, Org, Place};
use crate::model::job::{NewJob, UniqueBy};

/// What the model says about an enqueue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Accepted {
    New(i64),
    Existing(i64),
    /// Its key was used with another payload, or its expiry has passed: nothing was stored.
    Refused,
}

impl Model {
    pub(in super::super) fn enqueue(&mut self, new: &NewJob) -> Accepted {
        let org = self.org_named(new.org.as_deref().unwrap_or("-"));
        let kind = self.kind_named(&new.kind);
        let body = format!("{} {}", new.kind, new.payload.as_deref().unwrap_or_default());
        match self.known(new, org, kind, &body) {
            Some((id, true)) => {
                if let UniqueBy::Dedupe(key) = &new.unique_by {
                    self.keys.insert((org, key.clone()), (id, body, self.now + HORIZON_MS));
                }
                return Accepted::Existing(id);
            }
            Some((_, false)) => return Accepted::Refused,
            None if new.expires_at.is_some_and(|at| at <= self.now) => return Accepted::Refused,
            None => {}
        }
        let id = self.write(new, org, kind);
        match &new.unique_by {
            UniqueBy::Nothing => {}
            UniqueBy::Once { event, name } => {
                let event = self.event(*event);
                self.onces.insert((org, event, name.clone()), (id, body));
            }
            UniqueBy::Dedupe(key) => {
                self.keys.insert((org, key.clone()), (id, body, self.now + HORIZON_MS));
            }
            UniqueBy::Unfinished(key) => {
                let key = (org, kind, key.clone());
                self.uniques.insert(key.clone(), id);
                self.job_mut(id).unique = Some(key);
            }
        }
        Accepted::New(id)
    }

    /// The job that has the key already, and whether it was made of the same words.
    fn known(&self, new: &NewJob, org: i64, kind: i64, body: &str) -> Option<(i64, bool)> {
        match &new.unique_by {
            UniqueBy::Nothing => None,
            UniqueBy::Once { event, name } => {
                let found = self.onces.get(&(org, self.event(*event), name.clone()));
                found.map(|(id, first)| (*id, first == body))
            }
            UniqueBy::Dedupe(key) => {
                let (id, first, until) = self.keys.get(&(org, key.clone()))?;
                // A key outlives its horizon while its job lives.
                let remembered = *until > self.now || !self.has_ended(*id);
                remembered.then_some((*id, first == body))
            }
            UniqueBy::Unfinished(key) => {
                let id = *self.uniques.get(&(org, kind, key.clone()))?;
                (!self.has_ended(id)).then_some((id, true))
            }
        }
    }

    pub(super) fn has_ended(&self, id: i64) -> bool {
        matches!(self.job(id).place, Place::Ended(_))
    }

    fn event(&self, id: crate::model::id::EventId) -> i64 {
        let at = self.events.iter().position(|known| *known == id).expect("a known event");
        i64::try_from(at).expect("few events") + 1
    }

    fn write(&mut self, new: &NewJob, org: i64, kind: i64) -> i64 {
        let lane = new.lane.name().map(|name| self.lane_named(org, name));
        let later = new.run_at.filter(|at| *at > self.now);
        let due = match later {
            Some(at) => at,
            None => self.end_of_line(lane, new.priority),
        };
        let id = i64::try_from(self.jobs.len()).expect("few jobs") + 1;
        self.jobs.push(Job {
            id,
            org,
            kind,
            lane,
            priority: new.priority,
            run_at: due,
            expires_at: new.expires_at,
            max_attempts: i64::from(new.max_attempts),
            due,
            place: if later.is_some() { Place::Scheduled } else { Place::Due },
            tried: false,
            keeps: false,
            waits_for: None,
            n: Counters { series: 1, ..Counters::default() },
            sent: false,
            error: None,
            may_expire: new.expires_at.is_some(),
            history: Vec::new(),
            result: None,
            unique: None,
        });
        id
    }

    /// The place of what is due at once: never before the last one of its lane and priority, and
    /// never before the lane's overdue scheduled jobs.
    pub(super) fn end_of_line(&mut self, lane: Option<i64>, priority: i64) -> i64 {
        let Some(lane) = lane else { return self.now };
        self.promote(Some(lane));
        let line = self.line(lane);
        let same = line.iter().filter(|job| job.priority == priority);
        same.map(|job| job.due).max().map_or(self.now, |last| last.max(self.now))
    }

    fn org_named(&mut self, name: &str) -> i64 {
        let at = self.orgs.iter().position(|org| org.name == name);
        number(at.unwrap_or_else(|| {
            self.orgs.push(Org { name: name.to_owned(), cap: None, paused: false });
            self.orgs.len() - 1
        }))
    }

    pub(in super::super) fn kind_named(&mut self, name: &str) -> i64 {
        let at = self.kinds.iter().position(|kind| kind.name == name);
        number(at.unwrap_or_else(|| {
            self.kinds.push(Kind {
                name: name.to_owned(),
                cap: None,
                paused: false,
                yields: false,
                on_dead: OnDead::Go,
                max_postponed: 100,
                owed: None,
            });
            self.kinds.len() - 1
        }))
    }

    fn lane_named(&mut self, org: i64, name: &str) -> i64 {
        let at = self.lanes.iter().position(|lane| lane.0 == org && lane.1 == name);
        number(at.unwrap_or_else(|| {
            self.lanes.push((org, name.to_owned()));
            self.lanes.len() - 1
        }))
    }
}

fn number(at: usize) -> i64 {
    i64::try_from(at).expect("few rows") + 1
}
