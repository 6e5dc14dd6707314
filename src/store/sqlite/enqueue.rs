//! Accepts a job: recognises one that exists, else writes its row once and gives it its place.

use rusqlite::{Row, params};

use super::expire;
use super::job_rows::{JobRow, JobRows};
use super::names;
use super::place::{Place, due_now, place};
use super::promote::{promote_lane, schedule};
use super::tx::Tx;
use super::unique;
use crate::error::{Error, Result};
use crate::model::id::{JobId, JobNo, KindNo, OrgNo};
use crate::model::job::{Enqueued, NewJob, UniqueBy};

/// Dedupe keys and once-names are remembered this long after their last use: longer than any
/// provider redelivers.
pub(super) const HORIZON_MS: i64 = 90 * 86_400_000;

/// A use is written down this often: an import that asks again and again writes once.
const HOUR_MS: i64 = 3_600_000;

const JOB_OF_DELIVERY: &str =
    "SELECT id, uuid FROM lanebox_job WHERE source_event = ?1 AND consumer = ?2 AND ordinal = ?3";
const EVENT_SEQ: &str = "SELECT seq FROM lanebox_event WHERE uuid = ?1";
const ONCE_FIND: &str = "SELECT job, uuid, payload_hmac FROM lanebox_once WHERE org = ?1 AND source_event = ?2 AND name = ?3";
const ONCE_NEW: &str = "INSERT INTO lanebox_once(org, source_event, name, job, uuid, payload_hmac, used_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
const ONCE_USED: &str = "UPDATE lanebox_once SET used_at = ?4 WHERE org = ?1 AND source_event = ?2 AND name = ?3 AND used_at < ?5";
const KEY_FIND: &str =
    "SELECT job, uuid, payload_hmac, until FROM lanebox_job_key WHERE org = ?1 AND key_hmac = ?2";
const KEY_SET: &str = "INSERT INTO lanebox_job_key(org, key_hmac, job, uuid, payload_hmac, until) VALUES (?1, ?2, ?3, ?4, ?5, ?6) \
     ON CONFLICT(org, key_hmac) DO UPDATE SET job = excluded.job, uuid = excluded.uuid, payload_hmac = excluded.payload_hmac, until = excluded.until";
const KEY_PUSH: &str = "UPDATE lanebox_job_key SET until = ?3 WHERE org = ?1 AND key_hmac = ?2";
const FINISHED_HAS: &str = "SELECT 1 FROM lanebox_finished WHERE id = ?1";

/// Accepts a checked job, or answers with the one that has its key.
pub(super) fn enqueue(tx: &Tx<'_>, job: &NewJob) -> Result<Enqueued> {
    accept(tx, job).map(|(_, answer)| answer)
}

/// Like [`enqueue`], with the row number of the job.
pub(super) fn accept(tx: &Tx<'_>, job: &NewJob) -> Result<(JobNo, Enqueued)> {
    let mut batch = Batch::default();
    let answer = batch.accept(tx, job)?;
    batch.rows.write(tx)?;
    Ok(answer)
}

/// Accepts many: all or none.
pub(super) fn enqueue_all(tx: &Tx<'_>, jobs: &[NewJob]) -> Result<Vec<Enqueued>> {
    let mut batch = Batch::default();
    let one = |job| batch.accept(tx, job).map(|(_, answer)| answer);
    let answers = jobs.iter().map(one).collect::<Result<_>>()?;
    batch.rows.write(tx)?;
    Ok(answers)
}

