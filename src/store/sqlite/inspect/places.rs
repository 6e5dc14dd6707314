//! How many jobs stand in each state and place, every job in exactly one: the same words, and the
//! same numbers, as the list of jobs narrowed to them.

use rusqlite::Connection;

use super::count::{count, part};
use super::query::one;
use crate::error::Result;
use crate::store::people::Stats;

const READY: &str = "SELECT count(*) FROM (SELECT 1 FROM lanebox_ready LIMIT 100001)";
// Who waits for the fate of a send is in the schedule too, for the end of its patience.
const SCHEDULE: &str = "SELECT count(*), coalesce(sum(place = 'scheduled'), 0), coalesce(sum(place = 'backing_off'), 0) FROM ( \
SELECT CASE WHEN t.id IS NULL THEN 'scheduled' WHEN t.waits_send IS NOT NULL THEN 'send' \
  WHEN (SELECT a.ended FROM lanebox_attempt a WHERE a.job = t.id ORDER BY a.token DESC LIMIT 1) = 'failed' THEN 'backing_off' \
  ELSE 'scheduled' END AS place \
FROM lanebox_scheduled s LEFT JOIN lanebox_tried t ON t.id = s.id LIMIT 100001)";
// The line of every lane but for what can be claimed, and who keeps a lane that stands still.
const QUEUED: &str = "SELECT count(*) FROM (SELECT 1 FROM lanebox_open n CROSS JOIN lanebox_lane l ON l.id = n.lane \
LEFT JOIN lanebox_tried t ON t.id = n.id \
LEFT JOIN lanebox_ready y ON y.alone = (coalesce(t.lost, 0) >= 2) AND y.kind = n.kind AND y.org = l.org \
  AND y.priority = n.priority AND y.run_at = n.run_at AND y.id = n.id WHERE y.id IS NULL \
UNION ALL SELECT 1 FROM lanebox_tried t CROSS JOIN lanebox_job j ON j.id = t.id \
LEFT JOIN lanebox_scheduled s ON s.run_at = t.run_at AND s.id = t.id \
LEFT JOIN lanebox_ready y ON y.alone = (t.lost >= 2) AND y.kind = j.kind AND y.org = j.org \
  AND y.priority = j.priority AND y.run_at = t.run_at AND y.id = t.id \
WHERE t.lane IS NOT NULL AND t.phase = 'waiting' AND s.id IS NULL AND y.id IS NULL LIMIT 100001)";
const WAITING_FOR_SEND: &str = "SELECT count(*) FROM (SELECT 1 FROM lanebox_tried WHERE waits_send IS NOT NULL AND phase = 'unknown' LIMIT 100001)";
const PARKED: &str = "SELECT count(*) FROM (SELECT 1 FROM lanebox_tried WHERE waits_send IS NOT NULL AND phase = 'parked' LIMIT 100001)";
const DEAD: &str =
    "SELECT count(*) FROM (SELECT 1 FROM lanebox_finished WHERE state = 'dead' LIMIT 100001)";
const ENDED: &str = "SELECT count(*), coalesce(sum(state = 'done'), 0), coalesce(sum(state = 'cancelled'), 0) \
FROM (SELECT state FROM lanebox_finished ORDER BY id DESC LIMIT 100001)";

/// Counts the jobs of every state and place but `running`.
pub(super) fn places(conn: &Connection) -> Result<Stats> {
    let several = |sql: &'static str| -> Result<(u64, u64, u64)> {
        let found = one(conn, sql, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
        Ok(found.unwrap_or_default())
    };
    let (walked, scheduled, backing_off) = several(SCHEDULE)?;
    let (ended, done, cancelled) = several(ENDED)?;
    Ok(Stats {
        scheduled: part(scheduled, walked),
        queued: count(conn, QUEUED, [])?,
        ready: count(conn, READY, [])?,
        backing_off: part(backing_off, walked),
        waiting_for_send: count(conn, WAITING_FOR_SEND, [])?,
        parked: count(conn, PARKED, [])?,
        done: part(done, ended),
        dead: count(conn, DEAD, [])?,
        cancelled: part(cancelled, ended),
        ..Stats::default()
    })
}
