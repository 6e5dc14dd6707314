//! Records a fact: recognises one whose dedupe key is known, else writes its row once, with its id.

use rusqlite::params;

use super::adopt;
use super::tx::Tx;
use crate::error::{Error, Result};
use crate::model::event::{NewEvent, Published};
use crate::model::id::{EventId, EventSeq};

/// A key that is used again is remembered for another horizon; not written down more often than
/// daily.
const TOUCH_MS: i64 = 86_400_000;

const KEY_FIND: &str =
    "SELECT uuid, payload_hmac, used_at FROM lanebox_event_key WHERE org = ?1 AND key_hmac = ?2";
const KEY_TOUCH: &str =
    "UPDATE lanebox_event_key SET used_at = ?3 WHERE org = ?1 AND key_hmac = ?2";
const KEY_NEW: &str = "INSERT INTO lanebox_event_key(org, key_hmac, payload_hmac, event, uuid, used_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
const EVENT_OF_KEY: &str = "SELECT seq FROM lanebox_event WHERE org = ?1 AND dedupe_key = ?2";
const EVENT_NEW: &str = "INSERT INTO lanebox_event(uuid, org, name, entity_type, entity_id, subject, payload, metadata, dedupe_key, cause_event, cause_job, depth, occurred_at, recorded_at) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)";

/// Records a checked event, or answers with the first one of its dedupe key. The same key with
/// another name or payload is a conflict: nothing is written.
pub(super) fn publish(tx: &Tx<'_>, event: &NewEvent) -> Result<Published> {
    let Some(key) = &event.dedupe else {
        return Ok(Published::New(write(tx, event)?.1));
    };
    let key_hmac = key_hmac(tx, key.as_bytes());
    let payload_hmac = payload_hmac(tx, event.name.as_bytes(), event.payload_text()?.as_bytes());
    if let Some(first) = known(tx, &event.org, &key_hmac, &payload_hmac)? {
        return Ok(Published::Duplicate(first));
    }
    // A foreign event that nobody adopted yet has no id to answer with: it gets one here.
    if let Some(seq) = tx.one(EVENT_OF_KEY, params![event.org, key], |row| row.get(0))? {
        let _adopted = adopt::adopt(tx, seq, EventId(tx.env.uuid()))?;
        let first = known(tx, &event.org, &key_hmac, &payload_hmac)?;
        return first.map(Published::Duplicate).ok_or_else(|| Error::Defect {
            what: format!("the dedupe key of event {seq} is not remembered"),
        });
    }
    let (seq, id) = write(tx, event)?;
    tx.run(KEY_NEW, params![event.org, key_hmac, payload_hmac, seq, id, tx.now])?;
    Ok(Published::New(id))
}

/// What the memory of dedupe keys keeps instead of the key.
pub(super) fn key_hmac(tx: &Tx<'_>, key: &[u8]) -> [u8; 32] {
    tx.secret.hmac("event key", &[key])
}

/// What tells a repeated event from another one with its key.
pub(super) fn payload_hmac(tx: &Tx<'_>, name: &[u8], payload: &[u8]) -> [u8; 32] {
    tx.secret.hmac("event payload", &[name, payload])
}

fn known(
    tx: &Tx<'_>,
    org: &str,
    key_hmac: &[u8; 32],
    payload_hmac: &[u8; 32],
) -> Result<Option<EventId>> {
    let found = tx.one(KEY_FIND, params![org, key_hmac], |row| {
        Ok((row.get(0)?, row.get::<_, [u8; 32]>(1)?, row.get::<_, i64>(2)?))
    })?;
    let Some((first, payload, used_at)) = found else {
        return Ok(None);
    };
    if payload != *payload_hmac {
        return Err(Error::Conflict { what: "this dedupe key" });
    }
    if tx.now - used_at > TOUCH_MS {
        tx.run(KEY_TOUCH, params![org, key_hmac, tx.now])?;
    }
    Ok(Some(first))
}

fn write(tx: &Tx<'_>, event: &NewEvent) -> Result<(EventSeq, EventId)> {
    let id = EventId(tx.env.uuid());
    let (entity_type, entity_id) = event.entity.as_ref().map(|(kind, id)| (kind, id)).unzip();
    let row = params![
        id,
        event.org,
        event.name,
        entity_type,
        entity_id,
        event.subject,
        event.payload_text()?,
        event.metadata_text()?,
        event.dedupe,
        event.cause_event,
        event.cause_job,
        event.depth,
        event.occurred_at.unwrap_or(tx.now),
        tx.now
    ];
    tx.run(EVENT_NEW, row)?;
    Ok((EventSeq(tx.last_row()), id))
}
