//! The stretch of ids that one page may look at, so that a narrow filter on a long history answers
//! soon, and goes on with the next page instead of walking to the beginning.

use rusqlite::Connection;

use super::query::one;
use crate::error::Result;
use crate::store::people::{Filter, Page};

/// Ids that one page looks at.
pub(super) const WALK: i64 = 20_000;

/// A table whose rows are walked by id, newest first.
pub(super) struct Walked {
    /// The newest id below ?1.
    pub(super) below: &'static str,
    /// The first id whose own key says that it was made at or after ?1, a UUIDv7.
    pub(super) since: &'static str,
}

/// Ids from `floor` up to, not including, `top`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) top: i64,
    pub(super) floor: i64,
    /// Rows go on below it.
    pub(super) more: bool,
}

impl Span {
    /// The stretch behind the cursor of this filter.
    pub(super) fn of(conn: &Connection, table: &Walked, filter: &Filter) -> Result<Span> {
        Span::near(conn, table, filter, WALK)
    }

    /// The same, of so many ids.
    pub(super) fn near(
        conn: &Connection,
        table: &Walked,
        filter: &Filter,
        ids: i64,
    ) -> Result<Span> {
        // From the newest id that is there: nobody looks at a gap.
        let below = filter.cursor()?.unwrap_or(i64::MAX);
        let newest = one(conn, table.below, [below], |row| row.get::<_, i64>(0))?;
        let top = newest.map_or(0, |id| id.saturating_add(1));
        let oldest = match filter.since {
            None => 0,
            // Ids are given in about the order of these keys: leave room for those that were not.
            Some(at) => one(conn, table.since, [first_key_at(at)], |row| row.get::<_, i64>(0))?
                .unwrap_or(top)
                .saturating_sub(WALK),
        };
        let floor = top.saturating_sub(ids).max(oldest).max(0).min(top);
        let more = floor > oldest
            && one(conn, table.below, [floor], |row| row.get::<_, i64>(0))?
                .is_some_and(|id| id >= oldest);
        Ok(Span { top, floor, more })
    }

    /// The page of these rows, of which one more than its limit was read.
    pub(super) fn page<T>(self, mut rows: Vec<(i64, T)>, limit: usize) -> Page<T> {
        let next = if rows.len() > limit {
            rows.truncate(limit);
            rows.last().map(|(id, _)| *id)
        } else {
            self.more.then_some(self.floor)
        };
        page(rows, next)
    }
}

/// The page of rows read without a stretch, of which one more than the limit was read.
pub(super) fn page_of<T>(rows: Vec<(i64, T)>, limit: usize) -> Page<T> {
    page_until(rows, limit, None)
}

/// The same, where looking ended at this id if it did not come to the end.
pub(super) fn page_until<T>(mut rows: Vec<(i64, T)>, limit: usize, floor: Option<i64>) -> Page<T> {
    let more = rows.len() > limit;
    rows.truncate(limit);
    let next = if more { rows.last().map(|(id, _)| *id) } else { floor };
    page(rows, next)
}

fn page<T>(rows: Vec<(i64, T)>, next: Option<i64>) -> Page<T> {
    let rows = rows.into_iter().map(|(_, row)| row).collect();
    Page { rows, next: next.map(|id| id.to_string()) }
}

/// The lowest UUIDv7 of a millisecond: whatever was made then or later has a higher one.
pub(super) fn first_key_at(ms: i64) -> [u8; 16] {
    let ms = ms.max(0).unsigned_abs().to_be_bytes();
    let mut key = [0; 16];
    key[..6].copy_from_slice(&ms[2..]);
    key
}
