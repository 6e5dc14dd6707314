//! Jobs whose time has passed before they were started, and that have sent nothing, end as
//! cancelled(expired).

use rusqlite::params;

use super::cancel::remove;
use super::finished::{Finished, finish};
use super::tx::Tx;
use crate::error::Result;
use crate::model::id::JobNo;
use crate::model::verdict::CancelReason;

/// Jobs expired by one claim.
pub(super) const BATCH: usize = 200;

const EXPIRY_NEW: &str = "INSERT INTO lanebox_expiry(expires_at, id) VALUES (?1, ?2)";
const EXPIRY_DUE: &str = "SELECT expires_at, id FROM lanebox_expiry WHERE expires_at <= ?1 ORDER BY expires_at, id LIMIT ?2";
const EXPIRY_NEXT: &str =
    "SELECT expires_at FROM lanebox_expiry WHERE expires_at >= 0 ORDER BY expires_at, id LIMIT 1";
const EXPIRY_DEL: &str = "DELETE FROM lanebox_expiry WHERE expires_at = ?1 AND id = ?2";

/// The job may expire while it waits.
pub(super) fn note(tx: &Tx<'_>, expires_at: i64, id: JobNo) -> Result<()> {
    tx.run(EXPIRY_NEW, params![expires_at, id])?;
    Ok(())
}

/// The job runs, has sent something, or has ended: it does not expire.
pub(super) fn forget(tx: &Tx<'_>, expires_at: Option<i64>, id: JobNo) -> Result<()> {
    if let Some(at) = expires_at {
        tx.run(EXPIRY_DEL, params![at, id])?;
    }
    Ok(())
}

/// When the next waiting job expires.
pub(super) fn next(tx: &Tx<'_>) -> Result<Option<i64>> {
    tx.one(EXPIRY_NEXT, [], |row| row.get(0))
}

/// Ends what has expired, oldest first, at most `most` jobs; how many it ended.
pub(super) fn expire(tx: &Tx<'_>, most: usize) -> Result<usize> {
    let due: Vec<(i64, JobNo)> =
        tx.all(EXPIRY_DUE, params![tx.now, most], |row| Ok((row.get(0)?, row.get(1)?)))?;
    for &(at, id) in &due {
        match remove(tx, id)? {
            Some(waited) => {
                finish(tx, &Finished::cancelled(id, CancelReason::Expired, &waited))?;
            }
            // It does not wait: a stray row, which would be due for ever.
            None => forget(tx, Some(at), id)?,
        }
    }
    Ok(due.len())
}
