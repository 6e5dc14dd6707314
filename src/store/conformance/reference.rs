//! The plain model that a store is compared with: jobs in a list, one state each, every question
//! answered by looking at all of them. Written from product.md and schema.md, not from the store's
//! statements.

pub(super) mod accept;
mod finish;
mod person;
mod tables;
mod take;

use std::collections::{BTreeMap, BTreeSet};

use crate::model::id::{EventId, Held, JobNo, LaneNo, OrgNo, ProcessNo, Token};

/// An error text that the store made itself: the model only knows that there is one.
pub(super) const OWN_WORDS: &str = "*";

/// Days after its last use for which a dedupe key is remembered.
const HORIZON_MS: i64 = 90 * 86_400_000;

#[derive(Clone, Debug)]
pub(super) struct Org {
    pub(super) name: String,
    pub(super) cap: Option<i64>,
    pub(super) paused: bool,
}

#[derive(Clone, Debug)]
pub(super) struct Kind {
    pub(super) name: String,
    pub(super) cap: Option<i64>,
    pub(super) paused: bool,
    pub(super) yields: bool,
    pub(super) on_dead: OnDead,
    pub(super) max_postponed: i64,
    /// The org that a full cap made wait first.
    pub(super) owed: Option<i64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OnDead {
    Go,
    Stop,
    Cancel,
}

/// Why a lane is paused: up to three reasons at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Pause {
    pub(super) by_operator: bool,
    pub(super) dead_job: Option<i64>,
    pub(super) cancel_upto: Option<i64>,
}

#[derive(Clone, Debug)]
pub(super) struct Process {
    pub(super) boot: String,
    pub(super) gone: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counters {
    pub(super) series: i64,
    pub(super) attempts: i64,
    pub(super) lost: i64,
    pub(super) lost_alone: i64,
    pub(super) postponed: i64,
    pub(super) unknowns: i64,
}

#[derive(Clone, Debug)]
pub(super) struct Job {
    pub(super) id: i64,
    pub(super) org: i64,
    pub(super) kind: i64,
    pub(super) lane: Option<i64>,
    pub(super) priority: i64,
    pub(super) run_at: i64,
    pub(super) expires_at: Option<i64>,
    pub(super) max_attempts: i64,
    /// Its due time now, which is its place in line.
    pub(super) due: i64,
    pub(super) place: Place,
    pub(super) tried: bool,
    /// It keeps its lane while it waits.
    pub(super) keeps: bool,
    pub(super) waits_for: Option<usize>,
    pub(super) n: Counters,
    pub(super) sent: bool,
    pub(super) error: Option<String>,
    pub(super) may_expire: bool,
    pub(super) history: Vec<Attempt>,
    pub(super) result: Option<String>,
    /// (org, kind, key) that one unfinished job at a time has.
    pub(super) unique: Option<(i64, i64, String)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// Not due yet; with a send: until the channel's patience is over.
    Scheduled,
    Due,
    /// Waits for a send outside its lane.
    Parked,
    Running(Run),
    Ended(Ending),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) token: i64,
    pub(super) process: i64,
    pub(super) lease_until: i64,
    pub(super) started_at: i64,
    pub(super) kept_lane: bool,
    pub(super) cancel_asked: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Ending {
    pub(super) state: &'static str,
    pub(super) reason: Option<&'static str>,
    pub(super) at: i64,
    pub(super) last: Option<Run>,
}

/// An attempt that did not end its job.
#[derive(Clone, Debug)]
pub(super) struct Attempt {
    pub(super) run: Run,
    pub(super) series: i64,
    pub(super) n: i64,
    pub(super) at: i64,
    pub(super) ended: &'static str,
    pub(super) error: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Intended,
    Unknown,
    Settled,
    Accepted,
}

/// A send with its one try, as far as it holds its job.
#[derive(Clone, Debug)]
pub(super) struct Send {
    pub(super) job: i64,
    pub(super) token: i64,
    pub(super) fate: Fate,
    pub(super) wait_until: i64,
    /// A person was told that it is unknown.
    pub(super) noticed: bool,
}

#[derive(Clone, Debug)]
pub(super) struct Model {
    pub(super) now: i64,
    pub(super) mono: i64,
    pub(super) boot: String,
    pub(super) patience_ms: i64,
    pub(super) orgs: Vec<Org>,
    pub(super) kinds: Vec<Kind>,
    pub(super) lanes: Vec<(i64, String)>,
    pub(super) processes: Vec<Process>,
    pub(super) jobs: Vec<Job>,
    pub(super) pauses: BTreeMap<i64, Pause>,
    pub(super) token: i64,
    /// The org that was served last.
    pub(super) served: i64,
    pub(super) cap: i64,
    pub(super) paused: bool,
    pub(super) sends: Vec<Send>,
    pub(super) events: Vec<EventId>,
    /// (org, key) -> (job, kind and payload, until)
    pub(super) keys: BTreeMap<(i64, String), (i64, String, i64)>,
    pub(super) uniques: BTreeMap<(i64, i64, String), i64>,
    pub(super) onces: BTreeMap<(i64, i64, String), (i64, String)>,
    /// (org, kind of notice, cause) -> how often
    pub(super) notices: BTreeMap<(i64, &'static str, String), i64>,
    /// How often each turn of events was met: what never happens is not tested.
    pub(super) seen: BTreeMap<&'static str, u64>,
}

impl Model {
    pub(super) fn new(now: i64, mono: i64, boot: &str, patience_ms: i64) -> Model {
        Model {
            now,
            mono,
            boot: boot.to_owned(),
            patience_ms,
            orgs: vec![Org { name: "-".to_owned(), cap: None, paused: false }],
            kinds: Vec::new(),
            lanes: Vec::new(),
            processes: Vec::new(),
            jobs: Vec::new(),
            pauses: BTreeMap::new(),
            token: 0,
            served: 0,
            cap: 256,
            paused: false,
            sends: Vec::new(),
            events: Vec::new(),
            keys: BTreeMap::new(),
            uniques: BTreeMap::new(),
            onces: BTreeMap::new(),
            notices: BTreeMap::new(),
            seen: BTreeMap::new(),
        }
    }

