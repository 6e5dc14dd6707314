//! Counts that stop: a backlog of millions does not hold up who asks how large it is.

use rusqlite::{Connection, Params};

use super::query::one;
use crate::error::Result;
use crate::store::people::Count;

/// Rows of one table that are counted.
pub(super) const MOST: u64 = 100_000;

/// Counts the answer of `sql`, which ends with `LIMIT 100001` inside.
pub(super) fn count(conn: &Connection, sql: &'static str, params: impl Params) -> Result<Count> {
    let n = one(conn, sql, params, |row| row.get::<_, u64>(0))?.unwrap_or(0);
    Ok(counted(n, MOST))
}

/// A count of some of the rows that a query of the same bound walked.
pub(super) fn part(n: u64, walked: u64) -> Count {
    Count { n, more: walked > MOST }
}

/// A count whose query read one row more than `most`.
pub(super) fn counted(n: u64, most: u64) -> Count {
    Count { n: n.min(most), more: n > most }
}
