//! A transaction under way: what every verb works on. It cannot read another clock or run outside a transaction.

use hmac::{Hmac, Mac};
use rusqlite::{Connection, Params, Row};
use sha2::Sha256;

use crate::env::Env;
use crate::error::Result;

/// The key of every HMAC in one file.
#[derive(Clone)]
pub(super) struct Secret(pub(super) [u8; 32]);

impl Secret {
    /// HMAC of a domain word and length-framed parts, so that no two lists of parts look alike.
    pub(super) fn hmac(&self, domain: &str, parts: &[&[u8]]) -> [u8; 32] {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0).expect("any key length");
        for part in [domain.as_bytes()].iter().chain(parts) {
            mac.update(&(part.len() as u64).to_le_bytes());
            mac.update(part);
        }
        mac.finalize().into_bytes().into()
    }
}

/// One open write transaction with its one reading of the clocks.
pub(super) struct Tx<'c> {
    pub(super) conn: &'c Connection,
    pub(super) env: &'c Env,
    pub(super) secret: &'c Secret,
    pub(super) now: i64,
    pub(super) mono: i64,
}

impl<'c> Tx<'c> {
    pub(super) fn new(conn: &'c Connection, env: &'c Env, secret: &'c Secret) -> Tx<'c> {
        Tx {
            conn,
            env,
            secret,
            now: env.now_ms(),
            mono: env.mono_ms(),
        }
    }

    /// Runs a statement that answers no rows; how many rows it changed.
    pub(super) fn run(&self, sql: &'static str, params: impl Params) -> Result<usize> {
        Ok(self.statement(sql)?.execute(params)?)
    }

    /// The first row, read to the end of the statement before anything else happens.
    pub(super) fn one<T>(
        &self,
        sql: &'static str,
        params: impl Params,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Option<T>> {
        let mut statement = self.statement(sql)?;
        let mut rows = statement.query(params)?;
        let Some(row) = rows.next()? else {
            return Ok(None);
        };
        let found = read(row)?;
        while rows.next()?.is_some() {}
        Ok(Some(found))
    }

    /// Every row.
    pub(super) fn all<T>(
        &self,
        sql: &'static str,
        params: impl Params,
        mut read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>> {
        let mut statement = self.statement(sql)?;
        let mut rows = statement.query(params)?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            found.push(read(row)?);
        }
        Ok(found)
    }

    /// Whether there is a row.
    pub(super) fn has(&self, sql: &'static str, params: impl Params) -> Result<bool> {
        Ok(self.one(sql, params, |_| Ok(()))?.is_some())
    }

    /// The row number of the last insert of this transaction.
    pub(super) fn last_row(&self) -> i64 {
        self.conn.last_insert_rowid()
    }

    /// Runs `body` in a savepoint: an error takes back what it did, and nothing else.
    pub(super) fn savepoint<T>(&self, body: impl FnOnce() -> Result<T>) -> Result<T> {
        self.run("SAVEPOINT step", [])?;
        let answer = body();
        // After FULL or IOERR SQLite may have ended the transaction: there is nothing left to take back.
        if answer.is_err() && !self.conn.is_autocommit() {
            self.run("ROLLBACK TO step", [])?;
        }
        if !self.conn.is_autocommit() {
            self.run("RELEASE step", [])?;
        }
        answer
    }

    fn statement(&self, sql: &'static str) -> Result<rusqlite::CachedStatement<'c>> {
        Ok(self.conn.prepare_cached(sql)?)
    }
}
