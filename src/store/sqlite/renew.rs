//! A holder says that it still works; it hears whether a person asked to cancel.

use rusqlite::params;

use super::tx::Tx;
use crate::error::Result;
use crate::model::id::Held;
use crate::store::jobs::Renewed;

const RENEW: &str = "UPDATE lanebox_running SET lease_until = ?3 WHERE id = ?1 AND token = ?2 RETURNING cancel_asked";

/// Extends a lease to `lease_ms` from now; never beyond that, whatever the wall clock says.
pub(super) fn renew(tx: &Tx<'_>, held: Held, lease_ms: i64) -> Result<Renewed> {
    let row = params![held.job, held.token, tx.mono + lease_ms];
    let cancel_asked = tx.one(RENEW, row, |row| row.get(0))?;
    Ok(cancel_asked.map_or(Renewed::LeaseLost, |cancel_asked| Renewed::Held { cancel_asked }))
}
