//! Notices: an item for a person. The same trouble again is counted, until a person has resolved
//! it.

use rusqlite::params;

use super::tx::Tx;
use crate::error::Result;
use crate::model::id::{NoticeNo, OrgNo};

const NOTICE: &str = "INSERT INTO lanebox_notice(org, kind, cause, severity, reason, next_step, ref_kind, ref_id, first_at, last_at) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?9) \
     ON CONFLICT(org, kind, cause) WHERE state <> 'resolved' DO UPDATE SET count = count + 1, last_at = excluded.last_at RETURNING id";

/// What a person should know and do.
#[derive(Debug)]
pub(super) struct Notice {
    pub(super) org: OrgNo,
    pub(super) kind: &'static str,
    /// Equal causes are one notice with a count.
    pub(super) cause: String,
    pub(super) severity: &'static str,
    pub(super) reason: String,
    pub(super) next_step: String,
    pub(super) about: Option<(&'static str, i64)>,
}

/// Opens a notice, or counts it to the open one of the same cause.
pub(super) fn notify(tx: &Tx<'_>, notice: &Notice) -> Result<NoticeNo> {
    let (ref_kind, ref_id) = notice.about.unzip();
    let row = params![
        notice.org,
        notice.kind,
        notice.cause,
        notice.severity,
        notice.reason,
        notice.next_step,
        ref_kind,
        ref_id,
        tx.now
    ];
    let id = tx.one(NOTICE, row, |row| row.get(0))?;
    Ok(id.expect("an upsert answers its row"))
}
