//! Files of released schemas, with a row in every state: the library of today opens each, finds
//! nothing wrong in it, and goes on with it to a settled end.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use lanebox::sends::{Resolved, Word};
use lanebox::{
    Abilities, BoxError, Channel, Consumer, Delivery, Lane, Lanebox, Letter, NewJob, Outcome,
    Policy, Reactions, SendKey,
};
use rusqlite::Connection;
use uuid::Uuid;

use crate::scene::{Scene, until};

const SCHEMA: &str = include_str!("../../schema/sqlite/current.sql");

/// Tables of one row: they can only hold one of their states, the usual one.
const ONE_ROW: [&str; 2] = ["lanebox_meta", "lanebox_counter"];

/// Every state of every column, as the page of the schema lists them.
type States = BTreeMap<(String, String), BTreeSet<String>>;

fn fixtures() -> Vec<PathBuf> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/schema/sqlite/fixtures");
    let entries = std::fs::read_dir(folder).expect("the folder of the fixtures");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    assert!(!paths.is_empty(), "no fixtures in {folder}");
    paths
}

/// A copy, opened and so brought forward by the library of today.
fn opened(fixture: &Path) -> (Scene, Lanebox) {
    let scene = Scene::new();
    std::fs::copy(fixture, scene.path()).expect("a copy");
    std::fs::set_permissions(scene.path(), Permissions::from_mode(0o600)).expect("its owner's");
    let lanebox = scene.builder().suspect_wait(Duration::ZERO).open().expect("it opens");
    (scene, lanebox)
}

#[track_caller]
fn is_sound(lanebox: &Lanebox) {
    let found = lanebox.doctor().expect("a diagnosis");
    let wrong: Vec<_> = found.audits.iter().filter(|audit| audit.count > 0).collect();
    assert!(found.sound, "{wrong:?} {:?}", found.facts);
}

/// `CHECK (a = 'x' OR a = 'y')` and `CHECK (a IN ('x', 'y'))`, numbers too, as the lists that they
/// are; conditions of more than one column are none.
fn check_lists(schema: &str) -> States {
    let mut states = States::new();
    let mut table = "";
    for line in schema.lines() {
        if let Some(name) = line.strip_prefix("CREATE TABLE ") {
            table = name.split([' ', '(']).next().expect("a name");
        }
        let line = line.trim();
        let (Some((column, _)), Some(check)) = (line.split_once(' '), line.split_once("CHECK ("))
        else {
            continue;
        };
        let listed = listed(column, check.1);
        if listed.len() > 1 && !ONE_ROW.contains(&table) {
            states.insert((table.to_owned(), column.to_owned()), listed);
        }
    }
    states
}

fn listed(column: &str, check: &str) -> BTreeSet<String> {
    let list = match check.strip_prefix(&format!("{column} IN (")) {
        Some(list) => list.split(')').next().expect("a list").split(", ").collect::<Vec<_>>(),
        None => {
            let check = check.split(')').next().expect("it ends");
            let parts = check.split(" OR ").map(|part| part.strip_prefix(&format!("{column} = ")));
            parts.collect::<Option<_>>().unwrap_or_default()
        }
    };
    list.into_iter().map(|state| state.trim_matches('\'').to_owned()).collect()
}

