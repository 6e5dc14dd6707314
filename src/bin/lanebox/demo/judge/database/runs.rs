//! Every run that the database remembers, and ends of jobs that no run of theirs was entitled to.

use std::collections::BTreeMap;

use rusqlite::{Connection, Row};

use super::all;
use super::turns::Asked;

const RUNS: &str = "WITH run(job, token, started_at, ended_at, ended) AS ( \
       SELECT job, token, started_at, ended_at, ended FROM lanebox_attempt \
       UNION ALL SELECT id, token, started_at, finished_at, state FROM lanebox_finished \
         WHERE token IS NOT NULL AND started_at IS NOT NULL \
       UNION ALL SELECT id, token, started_at, NULL, 'running' FROM lanebox_running) \
     SELECT r.token, r.started_at, r.ended_at, r.ended, j.id, j.lane, k.name = 'inbound_turn', \
       j.payload, j.subject \
     FROM run r JOIN lanebox_job j ON j.id = r.job JOIN lanebox_kind k ON k.id = j.kind";
const STALE_ENDS: &str = "WITH seen(job, token, had_ended) AS ( \
       SELECT job, token, 1 FROM lanebox_attempt \
       UNION ALL SELECT id, token, 0 FROM lanebox_running \
       UNION ALL SELECT job, token, 0 FROM lanebox_step \
       UNION ALL SELECT job, token, 0 FROM lanebox_send_try), \
     last(job, token, ended) AS ( \
       SELECT job, max(token), max(CASE WHEN had_ended THEN token END) FROM seen GROUP BY job) \
     SELECT f.id, f.state, f.token, last.token FROM lanebox_finished f \
     LEFT JOIN last ON last.job = f.id \
     WHERE (f.token IS NULL AND f.state = 'done') OR f.token < last.token \
       OR f.token <= last.ended ORDER BY f.id";

/// One run of a job: the time in which one token owned it.
#[derive(Debug, Clone)]
pub struct Run {
    pub token: i64,
    pub job: i64,
    /// The lane of the job in the database.
    pub lane: Option<i64>,
    /// The contact, if the job replies to one.
    pub contact: Option<String>,
    pub started_at: i64,
    /// `None` while it runs.
    pub ended_at: Option<i64>,
    pub ended: RunEnd,
}

/// How a run ended, as far as the picture tells them apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunEnd {
    /// Its worker vanished, or was frozen past its lease.
    Lost,
    /// It does not know whether it has sent.
    Unknown,
    /// It answered, or it runs.
    Other,
}

/// A job that was ended by a token that was not its last.
#[derive(Debug, Clone)]
pub struct StaleEnd {
    pub job: i64,
    pub state: String,
    pub token: Option<i64>,
    /// The last token that another row of the job carries.
    pub last: Option<i64>,
}

/// The runs by token, which is the order of their claims. A token with two ends is one run.
pub fn runs(conn: &Connection) -> rusqlite::Result<Vec<Run>> {
    let mut by_token: BTreeMap<(i64, i64), Run> = BTreeMap::new();
    for run in all(conn, RUNS, read)? {
        match by_token.get_mut(&(run.token, run.job)) {
            None => {
                by_token.insert((run.token, run.job), run);
            }
            Some(known) => {
                known.started_at = known.started_at.min(run.started_at);
                known.ended_at = known.ended_at.zip(run.ended_at).map(|(a, b)| a.max(b));
            }
        }
    }
    Ok(by_token.into_values().collect())
}

fn read(row: &Row<'_>) -> rusqlite::Result<Run> {
    let replies: bool = row.get(6)?;
    let payload: Option<String> = row.get(7)?;
    let subject: Option<String> = row.get(8)?;
    let asked: Option<Asked> = payload.and_then(|payload| serde_json::from_str(&payload).ok());
    let contact = asked.map(|asked| asked.contact).or(subject);
    Ok(Run {
        token: row.get(0)?,
        job: row.get(4)?,
        lane: row.get(5)?,
        contact: contact.filter(|_| replies),
        started_at: row.get(1)?,
        ended_at: row.get(2)?,
        ended: match row.get_ref(3)?.as_str()? {
            "lost" => RunEnd::Lost,
            "unknown" => RunEnd::Unknown,
            _ => RunEnd::Other,
        },
    })
}

pub fn stale_ends(conn: &Connection) -> rusqlite::Result<Vec<StaleEnd>> {
    all(conn, STALE_ENDS, |row| {
        Ok(StaleEnd { job: row.get(0)?, state: row.get(1)?, token: row.get(2)?, last: row.get(3)? })
    })
}
