//! The end of a run: take the running row by its token, decide, write, then let the lane go on.

use rusqlite::params;

use super::again;
use super::await_evidence::await_evidence;
use super::dead::dead;
use super::finished::{Finished, finish, finish_all_done, finish_done};
use super::once_more;
use super::outbox;
use super::place::next_of;
use super::row::{self, RunningRow};
use super::tx::Tx;
use super::undecided;
use crate::error::{Error, Result};
use crate::model::backoff::Backoff;
use crate::model::id::{Held, KindNo};
use crate::model::verdict::{Around, CancelReason, End, Verdict, verdict};
use crate::store::jobs::{Ended, Finish};

const KIND_POLICY: &str = "SELECT yields, max_postponed FROM lanebox_kind WHERE id = ?1";
const RUNNING_DEL_UNSENT: &str =
    "DELETE FROM lanebox_running WHERE id = ?1 AND token = ?2 AND sent = 0";
const RUNNING_SENT: &str = "SELECT sent FROM lanebox_running WHERE id = ?1 AND token = ?2";
const RESULT_SET: &str = "INSERT INTO lanebox_result(job, result) VALUES (?1, ?2) ON CONFLICT(job) DO UPDATE SET result = excluded.result";

/// Ends a run as its worker reports it. Only who holds the current token may: everything else is a
/// lost lease.
pub(super) fn end(tx: &Tx<'_>, report: &Finish) -> Result<Ended> {
    let ended = end_run(tx, report)?;
    let worked = matches!(report.end, End::Done { .. }) && ended == Ended::Done;
    if worked && !report.outbox.is_empty() {
        outbox::record(tx, report.held.job, &report.outbox)?;
    }
    Ok(ended)
}

/// Ends runs like [`end_or_retry`], in their order; the rows of those that only did their jobs are
/// written together.
pub(super) fn end_all(tx: &Tx<'_>, reports: &[Finish]) -> Result<Vec<Ended>> {
    let (mut ended, mut done) = (Vec::with_capacity(reports.len()), Vec::new());
    for report in reports {
        let held = report.held;
        if let End::Done { result } = &report.end
            && report.outbox.is_empty()
            && leave_unsent(tx, held)?
        {
            done.push(held);
            ended.push(leave_behind(tx, held, result.as_deref())?);
            continue;
        }
        // What it leaves may ask for the ends before it.
        finish_all_done(tx, &done)?;
        done.clear();
        ended.push(end_or_retry(tx, report)?);
    }
    finish_all_done(tx, &done)?;
    Ok(ended)
}

/// Like [`end`], but facts that cannot be recorded fail this run alone: nothing of it is done, it
/// is tried again.
pub(super) fn end_or_retry(tx: &Tx<'_>, report: &Finish) -> Result<Ended> {
    if report.outbox.is_empty() {
        return end(tx, report);
    }
    let held = report.held;
    let end = match tx.savepoint(|| end(tx, report)) {
        // A loop of causes only gets longer.
        Err(error @ Error::Invalid { .. }) => End::Dead(error.to_string()),
        Err(error @ Error::Conflict { .. }) => {
            let wait_ms = Backoff::default().wait_ms(held.attempts, tx.env.unit());
            End::Retry { error: error.to_string(), wait_ms }
        }
        answer => return answer,
    };
    end_run(tx, &Finish { held, end, outbox: Vec::new() })
}

fn end_run(tx: &Tx<'_>, report: &Finish) -> Result<Ended> {
    let held = report.held;
    if let End::Done { result } = &report.end
        && leave_unsent(tx, held)?
    {
        return complete(tx, held, result.as_deref());
    }
    match row::take_running(tx, held.job, held.token)? {
        Some(run) => apply(tx, &run, &report.end),
        #[cfg(feature = "sabotage")]
        None => super::sabotage::end_late(tx, report),
        #[cfg(not(feature = "sabotage"))]
        None => Ok(Ended::LeaseLost),
    }
}

