//! The append-only record of what people did: who, what, to which, when. No bodies.

use rusqlite::params;

use super::tx::Tx;
use crate::error::Result;
use crate::model::text::{check_name, one_line};

const AUDIT_NEW: &str = "INSERT INTO lanebox_audit(at, who, verb, ref_kind, ref_id, detail) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";

/// The person as the record names them.
pub(super) fn who(by: &str) -> Result<String> {
    check_name("who", by, 128)?;
    Ok(by.to_owned())
}

/// Writes one line, in the transaction of what it records.
pub(super) fn record(
    tx: &Tx<'_>,
    by: &str,
    verb: &'static str,
    (kind, id): (&'static str, i64),
    detail: Option<&str>,
) -> Result<()> {
    let detail = detail.map(one_line);
    tx.run(AUDIT_NEW, params![tx.now, by, verb, kind, id, detail])?;
    Ok(())
}
