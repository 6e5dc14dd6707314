//! Consumers as people see them: how far each is, and what failed.

use rusqlite::Connection;

use super::query::{all, one};
use crate::error::Result;
use crate::store::people::ConsumerView;

const CONSUMERS: &str = "SELECT c.id, c.key, c.form, c.state, c.position, \
  (SELECT coalesce(max(seq), 0) FROM lanebox_event), \
  (SELECT count(*) FROM (SELECT 1 FROM lanebox_delivery d WHERE d.consumer = c.id LIMIT 100000)), \
  (SELECT count(*) FROM (SELECT 1 FROM lanebox_delivery d INDEXED BY lanebox_delivery_retry WHERE d.consumer = c.id AND d.state = 'retry' LIMIT 100000)), \
  (SELECT min(d.next_at) FROM lanebox_delivery d WHERE d.consumer = c.id AND d.state = 'retry') \
FROM lanebox_consumer c ORDER BY c.key";
const PATTERNS: &str = "SELECT name FROM lanebox_pattern WHERE consumer = ?1 ORDER BY name";
// Both look at the newest of what is dead, not at what happened.
const DEAD_DELIVERIES: &str = "SELECT count(*) FROM (SELECT consumer FROM lanebox_delivery INDEXED BY lanebox_delivery_notice \
WHERE notice IS NOT NULL AND state = 'dead' ORDER BY notice DESC LIMIT 10000) WHERE consumer = ?1";
const DEAD_JOBS: &str = "SELECT count(*) FROM (SELECT id FROM lanebox_finished WHERE state = 'dead' ORDER BY id DESC LIMIT 10000) f \
CROSS JOIN lanebox_job j ON j.id = f.id WHERE j.consumer = ?1";

/// Every consumer, by key.
pub(in super::super) fn consumers(conn: &Connection) -> Result<Vec<ConsumerView>> {
    let rows = all(conn, CONSUMERS, [], |row| {
        let (position, head): (i64, i64) = (row.get(4)?, row.get(5)?);
        let view = ConsumerView {
            key: row.get(1)?,
            form: row.get(2)?,
            state: row.get(3)?,
            patterns: Vec::new(),
            position,
            lag: head.saturating_sub(position).max(0),
            seen: row.get(6)?,
            retries: row.get(7)?,
            dead: 0,
            next_at: row.get(8)?,
        };
        Ok((row.get::<_, i64>(0)?, view))
    })?;
    rows.into_iter().map(|(id, view)| in_full(conn, id, view)).collect()
}

fn in_full(conn: &Connection, id: i64, view: ConsumerView) -> Result<ConsumerView> {
    let count = |sql| one(conn, sql, [id], |row| row.get::<_, i64>(0));
    let dead = count(DEAD_DELIVERIES)?.unwrap_or(0) + count(DEAD_JOBS)?.unwrap_or(0);
    let patterns = all(conn, PATTERNS, [id], |row| row.get(0))?;
    Ok(ConsumerView { patterns, dead, ..view })
}
