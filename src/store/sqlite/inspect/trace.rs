//! What came of what: up to the first cause, then down through deliveries, jobs, sends and what
//! jobs published.

use std::collections::HashSet;

use rusqlite::{Connection, params};
use uuid::Uuid;

use super::attempts::history;
use super::audited::audited;
use super::query::{all, one};
use super::span::first_key_at;
use super::{events, jobs, notices, sends};
use crate::error::{Error, Result};
use crate::model::id::{EventId, JobId, SendKey};
use crate::store::people::{
    AuditView, DeliveryTrace, EventTrace, JobTrace, NoticeView, SendTrace, Trace,
};

/// Events and jobs of one trace.
const MOST: usize = 500;

/// Events of one entity that are traced, the newest.
const OF_ENTITY: usize = 20;

/// Events that are looked at for them, the newest. There is no index for entities: every event
/// would pay for what a person asks now and then.
pub(super) const LOOKED_AT: i64 = 100_000;

/// A first cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Root {
    Event(i64),
    Job(i64),
}

/// Traces an event, a job, a send (by its number or the key of a try) or an entity (`type:id`).
pub(in super::super) fn trace(conn: &Connection, id: &str) -> Result<Trace> {
    let mut building = Building { conn, met: HashSet::new(), cut: false };
    let mut trace = Trace::default();
    for found in find(&mut building, id)? {
        match first_cause(conn, found)? {
            Root::Event(seq) => trace.events.extend(building.event(seq)?),
            Root::Job(no) => trace.jobs.extend(building.job(no)?),
        }
    }
    trace.cut = building.cut;
    Ok(trace)
}

const ENTITY: &str = "SELECT seq FROM lanebox_event WHERE seq > ?4 AND entity_id = ?2 AND entity_type = ?1 ORDER BY seq DESC LIMIT ?3";
const LAST: &str = "SELECT max(seq) FROM lanebox_event";

fn find(building: &mut Building<'_>, id: &str) -> Result<Vec<Root>> {
    let conn = building.conn;
    let unknown = |what| Error::NotFound { what, id: id.to_owned() };
    if let Ok(uuid) = id.parse::<Uuid>() {
        let found = of_uuid(conn, uuid)?;
        return found.map(|root| vec![root]).ok_or_else(|| unknown("event, job or send"));
    }
    if let Ok(number) = id.parse::<i64>() {
        let job = sends::job_of(conn, number)?;
        return job.map(|no| vec![Root::Job(no)]).ok_or_else(|| unknown("send"));
    }
    let Some((kind, name)) = id.split_once(':') else {
        return Err(unknown("event, job, send or entity"));
    };
    let last: i64 = one(conn, LAST, [], |row| row.get(0))?.flatten().unwrap_or(0);
    let floor = last.saturating_sub(LOOKED_AT).max(0);
    let asked = params![kind, name, OF_ENTITY as i64, floor];
    let found: Vec<i64> = all(conn, ENTITY, asked, |row| row.get(0))?;
    match (found.len(), floor) {
        (0, 0) => return Err(unknown("event of entity")),
        (0, _) => return Err(unknown("event, among the newest 100,000, of entity")),
        (n, _) => building.cut = floor > 0 && n < OF_ENTITY,
    }
    Ok(found.into_iter().map(Root::Event).collect())
}

fn of_uuid(conn: &Connection, uuid: Uuid) -> Result<Option<Root>> {
    if let Some(seq) = events::seq_of(conn, EventId(uuid))? {
        return Ok(Some(Root::Event(seq)));
    }
    let job = "SELECT id FROM lanebox_job WHERE uuid = ?1";
    if let Some(no) = one(conn, job, [JobId(uuid)], |row| row.get(0))? {
        return Ok(Some(Root::Job(no)));
    }
    let Some(send) = sends::of_key(conn, SendKey(uuid))? else {
        return Ok(None);
    };
    Ok(sends::job_of(conn, send)?.map(Root::Job))
}

