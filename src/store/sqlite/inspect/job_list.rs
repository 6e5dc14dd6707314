//! The list of jobs: a page of any state costs about what it shows, whatever waits and whatever
//! happened.

use rusqlite::Connection;

use super::jobs::{COLUMNS, JOINS, OF_ALL, numbered};
use super::query::{Query, one};
use super::span::{Span, WALK, Walked, page_of, page_until};
use crate::error::Result;
use crate::store::people::{Filter, JobView, Page};

/// A job made at or after a time, by its own key.
const SINCE: &str = "SELECT id FROM lanebox_job WHERE uuid >= ?1 ORDER BY uuid LIMIT 1";
const ALL: Walked = Walked {
    below: "SELECT id FROM lanebox_job WHERE id < ?1 ORDER BY id DESC LIMIT 1",
    since: SINCE,
};
const ENDED: Walked = Walked {
    below: "SELECT id FROM lanebox_finished WHERE id < ?1 ORDER BY id DESC LIMIT 1",
    since: SINCE,
};

const OF_ENDED: &str = "FROM lanebox_finished f CROSS JOIN lanebox_job j ON j.id = f.id";
// The dead are kept long, so a stretch of them is as many of them, however far apart.
const DEAD_FLOOR: &str = "SELECT id FROM lanebox_finished WHERE state = 'dead' AND id < ?1 ORDER BY id DESC LIMIT 1 OFFSET ?2";

const NEWEST: &str = " ORDER BY j.id DESC";

/// Ids that are looked at before anything is asked about how many wait.
const NEAR: i64 = 1_000;

/// Where jobs that have not ended stand. The narrow tables are in the order of the work and not of
/// ids: a few rows are sorted, and of many the newest are soon found among all jobs.
struct Place {
    /// A job stands there.
    few: &'static str,
    /// A row, if more than ?1 stand there.
    many: &'static str,
    /// What tells others early when all jobs are walked. Nothing here may turn an outer join into
    /// an inner one, which SQLite would walk first.
    each: &'static str,
}

const WAITING: Place = Place {
    few: "j.id IN (SELECT id FROM lanebox_scheduled UNION SELECT id FROM lanebox_ready UNION SELECT id FROM lanebox_open UNION SELECT id FROM lanebox_tried)",
    many: "SELECT 1 FROM (SELECT id FROM lanebox_scheduled UNION ALL SELECT id FROM lanebox_ready UNION ALL SELECT id FROM lanebox_open UNION ALL SELECT id FROM lanebox_tried) LIMIT 1 OFFSET ?1",
    each: "f.id IS NULL AND r.id IS NULL AND (t.id IS NOT NULL OR s.id IS NOT NULL OR y.id IS NOT NULL OR EXISTS (SELECT 1 FROM lanebox_open n \
WHERE n.lane = j.lane AND n.priority = j.priority AND n.run_at = coalesce(t.run_at, j.run_at) AND n.id = j.id))",
};
const SCHEDULED: Place = Place {
    few: "j.id IN (SELECT id FROM lanebox_scheduled)",
    many: "SELECT 1 FROM lanebox_scheduled LIMIT 1 OFFSET ?1",
    each: "f.id IS NULL AND r.id IS NULL AND coalesce(s.id, 0) > 0",
};
const QUEUED: Place = Place {
    few: "j.id IN (SELECT id FROM lanebox_open UNION SELECT id FROM lanebox_tried)",
    many: "SELECT 1 FROM (SELECT id FROM lanebox_open UNION ALL SELECT id FROM lanebox_tried) LIMIT 1 OFFSET ?1",
    each: "f.id IS NULL AND r.id IS NULL AND (t.id IS NOT NULL OR EXISTS (SELECT 1 FROM lanebox_open n \
WHERE n.lane = j.lane AND n.priority = j.priority AND n.run_at = coalesce(t.run_at, j.run_at) AND n.id = j.id))",
};
const READY: Place = Place {
    few: "j.id IN (SELECT id FROM lanebox_ready)",
    many: "SELECT 1 FROM lanebox_ready LIMIT 1 OFFSET ?1",
    each: "f.id IS NULL AND r.id IS NULL AND coalesce(y.id, 0) > 0",
};
const FOR_SEND: Place = Place {
    few: "j.id IN (SELECT id FROM lanebox_tried WHERE waits_send IS NOT NULL)",
    many: "SELECT 1 FROM lanebox_tried WHERE waits_send IS NOT NULL LIMIT 1 OFFSET ?1",
    each: "f.id IS NULL AND r.id IS NULL AND coalesce(t.phase, 'waiting') <> 'waiting'",
};
// Never more than the global cap.
const RUNNING: &str = "j.id IN (SELECT id FROM lanebox_running)";

// Asked of the job's own row, before anything else is looked for: a walk passes many others.
const LANE: &str = "(SELECT n.name FROM lanebox_lane n WHERE n.id = j.lane) = ?";
const LANE_OF_ORG: &str = "j.lane = (SELECT n.id FROM lanebox_lane n WHERE n.name = ? AND n.org = (SELECT id FROM lanebox_org WHERE name = ?))";

