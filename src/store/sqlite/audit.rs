//! What must never be, as queries that find it: each returns zero rows on a sound file. They only
//! read, and they walk whole tables, so they are for `doctor` and tests, never for a live path.

mod events;
mod jobs;
mod ledger;
#[cfg(test)]
mod tests;

use rusqlite::Connection;

use crate::error::Result;
use crate::store::people::Finding;

/// One thing that must never be.
pub(super) struct Audit {
    /// What a test and a report call it.
    pub(super) name: &'static str,
    /// The rule that the rows found would break, as a person reads it.
    pub(super) sentence: &'static str,
    /// Answers the rows that break it, the most telling column first.
    pub(super) sql: &'static str,
}

/// Every audit, area by area. A new rule goes into the list of its area.
pub(super) const AUDITS: [&[Audit]; 3] = [jobs::AUDITS, events::AUDITS, ledger::AUDITS];

/// Rows of one audit that are read: beyond that the answer is "at least".
const MOST: u64 = 1_000;

/// Rows of one audit that are shown.
const SHOWN: usize = 5;

/// Asks every audit, each in a snapshot of its own. What was found is in the answers; empty ones
/// are there too.
pub(super) fn audit(conn: &Connection) -> Result<Vec<Finding>> {
    AUDITS.iter().flat_map(|area| area.iter()).map(|audit| ask(conn, audit)).collect()
}

fn ask(conn: &Connection, audit: &Audit) -> Result<Finding> {
    let mut statement = conn.prepare_cached(audit.sql)?;
    let mut rows = statement.query([])?;
    let (mut count, mut first) = (0, Vec::new());
    while let Some(row) = rows.next()? {
        if first.len() < SHOWN {
            first.push(shown(row.get_ref(0)?));
        }
        count += 1;
        if count == MOST {
            break;
        }
    }
    Ok(Finding { name: audit.name, sentence: audit.sentence, count, first })
}

/// A value of any type, for a person.
pub(super) fn shown(value: rusqlite::types::ValueRef<'_>) -> String {
    use rusqlite::types::ValueRef;
    match value {
        ValueRef::Integer(n) => n.to_string(),
        ValueRef::Text(text) => String::from_utf8_lossy(text).into_owned(),
        other => format!("{other:?}"),
    }
}
