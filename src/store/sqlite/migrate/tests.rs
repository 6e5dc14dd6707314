//! Versions: what a newer program made is refused, what is not ours is not touched.

use std::path::Path;

use rusqlite::Connection;

use super::{NEWEST, admit};
use crate::env::Env;
use crate::error::{Error, Result};
use crate::store::sqlite::{Durability, Opening, SqliteStore};

fn open(path: &Path, create: bool) -> Result<SqliteStore> {
    SqliteStore::open(path, Env::system(), &Opening { create, ..Opening::default() })
}

fn made() -> (tempfile::TempDir, std::path::PathBuf, Connection) {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("crm.db");
    drop(open(&path, true).expect("made"));
    let conn = Connection::open(&path).expect("opened");
    (dir, path, conn)
}

// fault: newer-schema-is-taken
#[test]
fn r15_a_newer_schema_is_refused_with_its_version_pair() {
    let (_dir, path, conn) = made();
    let newer = NEWEST + 2;
    conn.execute_batch(&format!(
        "UPDATE lanebox_meta SET schema_version = {newer}, min_writer = {newer}, min_reader = {}",
        NEWEST + 1
    ))
    .expect("as a newer program would");
    for create in [true, false] {
        let why = open(&path, create).err().expect("refused").to_string();
        let pair = format!("at least schema {} to read and {newer} to write", NEWEST + 1);
        assert!(why.contains(&pair), "{why}");
    }
}

#[test]
fn a_newer_schema_that_we_may_write_is_opened() {
    let (_dir, path, conn) = made();
    conn.execute_batch(&format!(
        "UPDATE lanebox_meta SET schema_version = {}; CREATE TABLE lanebox_rule(id INTEGER PRIMARY KEY)",
        NEWEST + 1
    ))
    .expect("as a newer program would");
    open(&path, false).expect("it says so");
    open(&path, true).expect("it says so");
}

#[test]
fn an_older_schema_is_brought_forward_only_on_request() {
    let (_dir, path, conn) = made();
    conn.execute_batch(
        "UPDATE lanebox_meta SET min_reader = 0, min_writer = 0, schema_version = 0",
    )
    .expect("as an older program would");
    let why = open(&path, false).err().expect("refused").to_string();
    assert!(why.contains("its schema 0 is older"), "{why}");
}

#[test]
fn a_database_without_our_tables_is_not_changed() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("crm.db");
    Connection::open(&path).expect("opened").execute_batch("CREATE TABLE deal(id)").expect("made");
    let before = std::fs::read(&path).expect("read");
    let why = open(&path, false).err().expect("refused").to_string();
    assert!(why.contains("no Lanebox tables (lanebox_meta is missing)"), "{why}");
    assert_eq!(std::fs::read(&path).expect("read"), before, "not even its journal mode");
    assert_eq!(std::fs::read_dir(dir.path()).expect("listed").count(), 1);
}

#[test]
fn a_file_made_to_keep_everything_is_not_opened_relaxed() {
    let (dir, path, _conn) = made();
    let how = Opening { durability: Durability::Relaxed, ..Opening::default() };
    let refused = SqliteStore::open(&path, Env::system(), &how).err().expect("refused");
    assert!(matches!(refused, Error::Setting { what: "durability", .. }), "{refused}");
    let path = dir.path().join("relaxed.db");
    drop(SqliteStore::open(&path, Env::system(), &how).expect("made relaxed"));
    drop(SqliteStore::open(&path, Env::system(), &how).expect("it is"));
    open(&path, false).expect("more than it asks for");
}

// Each look is a snapshot of its own.
#[test]
fn r14_tables_that_another_process_makes_between_two_looks_are_no_damage() {
    use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("crm.db");
    let conn = Connection::open(&path).expect("opened");
    conn.execute_batch("CREATE TABLE deal(id INTEGER PRIMARY KEY)").expect("the host's");
    let (other, mut looks) = (path.clone(), 0);
    let meanwhile = move |asked: AuthContext<'_>| {
        looks += i32::from(matches!(asked.action, AuthAction::Select));
        if looks == 2 {
            looks += 1;
            drop(open(&other, true).expect("the other process makes them"));
        }
        Authorization::Allow
    };
    conn.authorizer(Some(meanwhile)).expect("a hook");
    admit(&conn, &path, true).expect("they are all there");
}
