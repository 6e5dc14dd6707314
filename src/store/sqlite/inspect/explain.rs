//! Why a job waits, and until when: one sentence, and the same as plain values.

use rusqlite::{Connection, params};

use super::jobs::{by_number, id_of, number_of};
use super::query::one;
use crate::error::Result;
use crate::model::id::JobId;
use crate::model::text::utc;
use crate::store::people::{Explanation, JobView};

/// What a job waits for.
struct Why {
    // Begins with "it", so that the sentence about the job behind can say "which".
    sentence: String,
    waits_for: &'static str,
    id: Option<String>,
    until: Option<i64>,
}

impl Why {
    fn of(waits_for: &'static str, sentence: impl Into<String>) -> Why {
        Why { sentence: sentence.into(), waits_for, id: None, until: None }
    }

    fn until(self, at: i64) -> Why {
        Why { until: Some(at), ..self }
    }

    fn id(self, id: impl ToString) -> Why {
        Why { id: Some(id.to_string()), ..self }
    }
}

/// Why this job waits.
pub(in super::super) fn explain(conn: &Connection, id: JobId) -> Result<Explanation> {
    explain_row(conn, number_of(conn, id)?)
}

/// Why the job of this row waits.
pub(super) fn explain_row(conn: &Connection, no: i64) -> Result<Explanation> {
    let job = by_number(conn, no)?;
    let why = why(conn, no, &job, true)?;
    let Why { sentence, waits_for, id, until } = why;
    Ok(Explanation { job: job.id, sentence, waits_for, id, until })
}

// `behind`: look at the job that occupies the lane too, but not at what that one waits behind.
fn why(conn: &Connection, no: i64, job: &JobView, behind: bool) -> Result<Why> {
    let due = utc(job.due_at);
    let error = job.error.as_deref().unwrap_or("no reason given");
    Ok(match (job.state.as_str(), job.place.as_deref().unwrap_or_default()) {
        ("running", _) => running(conn, no, job)?,
        ("pending", "scheduled") => scheduled(conn, no, job)?,
        ("pending", "backing_off") => {
            let said =
                format!("it failed attempt {} of {} ({error})", job.attempts, job.max_attempts);
            Why::of("backoff", format!("{said} and is tried again at {due}")).until(job.due_at)
        }
        ("pending", "waiting_for_send" | "parked") => for_send(conn, no, job)?,
        ("pending", "ready") => ready(conn, no, job)?,
        ("pending", _) => queued(conn, no, behind)?,
        (state, _) => ended(job, state, error),
    })
}

fn ended(job: &JobView, state: &str, error: &str) -> Why {
    let at = utc(job.finished_at.unwrap_or(job.due_at));
    let reason = job.reason.as_deref().unwrap_or_default().replace('_', " ");
    match state {
        "dead" => Why::of(
            "person",
            format!("it died at {at}: {error}; it stays so until a person requeues it"),
        ),
        "cancelled" if job.error.is_some() => {
            Why::of("nothing", format!("it was cancelled at {at} ({reason}): {error}"))
        }
        "cancelled" => Why::of("nothing", format!("it was cancelled at {at} ({reason})")),
        _ if reason == "skipped" => {
            Why::of("nothing", format!("it was skipped at {at}, without work: {error}"))
        }
        _ => Why::of("nothing", format!("it is done since {at}")),
    }
}

fn running(conn: &Connection, no: i64, job: &JobView) -> Result<Why> {
    let sql = "SELECT cancel_asked, progress FROM lanebox_running WHERE id = ?1";
    let row = one(conn, sql, [no], |row| Ok((row.get(0)?, row.get::<_, Option<String>>(1)?)))?;
    let (asked, progress) = row.unwrap_or((false, None));
    let since = utc(job.started_at.unwrap_or(job.due_at));
    let (n, of) = (job.attempts, job.max_attempts);
    let mut sentence = format!("it runs since {since}, attempt {n} of {of}");
    if let Some(progress) = progress {
        sentence += &format!(", and says: {progress}");
    }
    if asked {
        sentence += "; it was asked to stop";
    }
    Ok(Why::of("nothing", sentence))
}

fn scheduled(conn: &Connection, no: i64, job: &JobView) -> Result<Why> {
    let sql = "SELECT ended, error FROM lanebox_attempt WHERE job = ?1 ORDER BY token DESC LIMIT 1";
    let last = one(conn, sql, [no], |row| {
        Ok((row.get::<_, String>(0)?, row.get::<_, Option<String>>(1)?))
    })?;
    let due = utc(job.due_at);
    let sentence = match last {
        Some((ended, Some(why))) if ended == "postponed" => {
            format!("it is postponed to {due}: {why}")
        }
        _ => format!("it is not due before {due}"),
    };
    Ok(Why::of("time", sentence).until(job.due_at))
}