/// Jobs, newest first.
pub(in super::super) fn jobs(conn: &Connection, filter: &Filter) -> Result<Page<JobView>> {
    let list = List { conn, filter, limit: filter.rows()? };
    match filter.state_of(&super::jobs::STATES)? {
        Some("pending") => list.unended(&WAITING, "pending"),
        Some(state @ ("scheduled" | "backing_off")) => list.unended(&SCHEDULED, state),
        Some("queued") => list.unended(&QUEUED, "queued"),
        Some("ready") => list.unended(&READY, "ready"),
        Some(state @ ("waiting_for_send" | "parked")) => list.unended(&FOR_SEND, state),
        Some("running") => list.few(RUNNING, "running"),
        Some("dead") => list.dead(),
        Some(state) => list.ended(state),
        None => list.all(),
    }
}

struct List<'l> {
    conn: &'l Connection,
    filter: &'l Filter,
    limit: usize,
}

impl List<'_> {
    /// What the filter asks but for the state.
    fn query(&self, from: &'static str) -> Result<Query> {
        let filter = self.filter;
        let query = match (&filter.lane, &filter.org) {
            (Some(lane), Some(org)) => {
                Query::of(&[COLUMNS, from, JOINS]).with_two(LANE_OF_ORG, lane.clone(), org.clone())
            }
            (lane, org) => Query::of(&[COLUMNS, from, JOINS])
                .maybe(LANE, lane.clone())
                .maybe("j.org = (SELECT id FROM lanebox_org WHERE name = ?)", org.clone()),
        };
        Ok(query
            .maybe("j.kind = (SELECT id FROM lanebox_kind WHERE name = ?)", filter.kind.clone())
            .maybe("j.lane = ?", filter.lane_number()?)
            .maybe("j.created_at >= ?", filter.since))
    }

    /// One row more than the page has, to see whether there is one.
    fn rows(&self, query: Query, order: &'static str) -> Result<Vec<(i64, JobView)>> {
        query.rows(self.conn, order, self.limit + 1, numbered)
    }

    fn below(&self) -> Result<i64> {
        Ok(self.filter.cursor()?.unwrap_or(i64::MAX))
    }

    fn all(&self) -> Result<Page<JobView>> {
        let span = Span::of(self.conn, &ALL, self.filter)?;
        let query = self.query(OF_ALL)?.with_two("j.id >= ? AND j.id < ?", span.floor, span.top);
        Ok(span.page(self.rows(query, NEWEST)?, self.limit))
    }

    fn ended(&self, state: &str) -> Result<Page<JobView>> {
        let span = Span::of(self.conn, &ENDED, self.filter)?;
        let query = self.query(OF_ENDED)?.with_two("f.id >= ? AND f.id < ?", span.floor, span.top);
        let query = query.with("f.state = ?", state.to_owned());
        Ok(span.page(self.rows(query, " ORDER BY f.id DESC")?, self.limit))
    }

    fn dead(&self) -> Result<Page<JobView>> {
        let below = self.below()?;
        let floor = one(self.conn, DEAD_FLOOR, [below, WALK - 1], |row| row.get(0))?;
        let query = self.query(OF_ENDED)?.only("f.state = 'dead'");
        let query = query.with_two("f.id >= ? AND f.id < ?", floor.unwrap_or(0), below);
        Ok(page_until(self.rows(query, " ORDER BY f.id DESC")?, self.limit, floor))
    }

    fn unended(&self, place: &Place, state: &str) -> Result<Page<JobView>> {
        let near = Span::near(self.conn, &ALL, self.filter, NEAR)?;
        let rows = self.walked(place, state, near)?;
        if rows.len() > self.limit || !near.more {
            return Ok(near.page(rows, self.limit));
        }
        let many = one(self.conn, place.many, [WALK], |_| Ok(()))?;
        if many.is_none() {
            return self.few(place.few, state);
        }
        let span = Span::of(self.conn, &ALL, self.filter)?;
        Ok(span.page(self.walked(place, state, span)?, self.limit))
    }

    /// Those of a stretch of all jobs.
    fn walked(&self, place: &Place, state: &str, span: Span) -> Result<Vec<(i64, JobView)>> {
        let query = self.query(OF_ALL)?.with_two("j.id >= ? AND j.id < ?", span.floor, span.top);
        let query = query.only(place.each).with(IN_STATE, state.to_owned());
        self.rows(query, NEWEST)
    }

    /// Those of a small set.
    fn few(&self, set: &'static str, state: &str) -> Result<Page<JobView>> {
        // The plus keeps the cursor from driving: the set does.
        let query = self.query(OF_ALL)?.only(set).with("+j.id < ?", self.below()?);
        let query = query.with(IN_STATE, state.to_owned());
        Ok(page_of(self.rows(query, NEWEST)?, self.limit))
    }
}

const IN_STATE: &str = "? IN (job_state, coalesce(place, job_state))";
