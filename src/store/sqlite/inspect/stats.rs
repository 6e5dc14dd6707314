//! A file in numbers: every count is bounded.

use std::collections::BTreeMap;
use std::path::Path;

use rusqlite::{Connection, params};

use super::consumers::consumers;
use super::count::{count, counted};
use super::places::places;
use super::query::{all, one};
use crate::error::Result;
use crate::store::people::{Census, Count, Stats};
use crate::store::sqlite::checkpoint::log_bytes;

const UNKNOWN: &str = "SELECT count(*) FROM (SELECT 1 FROM lanebox_send_try WHERE state IN ('intended', 'unknown') AND state = 'unknown' LIMIT 100001)";
const NOTICES: &str =
    "SELECT count(*) FROM (SELECT 1 FROM lanebox_notice WHERE state <> 'resolved' LIMIT 100001)";
const WHOLE: &str = "SELECT (SELECT coalesce(max(seq), 0) FROM lanebox_event), (SELECT seq FROM lanebox_front), \
(SELECT coalesce(max(id), 0) FROM lanebox_job), (SELECT count(*) FROM lanebox_running), (SELECT paused FROM lanebox_counter), \
(SELECT hold FROM lanebox_meta), (SELECT page_count FROM pragma_page_count) * (SELECT page_size FROM pragma_page_size)";

/// The whole file.
pub(in super::super) fn stats(conn: &Connection, path: &Path) -> Result<Stats> {
    let places = places(conn)?;
    let stats = one(conn, WHOLE, [], |row| {
        let (events, front): (i64, i64) = (row.get(0)?, row.get(1)?);
        Ok(Stats {
            events,
            events_ahead: events.saturating_sub(front).max(0),
            jobs: row.get(2)?,
            running: row.get(3)?,
            paused: row.get(4)?,
            hold: row.get(5)?,
            database_bytes: row.get(6)?,
            ..places
        })
    })?;
    let dead = dead(conn)?;
    Ok(Stats {
        unknown_sends: count(conn, UNKNOWN, [])?,
        open_notices: count(conn, NOTICES, [])?,
        kinds: kinds(conn, &dead)?,
        orgs: orgs(conn, &dead)?,
        consumers: consumers(conn)?,
        wal_bytes: log_bytes(path),
        ..stats.unwrap_or_default()
    })
}

/// Dead jobs by (kind, org), of the first 10,000.
struct Dead {
    by: BTreeMap<(i64, i64), u64>,
    more: bool,
}

const DEAD_BY: &str = "SELECT j.kind, j.org, count(*) FROM (SELECT id FROM lanebox_finished WHERE state = 'dead' LIMIT 10001) f \
CROSS JOIN lanebox_job j ON j.id = f.id GROUP BY j.kind, j.org";

fn dead(conn: &Connection) -> Result<Dead> {
    let rows = all(conn, DEAD_BY, [], |row| Ok(((row.get(0)?, row.get(1)?), row.get(2)?)))?;
    let by: BTreeMap<(i64, i64), u64> = rows.into_iter().collect();
    let more = by.values().sum::<u64>() > 10_000;
    Ok(Dead { by, more })
}

impl Dead {
    fn of(&self, which: impl Fn(&(i64, i64)) -> bool) -> Count {
        let some = self.by.iter().filter(|(key, _)| which(key));
        Count { n: some.map(|(_, n)| n).sum(), more: self.more }
    }
}

const KINDS: &str = "SELECT id, name, paused, (SELECT count(*) FROM lanebox_running r WHERE r.kind = k.id) FROM lanebox_kind k ORDER BY name LIMIT 200";
const READY_OF_KIND: &str = "SELECT count(*) FROM (SELECT 1 FROM lanebox_ready WHERE alone IN (0, 1) AND kind = ?1 LIMIT 10001)";

fn kinds(conn: &Connection, dead: &Dead) -> Result<Vec<Census>> {
    let rows = all(conn, KINDS, [], census)?;
    rows.into_iter()
        .map(|(id, census)| {
            let ready = one(conn, READY_OF_KIND, [id], |row| row.get(0))?.unwrap_or(0);
            let dead = dead.of(|&(kind, _)| kind == id);
            Ok(Census { ready: counted(ready, 10_000), dead, ..census })
        })
        .collect()
}

const ORGS: &str = "SELECT id, name, paused, (SELECT count(*) FROM lanebox_running r WHERE r.org = o.id) FROM lanebox_org o ORDER BY id LIMIT 2000";
// One seek for each kind.
const READY_OF_ORG: &str = "SELECT coalesce(sum((SELECT count(*) FROM (SELECT 1 FROM lanebox_ready y \
WHERE y.alone IN (0, 1) AND y.kind = k.id AND y.org = ?1 LIMIT 1001))), 0) FROM lanebox_kind k";

fn orgs(conn: &Connection, dead: &Dead) -> Result<Vec<Census>> {
    let mut found = Vec::new();
    for (id, census) in all(conn, ORGS, [], census)? {
        let ready = one(conn, READY_OF_ORG, params![id], |row| row.get(0))?.unwrap_or(0);
        let dead = dead.of(|&(_, org)| org == id);
        if found.len() < 50 && (ready > 0 || census.running > 0 || dead.n > 0 || census.paused) {
            found.push(Census { ready: counted(ready, 1_000), dead, ..census });
        }
    }
    Ok(found)
}

fn census(row: &rusqlite::Row<'_>) -> rusqlite::Result<(i64, Census)> {
    let (name, paused, running) = (row.get(1)?, row.get(2)?, row.get(3)?);
    Ok((row.get(0)?, Census { name, paused, running, ..Census::default() }))
}
