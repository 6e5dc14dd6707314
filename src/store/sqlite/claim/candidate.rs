//! What a claim may take, read with its job in one statement.

use std::collections::VecDeque;

use rusqlite::types::ValueRef;
use rusqlite::{Row, params};

use crate::error::Result;
use crate::model::id::{JobId, KindNo, LaneNo, OrgNo};
use crate::store::sqlite::place::Place;
use crate::store::sqlite::tx::Tx;

// Most candidates were never tried: what is remembered of tries is a second look.
const BUCKET: &str = "SELECT r.priority, r.run_at, r.id, j.uuid, j.version, j.lane, j.subject, j.max_attempts, j.expires_at, j.source_event, j.consumer, j.ordinal, j.payload, t.id \
     FROM lanebox_ready r LEFT JOIN lanebox_job j ON j.id = r.id LEFT JOIN lanebox_tried t ON t.id = r.id \
     WHERE alone = ?1 AND r.kind = ?2 AND r.org = ?3 ORDER BY r.priority, r.run_at, r.id LIMIT ?4";

/// A place in `ready`, and the job that stands there, if it is still there.
pub(super) struct Candidate {
    pub(super) place: Place,
    pub(super) written: Option<Written>,
}

/// A job as it was written.
pub(super) struct Written {
    pub(super) id: JobId,
    pub(super) version: u32,
    pub(super) lane: Option<LaneNo>,
    pub(super) subject: Option<String>,
    pub(super) max_attempts: u32,
    pub(super) expires_at: Option<i64>,
    pub(super) source_event: Option<i64>,
    pub(super) consumer: Option<i64>,
    pub(super) ordinal: Option<u32>,
    pub(super) payload: String,
    pub(super) was_tried: bool,
}

/// How many to read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Most {
    /// For idle workers.
    pub(super) idle: usize,
    pub(super) all: usize,
}

/// The first of a kind in an org, best first. One that may be started only once ends what is read
/// ahead of need: neither it nor what stands behind it is taken ahead.
pub(super) fn first(
    tx: &Tx<'_>,
    alone: bool,
    kind: KindNo,
    org: OrgNo,
    most: Most,
) -> Result<VecDeque<Candidate>> {
    let read = |row: &Row<'_>| {
        let (priority, run_at, id) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let place = Place { id, org, kind, lane: None, priority, run_at, alone };
        let exists = row.get_ref(3)? != ValueRef::Null;
        let written = exists.then(|| written(row)).transpose()?;
        Ok(Candidate { place, written })
    };
    let enough = |found: &[Candidate]| {
        let last = found.last().filter(|_| found.len() > most.idle);
        last.and_then(|last| last.written.as_ref()).is_some_and(|last| last.max_attempts == 1)
    };
    let rows = tx.until(BUCKET, params![alone, kind, org, most.all], read, enough)?;
    Ok(rows.into())
}

fn written(row: &Row<'_>) -> rusqlite::Result<Written> {
    Ok(Written {
        id: row.get(3)?,
        version: row.get(4)?,
        lane: row.get(5)?,
        subject: row.get(6)?,
        max_attempts: row.get(7)?,
        expires_at: row.get(8)?,
        source_event: row.get(9)?,
        consumer: row.get(10)?,
        ordinal: row.get(11)?,
        payload: row.get::<_, Option<String>>(12)?.unwrap_or_default(),
        was_tried: row.get_ref(13)? != ValueRef::Null,
    })
}