    pub(super) fn job(&self, id: i64) -> &Job {
        &self.jobs[usize::try_from(id - 1).expect("from 1")]
    }

    pub(super) fn job_mut(&mut self, id: i64) -> &mut Job {
        &mut self.jobs[usize::try_from(id - 1).expect("from 1")]
    }

    pub(super) fn kind(&self, id: i64) -> &Kind {
        &self.kinds[usize::try_from(id - 1).expect("from 1")]
    }

    pub(super) fn kind_mut(&mut self, id: i64) -> &mut Kind {
        &mut self.kinds[usize::try_from(id - 1).expect("from 1")]
    }

    pub(super) fn org(&self, id: i64) -> &Org {
        &self.orgs[usize::try_from(id - 1).expect("from 1")]
    }

    pub(super) fn org_mut(&mut self, id: i64) -> &mut Org {
        &mut self.orgs[usize::try_from(id - 1).expect("from 1")]
    }

    /// When the next scheduled job is due, or the next waiting one expires.
    pub(super) fn next_due(&self) -> Option<i64> {
        let scheduled = self.jobs.iter().filter(|job| job.place == Place::Scheduled);
        let expire = self.jobs.iter().filter(|job| job.may_expire);
        scheduled.map(|job| job.due).chain(expire.filter_map(|job| job.expires_at)).min()
    }

    pub(super) fn running(&self) -> impl Iterator<Item = (&Job, &Run)> {
        self.jobs.iter().filter_map(|job| match &job.place {
            Place::Running(run) => Some((job, run)),
            _ => None,
        })
    }

    /// Who is due in a lane and does not occupy it, first one first.
    pub(super) fn line(&self, lane: i64) -> Vec<&Job> {
        let stands = |job: &&Job| job.lane == Some(lane) && job.place == Place::Due && !job.keeps;
        let mut line: Vec<&Job> = self.jobs.iter().filter(stands).collect();
        line.sort_by_key(|job| job.order());
        line
    }

    /// What can be claimed now, as far as its lane is concerned.
    pub(super) fn ready(&self) -> Vec<&Job> {
        let occupied: BTreeSet<i64> =
            self.jobs.iter().filter(|job| job.occupies()).filter_map(|job| job.lane).collect();
        let mut heads: BTreeMap<i64, &Job> = BTreeMap::new();
        let mut ready = Vec::new();
        for job in self.jobs.iter().filter(|job| job.place == Place::Due) {
            match job.lane {
                None => ready.push(job),
                Some(lane) if self.pauses.contains_key(&lane) => {}
                Some(_) if job.keeps => ready.push(job),
                Some(lane) if occupied.contains(&lane) => {}
                Some(lane) => {
                    let head = heads.entry(lane).or_insert(job);
                    *head = if job.order() < head.order() { job } else { head };
                }
            }
        }
        ready.extend(heads.into_values());
        ready
    }

    /// A claim as a worker names it.
    pub(super) fn held(&self, id: i64) -> Option<Held> {
        let job = self.job(id);
        let Place::Running(run) = &job.place else { return None };
        Some(Held {
            job: JobNo(id),
            token: Token(run.token),
            process: ProcessNo(run.process),
            org: OrgNo(job.org),
            lane: job.lane.map(LaneNo),
            started_at: run.started_at,
            series: job.n.series,
            attempts: small(job.n.attempts),
            lost: small(job.n.lost),
        })
    }

    fn see(&mut self, what: &'static str) {
        *self.seen.entry(what).or_default() += 1;
    }

    fn notice(&mut self, org: i64, kind: &'static str, cause: String) {
        *self.notices.entry((org, kind, cause)).or_default() += 1;
    }
}

impl Job {
    pub(super) fn order(&self) -> (i64, i64, i64) {
        (self.priority, self.due, self.id)
    }

    pub(super) fn has_ended(&self) -> bool {
        matches!(self.place, Place::Ended(_))
    }

    pub(super) fn is_dead(&self) -> bool {
        matches!(&self.place, Place::Ended(ending) if ending.state == "dead")
    }

    pub(super) fn waits(&self) -> bool {
        matches!(self.place, Place::Scheduled | Place::Due | Place::Parked)
    }

    /// It is the one of its lane: it runs, or keeps the lane until it runs again.
    fn occupies(&self) -> bool {
        matches!(self.place, Place::Running(_)) || self.keeps
    }

    /// Lost twice or more: it runs with nothing beside it.
    pub(super) fn is_suspect(&self) -> bool {
        self.n.lost >= 2
    }
}

impl Send {
    /// Nobody has decided what became of it.
    pub(super) fn is_open(&self) -> bool {
        matches!(self.fate, Fate::Intended | Fate::Unknown)
    }
}

fn small(n: i64) -> u32 {
    u32::try_from(n).expect("a small count")
}