/// Jobs that are accepted together: what follows the same names finds their numbers known.
#[derive(Default)]
struct Batch<'j> {
    org: Option<(&'j str, OrgNo)>,
    kind: Option<(&'j str, KindNo)>,
    rows: JobRows<'j>,
}

impl<'j> Batch<'j> {
    fn accept(&mut self, tx: &Tx<'_>, job: &'j NewJob) -> Result<(JobNo, Enqueued)> {
        let org = known(&mut self.org, job.org.as_deref().unwrap_or("-"), |n| names::org(tx, n))?;
        let kind = known(&mut self.kind, &job.kind, |name| names::kind(tx, name))?;
        let key = Key::of(tx, job, org, kind)?;
        if job.origin.delivery.is_some() || key.asks_rows() {
            self.rows.write(tx)?;
        }
        if let Some((no, id)) = existing(tx, job, &key)? {
            return Ok((no, Enqueued::Existing(id)));
        }
        let (no, id) = self.write(tx, job, org, kind, key.event())?;
        remember(tx, job, &key, no, id)?;
        Ok((no, Enqueued::New(id)))
    }

    // `once_for`: the event that the job is the one job for; it caused it, whoever enqueued it.
    fn write(
        &mut self,
        tx: &Tx<'_>,
        job: &'j NewJob,
        org: OrgNo,
        kind: KindNo,
        once_for: Option<i64>,
    ) -> Result<(JobNo, JobId)> {
        let lane = job.lane.name().map(|name| names::lane(tx, org, name)).transpose()?;
        let later = job.run_at.filter(|&at| at > tx.now);
        if let (Some(lane), None) = (lane, later) {
            promote_lane(tx, lane)?;
        }
        let run_at = match later {
            Some(at) => at,
            None => due_now(tx, lane, job.priority)?,
        };
        if job.expires_at.is_some_and(|at| at <= tx.now) {
            return Err(Error::invalid("expiry", "it has passed already"));
        }
        let (no, id) = (self.rows.next(tx)?, JobId(tx.env.uuid()));
        let source_event = job.origin.event.map(|event| event.0).or(once_for);
        let (consumer, ordinal) = job.origin.delivery.unzip();
        let (created_at, payload) = (tx.now, job.payload_text()?);
        self.rows.add(
            tx,
            JobRow {
                no,
                id,
                org,
                kind,
                lane,
                run_at,
                source_event,
                consumer,
                ordinal,
                created_at,
                payload,
                job,
            },
        )?;
        if let Some(at) = job.expires_at {
            expire::note(tx, at, no)?;
        }
        match later {
            Some(at) => schedule(tx, at, no, lane)?,
            None => {
                let priority = job.priority;
                place(tx, &Place { id: no, org, kind, lane, priority, run_at, alone: false })?;
            }
        }
        Ok((no, id))
    }
}

/// The number of a name, looked up unless it is that of the job before.
fn known<'j, No: Copy>(
    last: &mut Option<(&'j str, No)>,
    name: &'j str,
    look: impl FnOnce(&str) -> Result<No>,
) -> Result<No> {
    if let Some((_, no)) = last.filter(|(known, _)| *known == name) {
        return Ok(no);
    }
    let no = look(name)?;
    *last = Some((name, no));
    Ok(no)
}

/// What makes a second call the same job, as the file stores it.
enum Key {
    Nothing,
    Once { org: OrgNo, event: i64, name: String },
    Dedupe { org: OrgNo, hmac: [u8; 32] },
    Unfinished { org: OrgNo, kind: KindNo, hmac: [u8; 32] },
}

impl Key {
    fn event(&self) -> Option<i64> {
        match self {
            Key::Once { event, .. } => Some(*event),
            _ => None,
        }
    }

    // Its answer is read from the rows of jobs.
    fn asks_rows(&self) -> bool {
        matches!(self, Key::Unfinished { .. })
    }

    fn of(tx: &Tx<'_>, job: &NewJob, org: OrgNo, kind: KindNo) -> Result<Key> {
        Ok(match &job.unique_by {
            UniqueBy::Nothing => Key::Nothing,
            UniqueBy::Once { event, name } => {
                let event = tx
                    .one(EVENT_SEQ, [event], |row| row.get(0))?
                    .ok_or_else(|| Error::NotFound { what: "event", id: event.to_string() })?;
                Key::Once { org, event, name: name.clone() }
            }
            UniqueBy::Dedupe(key) => {
                Key::Dedupe { org, hmac: tx.secret.hmac("job key", &[key.as_bytes()]) }
            }
            UniqueBy::Unfinished(key) => {
                Key::Unfinished { org, kind, hmac: tx.secret.hmac("job unique", &[key.as_bytes()]) }
            }
        })
    }
}

/// A job by the two names that it has.
type Found = Option<(JobNo, JobId)>;

fn existing(tx: &Tx<'_>, job: &NewJob, key: &Key) -> Result<Found> {
    let by = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?));
    if let (Some(event), Some((consumer, ordinal))) = (job.origin.event, job.origin.delivery)
        && let Some(found) = tx.one(JOB_OF_DELIVERY, params![event, consumer, ordinal], by)?
    {
        return Ok(Some(found));
    }
    match key {
        Key::Nothing => Ok(None),
        Key::Once { org, event, name } => {
            let found = tx.one(ONCE_FIND, params![org, event, name], |row| {
                Ok((by(row)?, row.get::<_, [u8; 32]>(2)?))
            })?;
            let same = same_payload(tx, job, "this once-for name", found)?;
            if same.is_some() {
                tx.run(ONCE_USED, params![org, event, name, tx.now, tx.now - HOUR_MS])?;
            }
            Ok(same)
        }
        Key::Dedupe { org, hmac } => existing_by_key(tx, job, *org, hmac),
        Key::Unfinished { org, kind, hmac } => unique::holder(tx, *org, *kind, hmac),
    }
}

