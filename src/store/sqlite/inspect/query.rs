//! A query put together from constant parts, with its values bound in their order.

use rusqlite::types::Value;
use rusqlite::{Connection, Params, Row, params_from_iter};

use crate::error::Result;

/// A query under construction: a head, conditions, a tail.
pub(super) struct Query {
    text: String,
    values: Vec<Value>,
    conditions: usize,
}

impl Query {
    /// `head` ends before its WHERE.
    pub(super) fn new(head: &'static str) -> Query {
        Query::of(&[head])
    }

    /// The same, of a head in parts.
    pub(super) fn of(head: &[&'static str]) -> Query {
        Query { text: head.concat(), values: Vec::new(), conditions: 0 }
    }

    /// A condition without a value.
    pub(super) fn only(mut self, condition: &'static str) -> Query {
        self.text += if self.conditions == 0 { " WHERE " } else { " AND " };
        self.text += condition;
        self.conditions += 1;
        self
    }

    /// A condition with one `?`.
    pub(super) fn with(self, condition: &'static str, value: impl Into<Value>) -> Query {
        let mut query = self.only(condition);
        query.values.push(value.into());
        query
    }

    /// A condition with two `?`.
    pub(super) fn with_two(
        self,
        condition: &'static str,
        first: impl Into<Value>,
        second: impl Into<Value>,
    ) -> Query {
        let mut query = self.with(condition, first);
        query.values.push(second.into());
        query
    }

    /// A condition with one `?`, if there is a value for it.
    pub(super) fn maybe(self, condition: &'static str, value: Option<impl Into<Value>>) -> Query {
        match value {
            Some(value) => self.with(condition, value),
            None => self,
        }
    }

    /// Runs it with `tail` (ORDER BY) and at most `limit` rows.
    pub(super) fn rows<T>(
        mut self,
        conn: &Connection,
        tail: &'static str,
        limit: usize,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>> {
        self.text += tail;
        self.text += " LIMIT ?";
        self.values.push(i64::try_from(limit).unwrap_or(i64::MAX).into());
        let mut statement = conn.prepare_cached(&self.text)?;
        let rows = statement.query_map(params_from_iter(self.values), read)?;
        let rows = rows.collect::<rusqlite::Result<_>>()?;
        #[cfg(test)]
        scanned::note(&statement, &self.text);
        Ok(rows)
    }
}

/// The first row of a constant statement.
pub(super) fn one<T>(
    conn: &Connection,
    sql: &'static str,
    params: impl Params,
    read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
) -> Result<Option<T>> {
    let mut statement = conn.prepare_cached(sql)?;
    #[cfg(test)]
    scanned::note(&statement, sql);
    let mut rows = statement.query(params)?;
    Ok(rows.next()?.map(read).transpose()?)
}

/// Every row of a constant statement.
pub(super) fn all<T>(
    conn: &Connection,
    sql: &'static str,
    params: impl Params,
    read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
) -> Result<Vec<T>> {
    let mut statement = conn.prepare_cached(sql)?;
    #[cfg(test)]
    scanned::note(&statement, sql);
    let rows = statement.query_map(params, read)?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Rows that queries of this thread walked without an index, sorts that they made, and their texts.
#[cfg(test)]
pub(super) mod scanned {
    use std::cell::{Cell, RefCell};
    use std::collections::BTreeSet;

    use rusqlite::StatementStatus::{FullscanStep, Sort};

    thread_local! {
        static SCANNED: Cell<i32> = const { Cell::new(0) };
        static TEXTS: RefCell<BTreeSet<String>> = const { RefCell::new(BTreeSet::new()) };
    }

    pub(super) fn note(statement: &rusqlite::Statement<'_>, text: &str) {
        TEXTS.with_borrow_mut(|texts| texts.insert(text.to_owned()));
        let steps = statement.reset_status(FullscanStep) + statement.reset_status(Sort);
        SCANNED.set(SCANNED.get() + steps);
    }

    pub(in super::super) fn take() -> i32 {
        SCANNED.take()
    }

    pub(in super::super) fn texts() -> BTreeSet<String> {
        TEXTS.take()
    }
}
