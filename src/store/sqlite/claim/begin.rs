//! The rows of runs that begin. One that was never tried and has no lane can meet nobody there, so
//! eight of them are written by one statement.

use rusqlite::ToSql;

use crate::error::{Error, Result};
use crate::model::id::{JobNo, KindNo, LaneNo, OrgNo, ProcessNo, Token};
use crate::store::jobs::Claimed;
use crate::store::sqlite::notify::{Notice, notify};
use crate::store::sqlite::place::Place;
use crate::store::sqlite::row::TriedRow;
use crate::store::sqlite::tx::Tx;

const RUN_FIRST: &str = "INSERT INTO lanebox_running(id, org, kind, lane, run_at, token, process, lease_until, started_at, max_attempts) \
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
const RUN_FIRST_MANY: &str = "INSERT INTO lanebox_running(id, org, kind, lane, run_at, token, process, lease_until, started_at, max_attempts) \
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?), \
     (?, ?, ?, ?, ?, ?, ?, ?, ?, ?), \
     (?, ?, ?, ?, ?, ?, ?, ?, ?, ?), \
     (?, ?, ?, ?, ?, ?, ?, ?, ?, ?), \
     (?, ?, ?, ?, ?, ?, ?, ?, ?, ?), \
     (?, ?, ?, ?, ?, ?, ?, ?, ?, ?), \
     (?, ?, ?, ?, ?, ?, ?, ?, ?, ?), \
     (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
const RUN_AGAIN: &str = "INSERT INTO lanebox_running(id, org, kind, lane, run_at, token, process, lease_until, started_at, max_attempts, series, attempts, lost, lost_alone, postponed, unknowns, alone, kept_lane, sent) \
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";

/// Rows of [`RUN_FIRST_MANY`].
const MANY: usize = 8;

/// What every run begins with.
struct Run {
    id: JobNo,
    org: OrgNo,
    kind: KindNo,
    lane: Option<LaneNo>,
    run_at: i64,
    token: Token,
    process: ProcessNo,
    lease_until: i64,
    started_at: i64,
    max_attempts: u32,
}

impl Run {
    fn new(candidate: &Place, claimed: &Claimed) -> Run {
        Run {
            id: candidate.id,
            org: candidate.org,
            kind: candidate.kind,
            lane: claimed.held.lane,
            run_at: candidate.run_at,
            token: claimed.held.token,
            process: claimed.held.process,
            lease_until: claimed.lease_until,
            started_at: claimed.held.started_at,
            max_attempts: claimed.max_attempts,
        }
    }

    fn values(&self) -> [&dyn ToSql; 10] {
        [
            &self.id,
            &self.org,
            &self.kind,
            &self.lane,
            &self.run_at,
            &self.token,
            &self.process,
            &self.lease_until,
            &self.started_at,
            &self.max_attempts,
        ]
    }

    fn write_first(&self, tx: &Tx<'_>) -> Result<usize> {
        tx.run(RUN_FIRST, &self.values()[..])
    }

    fn write_again(&self, tx: &Tx<'_>, attempts: u32, tried: &TriedRow) -> Result<usize> {
        let (alone, kept_lane) = (tried.lost >= 2, tried.lane.is_some());
        let remembered: [&dyn ToSql; 9] = [
            &tried.series,
            &attempts,
            &tried.lost,
            &tried.lost_alone,
            &tried.postponed,
            &tried.unknowns,
            &alone,
            &kept_lane,
            &tried.sent,
        ];
        let values: Vec<&dyn ToSql> = self.values().into_iter().chain(remembered).collect();
        tx.run(RUN_AGAIN, &*values)
    }
}

/// Runs that begin in one claim. Some are not written yet: whoever reads the table writes them
/// first.
#[derive(Default)]
pub(super) struct Runs {
    waiting: Vec<Run>,
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
        let run = Run::new(candidate, claimed);
        let begun = match tried {
            None if run.lane.is_none() => return self.add(tx, run).map(|()| true),
            None => run.write_first(tx),
            Some(tried) => run.write_again(tx, claimed.held.attempts, tried),
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

    fn add(&mut self, tx: &Tx<'_>, run: Run) -> Result<()> {
        self.waiting.push(run);
        if self.waiting.len() == MANY {
            let values: Vec<&dyn ToSql> = self.waiting.iter().flat_map(Run::values).collect();
            tx.run(RUN_FIRST_MANY, &*values)?;
            self.waiting.clear();
        }
        Ok(())
    }

    /// Writes what is not written yet.
    pub(super) fn write(&mut self, tx: &Tx<'_>) -> Result<()> {
        self.waiting.drain(..).try_for_each(|run| run.write_first(tx).map(drop))
    }
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
