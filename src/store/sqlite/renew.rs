//! A holder says that it still works; it hears whether a person asked to cancel.

use rusqlite::{Connection, params};

use super::tx::Tx;
use crate::error::Result;
use crate::model::id::{Held, ProcessNo, Token};
use crate::store::jobs::Renewed;

const RENEW: &str = "UPDATE lanebox_running SET lease_until = ?3 WHERE id = ?1 AND token = ?2 RETURNING cancel_asked";

const CANCEL_ASKED: &str =
    "SELECT token FROM lanebox_running WHERE process = ?1 AND cancel_asked = 1";

/// The runs of a process that a person asked to stop.
pub(super) fn cancel_asked(conn: &Connection, me: ProcessNo) -> Result<Vec<Token>> {
    let mut asked = conn.prepare_cached(CANCEL_ASKED)?;
    let tokens = asked.query_map([me], |row| row.get(0))?;
    Ok(tokens.collect::<rusqlite::Result<_>>()?)
}

/// Extends a lease to `lease_ms` from now; never beyond that, whatever the wall clock says.
pub(super) fn renew(tx: &Tx<'_>, held: Held, lease_ms: i64) -> Result<Renewed> {
    let row = params![held.job, held.token, tx.mono + lease_ms];
    let cancel_asked = tx.one(RENEW, row, |row| row.get(0))?;
    Ok(cancel_asked.map_or(Renewed::LeaseLost, |cancel_asked| Renewed::Held { cancel_asked }))
}
