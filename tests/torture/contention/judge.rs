//! What the writers wrote down, held against the file and against what was frozen when.

use std::path::Path;

use lanebox::Lanebox;
use rusqlite::Connection;

use super::writer::{self, BUSY};
use super::{Crowd, Freeze};
use crate::lines::read;
use crate::part::db;

/// Long after a release everybody must have been served once.
const SERVED_NS: u64 = 10_000_000_000;

/// What the callers met.
#[derive(Default)]
pub struct Met {
    /// Acknowledged calls of each counted writer.
    pub calls: Vec<u64>,
    pub busy: u64,
    /// The longest that a call waited while nobody was frozen, in nanoseconds.
    pub worst: u64,
    pub checked: u64,
    pub wrong: Vec<String>,
}

/// One call: from, to.
type Span = (u64, u64);

pub fn judge(crowd: &Crowd) -> Met {
    let mut met = Met::default();
    let conn = Connection::open(db(crowd.dir.path())).expect("the file opens");
    for life in crowd.lives() {
        let counted = crowd.counted().contains(&life);
        let acks = calls(crowd, life, &conn, &mut met);
        if counted {
            let free = |call: &&Span| !crowd.freezes.iter().any(|one| one.meets(**call));
            let waits = acks.iter().filter(free).map(|(from, to)| to - from);
            met.worst = met.worst.max(waits.max().unwrap_or(0));
            served(crowd, life, &acks, &mut met);
            met.calls.push(u64::try_from(acks.len()).expect("few"));
        }
    }
    own_word(crowd.dir.path(), &conn, &mut met);
    met
}

/// Everything acknowledged is there once; nobody was refused without a reason.
fn calls(crowd: &Crowd, life: u32, conn: &Connection, met: &mut Met) -> Vec<Span> {
    let sql = "SELECT (SELECT count(*) FROM lanebox_event WHERE dedupe_key = ?1)
             + (SELECT count(*) FROM written WHERE key = ?1)";
    let keyed = "CREATE TEMP TABLE IF NOT EXISTS written AS SELECT json_extract(payload, '$.key') AS key FROM lanebox_job;
                 CREATE INDEX IF NOT EXISTS temp.written_key ON written(key)";
    conn.execute_batch(keyed).expect("a table of ours");
    let mut count = conn.prepare_cached(sql).expect("the tables");
    let mut acks = Vec::new();
    for line in read(&writer::log(crowd.dir.path(), life)) {
        let key = &line[1];
        let span = || (line[2].parse().expect("a time"), line[3].parse().expect("a time"));
        match line[0].as_str() {
            "ack" => {
                let found: i64 = count.query_row([key], |row| row.get(0)).expect("a number");
                if found != 1 {
                    met.wrong.push(format!("{key} was acknowledged and is there {found} times"));
                }
                acks.push(span());
            }
            "busy" => {
                met.busy += 1;
                if let Some(why) = unfounded(&crowd.freezes, span()) {
                    met.wrong.push(format!("{key} was refused as busy {why}"));
                }
            }
            _ => met.wrong.push(format!("{key} was stored although it was refused as busy")),
        }
        met.checked += 1;
    }
    acks
}

/// Why a refusal was not right: it came too early, or while nobody kept the lock for so long.
fn unfounded(freezes: &[Freeze], (from, to): Span) -> Option<String> {
    let deadline = u64::try_from(BUSY.as_nanos()).expect("short");
    let overlap = |one: &Freeze| to.min(one.to).saturating_sub(from.max(one.from));
    // Its clock counts whole milliseconds.
    if to - from + 2_000_000 < deadline {
        return Some(format!("after {} ms", (to - from) / 1_000_000));
    }
    // The rest of its wait was the ordinary one.
    let held = freezes.iter().any(|one| overlap(one) > deadline / 2);
    (!held).then(|| "while nobody was frozen in a write".to_owned())
}

/// After each release everybody goes on.
fn served(crowd: &Crowd, life: u32, acks: &[Span], met: &mut Met) {
    for freeze in &crowd.freezes {
        let served = acks.iter().any(|(_, to)| *to > freeze.to && *to < freeze.to + SERVED_NS);
        if !served {
            met.wrong.push(format!("writer {life} was not served after a release"));
        }
        met.checked += 1;
    }
}

fn own_word(dir: &Path, conn: &Connection, met: &mut Met) {
    let check: String =
        conn.query_row("PRAGMA integrity_check", [], |row| row.get(0)).expect("an answer");
    if check != "ok" {
        met.wrong.push(format!("integrity_check says {check}"));
    }
    let lanebox = Lanebox::open(db(dir)).expect("the file opens");
    for audit in lanebox.doctor().expect("a diagnosis").audits {
        if audit.count > 0 {
            met.wrong.push(format!("audit {} finds {:?}", audit.name, audit.first));
        }
        met.checked += 1;
    }
}
