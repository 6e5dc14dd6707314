//! Looks into the database from outside: does a token still run, and does anything still move?

use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use rusqlite::{Connection, OpenFlags, OptionalExtension};
use uuid::Uuid;

use super::super::clock;

const RUNS: &str = "SELECT count(*) FROM lanebox_running WHERE token = ?1";
const TOKEN_OF_KEY: &str = "SELECT token FROM lanebox_send_try WHERE key = ?1";
// Parked jobs wait for a person, and what is due in a minute is not waited for.
const UNSETTLED: &str = "SELECT \
     (SELECT count(*) FROM lanebox_job j \
       WHERE NOT EXISTS (SELECT 1 FROM lanebox_finished f WHERE f.id = j.id) \
         AND NOT EXISTS (SELECT 1 FROM lanebox_tried t WHERE t.id = j.id AND t.phase = 'parked') \
         AND NOT EXISTS (SELECT 1 FROM lanebox_scheduled s WHERE s.id = j.id AND s.run_at > ?1)), \
     (SELECT count(*) FROM lanebox_delivery WHERE state = 'retry'), \
     (SELECT count(*) FROM lanebox_consumer c, lanebox_event e \
       WHERE c.state = 'active' AND e.seq > c.position AND e.duplicate_of IS NULL AND EXISTS \
         (SELECT 1 FROM lanebox_pattern p WHERE p.consumer = c.id AND e.name GLOB p.name))";
const TRACES: &str = "SELECT (SELECT count(*) FROM lanebox_event), \
     (SELECT count(*) FROM lanebox_finished), (SELECT count(*) FROM lanebox_attempt), \
     (SELECT count(*) FROM lanebox_send_try), (SELECT coalesce(sum(calls), 0) FROM lanebox_send_try), \
     (SELECT count(*) FROM lanebox_send_try WHERE ended_at IS NOT NULL), \
     (SELECT count(*) FROM lanebox_tried WHERE phase = 'parked')";

/// Work that is not done yet.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Unsettled {
    /// Jobs that neither ended nor wait for a person.
    pub jobs: u64,
    /// Deliveries to be tried again, and events that a consumer has not reached.
    pub events: u64,
}

impl Unsettled {
    pub fn is_nothing(self) -> bool {
        self == Self::default()
    }
}

/// Anything that happens changes one of these.
pub type Traces = [u64; 7];

/// Looks in a row, a tenth of a second apart, that found nothing moved though there is work: it
/// never will. Counted in looks, because a machine that slept has not stood still.
const STANDSTILL_LOOKS: u32 = 150;

/// Whether anything still moves.
#[derive(Debug, Default)]
pub struct Standstill {
    last: Option<Traces>,
    looks: u32,
}

impl Standstill {
    /// Takes one more look; whether nothing has moved for too long.
    pub fn is_seen(&mut self, traces: Traces) -> bool {
        let moved = self.last.replace(traces) != Some(traces);
        self.looks = if moved { 0 } else { self.looks + 1 };
        self.looks >= STANDSTILL_LOOKS
    }
}

/// A reader of the database.
pub struct Watch {
    conn: Connection,
}

impl Watch {
    pub fn open(path: &Path) -> anyhow::Result<Self> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let conn = Connection::open_with_flags(path, flags)
            .with_context(|| format!("cannot open the database {}", path.display()))?;
        conn.busy_timeout(Duration::from_secs(5))?;
        Ok(Self { conn })
    }

    pub fn runs(&self, token: i64) -> anyhow::Result<bool> {
        let count: u64 = self.conn.query_row(RUNS, [token], |row| row.get(0))?;
        Ok(count > 0)
    }

    /// The run that made the call with this key.
    pub fn token_of(&self, key: &str) -> anyhow::Result<Option<i64>> {
        let Ok(key) = Uuid::parse_str(key) else {
            return Ok(None);
        };
        let found = self.conn.query_row(TOKEN_OF_KEY, [key.as_bytes()], |row| row.get(0));
        Ok(found.optional()?)
    }

    pub fn unsettled(&self) -> anyhow::Result<Unsettled> {
        const MINUTE_MS: i64 = 60_000;
        let unsettled = self.conn.query_row(UNSETTLED, [clock::now_ms() + MINUTE_MS], |row| {
            Ok(Unsettled {
                jobs: row.get(0)?,
                events: row.get::<_, u64>(1)? + row.get::<_, u64>(2)?,
            })
        });
        Ok(unsettled?)
    }

    pub fn traces(&self) -> anyhow::Result<Traces> {
        let traces = self.conn.query_row(TRACES, [], |row| {
            let mut traces = Traces::default();
            for (n, trace) in traces.iter_mut().enumerate() {
                *trace = row.get(n)?;
            }
            Ok(traces)
        });
        Ok(traces?)
    }
}
