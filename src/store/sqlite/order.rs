//! What a person orders, each with its line in the audit, written only if something changed.

use rusqlite::params;

use super::audit_log::record;
use super::cancel;
use super::requeue;
use super::tx::Tx;
use crate::error::{Error, Result};
use crate::model::id::{JobNo, NoticeNo, SendNo};
use crate::model::verdict::CancelReason;
use crate::store::jobs::{Cancelled, Requeued};

const NOTICE_OF: &str =
    "SELECT notice FROM lanebox_finished WHERE id = ?1 AND state = 'dead' AND notice IS NOT NULL";
const NOTICE_HAS_DEAD: &str = "SELECT 1 FROM lanebox_finished WHERE notice = ?1";
const NOTICE_STATE: &str = "SELECT state FROM lanebox_notice WHERE id = ?1";
const NOTICE_SEEN: &str =
    "UPDATE lanebox_notice SET state = 'acknowledged' WHERE id = ?1 AND state = 'open'";
const NOTICE_DONE: &str = "UPDATE lanebox_notice SET state = 'resolved', resolved_at = ?2, resolved_by = ?3 WHERE id = ?1 AND state <> 'resolved'";
const NOTICE_UNKNOWN: &str = "SELECT send FROM lanebox_send_try WHERE notice = ?1 AND state = 'unknown' ORDER BY send LIMIT 1";

/// Cancels a job: at once if it waits; a running one is asked to stop.
pub(super) fn cancel(tx: &Tx<'_>, job: JobNo, by: &str) -> Result<Cancelled> {
    let done = cancel::cancel(tx, job, CancelReason::Operator)?;
    let detail = match done {
        Cancelled::Now => None,
        Cancelled::Asked => Some("it runs and was asked to stop"),
        Cancelled::Ended => return Ok(done),
    };
    record(tx, by, "cancel", ("job", job.0), detail)?;
    Ok(done)
}

/// Starts a dead job again. The notice of its death is resolved when no other dead job stands
/// behind it.
pub(super) fn requeue(tx: &Tx<'_>, job: JobNo, by: &str) -> Result<Requeued> {
    let notice: Option<NoticeNo> = tx.one(NOTICE_OF, [job], |row| row.get(0))?;
    let done = requeue::requeue(tx, job)?;
    let Requeued::Again { sent } = done else { return Ok(done) };
    let detail = sent.then_some("a send of it was accepted before and is not sent again");
    record(tx, by, "requeue", ("job", job.0), detail)?;
    if let Some(notice) = notice
        && !tx.has(NOTICE_HAS_DEAD, [notice])?
    {
        tx.run(NOTICE_DONE, params![notice, tx.now, by])?;
    }
    Ok(done)
}

/// A person has seen a notice; whether that is new.
pub(super) fn acknowledge(tx: &Tx<'_>, notice: NoticeNo, by: &str) -> Result<bool> {
    known(tx, notice)?;
    let changed = tx.run(NOTICE_SEEN, [notice])? > 0;
    if changed {
        record(tx, by, "acknowledge", ("notice", notice.0), None)?;
    }
    Ok(changed)
}

/// A person has dealt with what a notice is about; whether that is new.
pub(super) fn resolve_notice(tx: &Tx<'_>, notice: NoticeNo, by: &str) -> Result<bool> {
    known(tx, notice)?;
    if let Some(send) = tx.one(NOTICE_UNKNOWN, [notice], |row| row.get::<_, SendNo>(0))? {
        let why = format!(
            "send {send} of it is still unknown; settle it first: `lanebox resolve {send} --sent`, `--resend` or `--give-up`"
        );
        return Err(Error::Refused { what: format!("resolving notice {notice}"), why });
    }
    let changed = tx.run(NOTICE_DONE, params![notice, tx.now, by])? > 0;
    if changed {
        record(tx, by, "resolve", ("notice", notice.0), None)?;
    }
    Ok(changed)
}

fn known(tx: &Tx<'_>, notice: NoticeNo) -> Result<()> {
    if tx.has(NOTICE_STATE, [notice])? {
        return Ok(());
    }
    Err(Error::NotFound { what: "notice", id: notice.to_string() })
}