/// Whether this report will make its job done: its token holds, and no send of it is undecided.
pub(super) fn will_be_done(tx: &Tx<'_>, report: &Finish) -> Result<bool> {
    let Held { job, token, .. } = report.held;
    let sent = tx.one(RUNNING_SENT, params![job, token], |row| row.get::<_, bool>(0))?;
    match (&report.end, sent) {
        (End::Done { .. }, Some(true)) => Ok(undecided::blocking(tx, job)?.is_none()),
        (End::Done { .. }, Some(false)) => Ok(true),
        _ => Ok(false),
    }
}

/// Ends a run whose row was taken: the same for a worker's report and for the reaper.
pub(super) fn apply(tx: &Tx<'_>, run: &RunningRow, end: &End) -> Result<Ended> {
    let blocking = if run.sent { undecided::end_of_token(tx, run, end)? } else { None };
    let (yields, max_postponed) = policy(tx, run.kind, end)?;
    let around = Around { now: tx.now, yields, max_postponed, blocking, has_sent: run.sent };
    let ended = match verdict(&run.run, end, &around) {
        Verdict::Done { result } => complete(tx, run.held, result.as_deref()),
        Verdict::Skipped { why } => skipped(tx, run.held, &why),
        Verdict::Cancelled { reason, error } => {
            cancelled(tx, &counted(run, end), reason, error.as_deref())
        }
        Verdict::Dead { error } => dead(tx, &counted(run, end), &error),
        Verdict::Wait(again) => again::wait(tx, run, end, &again),
        Verdict::Hold { send, again } => await_evidence(tx, run, send, &again),
    }?;
    if run.sent && matches!(ended, Ended::Done | Ended::Cancelled) {
        once_more::tell_unfulfilled(tx, run.held.job)?;
    }
    Ok(ended)
}

// The loss that ends a job is one of its losses.
fn counted(run: &RunningRow, end: &End) -> RunningRow {
    let lost = run.held.lost + u32::from(matches!(end, End::Lost { .. }));
    RunningRow { held: Held { lost, ..run.held }, ..*run }
}

// Done, Skip and Veto ask nothing of the kind: the hot path does not read it.
fn policy(tx: &Tx<'_>, kind: KindNo, end: &End) -> Result<(bool, u32)> {
    if matches!(end, End::Done { .. } | End::Skip(_) | End::Veto(_) | End::GivenUp(_)) {
        return Ok((false, u32::MAX));
    }
    let found = tx.one(KIND_POLICY, [kind], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(found.unwrap_or((false, u32::MAX)))
}

// Most runs send nothing and succeed: the claim knows all that is remembered of them, and the
// delete is the fence.
fn leave_unsent(tx: &Tx<'_>, held: Held) -> Result<bool> {
    Ok(tx.run(RUNNING_DEL_UNSENT, params![held.job, held.token])? > 0)
}

fn complete(tx: &Tx<'_>, held: Held, result: Option<&str>) -> Result<Ended> {
    finish_done(tx, &held)?;
    leave_behind(tx, held, result)
}

// What a job that was done leaves beside its row.
fn leave_behind(tx: &Tx<'_>, held: Held, result: Option<&str>) -> Result<Ended> {
    if let Some(result) = result {
        tx.run(RESULT_SET, params![held.job, result])?;
    }
    lane_goes_on(tx, held)?;
    Ok(Ended::Done)
}

// Done, and why there was nothing to do.
fn skipped(tx: &Tx<'_>, held: Held, why: &str) -> Result<Ended> {
    let (reason, error) = (Some("skipped"), Some(why));
    finish(tx, &Finished { reason, error, ..Finished::by(held, "done") })?;
    lane_goes_on(tx, held)?;
    Ok(Ended::Done)
}

fn cancelled(
    tx: &Tx<'_>,
    run: &RunningRow,
    reason: CancelReason,
    error: Option<&str>,
) -> Result<Ended> {
    let end =
        Finished { reason: Some(reason.as_str()), error, ..Finished::by(run.held, "cancelled") };
    finish(tx, &end)?;
    if run.sent {
        undecided::notice_undecided(tx, run.held.job)?;
    }
    lane_goes_on(tx, run.held)?;
    Ok(Ended::Cancelled)
}

/// The run has left its lane: the next of the line becomes claimable.
pub(super) fn lane_goes_on(tx: &Tx<'_>, held: Held) -> Result<()> {
    held.lane.map_or(Ok(()), |lane| next_of(tx, lane, held.org))
}
