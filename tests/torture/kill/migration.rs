//! Kills in the middle of a migration: two processes open an old file, and one of them is caught
//! while it holds the write lock and the file is still old. It is killed, alone or with the other.
//! What is left has the old schema or the new one, whole, and every old row as it was.

use std::path::Path;
use std::time::Duration;

use lanebox::Lanebox;
use rusqlite::Connection;
use rustix::process::Signal;

use super::creation::{OLD, clear, copied, old_file};
use super::stage::Stage;
use super::tally::Phase;
use crate::child::Child;
use crate::clock::{now, pass, since};
use crate::eye::Midst;
use crate::part::{Part, db};

/// How long the moment is looked for.
const PATIENCE: Duration = Duration::from_secs(10);

/// Microseconds, about as many as a migration takes.
const LONGEST: u64 = 12_000;

/// How often what was missed is tried once more.
const MORE: u64 = 12;

/// Three of a whole round, each on an old file of its own.
pub fn torture(stage: &mut Stage, kills: u64) {
    let wanted = (kills / 30).clamp(1, 3);
    for n in 0..wanted + MORE {
        if stage.tally.kills_in(Phase::Migration) >= wanted || !stage.wrong.is_empty() {
            return;
        }
        clear(&stage.dir());
        old_file(&db(&stage.dir()));
        let mut two = [0, 1].map(|line| stage.start(Part::Producer, line));
        // One that was missed is not counted: nobody knows what it was in the middle of.
        if let Some(slot) = caught(stage, &mut two) {
            strike(stage, &mut two, slot, (stage.seed + n).is_multiple_of(2));
        }
    }
}

/// Which of them stands still in the middle of it, if it did not come through before.
fn caught(stage: &mut Stage, two: &mut [Child; 2]) -> Option<usize> {
    let from = now();
    while since(from) < PATIENCE {
        let writes = stage.eye.who(Midst::Write);
        if let Some(slot) = two.iter().position(|one| writes.contains(&one.id())) {
            pass(Duration::from_micros(stage.dice.u64(..LONGEST)));
            let stands = two[slot].freeze() && stage.eye.is_in(two[slot].id(), Midst::Write);
            return (stands && shape(&db(copied(&stage.dir()).path())).0 == 1).then_some(slot);
        }
    }
    None
}

fn strike(stage: &mut Stage, two: &mut [Child; 2], slot: usize, both: bool) {
    match two[slot].kill() {
        Some(_) => stage.tally.killed(Phase::Migration),
        None => stage.wrong.push("whoever stood still ended by itself".to_owned()),
    }
    let other = &mut two[1 - slot];
    if both {
        // It may be anywhere, and is not counted.
        let _died = other.kill();
    } else if !other.says("open") {
        let told = other.told("failed").unwrap_or_default();
        stage.wrong.push(format!("nobody could migrate it: {told} {}", other.errors()));
    } else {
        other.signal(Signal::TERM);
        if !other.ends_well() {
            stage.wrong.push(format!("it did not leave well: {}", other.errors()));
        }
    }
    judge(stage, both);
}

/// In a copy, as the deaths left it; then whoever comes next opens it.
fn judge(stage: &mut Stage, may_be_old: bool) {
    let (dir, whole) = (copied(&stage.dir()), copied_old());
    let (found, old) = (db(dir.path()), db(whole.path()));
    let old_shape = shape(&old);
    drop(Lanebox::open(&old).expect("an undisturbed migration"));
    let new_shape = shape(&old);
    let left = shape(&found);
    if left != new_shape && !(may_be_old && left == old_shape) {
        stage.wrong.push(format!("a migration was left half-way: {left:?}"));
    }
    stage.wrong.extend(gone(&found));
    match Lanebox::open(&found).and_then(|lanebox| lanebox.doctor()) {
        Ok(said) => {
            let bad = said.audits.into_iter().filter(|audit| audit.count > 0);
            stage.wrong.extend(bad.map(|audit| format!("a migrated file: {}", audit.name)));
        }
        Err(error) => stage.wrong.push(format!("after a migration was killed: {error}")),
    }
    if shape(&found) != new_shape {
        stage.wrong.push("whoever came next did not migrate it".to_owned());
    }
    stage.wrong.extend(gone(&found));
    stage.tally.checked += 5;
}

fn copied_old() -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("a directory");
    old_file(&db(dir.path()));
    dir
}

/// The number of the schema, and all that it made.
fn shape(db: &Path) -> (i64, Vec<String>) {
    let conn = Connection::open(db).expect("it opens");
    let number = "SELECT schema_version FROM lanebox_meta";
    let number = conn.query_row(number, [], |row| row.get(0)).expect("a number");
    let made =
        "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND name GLOB 'lanebox_*' ORDER BY 1";
    (number, texts(&conn, made))
}

/// The tables in which an old row is not as it was.
fn gone(db: &Path) -> Vec<String> {
    let conn = Connection::open(db).expect("it opens");
    conn.execute("ATTACH ?1 AS old", [format!("file:{OLD}?immutable=1")]).expect("the old file");
    // What counts has counted on.
    let tables = "SELECT name FROM old.sqlite_schema
                  WHERE type = 'table' AND name GLOB 'lanebox_*' AND name <> 'lanebox_counter'";
    let mut gone = Vec::new();
    for table in texts(&conn, tables) {
        let columns = format!(
            "SELECT name FROM pragma_table_info('{table}', 'old') WHERE name <> 'schema_version'"
        );
        let columns = texts(&conn, &columns).join(", ");
        let lost = format!(
            "SELECT count(*) FROM (SELECT {columns} FROM old.{table}
             EXCEPT SELECT {columns} FROM main.{table})"
        );
        let lost: i64 = conn.query_row(&lost, [], |row| row.get(0)).expect("a number");
        if lost > 0 {
            gone.push(format!("{lost} rows of {table} did not survive a migration"));
        }
    }
    gone
}

fn texts(conn: &Connection, sql: &str) -> Vec<String> {
    let mut statement = conn.prepare(sql).expect("the tables");
    let rows = statement.query_map([], |row| row.get(0)).expect("rows");
    rows.collect::<Result<_, _>>().expect("texts")
}
