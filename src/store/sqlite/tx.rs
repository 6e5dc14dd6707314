//! A transaction under way: what every verb works on. It cannot read another clock or run outside a
//! transaction.

use std::cell::RefCell;

use hmac::{Hmac, Mac};
use rusqlite::{CachedStatement, Connection, Params, Row};
use sha2::Sha256;

use crate::env::Env;
use crate::error::{Error, Result};

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

const SAVEPOINT: &str = "SAVEPOINT step";
const RELEASE: &str = "RELEASE step";
const ROLLBACK_TO: &str = "ROLLBACK TO step";
const ROLLBACK: &str = "ROLLBACK";

/// One open write transaction with its one reading of the clocks. The statements that it uses stay
/// in hand until its end: looking one up by its text costs as much as running it.
pub(super) struct Tx<'c> {
    pub(super) conn: &'c Connection,
    pub(super) env: &'c Env,
    pub(super) secret: &'c Secret,
    pub(super) now: i64,
    pub(super) mono: i64,
    in_hand: RefCell<Vec<(*const u8, CachedStatement<'c>)>>,
}

impl<'c> Tx<'c> {
    pub(super) fn new(conn: &'c Connection, env: &'c Env, secret: &'c Secret) -> Tx<'c> {
        let in_hand = RefCell::default();
        Tx { conn, env, secret, now: env.now_ms(), mono: env.mono_ms(), in_hand }
    }

    /// Runs a statement that answers no rows; how many rows it changed.
    pub(super) fn run(&self, sql: &'static str, params: impl Params) -> Result<usize> {
        self.with(sql, |statement| statement.execute(params))
    }

    /// The first row. The statement ends with it: what it writes it has written by then.
    pub(super) fn one<T>(
        &self,
        sql: &'static str,
        params: impl Params,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Option<T>> {
        self.with(sql, |statement| {
            let mut rows = statement.query(params)?;
            let Some(row) = rows.next()? else {
                return Ok(None);
            };
            Ok(Some(read(row)?))
        })
    }

    /// Every row.
    pub(super) fn all<T>(
        &self,
        sql: &'static str,
        params: impl Params,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>> {
        self.until(sql, params, read, |_| false)
    }

    /// Every row up to the first after which what was found is enough.
    pub(super) fn until<T>(
        &self,
        sql: &'static str,
        params: impl Params,
        mut read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
        enough: impl Fn(&[T]) -> bool,
    ) -> Result<Vec<T>> {
        self.with(sql, |statement| {
            let mut rows = statement.query(params)?;
            let mut found = Vec::new();
            while !enough(&found)
                && let Some(row) = rows.next()?
            {
                found.push(read(row)?);
            }
            Ok(found)
        })
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
        self.run(SAVEPOINT, [])?;
        let answer = body();
        // After FULL or IOERR SQLite may have ended the transaction: there is nothing left to take
        // back.
        if self.conn.is_autocommit() {
            return answer.and(Err(Error::RolledBack));
        }
        let closed = match answer {
            Ok(_) => self.run(RELEASE, []),
            Err(_) => self.run(ROLLBACK_TO, []).and_then(|_| self.run(RELEASE, [])),
        };
        if let Err(error) = closed {
            // Else the half of it that is there would be committed with the others.
            tracing::warn!(%error, "a savepoint could not be closed: the whole transaction is rolled back");
            self.run(ROLLBACK, [])?;
            return answer.and(Err(error));
        }
        answer
    }

    // Statements are constants, so the address of the text names them.
    fn with<T>(
        &self,
        sql: &'static str,
        body: impl FnOnce(&mut CachedStatement<'c>) -> rusqlite::Result<T>,
    ) -> Result<T> {
        // Else each statement would be a commit of its own.
        if self.conn.is_autocommit() {
            return Err(Error::RolledBack);
        }
        let at = sql.as_ptr();
        let found = self.in_hand.borrow().iter().position(|(held, _)| *held == at);
        let mut statement = match found {
            Some(i) => self.in_hand.borrow_mut().swap_remove(i).1,
            None => self.conn.prepare_cached(sql)?,
        };
        let answer = body(&mut statement);
        self.in_hand.borrow_mut().push((at, statement));
        Ok(answer?)
    }
}
