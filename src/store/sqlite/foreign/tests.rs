//! What others did to our tables is refused at open; what they do beside them is theirs.

use std::path::Path;

use rusqlite::Connection;

use crate::env::Env;
use crate::error::Result;
use crate::store::sqlite::{Opening, SqliteStore};

fn open(path: &Path, create: bool) -> Result<SqliteStore> {
    SqliteStore::open(path, Env::system(), &Opening { create, ..Opening::default() })
}

/// Makes a file, runs `sql` on it as another program would, and answers why it is refused then.
#[track_caller]
fn refused(sql: &str) -> String {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("crm.db");
    drop(open(&path, true).expect("made"));
    let conn = Connection::open(&path).expect("opened");
    conn.execute_batch(sql).expect("another program may do that");
    let why = open(&path, true).err().expect("refused").to_string();
    assert_eq!(open(&path, false).err().expect("refused").to_string(), why);
    why
}

// fault: foreign-index-is-taken
#[test]
fn triggers_and_indexes_on_our_tables_are_refused_by_name() {
    let why = refused(
        "CREATE TABLE deal(id INTEGER PRIMARY KEY); CREATE TRIGGER spy AFTER INSERT ON lanebox_job BEGIN INSERT INTO deal VALUES (NULL); END",
    );
    assert!(
        why.contains("trigger spy on lanebox_job is not Lanebox's: `DROP TRIGGER spy`"),
        "{why}"
    );
    let why = refused("CREATE INDEX faster ON lanebox_job(created_at)");
    assert!(why.contains("index faster on lanebox_job"), "{why}");
    let why =
        refused("CREATE TRIGGER spy INSTEAD OF INSERT ON lanebox_job_state BEGIN SELECT 1; END");
    assert!(why.contains("trigger spy on lanebox_job_state"), "{why}");
}

// fault: changed-index-is-taken
#[test]
fn e40_an_index_of_our_name_that_is_another_is_refused() {
    let why = refused(
        "DROP INDEX lanebox_running_lane; CREATE INDEX lanebox_running_lane ON lanebox_running(lane)",
    );
    assert!(why.contains("index lanebox_running_lane is not as Lanebox made it"), "{why}");
}

#[test]
fn changed_tables_are_refused() {
    let why = refused("ALTER TABLE lanebox_job ADD COLUMN deal INTEGER");
    assert!(why.contains("table lanebox_job is not as Lanebox made it"), "{why}");
    let why = refused("ALTER TABLE lanebox_org RENAME COLUMN cap TO most");
    assert!(why.contains("not as Lanebox made it"), "{why}");
    let why = refused("CREATE TABLE lanebox_extra(x)");
    assert!(why.contains("table lanebox_extra is not Lanebox's"), "{why}");
}

// fault: missing-table-is-taken
#[test]
fn e116_a_missing_table_is_named() {
    let why = refused("DROP TABLE lanebox_step");
    assert!(why.contains("its table lanebox_step is missing"), "{why}");
    let why = refused("DROP TRIGGER lanebox_event_guard");
    assert!(why.contains("its trigger lanebox_event_guard is missing"), "{why}");
    let why = refused("DROP INDEX lanebox_running_lane");
    assert!(why.contains("its index lanebox_running_lane is missing"), "{why}");
    let why = refused("DROP TABLE lanebox_meta");
    assert!(why.contains("lanebox_meta is missing though others"), "{why}");
    let why = refused("DELETE FROM lanebox_meta");
    assert!(why.contains("version cannot be read from lanebox_meta"), "{why}");
}

#[test]
fn what_is_the_hosts_is_left_alone() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("crm.db");
    let host = Connection::open(&path).expect("opened");
    host.execute_batch(
        "PRAGMA user_version = 42; PRAGMA application_id = 7;
         CREATE TABLE deal(id INTEGER PRIMARY KEY, stage TEXT);
         CREATE INDEX deal_stage ON deal(stage);
         INSERT INTO deal(stage) VALUES ('won');",
    )
    .expect("a file of the host's");
    std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o640))
        .expect("its mode");
    drop(open(&path, true).expect("Lanebox moves in"));
    host.execute_batch(
        "CREATE TRIGGER deal_won AFTER UPDATE ON deal BEGIN INSERT INTO lanebox_event(org, name) VALUES ('acme', 'deal.won'); END;
         CREATE VIEW waiting AS SELECT * FROM lanebox_job;
         UPDATE deal SET stage = 'lost';",
    )
    .expect("the host's own triggers may emit");
    drop(open(&path, false).expect("still welcome"));
    let number = |pragma: &str| host.query_row(pragma, [], |row| row.get::<_, i64>(0));
    assert_eq!(number("PRAGMA user_version"), Ok(42));
    assert_eq!(number("PRAGMA application_id"), Ok(7));
    let mode = std::os::unix::fs::MetadataExt::mode(&std::fs::metadata(&path).expect("stat"));
    assert_eq!(mode & 0o777, 0o640);
}
