//! Claim: takes what is due for this process, at most one job per lane, orgs in turn, inside every
//! cap.

mod begin;
mod candidate;
mod passed;
mod walk;

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use rusqlite::params;

use super::again;
use super::cancel;
use super::expire;
use super::handles;
use super::place::{Place, leave_line};
use super::promote;
use super::row;
use super::tx::Tx;
use crate::error::Result;
use crate::model::id::{Held, KindNo, OrgNo, ProcessNo, Token};
use crate::model::verdict::CancelReason;
use crate::store::jobs::{Ask, Claimed, Handled};
use begin::Runs;
use candidate::{Candidate, Most, Written};
use walk::Walk;

const RUNNING_ALL: &str = "SELECT kind, org, process, alone FROM lanebox_running";
const COUNTER_GET: &str = "SELECT token, org, cap, paused FROM lanebox_counter WHERE one = 1";
const COUNTER_SET: &str = "UPDATE lanebox_counter SET token = ?1, org = ?2 WHERE one = 1";

/// A suspect is taken alone.
const ONE: Most = Most { idle: 1, all: 1 };

/// What runs now, counted from its rows in this transaction.
#[derive(Debug, Default)]
struct Running {
    all: usize,
    /// Who holds something, and who holds a suspect.
    holders: BTreeSet<ProcessNo>,
    alone: BTreeSet<ProcessNo>,
    of_kind: HashMap<KindNo, i64>,
    of_org: HashMap<OrgNo, i64>,
}

struct Counter {
    token: i64,
    org: OrgNo,
    cap: usize,
    paused: bool,
}

/// What became of a candidate.
enum Taken {
    Yes(Box<Claimed>),
    /// It asked never to be started twice: it is not taken before a worker is free for it.
    NotAhead,
    /// It is not claimable any more.
    Gone,
}

/// Promotes and expires what is due, then takes work for this process. Whether orgs were left that
/// it did not look at.
pub(super) fn claim(tx: &Tx<'_>, ask: &Ask) -> Result<(Vec<Claimed>, bool)> {
    while promote::promote(tx, promote::BATCH)? == promote::BATCH {}
    expire::expire(tx, expire::BATCH)?;
    let counter = tx.one(COUNTER_GET, [], |row| {
        let (token, org, paused) = (row.get(0)?, row.get(1)?, row.get(3)?);
        Ok(Counter { token, org, cap: row.get(2)?, paused })
    })?;
    let counter = counter.expect("the counter row stays (trigger)");
    let running = count(tx)?;
    let room = counter.cap.saturating_sub(running.all);
    if counter.paused || room == 0 || holds(tx, ask.process, &running.alone)? {
        return Ok((Vec::new(), false));
    }
    let mut taking = Taking {
        tx,
        ask,
        token: counter.token,
        claimed: Vec::new(),
        runs: Runs::default(),
        lost_some: false,
    };
    let walk = match suspect(tx, ask, &running, counter.org)? {
        Suspect::Take(found) => {
            let (mut walk, suspect) = *found;
            taking.take(&mut walk, suspect)?;
            walk
        }
        Suspect::RunEmpty => return Ok((Vec::new(), false)),
        Suspect::Wait => {
            let mut walk = Walk::start(tx, ask, &running, counter.org, false)?;
            taking.fill(&mut walk, room)?;
            walk
        }
    };
    taking.runs.write(tx)?;
    let more = walk.is_spent() || taking.lost_some;
    let served = walk.end(tx)?.unwrap_or(counter.org);
    if !taking.claimed.is_empty() || served != counter.org {
        tx.run(COUNTER_SET, params![taking.token, served])?;
    }
    Ok((taking.claimed, more))
}

/// What a suspect asks of this process.
enum Suspect {
    /// Nothing: there is none, or it waits for an idle process.
    Wait,
    /// It has waited long enough: nothing is taken, so that this process gets empty for it.
    RunEmpty,
    Take(Box<(Walk, Candidate)>),
}

// An engine counts with those beside it in its process of the system: what kills one kills all. So
// does a suspect that only one of them has code for.
fn suspect(tx: &Tx<'_>, ask: &Ask, running: &Running, from: OrgNo) -> Result<Suspect> {
    if !Walk::has_suspects(tx)? {
        return Ok(Suspect::Wait);
    }
    let mut walk = Walk::start(tx, ask, running, from, true)?;
    if let Some(mine) = walk.next(tx, ONE)? {
        if ask.idle > 0 && !holds(tx, ask.process, &running.holders)? {
            return Ok(Suspect::Take(Box::new((walk, mine))));
        }
        if mine.place.run_at + ask.suspect_wait_ms <= tx.now {
            return Ok(Suspect::RunEmpty);
        }
    }
    let beside = handles::beside(tx, ask.process)?;
    let kinds = beside.into_iter().map(|kind| Handled { kind, short: false }).collect();
    let theirs =
        Walk::start(tx, &Ask { kinds, ..ask.clone() }, running, from, true)?.next(tx, ONE)?;
    let waited = theirs.is_some_and(|theirs| theirs.place.run_at + ask.suspect_wait_ms <= tx.now);
    Ok(if waited { Suspect::RunEmpty } else { Suspect::Wait })
}