// A key outlives its horizon while its job lives: else a long wait would make a twin.
fn existing_by_key(tx: &Tx<'_>, job: &NewJob, org: OrgNo, hmac: &[u8; 32]) -> Result<Found> {
    let found = tx.one(KEY_FIND, params![org, hmac], |row| {
        Ok((
            row.get::<_, JobNo>(0)?,
            row.get(1)?,
            row.get::<_, [u8; 32]>(2)?,
            row.get::<_, i64>(3)?,
        ))
    })?;
    let Some((no, id, payload, until)) = found else {
        return Ok(None);
    };
    if until <= tx.now && tx.has(FINISHED_HAS, [no])? {
        return Ok(None);
    }
    let same = same_payload(tx, job, "this dedupe key", Some(((no, id), payload)))?;
    tx.run(KEY_PUSH, params![org, hmac, tx.now + HORIZON_MS])?;
    Ok(same)
}

fn same_payload(
    tx: &Tx<'_>,
    job: &NewJob,
    what: &'static str,
    found: Option<((JobNo, JobId), [u8; 32])>,
) -> Result<Found> {
    match found {
        None => Ok(None),
        Some((found, hmac)) if hmac == payload_hmac(tx, job)? => Ok(Some(found)),
        Some(_) => Err(Error::Conflict { what }),
    }
}

fn payload_hmac(tx: &Tx<'_>, job: &NewJob) -> Result<[u8; 32]> {
    let parts = [job.kind.as_bytes(), job.payload_text()?.as_bytes()];
    Ok(tx.secret.hmac("job payload", &parts))
}

fn remember(tx: &Tx<'_>, job: &NewJob, key: &Key, no: JobNo, id: JobId) -> Result<()> {
    match key {
        Key::Nothing => {}
        Key::Once { org, event, name } => {
            let payload = payload_hmac(tx, job)?;
            tx.run(ONCE_NEW, params![org, event, name, no, id, payload, tx.now])?;
        }
        Key::Dedupe { org, hmac } => {
            let payload = payload_hmac(tx, job)?;
            tx.run(KEY_SET, params![org, hmac, no, id, payload, tx.now + HORIZON_MS])?;
        }
        Key::Unfinished { org, kind, hmac } => {
            unique::take(tx, *org, *kind, hmac, no)?;
        }
    }
    Ok(())
}
