//! How many jobs stand in each state and place, every job in exactly one: the same words, and the
//! same numbers, as the list of jobs narrowed to them.

use rusqlite::{Connection, Params};

use super::count::{MOST, count, counted, part};
use super::query::one;
use crate::error::Result;
use crate::store::people::{Count, Stats};

const READY: &str =
    "SELECT count(*), min(run_at) FROM (SELECT run_at FROM lanebox_ready LIMIT 100001)";
// Who waits for the fate of a send is in the schedule too, for the end of its patience.
const SCHEDULE: &str = "SELECT count(*), coalesce(sum(place = 'scheduled'), 0), coalesce(sum(place = 'backing_off'), 0) FROM ( \
SELECT CASE WHEN t.id IS NULL THEN 'scheduled' WHEN t.waits_send IS NOT NULL THEN 'send' \
  WHEN (SELECT a.ended FROM lanebox_attempt a WHERE a.job = t.id ORDER BY a.token DESC LIMIT 1) = 'failed' THEN 'backing_off' \
  ELSE 'scheduled' END AS place \
FROM lanebox_scheduled s LEFT JOIN lanebox_tried t ON t.id = s.id LIMIT 100001)";
// A line but for its head, which can be claimed if nobody occupies the lane and it is not paused:
// so no row has to be looked for among what can be claimed.
const LINES: &str = "SELECT coalesce(sum(n), 0), coalesce(sum(n - (NOT EXISTS (SELECT 1 FROM lanebox_running r WHERE r.lane = line.lane) \
  AND NOT EXISTS (SELECT 1 FROM lanebox_tried t WHERE t.lane = line.lane) AND NOT EXISTS (SELECT 1 FROM lanebox_pause p WHERE p.lane = line.lane))), 0) \
FROM (SELECT lane, count(*) AS n FROM (SELECT lane FROM lanebox_open ORDER BY lane LIMIT 100001) GROUP BY lane) line";
// Who keeps a lane that stands still.
const KEEPERS: &str = "SELECT count(*), coalesce(sum(s.id IS NULL AND y.id IS NULL), 0) \
FROM (SELECT id, run_at, lost FROM lanebox_tried WHERE lane IS NOT NULL AND phase = 'waiting' LIMIT 100001) t \
CROSS JOIN lanebox_job j ON j.id = t.id LEFT JOIN lanebox_scheduled s ON s.run_at = t.run_at AND s.id = t.id \
LEFT JOIN lanebox_ready y ON y.alone = (t.lost >= 2) AND y.kind = j.kind AND y.org = j.org \
  AND y.priority = j.priority AND y.run_at = t.run_at AND y.id = t.id";
const WAITING_FOR_SEND: &str = "SELECT count(*) FROM (SELECT 1 FROM lanebox_tried WHERE waits_send IS NOT NULL AND phase = 'unknown' LIMIT 100001)";
const PARKED: &str = "SELECT count(*) FROM (SELECT 1 FROM lanebox_tried WHERE waits_send IS NOT NULL AND phase = 'parked' LIMIT 100001)";
const DEAD: &str =
    "SELECT count(*) FROM (SELECT 1 FROM lanebox_finished WHERE state = 'dead' LIMIT 100001)";
// The lowest of the newest ids that are counted.
const ENDED_FLOOR: &str = "SELECT id FROM lanebox_finished ORDER BY id DESC LIMIT 1 OFFSET 100000";
// Only those are read in full of which there may be few: the rest is done.
const ENDED: &str = "SELECT (SELECT count(*) FROM lanebox_finished WHERE id >= ?1), \
(SELECT count(*) FROM lanebox_finished WHERE id >= ?1 AND state = 'cancelled'), (SELECT count(*) FROM lanebox_finished WHERE state = 'dead' AND id >= ?1)";
/// Counts the jobs of every state and place but `running`.
pub(super) fn places(conn: &Connection) -> Result<Stats> {
    let (walked, scheduled, backing_off) = several(conn, SCHEDULE, [])?;
    let (ready, oldest_ready_at) =
        one(conn, READY, [], |row| Ok((row.get(0)?, row.get(1)?)))?.unwrap_or_default();
    let floor = one(conn, ENDED_FLOOR, [], |row| row.get::<_, i64>(0))?.unwrap_or(0);
    let (ended, cancelled, dead) = several(conn, ENDED, [floor])?;
    Ok(Stats {
        scheduled: part(scheduled, walked),
        queued: queued(conn)?,
        ready: counted(ready, MOST),
        oldest_ready_at,
        backing_off: part(backing_off, walked),
        waiting_for_send: count(conn, WAITING_FOR_SEND, [])?,
        parked: count(conn, PARKED, [])?,
        done: part(ended.saturating_sub(cancelled).saturating_sub(dead), ended),
        dead: count(conn, DEAD, [])?,
        cancelled: part(cancelled, ended),
        ..Stats::default()
    })
}

fn queued(conn: &Connection) -> Result<Count> {
    let two = |sql| one(conn, sql, [], |row| Ok((row.get(0)?, row.get(1)?)));
    let (rows, behind): (u64, u64) = two(LINES)?.unwrap_or_default();
    let (kept, still): (u64, u64) = two(KEEPERS)?.unwrap_or_default();
    let some = counted(behind.saturating_add(still), MOST);
    Ok(Count { more: some.more || rows > MOST || kept > MOST, ..some })
}

fn several(conn: &Connection, sql: &'static str, params: impl Params) -> Result<(u64, u64, u64)> {
    let found = one(conn, sql, params, |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    Ok(found.unwrap_or_default())
}