const SEND: &str = "SELECT c.name, t.recipient_mask, t.notice FROM lanebox_send_try t CROSS JOIN lanebox_channel c ON c.id = t.channel \
WHERE t.send = ?1 ORDER BY t.n DESC LIMIT 1";

fn for_send(conn: &Connection, no: i64, job: &JobView) -> Result<Why> {
    let sql = "SELECT waits_send FROM lanebox_tried WHERE id = ?1";
    let send: i64 = one(conn, sql, [no], |row| row.get(0))?.unwrap_or_default();
    let row = one(conn, SEND, [send], |row| {
        let (channel, recipient): (String, String) = (row.get(0)?, row.get(1)?);
        Ok((format!("send {send} ({channel} to {recipient})"), row.get::<_, Option<i64>>(2)?))
    })?;
    let (what, notice) = row.unwrap_or((format!("send {send}"), None));
    if job.place.as_deref() == Some("waiting_for_send") {
        let until = utc(job.due_at);
        let sentence = format!("it waits in its lane for news of {what}, until {until} at most");
        return Ok(Why::of("send", sentence).id(send).until(job.due_at));
    }
    if notice.is_none() {
        return Ok(
            Why::of("send", format!("it waits outside its lane for news of {what}")).id(send)
        );
    }
    let decide = format!("`lanebox resolve {send} --sent`, `--resend` or `--give-up`");
    let sentence =
        format!("it waits outside its lane for news of {what}, or for a person: {decide}");
    Ok(Why::of("person", sentence).id(send))
}

const PAUSES: &str = "SELECT c.paused, o.paused, o.name, k.paused, k.name, \
  (SELECT count(*) FROM lanebox_running) >= c.cap, \
  (SELECT count(*) FROM lanebox_running r WHERE r.org = o.id) >= o.cap, \
  (SELECT count(*) FROM lanebox_running r WHERE r.kind = k.id) >= k.cap, c.cap, o.cap, k.cap \
FROM lanebox_job j CROSS JOIN lanebox_org o ON o.id = j.org CROSS JOIN lanebox_kind k ON k.id = j.kind CROSS JOIN lanebox_counter c \
WHERE j.id = ?1";

const HANDLED: &str = "SELECT EXISTS (SELECT 1 FROM lanebox_process p CROSS JOIN lanebox_handles h ON h.process = p.id \
WHERE p.gone = 0 AND h.kind = (SELECT kind FROM lanebox_job WHERE id = ?1))";

const CAN: &str = "it can be claimed, but";

fn is_handled(conn: &Connection, no: i64) -> Result<bool> {
    Ok(one(conn, HANDLED, [no], |row| row.get(0))?.unwrap_or(false))
}

// In the order in which a claim asks.
fn ready(conn: &Connection, no: i64, job: &JobView) -> Result<Why> {
    let stopped = one(conn, PAUSES, [no], |row| {
        let is = |i| Ok::<_, rusqlite::Error>(row.get::<_, Option<bool>>(i)?.unwrap_or(false));
        let (org, kind): (String, String) = (row.get(2)?, row.get(4)?);
        let cap = |i| row.get::<_, Option<i64>>(i).map(Option::unwrap_or_default);
        Ok(if is(0)? {
            Some(Why::of("pause", format!("{CAN} all claims are paused")))
        } else if is(1)? {
            Some(Why::of("pause", format!("{CAN} org {org} is paused")).id(org))
        } else if is(3)? {
            Some(Why::of("pause", format!("{CAN} kind {kind} is paused")).id(kind))
        } else if is(5)? {
            Some(Why::of("cap", format!("{CAN} {} jobs run already, the cap of the file", cap(8)?)))
        } else if is(6)? {
            let sentence = format!("{CAN} {} jobs of org {org} run already, its cap", cap(9)?);
            Some(Why::of("cap", sentence).id(org))
        } else if is(7)? {
            let sentence = format!("{CAN} {} jobs of kind {kind} run already, its cap", cap(10)?);
            Some(Why::of("cap", sentence).id(kind))
        } else {
            None
        })
    })?;
    if let Some(why) = stopped.flatten() {
        return Ok(why);
    }
    if !is_handled(conn, no)? {
        let sentence = format!("{CAN} no running process has code for kind {}", job.kind);
        return Ok(Why::of("worker", sentence).id(&job.kind));
    }
    if job.lost >= 2 {
        let sentence = format!(
            "it lost its holder {} times and runs with nothing beside it: it waits for an idle process that handles {}",
            job.lost, job.kind
        );
        return Ok(Why::of("worker", sentence));
    }
    let sentence = format!(
        "it can be claimed since {}: it waits for a free worker that handles {}",
        utc(job.due_at),
        job.kind
    );
    Ok(Why::of("worker", sentence))
}