const ABOVE_EVENT: &str = "SELECT e.cause_job, e.cause_event, j.id, c.seq FROM lanebox_event e \
LEFT JOIN lanebox_job j ON j.id = e.cause_job LEFT JOIN lanebox_event c ON c.seq = e.cause_event WHERE e.seq = ?1";
const ABOVE_JOB: &str = "SELECT e.seq FROM lanebox_job j CROSS JOIN lanebox_event e ON e.seq = j.source_event WHERE j.id = ?1";

// Up as far as the file remembers. Causes are older than what they cause, so this ends; the bound
// is for a damaged file.
fn first_cause(conn: &Connection, from: Root) -> Result<Root> {
    let mut at = from;
    for _ in 0..100 {
        let above = match at {
            Root::Event(seq) => one(conn, ABOVE_EVENT, [seq], |row| {
                let job = row.get::<_, Option<i64>>(2)?.map(Root::Job);
                Ok(job.or(row.get::<_, Option<i64>>(3)?.map(Root::Event)))
            })?
            .flatten(),
            Root::Job(no) => one(conn, ABOVE_JOB, [no], |row| row.get(0))?.map(Root::Event),
        };
        match above {
            Some(above) => at = above,
            None => break,
        }
    }
    Ok(at)
}

/// A trace under construction. What was met before is not shown again.
struct Building<'c> {
    conn: &'c Connection,
    met: HashSet<Root>,
    cut: bool,
}

// What its handler skipped is a skipped delivery too.
const DELIVERIES: &str = "SELECT c.id, c.key, iif(f.id IS NULL, d.state, f.reason), d.at, d.attempts, d.next_at, \
coalesce(d.reason, d.last_error, f.error), d.notice \
FROM lanebox_delivery d CROSS JOIN lanebox_consumer c ON c.id = d.consumer \
LEFT JOIN lanebox_finished f ON d.state = 'job' AND f.id = d.job AND f.reason = 'skipped' WHERE d.event = ?1 ORDER BY c.key";
const AHEAD: &str = "SELECT c.key FROM lanebox_consumer c CROSS JOIN lanebox_event e ON e.seq = ?1 WHERE c.state <> 'retired' AND c.position < e.seq \
AND EXISTS (SELECT 1 FROM lanebox_pattern p WHERE p.consumer = c.id AND e.name GLOB p.name) ORDER BY c.key";
const JOBS_OF_DELIVERY: &str =
    "SELECT id FROM lanebox_job WHERE source_event = ?1 AND consumer = ?2 ORDER BY ordinal";
const JOBS_ONCE: &str = "SELECT n.job FROM lanebox_event e CROSS JOIN lanebox_org o ON o.name = e.org \
CROSS JOIN lanebox_once n ON n.org = o.id AND n.source_event = e.seq CROSS JOIN lanebox_job j ON j.id = n.job WHERE e.seq = ?1 ORDER BY n.name";

