//! The rows of runs that begin. One that was never tried and has no lane can meet nobody there, so
//! eight of them are written by one statement.

use rusqlite::{ToSql, params};

use crate::error::{Error, Result};
use crate::model::id::{JobNo, KindNo, OrgNo, ProcessNo, Token};
use crate::store::jobs::Claimed;
use crate::store::sqlite::notify::{Notice, notify};
use crate::store::sqlite::place::Place;
use crate::store::sqlite::row::TriedRow;
use crate::store::sqlite::tx::Tx;

const RUN_FREE: &str = "INSERT INTO lanebox_running(id, org, kind, run_at, token, process, lease_until, started_at, max_attempts) \
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)";
const RUN_FREE_MANY: &str = "INSERT INTO lanebox_running(id, org, kind, run_at, token, process, lease_until, started_at, max_attempts) \
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?), \
     (?, ?, ?, ?, ?, ?, ?, ?, ?), \
     (?, ?, ?, ?, ?, ?, ?, ?, ?), \
     (?, ?, ?, ?, ?, ?, ?, ?, ?), \
     (?, ?, ?, ?, ?, ?, ?, ?, ?), \
     (?, ?, ?, ?, ?, ?, ?, ?, ?), \
     (?, ?, ?, ?, ?, ?, ?, ?, ?), \
     (?, ?, ?, ?, ?, ?, ?, ?, ?)";
const RUN_FIRST: &str = "INSERT INTO lanebox_running(id, org, kind, lane, run_at, token, process, lease_until, started_at, max_attempts) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";
const RUN_AGAIN: &str = "INSERT INTO lanebox_running(id, org, kind, lane, run_at, token, process, lease_until, started_at, series, attempts, max_attempts, lost, lost_alone, postponed, unknowns, alone, kept_lane, sent) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19)";

/// Rows of [`RUN_FREE_MANY`].
const MANY: usize = 8;

/// A run that has no lane, of a job that was never tried.
struct Free {
    id: JobNo,
    org: OrgNo,
    kind: KindNo,
    run_at: i64,
    token: Token,
    process: ProcessNo,
    lease_until: i64,
    started_at: i64,
    max_attempts: u32,
}

impl Free {
    fn values(&self) -> [&dyn ToSql; 9] {
        [
            &self.id,
            &self.org,
            &self.kind,
            &self.run_at,
            &self.token,
            &self.process,
            &self.lease_until,
            &self.started_at,
            &self.max_attempts,
        ]
    }
}

/// Runs that begin in one claim. Some are not written yet: whoever reads the table writes them
/// first.
#[derive(Default)]
pub(super) struct Runs {
    waiting: Vec<Free>,
}

impl Runs {
    /// Begins a run of this candidate, which is remembered to have been `tried` before. Whether it
    /// could: its lane may be occupied.
    pub(super) fn begin(
        &mut self,
        tx: &Tx<'_>,
        candidate: &Place,
        claimed: &Claimed,
        tried: Option<&TriedRow>,
    ) -> Result<bool> {
        let begun = match tried {
            None if claimed.held.lane.is_none() => return self.add(tx, candidate, claimed),
            None => run_first(tx, candidate, claimed),
            Some(tried) => run_again(tx, candidate, claimed, tried),
        };
        match begun {
            Ok(_) => Ok(true),
            // The belt: if the schema says that the lane is occupied, only this candidate is left
            // out.
            Err(error) if is_belt(&error) => {
                report_collision(tx, candidate)?;
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }

    fn add(&mut self, tx: &Tx<'_>, candidate: &Place, claimed: &Claimed) -> Result<bool> {
        self.waiting.push(Free {
            id: candidate.id,
            org: candidate.org,
            kind: candidate.kind,
            run_at: candidate.run_at,
            token: claimed.held.token,
            process: claimed.held.process,
            lease_until: claimed.lease_until,
            started_at: claimed.held.started_at,
            max_attempts: claimed.max_attempts,
        });
        if self.waiting.len() == MANY {
            let values: Vec<&dyn ToSql> = self.waiting.iter().flat_map(Free::values).collect();
            tx.run(RUN_FREE_MANY, &*values)?;
            self.waiting.clear();
        }
        Ok(true)
    }

    /// Writes what is not written yet.
    pub(super) fn write(&mut self, tx: &Tx<'_>) -> Result<()> {
        for run in self.waiting.drain(..) {
            tx.run(RUN_FREE, &run.values()[..])?;
        }
        Ok(())
    }
}

fn run_first(tx: &Tx<'_>, candidate: &Place, claimed: &Claimed) -> Result<usize> {
    let row = params![
        candidate.id,
        candidate.org,
        candidate.kind,
        claimed.held.lane,
        candidate.run_at,
        claimed.held.token,
        claimed.held.process,
        claimed.lease_until,
        claimed.held.started_at,
        claimed.max_attempts
    ];
    tx.run(RUN_FIRST, row)
}

fn run_again(tx: &Tx<'_>, candidate: &Place, claimed: &Claimed, tried: &TriedRow) -> Result<usize> {
    let row = params![
        candidate.id,
        candidate.org,
        candidate.kind,
        claimed.held.lane,
        candidate.run_at,
        claimed.held.token,
        claimed.held.process,
        claimed.lease_until,
        claimed.held.started_at,
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
    tx.run(RUN_AGAIN, row)
}

fn report_collision(tx: &Tx<'_>, candidate: &Place) -> Result<()> {
    notify(
        tx,
        &Notice {
            org: candidate.org,
            kind: "lane.collision",
            cause: "a lane was about to get a second running job".to_owned(),
            severity: "warn",
            reason: format!("job {} stayed where it was: its lane is occupied", candidate.id),
            next_step: "run `lanebox doctor`; the job is claimed when its lane is free".to_owned(),
            about: Some(("job", candidate.id.0)),
        },
    )?;
    Ok(())
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
