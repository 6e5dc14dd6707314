//! What every connection must be, and that none comes back to the pool in the middle of something.

use std::path::Path;

use super::*;
use crate::store::sqlite::{Opening, SqliteStore};

fn store(path: &Path) -> SqliteStore {
    SqliteStore::open(path, Env::system(), &Opening::default()).expect("opened")
}

fn number(conn: &Connection, pragma: &str) -> i64 {
    conn.query_row(&format!("PRAGMA {pragma}"), [], |row| row.get(0)).expect("a pragma")
}

// fault: old-sqlite-is-taken
#[test]
fn r9_an_old_sqlite_is_refused() {
    for version in [3_006_000, 3_040_001, 3_051_002, 3_052_000] {
        let why = check_sqlite(version).expect_err("it can damage a WAL file").to_string();
        assert!(why.contains("no file was opened"), "{why}");
    }
    for version in [3_051_003, 3_053_002, rusqlite::version_number()] {
        check_sqlite(version).expect("it is mended");
    }
}

// fault: connections-begin-at-normal
#[test]
fn r13_every_connection_is_at_full_and_says_so() {
    let dir = tempfile::tempdir().expect("a directory");
    let store = store(&dir.path().join("crm.db"));
    let check = |conn: &Connection| {
        assert_eq!(number(conn, "synchronous"), 2);
        assert_eq!(number(conn, "foreign_keys"), 1);
        assert_eq!(number(conn, "trusted_schema"), 0);
        assert_eq!(journal_mode(conn, "PRAGMA journal_mode"), Ok("wal".to_owned()));
        Ok(())
    };
    store.writer.host(|tx| check(tx.conn)).expect("the writer");
    store.read(check).expect("a reader");
    let wrote = store.read(|conn| Ok(conn.execute_batch("DELETE FROM lanebox_org")?));
    assert!(wrote.is_err(), "a reader cannot write");
}

#[test]
fn a_pragma_that_does_not_take_is_refused() {
    let conn = Connection::open_in_memory().expect("opened");
    let why =
        set(&conn, Path::new("crm.db"), "synchronous", 9).expect_err("it reads 1").to_string();
    assert!(why.contains("PRAGMA synchronous = 9 did not take"), "{why}");
}

#[test]
fn a_reader_left_in_a_transaction_does_not_come_back() {
    let dir = tempfile::tempdir().expect("a directory");
    let store = store(&dir.path().join("crm.db"));
    let name = || {
        store.read(|conn| {
            let clean = conn.is_autocommit();
            conn.execute_batch("BEGIN; CREATE TEMP TABLE mine(x)")?;
            Ok(clean)
        })
    };
    // CREATE fails on a connection that may only read, BEGIN has happened.
    assert!(name().is_err());
    assert!(store.read(|conn| Ok(conn.is_autocommit())).expect("a clean one"));
}

#[test]
fn r6_readers_that_are_all_in_use_are_an_error_soon() {
    let dir = tempfile::tempdir().expect("a directory");
    let store = store(&dir.path().join("crm.db"));
    fn nested(store: &SqliteStore, depth: usize) -> Result<()> {
        store.read(|_| if depth == 0 { Ok(()) } else { nested(store, depth - 1) })
    }
    nested(&store, 3).expect("four readers");
    let why = nested(&store, 4).expect_err("a fifth").to_string();
    assert!(why.contains("finish other reads first"), "{why}");
}

// fault: failing-disk-is-a-broken-file
#[test]
fn a_disk_that_fails_sends_nobody_for_a_backup() {
    let says = |code: i32| {
        let error = rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(code), None);
        super::unusable(std::path::Path::new("crm.db"), error)
    };
    let failing = says(rusqlite::ffi::SQLITE_IOERR_READ).to_string();
    assert!(failing.contains("check it, then open the file again"), "{failing}");
    assert!(!failing.contains("backup"), "{failing}");
    assert!(says(rusqlite::ffi::SQLITE_CORRUPT).to_string().contains("restore a backup"));
    assert!(matches!(says(rusqlite::ffi::SQLITE_FULL), Error::DiskFull(_)));
}