impl Building<'_> {
    fn is_new(&mut self, root: Root) -> bool {
        if self.met.len() >= MOST {
            self.cut = true;
            return false;
        }
        self.met.insert(root)
    }

    fn event(&mut self, seq: i64) -> Result<Option<EventTrace>> {
        let Some(event) = events::by_seq(self.conn, seq)?.filter(|_| self.is_new(Root::Event(seq)))
        else {
            return Ok(None);
        };
        let once = all(self.conn, JOBS_ONCE, [seq], |row| row.get(0))?;
        Ok(Some(EventTrace { event, deliveries: self.deliveries(seq)?, jobs: self.jobs(&once)? }))
    }

    fn deliveries(&mut self, seq: i64) -> Result<Vec<DeliveryTrace>> {
        let rows = all(self.conn, DELIVERIES, [seq], |row| {
            let delivery = DeliveryTrace {
                consumer: row.get(1)?,
                state: row.get(2)?,
                at: row.get(3)?,
                attempts: row.get(4)?,
                next_at: row.get(5)?,
                reason: row.get(6)?,
                notice: None,
                audit: Vec::new(),
                jobs: Vec::new(),
            };
            Ok((row.get::<_, i64>(0)?, row.get::<_, Option<i64>>(7)?, delivery))
        })?;
        let mut deliveries = Vec::new();
        for (consumer, notice, delivery) in rows {
            let jobs = all(self.conn, JOBS_OF_DELIVERY, [seq, consumer], |row| row.get(0))?;
            let (notice, jobs) = (self.notice(notice)?, self.jobs(&jobs)?);
            let audit = self.of_notices(&notice)?;
            deliveries.push(DeliveryTrace { notice, audit, jobs, ..delivery });
        }
        let ahead: Vec<String> = all(self.conn, AHEAD, [seq], |row| row.get(0))?;
        deliveries.extend(ahead.into_iter().map(not_yet));
        Ok(deliveries)
    }

    fn jobs(&mut self, rows: &[i64]) -> Result<Vec<JobTrace>> {
        rows.iter().filter_map(|&no| self.job(no).transpose()).collect()
    }

    fn job(&mut self, no: i64) -> Result<Option<JobTrace>> {
        if !self.is_new(Root::Job(no)) {
            return Ok(None);
        }
        let notice = "SELECT notice FROM lanebox_finished WHERE id = ?1";
        let notice = one(self.conn, notice, [no], |row| row.get(0))?.flatten();
        let (job, notice) = (jobs::by_number(self.conn, no)?, self.notice(notice)?);
        let mut audit = audited(self.conn, "job", no, &job.id.to_string())?;
        audit.extend(self.of_notices(&notice)?);
        let published = self.published(no, job.finished_at)?;
        Ok(Some(JobTrace {
            job,
            history: history(self.conn, no)?,
            sends: self.sends(no)?,
            notice,
            audit,
            published,
        }))
    }

    fn sends(&self, job: i64) -> Result<Vec<SendTrace>> {
        let mut traced = Vec::new();
        for send in sends::sends_of(self.conn, job)? {
            let no = send.id.parse().unwrap_or_default();
            let history = sends::tries(self.conn, no)?;
            let notices = all(self.conn, NOTICES_OF_SEND, [no], |row| row.get(0))?;
            let notices = notices.into_iter().filter_map(|no| self.notice(no).transpose());
            let notices = notices.collect::<Result<Vec<_>>>()?;
            let mut audit = audited(self.conn, "send", no, &send.id)?;
            audit.extend(self.of_notices(&notices)?);
            traced.push(SendTrace { send, history, notices, audit });
        }
        Ok(traced)
    }

    // What a job publishes commits with its end, and the ids of events carry their time: so no
    // index by cause is needed.
    fn published(&mut self, job: i64, finished_at: Option<i64>) -> Result<Vec<EventTrace>> {
        let Some(at) = finished_at else { return Ok(Vec::new()) };
        let (from, to) =
            (first_key_at(at.saturating_sub(100)), first_key_at(at.saturating_add(2_000)));
        let rows: Vec<i64> = all(self.conn, PUBLISHED, params![from, to, job], |row| row.get(0))?;
        rows.into_iter().filter_map(|seq| self.event(seq).transpose()).collect()
    }

    fn of_notices<'n>(
        &self,
        notices: impl IntoIterator<Item = &'n NoticeView>,
    ) -> Result<Vec<AuditView>> {
        let mut audit = Vec::new();
        for NoticeView { id, .. } in notices {
            audit.extend(audited(self.conn, "notice", id.parse().unwrap_or_default(), id)?);
        }
        Ok(audit)
    }

    fn notice(&self, no: Option<i64>) -> Result<Option<NoticeView>> {
        Ok(no.map(|no| notices::by_number(self.conn, no)).transpose()?.flatten())
    }
}

const NOTICES_OF_SEND: &str = "SELECT notice FROM lanebox_send_try WHERE send = ?1 AND notice IS NOT NULL \
UNION SELECT notice FROM lanebox_send_extra WHERE send = ?1";
const PUBLISHED: &str =
    "SELECT seq FROM lanebox_event WHERE uuid >= ?1 AND uuid < ?2 AND cause_job = ?3 ORDER BY seq";

fn not_yet(consumer: String) -> DeliveryTrace {
    DeliveryTrace {
        consumer,
        state: "ahead".to_owned(),
        at: None,
        attempts: 0,
        next_at: None,
        reason: None,
        notice: None,
        audit: Vec::new(),
        jobs: Vec::new(),
    }
}
