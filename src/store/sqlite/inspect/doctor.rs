//! The health of a file: versions, settings as they read back, what others hung on our tables, and
//! the audits.

use std::path::Path;

use rusqlite::Connection;

use super::query::{all, one};
use crate::error::{Error, Result};
use crate::store::people::{Diagnosis, Fact};
use crate::store::sqlite::audit::{audit, shown};
use crate::store::sqlite::checkpoint::{self, Frames};
use crate::store::sqlite::connection::check_sqlite;
use crate::store::sqlite::migrate::NEWEST;
use crate::store::sqlite::space::LOG_ALARM;

/// What each connection of ours must read back.
const PRAGMAS: [(&str, &str, &str); 7] = [
    ("journal_mode", "PRAGMA journal_mode", "wal"),
    ("synchronous", "PRAGMA synchronous", "2"),
    ("foreign_keys", "PRAGMA foreign_keys", "1"),
    ("secure_delete", "PRAGMA secure_delete", "1"),
    ("trusted_schema", "PRAGMA trusted_schema", "0"),
    ("cell_size_check", "PRAGMA cell_size_check", "1"),
    ("temp_store", "PRAGMA temp_store", "2"),
];

const INTEGRITY: &str = "PRAGMA integrity_check(1)";
const META: &str = "SELECT schema_version, created_by, hex(file_uuid), epoch, relaxed, hold FROM lanebox_meta WHERE id = 1";
const FOREIGN: &str = "SELECT type || ' ' || name || ' on ' || tbl_name FROM sqlite_schema WHERE type IN ('trigger', 'index') \
AND tbl_name GLOB 'lanebox_*' AND name NOT GLOB 'lanebox_*' AND name NOT GLOB 'sqlite_autoindex_*' LIMIT 20";
const OPTIONS: &str = "SELECT compile_options FROM pragma_compile_options \
WHERE compile_options GLOB 'THREADSAFE*' OR compile_options GLOB 'DEFAULT_MEMSTATUS*' OR compile_options GLOB 'ENABLE_MEMORY_MANAGEMENT*'";
const SIZE: &str =
    "SELECT (SELECT page_count FROM pragma_page_count) * (SELECT page_size FROM pragma_page_size)";

/// Looks at everything.
pub(in super::super) fn doctor(conn: &Connection, path: &Path) -> Result<Diagnosis> {
    let mut facts = versions(conn)?;
    for (name, pragma, right) in PRAGMAS {
        let value = one(conn, pragma, [], |row| Ok(shown(row.get_ref(0)?)))?;
        facts.push(pragma_fact(name, value.unwrap_or_default(), right));
    }
    facts.push(integrity(one(conn, INTEGRITY, [], |row| row.get(0)))?);
    let flags: Vec<String> = all(conn, OPTIONS, [], |row| row.get(0))?;
    facts.push(fact("build flags", flags.join(", ")));
    facts.push(foreign(all(conn, FOREIGN, [], |row| row.get(0))?));
    let bytes: i64 = one(conn, SIZE, [], |row| row.get(0))?.unwrap_or(0);
    facts.push(fact("database bytes", bytes.to_string()));
    facts.push(log(checkpoint::log_bytes(path), checkpoint::frames(conn)?));
    let audits = audit(conn)?;
    let sound =
        facts.iter().all(|f| f.wrong.is_none()) && audits.iter().all(|found| found.count == 0);
    Ok(Diagnosis { sound, facts, audits })
}

fn versions(conn: &Connection) -> Result<Vec<Fact>> {
    let linked = check_sqlite(rusqlite::version_number()).err().map(|error| error.to_string());
    let mut facts = vec![
        fact("lanebox", env!("CARGO_PKG_VERSION").to_owned()),
        Fact { wrong: linked, ..fact("sqlite", rusqlite::version().to_owned()) },
    ];
    let meta = one(conn, META, [], |row| {
        let relaxed: bool = row.get(4)?;
        let synchronous =
            if relaxed { "relaxed: a power cut may take back the last commits" } else { "full" };
        Ok(vec![
            schema(row.get(0)?),
            fact("created by", row.get(1)?),
            fact("file", row.get::<_, String>(2)?.to_ascii_lowercase()),
            fact("epoch", row.get::<_, i64>(3)?.to_string()),
            fact("durability", synchronous.to_owned()),
            held(row.get(5)?),
        ])
    })?;
    facts.extend(meta.unwrap_or_default());
    Ok(facts)
}

fn schema(version: i64) -> Fact {
    let wrong = (version < NEWEST).then(|| {
        format!("this program knows schema {NEWEST}: run `lanebox init` to bring the file forward")
    });
    Fact { wrong, ..fact("schema", version.to_string()) }
}

fn held(why: Option<String>) -> Fact {
    match why {
        None => fact("sends", "not held".to_owned()),
        Some(why) => Fact {
            wrong: Some("no send goes out until the hold is lifted".to_owned()),
            ..fact("sends", format!("held: {why}"))
        },
    }
}

fn pragma_fact(name: &str, value: String, right: &str) -> Fact {
    let wrong = (value != right).then(|| format!("it should read {right}"));
    Fact { wrong, ..fact(name, value) }
}

// Whole, indexes against their tables too: a damaged index hides rows that are there.
fn integrity(found: Result<Option<String>>) -> Result<Fact> {
    let found = match found {
        Err(Error::Damaged(error)) => error.to_string(),
        found => found?.unwrap_or_default(),
    };
    let wrong = (found != "ok").then(|| {
        "the file is damaged: stop every program that writes to it and restore a backup".to_owned()
    });
    Ok(Fact { wrong, ..fact("integrity_check", found) })
}

fn foreign(found: Vec<String>) -> Fact {
    if found.is_empty() {
        return fact("foreign triggers and indexes", "none".to_owned());
    }
    let wrong = "others must not hang anything on lanebox_ tables: drop it".to_owned();
    Fact { wrong: Some(wrong), ..fact("foreign triggers and indexes", found.join(", ")) }
}

fn log(bytes: u64, frames: Frames) -> Fact {
    let wrong = (bytes > LOG_ALARM).then(|| {
        "an old reader keeps it from being taken over: end long reads, other tools and stopped processes"
            .to_owned()
    });
    let (written, behind) = (frames.written, frames.behind());
    let value = format!("{bytes} bytes, {written} frames, {behind} of them not in the file yet");
    Fact { wrong, ..fact("write-ahead log", value) }
}

fn fact(name: &str, value: String) -> Fact {
    Fact { name: name.to_owned(), value, wrong: None }
}
