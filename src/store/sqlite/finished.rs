//! The end of a job: its one row in `finished`.

use rusqlite::{ToSql, params};

use super::row::TriedRow;
use super::tx::Tx;
use crate::error::Result;
use crate::model::id::{Held, JobNo, NoticeNo, ProcessNo, Token};
use crate::model::verdict::CancelReason;

const FINISHED_NEW: &str = "INSERT INTO lanebox_finished(id, state, reason, finished_at, started_at, token, process, series, attempts, lost, error, notice) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)";
// Most jobs end well: fewer columns to bind, and fewer to check.
const FINISHED_DONE: &str = "INSERT INTO lanebox_finished(id, state, finished_at, started_at, token, process, series, attempts, lost) \
     VALUES (?, 'done', ?, ?, ?, ?, ?, ?, ?)";
// To begin a statement and to open its table costs more than to write a row.
const FINISHED_DONE_MANY: &str = "INSERT INTO lanebox_finished(id, state, finished_at, started_at, token, process, series, attempts, lost) \
     VALUES (?, 'done', ?, ?, ?, ?, ?, ?, ?), \
     (?, 'done', ?, ?, ?, ?, ?, ?, ?), \
     (?, 'done', ?, ?, ?, ?, ?, ?, ?), \
     (?, 'done', ?, ?, ?, ?, ?, ?, ?), \
     (?, 'done', ?, ?, ?, ?, ?, ?, ?), \
     (?, 'done', ?, ?, ?, ?, ?, ?, ?), \
     (?, 'done', ?, ?, ?, ?, ?, ?, ?), \
     (?, 'done', ?, ?, ?, ?, ?, ?, ?)";

/// Rows of [`FINISHED_DONE_MANY`].
const MANY: usize = 8;

const FINISHED_FOR_GOOD: &str = "SELECT 1 FROM lanebox_finished f CROSS JOIN lanebox_job j ON j.id = f.id \
     WHERE f.id = ?1 AND (f.state <> 'dead' OR j.expires_at <= ?2)";

/// What is remembered of a job's end.
#[derive(Debug)]
pub(super) struct Finished<'a> {
    pub(super) id: JobNo,
    pub(super) state: &'static str,
    pub(super) reason: Option<&'static str>,
    pub(super) last: Option<(i64, Token, ProcessNo)>,
    pub(super) series: i64,
    pub(super) attempts: u32,
    pub(super) lost: u32,
    pub(super) error: Option<&'a str>,
    pub(super) notice: Option<NoticeNo>,
}

/// Counters of a job that ends without running: as it was tried, or untouched.
#[derive(Debug, Default)]
pub(super) struct Waited(pub(super) Option<TriedRow>);

impl<'a> Finished<'a> {
    /// Ended by its run.
    pub(super) fn by(held: Held, state: &'static str) -> Finished<'a> {
        Finished {
            id: held.job,
            state,
            reason: None,
            last: Some((held.started_at, held.token, held.process)),
            series: held.series,
            attempts: held.attempts,
            lost: held.lost,
            error: None,
            notice: None,
        }
    }

    /// Ended while it waited.
    pub(super) fn cancelled(id: JobNo, reason: CancelReason, waited: &'a Waited) -> Finished<'a> {
        let tried = waited.0.as_ref();
        Finished {
            id,
            state: "cancelled",
            reason: Some(reason.as_str()),
            last: None,
            series: tried.map_or(1, |t| t.series),
            attempts: tried.map_or(0, |t| t.attempts),
            lost: tried.map_or(0, |t| t.lost),
            error: tried.and_then(|t| t.error.as_deref()),
            notice: None,
        }
    }
}

/// Whether a job has ended and cannot be started again: only a dead one can, until it expires.
pub(super) fn for_good(tx: &Tx<'_>, id: JobNo) -> Result<bool> {
    tx.has(FINISHED_FOR_GOOD, params![id, tx.now])
}

/// Writes the end of a run that did its job.
pub(super) fn finish_done(tx: &Tx<'_>, held: &Held) -> Result<()> {
    tx.run(FINISHED_DONE, &done(tx, held)[..])?;
    Ok(())
}

/// Writes the ends of runs that did their jobs, eight by one statement where there are as many.
pub(super) fn finish_all_done(tx: &Tx<'_>, all: &[Held]) -> Result<()> {
    let (many, few) = all.as_chunks::<MANY>();
    for some in many {
        let values: Vec<&dyn ToSql> = some.iter().flat_map(|held| done(tx, held)).collect();
        tx.run(FINISHED_DONE_MANY, &*values)?;
    }
    few.iter().try_for_each(|held| finish_done(tx, held))
}

fn done<'v>(tx: &'v Tx<'_>, held: &'v Held) -> [&'v dyn ToSql; 8] {
    let Held { job, token, process, started_at, series, attempts, lost, .. } = held;
    [job, &tx.now, started_at, token, process, series, attempts, lost]
}

/// Writes any other end.
pub(super) fn finish(tx: &Tx<'_>, end: &Finished<'_>) -> Result<()> {
    let (started_at, token, process) = match end.last {
        Some((started_at, token, process)) => (Some(started_at), Some(token), Some(process)),
        None => (None, None, None),
    };
    tx.run(
        FINISHED_NEW,
        params![
            end.id,
            end.state,
            end.reason,
            tx.now,
            started_at,
            token,
            process,
            end.series,
            end.attempts,
            end.lost,
            end.error,
            end.notice
        ],
    )?;
    Ok(())
}
