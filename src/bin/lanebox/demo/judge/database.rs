//! What the database says, read in one snapshot by SQL on its schema and nothing of the engine.

mod runs;
mod turns;

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use rusqlite::{Connection, OpenFlags, Row};
use uuid::Uuid;

pub use runs::{Run, RunEnd, StaleEnd};
pub use turns::{Asked, Try, Turn, TurnEnd};

const IS_LANEBOX: &str = "SELECT count(*) FROM lanebox_meta";
const COUNTS: &str = "SELECT (SELECT count(*) FROM lanebox_event WHERE duplicate_of IS NULL), \
     (SELECT count(*) FROM lanebox_send_try WHERE state = 'unknown'), \
     (SELECT count(*) FROM lanebox_finished WHERE state = 'dead'), \
     (SELECT count(*) FROM lanebox_notice WHERE state <> 'resolved')";
const RECEIVED: &str = "SELECT entity_id, min(recorded_at) FROM lanebox_event \
     WHERE name = 'message.received' AND entity_type = 'message' GROUP BY entity_id";
const SENT_AGAIN: &str = "SELECT entity_id, count(*) FROM lanebox_event \
     WHERE name = 'message.sent' AND entity_type = 'message' \
     GROUP BY entity_id HAVING count(*) > 1 ORDER BY entity_id";
// Only consumers on the way to the reply: a dead sentiment job must not excuse a lost reply.
const UNDISPATCHED: &str = "SELECT e.entity_id FROM lanebox_consumer c \
     JOIN lanebox_delivery d ON d.consumer = c.id JOIN lanebox_event e ON e.seq = d.event \
     JOIN lanebox_notice n ON n.id = d.notice AND n.state <> 'resolved' \
     WHERE c.key GLOB 'agent.*' AND e.entity_type = 'message' \
     UNION SELECT e.entity_id FROM lanebox_consumer c \
     JOIN lanebox_job j ON j.consumer = c.id JOIN lanebox_event e ON e.seq = j.source_event \
     JOIN lanebox_finished f ON f.id = j.id \
     JOIN lanebox_notice n ON n.id = f.notice AND n.state <> 'resolved' \
     WHERE c.key GLOB 'agent.*' AND e.entity_type = 'message'";

/// How much there is of what people ask for first.
#[derive(Debug, Clone, Copy, Default)]
pub struct Counts {
    pub events: u64,
    /// Tries of which nobody knows whether they went out.
    pub unknown_open: u64,
    pub jobs_dead: u64,
    /// Notices that no person has resolved.
    pub notices_open: u64,
}

/// The database of a demo, as far as a judge needs it.
#[derive(Debug, Default)]
pub struct Database {
    pub counts: Counts,
    /// The jobs that reply, by their number.
    pub turns: Vec<Turn>,
    /// Every attempt at a send, by the key that the provider was given.
    pub tries: HashMap<Uuid, Try>,
    /// Messages whose `message.received` is stored, with the time of its commit.
    pub received: HashMap<String, i64>,
    /// Messages whose way to a reply is dead, with an open notice.
    pub undispatched: HashSet<String>,
    /// Messages with more than one `message.sent`, with how many.
    pub sent_again: Vec<(String, u64)>,
    /// Every run of every job, by token.
    pub runs: Vec<Run>,
    /// Ends of jobs by a token that was not the last.
    pub stale_ends: Vec<StaleEnd>,
}

impl Database {
    /// Reads the file at `path`. A service may be writing it meanwhile.
    ///
    /// # Errors
    ///
    /// No such file, no SQLite database, or none of Lanebox.
    pub fn read(path: &Path) -> anyhow::Result<Self> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut conn = Connection::open_with_flags(path, flags)
            .with_context(|| format!("cannot open the database {}", path.display()))?;
        conn.busy_timeout(Duration::from_secs(5))?;
        conn.query_row(IS_LANEBOX, [], |_| Ok(()))
            .with_context(|| format!("{} is not a Lanebox file", path.display()))?;
        Self::snapshot(&mut conn).with_context(|| format!("cannot judge from {}", path.display()))
    }

    fn snapshot(conn: &mut Connection) -> anyhow::Result<Self> {
        // One transaction, so that all reads see the same commit.
        let tx = conn.transaction()?;
        let by_id = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?));
        Ok(Self {
            counts: tx.query_row(COUNTS, [], |row| {
                Ok(Counts {
                    events: row.get(0)?,
                    unknown_open: row.get(1)?,
                    jobs_dead: row.get(2)?,
                    notices_open: row.get(3)?,
                })
            })?,
            turns: turns::turns(&tx)?,
            tries: turns::tries(&tx)?.into_iter().collect(),
            received: all(&tx, RECEIVED, by_id)?.into_iter().collect(),
            undispatched: all(&tx, UNDISPATCHED, |row| row.get(0))?.into_iter().collect(),
            sent_again: all(&tx, SENT_AGAIN, |row| Ok((row.get(0)?, row.get(1)?)))?,
            runs: runs::runs(&tx)?,
            stale_ends: runs::stale_ends(&tx)?,
        })
    }
}

fn all<T>(
    conn: &Connection,
    sql: &str,
    read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
) -> rusqlite::Result<Vec<T>> {
    conn.prepare(sql)?.query_map([], read)?.collect()
}
