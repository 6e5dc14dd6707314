//! Claim: takes what is due for this process, at most one job per lane, orgs in turn, inside every
//! cap.

mod walk;

use std::collections::HashMap;
use std::sync::Arc;

use rusqlite::params;
use rusqlite::types::ValueRef;

use super::again;
use super::cancel;
use super::expire;
use super::notify::{Notice, notify};
use super::place::{Place, leave_line, unready};
use super::promote;
use super::row;
use super::tx::Tx;
use crate::error::{Error, Result};
use crate::model::id::{Held, KindNo, OrgNo, ProcessNo, Token};
use crate::model::verdict::CancelReason;
use crate::store::jobs::{Ask, Claimed};
use walk::Walk;

const RUNNING_ALL: &str = "SELECT kind, org, process, alone FROM lanebox_running";
const COUNTER_GET: &str = "SELECT token, org, cap, paused FROM lanebox_counter WHERE one = 1";
const COUNTER_SET: &str = "UPDATE lanebox_counter SET token = ?1, org = ?2 WHERE one = 1";
// Most candidates were never tried: what is remembered of tries is a second look.
const JOB_TAKE: &str = "SELECT j.uuid, j.version, j.lane, j.subject, j.max_attempts, j.expires_at, j.source_event, j.consumer, j.ordinal, j.payload, t.id \
     FROM lanebox_job j LEFT JOIN lanebox_tried t ON t.id = j.id WHERE j.id = ?1";
const RUNNING_FIRST: &str = "INSERT INTO lanebox_running(id, org, kind, lane, run_at, token, process, lease_until, started_at, max_attempts) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";
const RUNNING_AGAIN: &str = "INSERT INTO lanebox_running(id, org, kind, lane, run_at, token, process, lease_until, started_at, series, attempts, max_attempts, lost, lost_alone, postponed, unknowns, alone, kept_lane, sent) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19)";

/// What runs now, counted from its rows in this transaction.
#[derive(Debug, Default)]
struct Running {
    all: usize,
    mine: usize,
    mine_alone: bool,
    of_kind: HashMap<KindNo, i64>,
    of_org: HashMap<OrgNo, i64>,
}

struct Counter {
    token: i64,
    org: OrgNo,
    cap: usize,
    paused: bool,
}

/// A candidate as it was written and tried before.
struct Waiting {
    claimed: Claimed,
    expires_at: Option<i64>,
    tried: Option<row::TriedRow>,
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
    let running = count(tx, ask.process)?;
    let room = counter.cap.saturating_sub(running.all);
    if counter.paused || room == 0 || running.mine_alone {
        return Ok((Vec::new(), false));
    }
    let mut taking = Taking { tx, ask, token: counter.token, claimed: Vec::new() };
    let mut walk = Walk::start(tx, ask, &running, counter.org, true)?;
    match walk.next(tx, 1)? {
        Some(suspect) if running.mine == 0 && ask.idle > 0 => {
            taking.take(&mut walk, suspect)?;
        }
        // This process runs empty for a suspect that has waited long enough.
        Some(suspect) if suspect.run_at + ask.suspect_wait_ms <= tx.now => {
            return Ok((Vec::new(), false));
        }
        _ => {
            walk = Walk::start(tx, ask, &running, counter.org, false)?;
            taking.fill(&mut walk, room)?;
        }
    }
    let more = walk.is_spent();
    let served = walk.end(tx)?.unwrap_or(counter.org);
    if !taking.claimed.is_empty() || served != counter.org {
        tx.run(COUNTER_SET, params![taking.token, served])?;
    }
    Ok((taking.claimed, more))
}

fn count(tx: &Tx<'_>, me: ProcessNo) -> Result<Running> {
    let mut running = Running::default();
    let rows: Vec<(KindNo, OrgNo, ProcessNo, bool)> =
        tx.all(RUNNING_ALL, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))?;
    for (kind, org, process, alone) in rows {
        running.all += 1;
        running.mine += usize::from(process == me);
        running.mine_alone |= process == me && alone;
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
}

impl Taking<'_, '_> {
    // Idle workers take anything; beyond them only short kinds are taken ahead.
    fn fill(&mut self, walk: &mut Walk, room: usize) -> Result<()> {
        let most = room.min(self.ask.idle + self.ask.ahead);
        while self.claimed.len() < most {
            if self.claimed.len() >= self.ask.idle {
                walk.only_short();
            }
            let left = most - self.claimed.len();
            let Some(candidate) = walk.next(self.tx, left)? else {
                break;
            };
            self.take(walk, candidate)?;
        }
        Ok(())
    }

    fn take(&mut self, walk: &mut Walk, candidate: Place) -> Result<()> {
        let ahead = self.claimed.len() >= self.ask.idle;
        match self.try_take(&candidate, walk.name_of(candidate.org), ahead)? {
            Taken::Yes(claimed) => {
                self.token = claimed.held.token.0;
                self.claimed.push(*claimed);
                walk.took(self.tx, &candidate)?;
            }
            Taken::NotAhead => walk.close(&candidate),
            Taken::Gone => {}
        }
        Ok(())
    }

