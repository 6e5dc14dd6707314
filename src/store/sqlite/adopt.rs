//! Adopts a foreign event: gives it its id and remembers its key, or marks it as a duplicate. The
//! host has committed it, so it can no longer be refused.

use rusqlite::params;

use super::names;
use super::notify::{Notice, notify};
use super::publish::{key_hmac, payload_hmac};
use super::tx::Tx;
use crate::error::Result;
use crate::model::id::{EventId, EventSeq};

// The payload is read only where a key makes it matter.
const EVENT_RAW: &str = "SELECT uuid, duplicate_of IS NOT NULL, org, name, dedupe_key, CASE WHEN dedupe_key IS NOT NULL THEN payload END \
     FROM lanebox_event WHERE seq = ?1";
const KEY_OF_EVENT: &str = "SELECT k.uuid, k.payload_hmac FROM lanebox_event e JOIN lanebox_event_key k ON k.org = e.org AND k.key_hmac = ?2 \
     WHERE e.seq = ?1";
const KEY_ADOPT: &str = "INSERT INTO lanebox_event_key(org, key_hmac, payload_hmac, event, uuid, used_at) \
     SELECT org, ?2, ?3, seq, ?4, ?5 FROM lanebox_event WHERE seq = ?1";
const KEY_USED: &str = "UPDATE lanebox_event_key SET used_at = ?3 \
     WHERE org = (SELECT org FROM lanebox_event WHERE seq = ?1) AND key_hmac = ?2";
const EVENT_ADOPT: &str =
    "UPDATE lanebox_event SET uuid = ?2, duplicate_of = ?3 WHERE seq = ?1 AND uuid IS NULL";

/// What an event is after adoption.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(super) enum Adopted {
    /// It has this id, given now or earlier.
    Fact(EventId),
    /// Its key was known: it is kept, and has no deliveries.
    Duplicate,
}

struct Raw {
    id: Option<EventId>,
    duplicate: bool,
    org: Vec<u8>,
    name: Vec<u8>,
    keyed: Option<(Vec<u8>, Vec<u8>)>,
}

/// Gives the event this id unless it has one.
pub(super) fn adopt(tx: &Tx<'_>, seq: EventSeq, id: EventId) -> Result<Adopted> {
    // Bytes, not texts: another program may have written what is not UTF-8.
    let raw = tx.one(EVENT_RAW, [seq], |row| {
        let bytes =
            |i| Ok::<_, rusqlite::Error>(row.get_ref(i)?.as_bytes_or_null()?.map(<[u8]>::to_vec));
        Ok(Raw {
            id: row.get(0)?,
            duplicate: row.get(1)?,
            org: row.get_ref(2)?.as_bytes()?.to_vec(),
            name: row.get_ref(3)?.as_bytes()?.to_vec(),
            keyed: bytes(4)?.zip(bytes(5)?),
        })
    })?;
    let raw = raw.expect("an event that no adoption has passed is not deleted (trigger)");
    match (raw.id, raw.duplicate) {
        (Some(_), true) => return Ok(Adopted::Duplicate),
        (Some(id), false) => return has_id(tx, seq, id, &raw),
        (None, _) => {}
    }
    let first = match &raw.keyed {
        Some((key, payload)) => remember(tx, seq, id, &raw, key, payload)?,
        None => None,
    };
    tx.run(EVENT_ADOPT, params![seq, id, first])?;
    Ok(if first.is_some() { Adopted::Duplicate } else { Adopted::Fact(id) })
}

// Another program may have given the id: then nobody has remembered the key.
fn has_id(tx: &Tx<'_>, seq: EventSeq, id: EventId, raw: &Raw) -> Result<Adopted> {
    if let Some((key, payload)) = &raw.keyed {
        let (key, payload) = (key_hmac(tx, key), payload_hmac(tx, &raw.name, payload));
        if tx.one(KEY_OF_EVENT, params![seq, key], |_| Ok(()))?.is_none() {
            tx.run(KEY_ADOPT, params![seq, key, payload, id, tx.now])?;
        }
    }
    Ok(Adopted::Fact(id))
}

/// Remembers the key for this event; the first event that had it, if there was one.
fn remember(
    tx: &Tx<'_>,
    seq: EventSeq,
    id: EventId,
    raw: &Raw,
    key: &[u8],
    payload: &[u8],
) -> Result<Option<EventId>> {
    let (key, payload) = (key_hmac(tx, key), payload_hmac(tx, &raw.name, payload));
    let known = tx.one(KEY_OF_EVENT, params![seq, key], |row| {
        Ok((row.get::<_, EventId>(0)?, row.get::<_, [u8; 32]>(1)?))
    })?;
    let Some((first, first_payload)) = known else {
        tx.run(KEY_ADOPT, params![seq, key, payload, id, tx.now])?;
        return Ok(None);
    };
    tx.run(KEY_USED, params![seq, key, tx.now])?;
    if first_payload != payload {
        tell_of_conflict(tx, seq, raw, first)?;
    }
    Ok(Some(first))
}

fn tell_of_conflict(tx: &Tx<'_>, seq: EventSeq, raw: &Raw, first: EventId) -> Result<()> {
    let notice = Notice {
        org: names::org(tx, &String::from_utf8_lossy(&raw.org))?,
        kind: "event.conflict",
        cause: "a foreign event came with a known dedupe key and another payload".to_owned(),
        severity: "warn",
        reason: format!("event {seq} has the dedupe key of event {first} and another payload; it is kept and not delivered"),
        next_step: "mend the program that emits it: a key belongs to one fact, and its JSON must be made the same way each time"
            .to_owned(),
        about: Some(("event", seq.0)),
    };
    notify(tx, &notice)?;
    Ok(())
}
