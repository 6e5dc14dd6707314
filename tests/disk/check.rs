//! What a file must hold that is found after the power has failed.

use std::collections::BTreeSet;
use std::path::Path;

use lanebox::Lanebox;
use rusqlite::{Connection, OpenFlags};
use uuid::Uuid;

use crate::shim::Ack;

/// What was acknowledged so far.
#[derive(Clone, Debug, Default)]
pub struct Promised {
    pub opened: bool,
    /// What an old file held that is brought forward.
    held: Option<String>,
    /// Letters that the provider has.
    pub called: BTreeSet<String>,
    events: BTreeSet<Uuid>,
    pair: i64,
    jobs: i64,
    finished: i64,
}

/// What a file holds, as counts that no opening changes.
const HOLDS: &str = "SELECT (SELECT count(*) FROM lanebox_event) || ' ' || (SELECT count(*) FROM lanebox_job) || ' ' || \
                     (SELECT count(*) FROM lanebox_finished) || ' ' || (SELECT count(*) FROM lanebox_send_try) || ' ' || \
                     (SELECT hex(file_uuid) FROM lanebox_meta)";

/// What a file holds, as a line.
pub fn held(path: &Path) -> String {
    let conn = Connection::open(path).expect("opened");
    conn.query_row(HOLDS, [], |row| row.get(0)).expect("a line")
}

#[derive(Debug)]
pub enum Fault {
    /// Something that was acknowledged is not there.
    Lost(String),
    /// What is there cannot be.
    Corrupt(String),
}

impl Promised {
    /// An old file that holds this.
    pub fn of_old(held: String) -> Promised {
        Promised { held: Some(held), ..Promised::default() }
    }

    pub fn hear(&mut self, ack: &Ack) {
        match ack {
            Ack::Opened => self.opened = true,
            Ack::Event(id) => {
                self.events.insert(*id);
            }
            Ack::Pair(n) => self.pair = *n,
            Ack::Jobs(n) => self.jobs = *n,
            Ack::Finished(n) => self.finished = *n,
            Ack::Called(letter) => {
                self.called.insert(letter.clone());
            }
            Ack::All(all) => *self = all.clone(),
        }
    }
}

/// Looks into a file, which may be changed by that; if `audited`, the library opens it too and
/// looks for whatever cannot be.
pub fn check(path: &Path, promised: &Promised, audited: bool) -> Result<(), Fault> {
    if !path.exists() {
        return if promised.opened { Err(Fault::Lost("the file".to_owned())) } else { Ok(()) };
    }
    read(path, promised).unwrap_or_else(|error| {
        let why = error.to_string();
        // The flush that was to keep it was not made.
        Err(if why.contains("no such table") { Fault::Lost(why) } else { Fault::Corrupt(why) })
    })?;
    if !audited {
        return Ok(());
    }
    // Also what was made half: nothing was acknowledged yet, but no person need mend it either.
    let lanebox = Lanebox::open(path).map_err(|error| Fault::Corrupt(error.to_string()))?;
    let audits = lanebox.doctor().map_err(|error| Fault::Corrupt(error.to_string()))?;
    let wrong: Vec<_> = audits.audits.iter().filter(|audit| audit.count > 0).collect();
    if !wrong.is_empty() {
        return Err(Fault::Corrupt(format!("{wrong:?}")));
    }
    let now = promised.held.as_ref().map(|_| held(path));
    if now == promised.held { Ok(()) } else { Err(Fault::Lost(format!("{now:?}"))) }
}

fn read(path: &Path, promised: &Promised) -> rusqlite::Result<Result<(), Fault>> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(path, flags)?;
    // It is thrown away afterwards.
    conn.execute_batch("PRAGMA synchronous = OFF")?;
    let sound: String = conn.query_row("PRAGMA integrity_check", [], |row| row.get(0))?;
    if sound != "ok" {
        return Ok(Err(Fault::Corrupt(sound)));
    }
    if !promised.opened {
        return Ok(Ok(()));
    }
    let number = |sql: &str| conn.query_row(sql, [], |row| row.get::<_, i64>(0));
    let pairs = number("SELECT coalesce(max(n), 0) FROM own")?;
    for (what, now, least) in [
        ("own rows", pairs, promised.pair),
        ("jobs", number("SELECT count(*) FROM lanebox_job")?, promised.jobs),
        ("ends", number("SELECT count(*) FROM lanebox_finished")?, promised.finished),
    ] {
        if now < least {
            return Ok(Err(Fault::Lost(format!("{now} {what} of {least}"))));
        }
    }
    let facts = number("SELECT count(*) FROM lanebox_event WHERE name = 'own.made'")?;
    let work = "SELECT count(*) FROM lanebox_job j JOIN lanebox_kind k ON k.id = j.kind WHERE k.name = 'other'";
    if (pairs, pairs) != (facts, number(work)?) {
        return Ok(Err(Fault::Corrupt(format!("{pairs} own rows, but {facts} facts of them"))));
    }
    let mut ids = conn.prepare("SELECT uuid FROM lanebox_event")?;
    let ids = ids.query_map([], |row| Ok(Uuid::from_bytes(row.get(0)?)))?;
    let there = ids.collect::<rusqlite::Result<BTreeSet<_>>>()?;
    let gone = promised.events.difference(&there).count();
    Ok(if gone == 0 { Ok(()) } else { Err(Fault::Lost(format!("{gone} events"))) })
}