    fn try_take(&self, candidate: &Place, org: Arc<str>, ahead: bool) -> Result<Taken> {
        let tx = self.tx;
        let id = candidate.id;
        let Some(Waiting { claimed, expires_at, tried }) = self.read(candidate, org)? else {
            unready(tx, candidate)?;
            return Ok(Taken::Gone);
        };
        let sent = tried.as_ref().is_some_and(|tried| tried.sent);
        if expires_at.is_some_and(|at| at <= tx.now) && !sent {
            // One of this claim's candidates, so it waits and is cancelled now.
            let _now = cancel::cancel(tx, id, CancelReason::Expired)?;
            return Ok(Taken::Gone);
        }
        if ahead && claimed.max_attempts == 1 {
            return Ok(Taken::NotAhead);
        }
        if tried.is_some() {
            // Before the insert: a keeper's own row would stop it (trigger).
            row::leave_tried(tx, id)?;
        }
        let runs = self.run(candidate, &claimed, tried.as_ref())?;
        unready(tx, candidate)?;
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

    fn read(&self, candidate: &Place, org_name: Arc<str>) -> Result<Option<Waiting>> {
        let Place { id: job, org, kind, .. } = *candidate;
        let token = Token(self.token + 1);
        let found = self.tx.one(JOB_TAKE, [job], |row| {
            let held = Held {
                job,
                token,
                process: self.ask.process,
                org,
                lane: row.get(2)?,
                started_at: self.tx.now,
                series: 1,
                attempts: 1,
                lost: 0,
            };
            let claimed = Claimed {
                held,
                id: row.get(0)?,
                org_name,
                kind,
                version: row.get(1)?,
                subject: row.get(3)?,
                max_attempts: row.get(4)?,
                source_event: row.get(6)?,
                consumer: row.get(7)?,
                ordinal: row.get(8)?,
                payload: row.get::<_, Option<String>>(9)?.unwrap_or_default(),
                lease_until: self.tx.mono + self.ask.lease_ms,
            };
            let waits = row.get_ref(10)? != ValueRef::Null;
            Ok((Waiting { claimed, expires_at: row.get(5)?, tried: None }, waits))
        })?;
        let Some((mut waiting, waits)) = found else {
            return Ok(None);
        };
        if waits && let Some(tried) = row::tried(self.tx, job)? {
            let held = &mut waiting.claimed.held;
            (held.series, held.attempts, held.lost) =
                (tried.series, tried.attempts + 1, tried.lost);
            waiting.tried = Some(tried);
        }
        Ok(Some(waiting))
    }

    // The belt: if the schema says that the lane is occupied, only this candidate is left out.
    fn run(
        &self,
        candidate: &Place,
        claimed: &Claimed,
        tried: Option<&row::TriedRow>,
    ) -> Result<bool> {
        let inserted = match tried {
            None => self.run_first(candidate, claimed),
            Some(tried) => self.run_again(candidate, claimed, tried),
        };
        match inserted {
            Ok(_) => Ok(true),
            Err(error) if is_belt(&error) => {
                self.report_collision(candidate)?;
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }

    fn run_first(&self, candidate: &Place, claimed: &Claimed) -> Result<usize> {
        let row = params![
            candidate.id,
            candidate.org,
            candidate.kind,
            claimed.held.lane,
            candidate.run_at,
            claimed.held.token,
            self.ask.process,
            claimed.lease_until,
            self.tx.now,
            claimed.max_attempts
        ];
        self.tx.run(RUNNING_FIRST, row)
    }

    fn run_again(
        &self,
        candidate: &Place,
        claimed: &Claimed,
        tried: &row::TriedRow,
    ) -> Result<usize> {
        let row = params![
            candidate.id,
            candidate.org,
            candidate.kind,
            claimed.held.lane,
            candidate.run_at,
            claimed.held.token,
            self.ask.process,
            claimed.lease_until,
            self.tx.now,
            tried.series,
            claimed.held.attempts,
            claimed.max_attempts,
            tried.lost,
            tried.lost_alone,
            tried.postponed,
            tried.unknowns,
            tried.lost >= 2,
            tried.lane.is_some(),
            tried.sent
        ];
        self.tx.run(RUNNING_AGAIN, row)
    }

    fn report_collision(&self, candidate: &Place) -> Result<()> {
        notify(
            self.tx,
            &Notice {
                org: candidate.org,
                kind: "lane.collision",
                cause: "a lane was about to get a second running job".to_owned(),
                severity: "warn",
                reason: format!("job {} stayed where it was: its lane is occupied", candidate.id),
                next_step: "run `lanebox doctor`; the job is claimed when its lane is free"
                    .to_owned(),
                about: Some(("job", candidate.id.0)),
            },
        )?;
        Ok(())
    }
}

// Only a second occupant of a lane, not any constraint: another broken rule must not look like a
// busy lane.
fn is_belt(error: &Error) -> bool {
    const UNIQUE: i32 = rusqlite::ffi::SQLITE_CONSTRAINT_UNIQUE;
    const TRIGGER: i32 = rusqlite::ffi::SQLITE_CONSTRAINT_TRIGGER;
    match error {
        Error::Sqlite(rusqlite::Error::SqliteFailure(code, _)) => {
            matches!(code.extended_code, UNIQUE | TRIGGER)
        }
        _ => false,
    }
}
