//! One delivery: what became of an event for one consumer, with the jobs that it became, in one
//! step.

use rusqlite::params;

use super::enqueue;
use super::names;
use super::notify::{Notice, notify};
use super::tx::Tx;
use crate::error::{Error, Result};
use crate::model::id::{EventSeq, JobNo, NoticeNo};
use crate::model::job::{NewJob, UniqueBy};
use crate::model::text::one_line;
use crate::store::bus::{Dispatched, Made, Watch};

const DELIVERY_NEW: &str = "INSERT INTO lanebox_delivery(consumer, event, state, at, job, reason, attempts, next_at, last_error, notice) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";

/// Which delivery, and how it is written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Case<'a> {
    pub(super) watch: &'a Watch,
    pub(super) event: EventSeq,
    pub(super) org: &'a str,
    /// Failures so far.
    pub(super) attempts: u32,
    /// Whatever cannot be written is a failure of this delivery alone.
    pub(super) apart: bool,
}

/// What a delivery becomes.
#[derive(Debug)]
pub(super) struct Fate {
    pub(super) state: &'static str,
    pub(super) attempts: u32,
    pub(super) job: Option<JobNo>,
    pub(super) reason: Option<String>,
    pub(super) next_at: Option<i64>,
    pub(super) last_error: Option<String>,
    pub(super) notice: Option<NoticeNo>,
}

impl Fate {
    fn of(state: &'static str, attempts: u32) -> Fate {
        Fate {
            state,
            attempts,
            job: None,
            reason: None,
            next_at: None,
            last_error: None,
            notice: None,
        }
    }
}

/// Writes the first row of a delivery.
pub(super) fn deliver(
    tx: &Tx<'_>,
    case: &Case<'_>,
    made: &Made,
    done: &mut Dispatched,
) -> Result<()> {
    let fate = decide(tx, case, made, done)?;
    write(tx, case, &fate, done)
}

/// Writes the first row of a delivery whose route must not run again.
pub(super) fn deliver_dead(
    tx: &Tx<'_>,
    case: &Case<'_>,
    error: &str,
    done: &mut Dispatched,
) -> Result<()> {
    let fate = dead(tx, case, error)?;
    write(tx, case, &fate, done)
}

fn write(tx: &Tx<'_>, case: &Case<'_>, fate: &Fate, done: &mut Dispatched) -> Result<()> {
    let row = params![
        case.watch.consumer,
        case.event,
        fate.state,
        tx.now,
        fate.job,
        fate.reason,
        fate.attempts,
        fate.next_at,
        fate.last_error,
        fate.notice
    ];
    tx.run(DELIVERY_NEW, row)?;
    done.deliveries += 1;
    Ok(())
}

/// Makes the jobs, or decides about the failure.
pub(super) fn decide(
    tx: &Tx<'_>,
    case: &Case<'_>,
    made: &Made,
    done: &mut Dispatched,
) -> Result<Fate> {
    let (state, jobs) = match made {
        Made::Job(job) => ("job", std::slice::from_ref(&**job)),
        Made::Routed(jobs) if jobs.is_empty() => return Ok(skipped(case, "its route made no job")),
        Made::Routed(jobs) => ("routed", jobs.as_slice()),
        Made::Skipped(reason) => return Ok(skipped(case, reason)),
        Made::Failed(error) => return failed(tx, case, error, done),
    };
    match accept(tx, case, jobs) {
        Ok((0, _)) => Ok(skipped(case, "its jobs had expired before they were made")),
        Ok((n, first)) => {
            done.jobs += n;
            Ok(Fate { job: first, ..Fate::of(state, case.attempts) })
        }
        Err(error) if is_its_own(&error, case) => failed(tx, case, &error.to_string(), done),
        Err(error) => Err(error),
    }
}

// All jobs of a delivery or none: half of them must not stay when one is refused. What a late
// consumer would start after its time is left out.
fn accept(tx: &Tx<'_>, case: &Case<'_>, jobs: &[NewJob]) -> Result<(usize, Option<JobNo>)> {
    let may_be_refused = |job: &NewJob| job.unique_by != UniqueBy::Nothing;
    let all = || {
        let (mut n, mut first) = (0, None);
        for job in jobs.iter().filter(|job| job.expires_at.is_none_or(|at| at > tx.now)) {
            let (no, _) = enqueue::accept(tx, job)?;
            n += 1;
            first = first.or(Some(no));
        }
        Ok((n, first))
    };
    if case.apart || jobs.iter().any(may_be_refused) { tx.savepoint(all) } else { all() }
}

// What is about these jobs and not about the file.
fn is_its_own(error: &Error, case: &Case<'_>) -> bool {
    match error {
        Error::Conflict { .. } | Error::NotFound { .. } | Error::Invalid { .. } => true,
        Error::Sqlite(error) => {
            case.apart
                && error.sqlite_error_code() == Some(rusqlite::ErrorCode::ConstraintViolation)
        }
        _ => false,
    }
}

fn skipped(case: &Case<'_>, reason: &str) -> Fate {
    Fate { reason: Some(one_line(reason)), ..Fate::of("skipped", case.attempts) }
}

fn failed(tx: &Tx<'_>, case: &Case<'_>, error: &str, done: &mut Dispatched) -> Result<Fate> {
    let policy = &case.watch.policy;
    let attempts = case.attempts + 1;
    if attempts >= policy.max_attempts {
        return dead(tx, &Case { attempts, ..*case }, error);
    }
    let at = tx.now.saturating_add(policy.backoff.wait_ms(attempts, tx.env.unit()));
    done.retry_at = done.retry_at.into_iter().chain([at]).min();
    Ok(Fate { next_at: Some(at), last_error: Some(one_line(error)), ..Fate::of("retry", attempts) })
}

/// Ends a delivery that never became a job; a person is told.
pub(super) fn dead(tx: &Tx<'_>, case: &Case<'_>, error: &str) -> Result<Fate> {
    let key = &case.watch.key;
    let notice = notify(
        tx,
        &Notice {
            org: names::org(tx, case.org)?,
            kind: "delivery.dead",
            cause: one_line(&format!("{key}: {error}")),
            severity: "critical",
            reason: one_line(&format!("event {} never reached {key}: {error}", case.event)),
            next_step: format!(
                "mend consumer {key} and start it with a higher version; the event is kept"
            ),
            about: Some(("event", case.event.0)),
        },
    )?;
    Ok(Fate {
        notice: Some(notice),
        last_error: Some(one_line(error)),
        ..Fate::of("dead", case.attempts)
    })
}
