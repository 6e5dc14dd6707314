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
const EXPIRY_DUE: &str =
    "SELECT id FROM lanebox_expiry WHERE expires_at <= ?1 ORDER BY expires_at, id LIMIT ?2";
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

/// Ends what has expired, oldest first, at most `most` jobs; how many it ended.
pub(super) fn expire(tx: &Tx<'_>, most: usize) -> Result<usize> {
    let due: Vec<JobNo> = tx.all(EXPIRY_DUE, params![tx.now, most], |row| row.get(0))?;
    for &id in &due {
        if let Some(waited) = remove(tx, id)? {
            finish(tx, &Finished::cancelled(id, CancelReason::Expired, &waited))?;
        }
    }
    Ok(due.len())
}