const LANE: &str = "SELECT j.lane, (SELECT r.id FROM lanebox_running r WHERE r.lane = j.lane), \
  (SELECT t.id FROM lanebox_tried t WHERE t.lane = j.lane), p.by_operator, p.dead_job, p.cancel_upto, \
  j.priority, coalesce(m.run_at, j.run_at) \
FROM lanebox_job j LEFT JOIN lanebox_pause p ON p.lane = j.lane LEFT JOIN lanebox_tried m ON m.id = j.id WHERE j.id = ?1";
const BEFORE: &str = "SELECT count(*), (SELECT id FROM lanebox_open WHERE lane = ?1 ORDER BY priority, run_at, id LIMIT 1) \
FROM (SELECT 1 FROM lanebox_open WHERE lane = ?1 AND (priority, run_at, id) < (?2, ?3, ?4) LIMIT 1000)";

struct Line {
    lane: Option<i64>,
    occupant: Option<i64>,
    by_operator: bool,
    dead_job: Option<i64>,
    cancels: bool,
    place: (i64, i64),
}

fn queued(conn: &Connection, no: i64, behind: bool) -> Result<Why> {
    let line = one(conn, LANE, [no], |row| {
        Ok(Line {
            lane: row.get(0)?,
            occupant: row.get::<_, Option<i64>>(1)?.or(row.get(2)?).filter(|&id| id != no),
            by_operator: row.get::<_, Option<bool>>(3)?.unwrap_or(false),
            dead_job: row.get(4)?,
            cancels: row.get::<_, Option<i64>>(5)?.is_some(),
            place: (row.get(6)?, row.get(7)?),
        })
    })?;
    let Some(Line { lane: Some(lane), occupant, by_operator, dead_job, cancels, place }) = line
    else {
        return Ok(Why::of("worker", "it is due; the next claim takes it over"));
    };
    if let Some(dead) = dead_job {
        let dead = id_of(conn, dead)?.map_or(dead.to_string(), |id| id.to_string());
        let sentence = format!(
            "its lane stands still since job {dead} died: requeue that job, or resume the lane"
        );
        return Ok(Why::of("lane_pause", format!("it waits: {sentence}")).id(dead));
    }
    if by_operator {
        return Ok(Why::of("lane_pause", "it waits until a person resumes its lane"));
    }
    if cancels {
        return Ok(Why::of("lane_pause", "it waits while the line of its lane is being cancelled"));
    }
    match occupant {
        Some(occupant) if behind => behind_occupant(conn, occupant),
        _ => in_line(conn, lane, place, no),
    }
}

fn behind_occupant(conn: &Connection, occupant: i64) -> Result<Why> {
    let job = by_number(conn, occupant)?;
    let its = why(conn, occupant, &job, false)?;
    let which = its.sentence.strip_prefix("it ").unwrap_or(&its.sentence);
    let sentence = format!("it waits for job {} of the same lane, which {which}", job.id);
    Ok(Why { sentence, waits_for: "lane", id: Some(job.id.to_string()), until: its.until })
}

fn in_line(conn: &Connection, lane: i64, place: (i64, i64), no: i64) -> Result<Why> {
    let before = one(conn, BEFORE, params![lane, place.0, place.1, no], |row| {
        Ok((row.get::<_, i64>(0)?, row.get::<_, Option<i64>>(1)?))
    })?;
    let (count, first) = before.unwrap_or((0, None));
    let first = first.map(|no| id_of(conn, no)).transpose()?.flatten();
    let sentence = match count {
        0 => "it is the next of its lane".to_owned(),
        1 => "it waits for the one job before it in its lane".to_owned(),
        n => format!("it waits for {n} jobs before it in its lane"),
    };
    let why = Why::of("lane", sentence);
    Ok(match first {
        Some(id) if count > 0 => why.id(id),
        _ => why,
    })
}
