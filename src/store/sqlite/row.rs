//! Rows that several verbs read: a job as written, a job that waits, a job that runs.

use rusqlite::{Row, params};

use super::place::Place;
use super::tx::Tx;
use crate::error::{Error, Result};
use crate::model::id::{Held, JobId, JobNo, KindNo, LaneNo, OrgNo, SendNo, Token};
use crate::model::verdict::Run;

const JOB_NUMBER: &str = "SELECT id FROM lanebox_job WHERE uuid = ?1";
const JOB_GET: &str = "SELECT org, kind, lane, priority, run_at, expires_at, source_event, consumer, ordinal FROM lanebox_job WHERE id = ?1";
const TRIED_GET: &str = "SELECT lane, phase, run_at, series, attempts, lost, lost_alone, postponed, unknowns, sent, waits_send, error FROM lanebox_tried WHERE id = ?1";
const TRIED_DEL: &str = "DELETE FROM lanebox_tried WHERE id = ?1";
// Two seeks are cheaper than RETURNING, which builds a table of its answer first.
const RUNNING_DEL: &str = "DELETE FROM lanebox_running WHERE id = ?1";
const RUNNING_GET: &str = "SELECT org, kind, lane, run_at, process, started_at, series, attempts, max_attempts, lost, lost_alone, postponed, unknowns, alone, kept_lane, cancel_asked, sent FROM lanebox_running WHERE id = ?1 AND token = ?2";

/// A job as it was written.
#[derive(Clone, Copy, Debug)]
pub(super) struct JobRow {
    pub(super) id: JobNo,
    pub(super) org: OrgNo,
    pub(super) kind: KindNo,
    pub(super) lane: Option<LaneNo>,
    pub(super) priority: i64,
    pub(super) run_at: i64,
    pub(super) expires_at: Option<i64>,
    pub(super) source_event: Option<i64>,
    pub(super) delivery: Option<(i64, i64)>,
}

impl JobRow {
    /// Its place when it is due at `run_at`.
    pub(super) fn place_at(&self, run_at: i64, alone: bool) -> Place {
        let JobRow { id, org, kind, lane, priority, .. } = *self;
        Place { id, org, kind, lane, priority, run_at, alone }
    }

    /// What its sends are known by, across series and replays: the delivery that it was born of,
    /// else itself.
    pub(super) fn origin(&self) -> String {
        match (self.source_event, self.delivery) {
            (Some(event), Some((consumer, ordinal))) => format!("e{event}.c{consumer}.{ordinal}"),
            _ => format!("j{}", self.id),
        }
    }
}

/// The row of a job that people know by its id.
pub(super) fn number_of(tx: &Tx<'_>, id: JobId) -> Result<JobNo> {
    let found = tx.one(JOB_NUMBER, [id], |row| row.get(0))?;
    found.ok_or_else(|| Error::NotFound { what: "job", id: id.to_string() })
}

pub(super) fn job(tx: &Tx<'_>, id: JobNo) -> Result<Option<JobRow>> {
    tx.one(JOB_GET, [id], |row| {
        let consumer: Option<i64> = row.get(7)?;
        Ok(JobRow {
            id,
            org: row.get(0)?,
            kind: row.get(1)?,
            lane: row.get(2)?,
            priority: row.get(3)?,
            run_at: row.get(4)?,
            expires_at: row.get(5)?,
            source_event: row.get(6)?,
            delivery: consumer.zip(row.get(8)?),
        })
    })
}

/// A job that was tried and waits.
#[derive(Clone, Debug)]
pub(super) struct TriedRow {
    pub(super) lane: Option<LaneNo>,
    pub(super) phase: Phase,
    pub(super) run_at: i64,
    pub(super) series: i64,
    pub(super) attempts: u32,
    pub(super) lost: u32,
    pub(super) lost_alone: u32,
    pub(super) postponed: u32,
    pub(super) unknowns: u32,
    pub(super) sent: bool,
    pub(super) waits_send: Option<SendNo>,
    pub(super) error: Option<String>,
}

/// What a tried job waits for: its time, the fate of a send, or that fate outside its lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Waiting,
    Unknown,
    Parked,
}

impl Phase {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Phase::Waiting => "waiting",
            Phase::Unknown => "unknown",
            Phase::Parked => "parked",
        }
    }
}

/// The columns of a waiting job's row, beginning at column `from` of a statement.
pub(super) fn read_tried(row: &Row<'_>, from: usize) -> rusqlite::Result<TriedRow> {
    let phase = match row.get_ref(from + 1)?.as_str()? {
        "unknown" => Phase::Unknown,
        "parked" => Phase::Parked,
        _ => Phase::Waiting,
    };
    Ok(TriedRow {
        lane: row.get(from)?,
        phase,
        run_at: row.get(from + 2)?,
        series: row.get(from + 3)?,
        attempts: row.get(from + 4)?,
        lost: row.get(from + 5)?,
        lost_alone: row.get(from + 6)?,
        postponed: row.get(from + 7)?,
        unknowns: row.get(from + 8)?,
        sent: row.get(from + 9)?,
        waits_send: row.get(from + 10)?,
        error: row.get(from + 11)?,
    })
}

pub(super) fn tried(tx: &Tx<'_>, id: JobNo) -> Result<Option<TriedRow>> {
    tx.one(TRIED_GET, [id], |row| read_tried(row, 0))
}

/// Takes the row away; what it said.
pub(super) fn take_tried(tx: &Tx<'_>, id: JobNo) -> Result<Option<TriedRow>> {
    let found = tried(tx, id)?;
    if found.is_some() {
        leave_tried(tx, id)?;
    }
    Ok(found)
}

/// The job does not wait any more.
pub(super) fn leave_tried(tx: &Tx<'_>, id: JobNo) -> Result<()> {
    tx.run(TRIED_DEL, [id])?;
    Ok(())
}

/// A run, taken out of `running` by its token.
#[derive(Clone, Copy, Debug)]
pub(super) struct RunningRow {
    pub(super) held: Held,
    pub(super) kind: KindNo,
    pub(super) sent: bool,
    pub(super) run: Run,
}

/// The fence: only who holds the current token takes the row. `None` is a lost lease.
pub(super) fn take_running(tx: &Tx<'_>, job: JobNo, token: Token) -> Result<Option<RunningRow>> {
    let found = tx.one(RUNNING_GET, params![job, token], |row| {
        Ok(RunningRow {
            held: Held {
                job,
                token,
                process: row.get(4)?,
                org: row.get(0)?,
                lane: row.get(2)?,
                started_at: row.get(5)?,
                series: row.get(6)?,
                attempts: row.get(7)?,
                lost: row.get(9)?,
            },
            kind: row.get(1)?,
            sent: row.get(16)?,
            run: Run {
                run_at: row.get(3)?,
                attempts: row.get(7)?,
                max_attempts: row.get(8)?,
                lost: row.get(9)?,
                lost_alone: row.get(10)?,
                postponed: row.get(11)?,
                unknowns: row.get(12)?,
                alone: row.get(13)?,
                kept_lane: row.get(14)?,
                cancel_asked: row.get(15)?,
            },
        })
    })?;
    if found.is_some() {
        tx.run(RUNNING_DEL, [job])?;
    }
    Ok(found)
}
