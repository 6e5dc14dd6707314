//! The emergency hold: no send of the file begins until it is lifted.

use super::audit_log::record;
use super::tx::Tx;
use crate::error::Result;
use crate::model::text::one_line;

const HOLD_SET: &str = "UPDATE lanebox_meta SET hold = ?1 WHERE id = 1";
const HOLD_GET: &str = "SELECT hold FROM lanebox_meta WHERE id = 1";

/// Holds every send, or lets them go on. Calls under way are not touched.
pub(super) fn set_hold(tx: &Tx<'_>, reason: Option<&str>, who: &str) -> Result<()> {
    let reason = reason.map(one_line);
    tx.run(HOLD_SET, [&reason])?;
    let verb = if reason.is_some() { "hold" } else { "hold.lift" };
    record(tx, who, verb, ("file", 1), reason.as_deref())
}

/// Why every send is held, if it is.
pub(super) fn held(tx: &Tx<'_>) -> Result<Option<String>> {
    Ok(tx.one(HOLD_GET, [], |row| row.get(0))?.flatten())
}
