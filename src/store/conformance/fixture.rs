//! A file of this schema with a row in every state, for migrations to be tried on: what a user's
//! file of the first release may hold. `tests/it/fixture.rs` opens it with the library of today.
//!
//! `LANEBOX_FIXTURE=write cargo test --lib fixture` writes `schema/sqlite/fixtures/NNNN.db` anew.
//! Only the newest schema's is ever written; once it is released, its file does not change any
//! more.

mod bus;
mod jobs;
mod sends;

use std::path::{Path, PathBuf};

use rusqlite::Connection;

use super::world::World;
use crate::Durability;
use crate::model::id::{Held, JobNo, KindNo};
use crate::model::job::NewJob;
use crate::model::lane::Lane;
use crate::store::jobs::{Ask, Cancelled, Handled};
use crate::store::people::People;

/// Monday, 2024-01-08, 08:00 UTC: long ago for whoever opens the file, so that whatever waits is
/// due then.
const LONG_AGO: i64 = 1_704_700_800_000;

/// A file that is being filled.
struct Filling {
    world: World,
}

impl Filling {
    /// Everything, in an order in which no step disturbs what an earlier one has left waiting.
    fn whole() -> Filling {
        let filling = Filling { world: World::with(Durability::Full, LONG_AGO) };
        filling.orgs_and_people();
        filling.events();
        filling.ended_jobs();
        filling.sends();
        filling.waiting_jobs();
        filling.running_jobs();
        filling.what_no_verb_writes_yet();
        filling.world.is_sound();
        filling
    }

    fn orgs_and_people(&self) {
        self.world.sql(
            "INSERT INTO lanebox_org(name, cap, paused) VALUES ('acme', NULL, 0), ('globex', 2, 0), ('initech', 1, 1); \
             INSERT INTO lanebox_kind(name, cap, paused, yields, on_dead, max_postponed) VALUES \
             ('strict', NULL, 0, 0, 'stop', 100), ('batch', 4, 0, 1, 'cancel', 3), ('newsletter', 1, 1, 0, 'go', 100);",
        );
    }

    // States that the schema has room for and that no verb of this version writes.
    fn what_no_verb_writes_yet(&self) {
        let world = &self.world;
        let at = world.now();
        for about in ["event", "consumer", "kind", "lane", "channel"] {
            world.sql(&format!(
                "INSERT INTO lanebox_notice(org, kind, cause, severity, reason, next_step, ref_kind, ref_id, first_at, last_at) \
                 VALUES (1, 'fixture', '{about}', 'info', 'a notice about this', 'nothing', '{about}', 1, {at}, {at})"
            ));
        }
        let about = |cause| format!("SELECT id FROM lanebox_notice WHERE cause = '{cause}'");
        let (event, kind) = (world.one(&about("event")), world.one(&about("kind")));
        assert!(world.store.acknowledge(event, "ada").expect("a known notice"));
        assert!(world.store.resolve_notice(kind, "ada").expect("a known notice"));
        world.sql(
            "UPDATE lanebox_running SET holder = 'remote' WHERE id = (SELECT max(id) FROM lanebox_running); \
             INSERT INTO lanebox_lane(org, name_hash, merged_into) VALUES (1, zeroblob(32), 1); \
             UPDATE lanebox_process SET pid = 4711 WHERE pid > 0;",
        );
        let superseded = self.enqueue(job("superseded", "ann"));
        assert_eq!(self.world.cancel(superseded), Cancelled::Now);
        let sql = format!(
            "UPDATE lanebox_finished SET reason = 'superseded' WHERE id = {superseded}; \
             UPDATE lanebox_attempt SET ended = 'cancelled' WHERE job = \
             (SELECT job FROM lanebox_attempt WHERE ended = 'failed' ORDER BY job LIMIT 1)"
        );
        self.world.sql(&sql);
    }

    fn enqueue(&self, job: NewJob) -> JobNo {
        self.world.enqueue(job)
    }

    /// Takes the one job of this kind that can be taken, whatever else waits.
    fn take(&self, kind: &str) -> Held {
        let kind: KindNo = self.world.store.kind(kind).expect("a kind");
        let kinds = vec![Handled { kind, short: false }];
        let mut taken = self.world.claim_as(Ask { kinds, ..self.world.ask(1) });
        assert_eq!(taken.len(), 1, "a job of kind {kind} is ready");
        taken.remove(0).held
    }

    /// A new job of this kind, alone in a lane of its own, taken.
    fn run(&self, kind: &str) -> Held {
        self.enqueue(job(kind, kind));
        self.take(kind)
    }

    // One file without a log beside it, packed.
    fn write(&self, path: &Path) {
        let sql = format!("VACUUM INTO '{}'", path.display());
        self.world.store.on_writer(|conn| conn.execute_batch(&sql)).expect("a copy");
    }
}

/// A job of org `acme` in this lane.
fn job(kind: &str, lane: &str) -> NewJob {
    NewJob::raw(kind, r#"{"text":"hello"}"#, Lane::of(lane)).org("acme").subject("+49151")
}

fn committed(fresh: &Path) -> PathBuf {
    let conn = Connection::open(fresh).expect("the file opens");
    let version = "SELECT schema_version FROM lanebox_meta";
    let version: i64 = conn.query_row(version, [], |row| row.get(0)).expect("a version");
    format!("{}/schema/sqlite/fixtures/{version:04}.db", env!("CARGO_MANIFEST_DIR")).into()
}

fn schema(path: &Path) -> Vec<String> {
    let conn = Connection::open(path).expect("the file opens");
    let sql = "SELECT coalesce(sql, name) FROM sqlite_schema ORDER BY name";
    let mut statement = conn.prepare(sql).expect("the list of tables");
    let rows = statement.query_map([], |row| row.get(0)).expect("rows of the list");
    rows.collect::<rusqlite::Result<_>>().expect("texts")
}

#[test]
fn the_fixture_of_this_schema_is_there_and_written_the_same_each_time() {
    let dir = tempfile::tempdir().expect("a directory");
    let (first, second) = (dir.path().join("first.db"), dir.path().join("second.db"));
    Filling::whole().write(&first);
    Filling::whole().write(&second);
    let read = |path: &Path| std::fs::read(path).expect("it was written");
    assert!(read(&first) == read(&second), "the same rows, byte for byte");
    let committed = committed(&first);
    if std::env::var("LANEBOX_FIXTURE").is_ok_and(|what| what == "write") {
        std::fs::copy(&first, &committed).expect("the file can be written");
    }
    let why = "LANEBOX_FIXTURE=write writes the file of a schema that is not released yet";
    assert!(committed.exists(), "{}: {why}", committed.display());
    assert_eq!(schema(&committed), schema(&first), "{why}");
}