// Whether one of these is this process, or an engine beside it.
fn holds(tx: &Tx<'_>, me: ProcessNo, among: &BTreeSet<ProcessNo>) -> Result<bool> {
    for &holder in among {
        if handles::die_together(tx, me, holder)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn count(tx: &Tx<'_>) -> Result<Running> {
    let mut running = Running::default();
    let rows: Vec<(KindNo, OrgNo, ProcessNo, bool)> =
        tx.all(RUNNING_ALL, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))?;
    for (kind, org, process, alone) in rows {
        running.all += 1;
        running.holders.insert(process);
        if alone {
            running.alone.insert(process);
        }
        *running.of_kind.entry(kind).or_default() += 1;
        *running.of_org.entry(org).or_default() += 1;
    }
    Ok(running)
}

/// One claim under way.
struct Taking<'t, 'c> {
    tx: &'t Tx<'c>,
    ask: &'t Ask,
    token: i64,
    claimed: Vec<Claimed>,
    runs: Runs,
    /// A candidate was gone: what waited behind it may be claimable now, of any kind.
    lost_some: bool,
}

impl Taking<'_, '_> {
    // Idle workers take anything; beyond them only short kinds are taken ahead.
    fn fill(&mut self, walk: &mut Walk, room: usize) -> Result<()> {
        let most = room.min(self.ask.idle + self.ask.ahead);
        while self.claimed.len() < most {
            if self.claimed.len() >= self.ask.idle {
                walk.only_short();
            }
            let idle = self.ask.idle.saturating_sub(self.claimed.len());
            let left = Most { idle, all: most - self.claimed.len() };
            let Some(candidate) = walk.next(self.tx, left)? else {
                break;
            };
            self.take(walk, candidate)?;
        }
        Ok(())
    }

    fn take(&mut self, walk: &mut Walk, candidate: Candidate) -> Result<()> {
        let Candidate { place, written } = candidate;
        let ahead = self.claimed.len() >= self.ask.idle;
        let taken = match written {
            Some(written) => self.try_take(walk, &place, written, ahead)?,
            None => {
                walk.pass(self.tx, &place)?;
                Taken::Gone
            }
        };
        match taken {
            Taken::Yes(claimed) => {
                self.token = claimed.held.token.0;
                self.claimed.push(*claimed);
                walk.took(self.tx, &place)?;
            }
            Taken::NotAhead => walk.close(&place),
            Taken::Gone => self.lost_some = true,
        }
        Ok(())
    }

    fn try_take(
        &mut self,
        walk: &mut Walk,
        candidate: &Place,
        written: Written,
        ahead: bool,
    ) -> Result<Taken> {
        let tx = self.tx;
        let (id, expires_at) = (candidate.id, written.expires_at);
        let tried = if written.was_tried { row::tried(tx, id)? } else { None };
        let sent = tried.as_ref().is_some_and(|tried| tried.sent);
        if expires_at.is_some_and(|at| at <= tx.now) && !sent {
            walk.leave_passed(tx)?;
            // One of this claim's candidates, so it waits and is cancelled now.
            let _now = cancel::cancel(tx, id, CancelReason::Expired)?;
            return Ok(Taken::Gone);
        }
        if ahead && written.max_attempts == 1 {
            return Ok(Taken::NotAhead);
        }
        let org_name = walk.name_of(candidate.org);
        let claimed = self.claimed(candidate, written, org_name, tried.as_ref());
        if tried.is_some() {
            // Before the insert: a keeper's own row would stop it (trigger).
            row::leave_tried(tx, id)?;
        }
        let runs = self.runs.begin(tx, candidate, &claimed, tried.as_ref())?;
        walk.pass(tx, candidate)?;
        if !runs {
            if let Some(tried) = &tried {
                again::restore(tx, id, tried)?;
            }
            return Ok(Taken::Gone);
        }
        let kept = tried.as_ref().is_some_and(|tried| tried.lane.is_some());
        if let (Some(lane), false) = (claimed.held.lane, kept) {
            leave_line(tx, lane, candidate)?;
        }
        expire::forget(tx, expires_at, id)?;
        Ok(Taken::Yes(Box::new(claimed)))
    }

    fn claimed(
        &self,
        candidate: &Place,
        written: Written,
        org_name: Arc<str>,
        tried: Option<&row::TriedRow>,
    ) -> Claimed {
        let Place { id: job, org, kind, .. } = *candidate;
        let held = Held {
            job,
            token: Token(self.token + 1),
            process: self.ask.process,
            org,
            lane: written.lane,
            started_at: self.tx.now,
            series: tried.map_or(1, |tried| tried.series),
            attempts: tried.map_or(0, |tried| tried.attempts) + 1,
            lost: tried.map_or(0, |tried| tried.lost),
        };
        Claimed {
            held,
            id: written.id,
            org_name,
            kind,
            version: written.version,
            subject: written.subject,
            max_attempts: written.max_attempts,
            source_event: written.source_event,
            consumer: written.consumer,
            ordinal: written.ordinal,
            payload: written.payload,
            lease_until: self.tx.mono + self.ask.lease_ms,
        }
    }
}