fn column(conn: &Connection, sql: &str) -> BTreeSet<String> {
    let mut statement = conn.prepare(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    let rows = statement.query_map([], |row| row.get(0)).expect("rows");
    rows.collect::<Result<_, _>>().expect("texts")
}

#[test]
fn every_state_of_the_schema_is_in_a_fixture_that_the_doctor_finds_sound() {
    let states = check_lists(SCHEMA);
    assert!(states.len() >= 25, "only these lists were read: {states:?}");
    let (mut seen, mut filled) = (States::new(), BTreeSet::new());
    let mut tables = BTreeSet::new();
    for fixture in fixtures() {
        let (scene, lanebox) = opened(&fixture);
        is_sound(&lanebox);
        let conn = scene.sql();
        for (table, name) in states.keys() {
            let sql = format!("SELECT DISTINCT {name} || '' FROM {table} WHERE {name} IS NOT NULL");
            seen.entry((table.clone(), name.clone())).or_default().extend(column(&conn, &sql));
        }
        let all = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name GLOB 'lanebox_*'";
        tables = column(&conn, all);
        let full = |table: &&String| !column(&conn, &format!("SELECT '' FROM {table}")).is_empty();
        filled.extend(tables.iter().filter(full).cloned());
    }
    for (place, states) in &states {
        let missing: Vec<_> = states.difference(&seen[place]).collect();
        assert!(missing.is_empty(), "no fixture has {place:?} {missing:?}");
    }
    let empty: Vec<_> = tables.difference(&filled).collect();
    assert!(empty.is_empty(), "no fixture has a row of {empty:?}");
}

#[test]
fn the_lists_of_the_schema_are_read() {
    let schema = "CREATE TABLE lanebox_a (\n  b TEXT CHECK (b = 'x' OR b = 'y'),\n  c INTEGER CHECK (c IN (0, 1)),\n  \
                  d TEXT CHECK (d > 0 OR d = 'z'),\n  CHECK (b IS NULL OR c = 1)\n)";
    let lists = check_lists(schema);
    let list = |column: &str| lists.get(&("lanebox_a".to_owned(), column.to_owned())).cloned();
    assert_eq!(list("b"), Some(["x".to_owned(), "y".to_owned()].into()));
    assert_eq!(list("c"), Some(["0".to_owned(), "1".to_owned()].into()));
    assert_eq!(lists.len(), 2, "{lists:?}");
}

/// Takes everything.
struct Post;

impl Channel for Post {
    fn abilities(&self) -> Abilities {
        Abilities::new(Duration::from_secs(1))
    }

    fn deliver(&self, letter: &Letter<'_>) -> Delivery {
        Delivery::accepted(letter.key.to_string())
    }
}

fn reactions(conn: &Connection) -> Reactions {
    let mut reactions = Reactions::new()
        .channel("chat", Post)
        .consume(Consumer::new("inbox", "message.*"), |_, _| Ok::<_, BoxError>(Outcome::Done))
        .consume(Consumer::new("quiet", "message.*"), |_, _| Ok::<_, BoxError>(Outcome::Done))
        .route(Consumer::new("leads", "lead.*"), |_| {
            Ok(vec![NewJob::raw("lead", "{}", Lane::of("ann"))])
        });
    let kinds = "SELECT name FROM lanebox_kind WHERE name NOT GLOB 'consume.*'";
    for kind in column(conn, kinds) {
        let sends = kind != "given-up" && kind != "done";
        reactions = reactions.on_kind(&kind, Policy::default(), move |ctx| {
            if sends {
                ctx.send("chat", "+4915112345678", "hello")?;
            }
            Ok::<_, BoxError>(Outcome::Done)
        });
    }
    reactions
}

/// A person says about each unknown send that it was given up.
fn people_decide(lanebox: &Lanebox, conn: &Connection) {
    let unknown = "SELECT hex(key) FROM lanebox_send_try WHERE state = 'unknown'";
    for key in column(conn, unknown) {
        let key = SendKey(Uuid::parse_str(&key).expect("a key"));
        let settled = lanebox.resolve_send(key, Word::GiveUp, "ada").expect("an answer");
        assert!(matches!(settled, Resolved::Now | Resolved::NotUnknown));
    }
}

#[test]
fn an_engine_goes_on_with_every_fixture_to_a_settled_end() {
    for fixture in fixtures() {
        let (scene, lanebox) = opened(&fixture);
        let conn = scene.sql();
        let resume = "UPDATE lanebox_org SET paused = 0; UPDATE lanebox_kind SET paused = 0; \
                      UPDATE lanebox_consumer SET state = 'active' WHERE state = 'paused'; \
                      UPDATE lanebox_front SET generation = generation + 1";
        conn.execute_batch(resume).expect("only lanes stand still");
        let running = lanebox.start(reactions(&conn)).expect("started");
        // A lane stands still until a person decides about it.
        let left = "SELECT count(*) FROM lanebox_job_state s WHERE state IN ('pending', 'running') \
                    AND NOT EXISTS (SELECT 1 FROM lanebox_job j JOIN lanebox_pause p ON p.lane = j.lane WHERE j.id = s.id)";
        let unseen = "SELECT count(*) FROM lanebox_event_state WHERE state = 'pending'";
        until("everything has ended", || {
            people_decide(&lanebox, &conn);
            scene.number(left, []) == 0 && scene.number(unseen, []) == 0
        });
        let _ = running.stop(Duration::from_secs(10));
        is_sound(&lanebox);
    }
}
