//! Kills while the file is made, and at any moment of opening an old one: two processes at once, on
//! nothing, on a fresh old file, or on what the last death left.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};
use tempfile::TempDir;

use super::stage::Stage;
use super::tally::Phase;
use crate::clock::{pass, within};
use crate::eye::Midst;
use crate::part::{Part, db};

pub const OLD: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/schema/sqlite/fixtures/0001.db");

/// Longer than the making of a file takes.
const LONGEST: u64 = 60;

/// The first kills of a round.
pub fn torture(stage: &mut Stage, kills: u64) {
    for n in 0..(kills / 12).clamp(1, 8) {
        // The others go on with what a death left.
        if n % 3 != 2 {
            clear(&stage.dir());
            if (stage.seed + n).is_multiple_of(4) {
                old_file(&db(&stage.dir()));
            }
        }
        strike(stage, n % 2 == 0);
    }
    if stage.seed.is_multiple_of(2) {
        clear(&stage.dir());
        old_file(&db(&stage.dir()));
    }
}

fn strike(stage: &mut Stage, by_eye: bool) {
    let mut two = [0, 1].map(|line| stage.start(Part::Producer, line));
    let _both =
        within(Duration::from_secs(10), || two.iter_mut().all(|one| one.has_said("opening")));
    if by_eye {
        let busy = [Midst::Write, Midst::Opening];
        let _seen = within_spin(|| busy.iter().any(|midst| !stage.eye.who(*midst).is_empty()));
    }
    pass(Duration::from_micros(stage.dice.u64(..LONGEST * 1_000) / if by_eye { 4 } else { 1 }));
    let died = [0, 1].map(|n| two[n].kill());
    let phase = if is_made(&stage.dir()) { Phase::StartUp } else { Phase::Creation };
    for (child, died) in two.iter_mut().zip(died) {
        match died {
            Some(_) if child.has_said("open") => stage.tally.killed(Phase::Running),
            Some(_) => stage.tally.killed(phase),
            None => {
                let told = child.told("failed").unwrap_or_default();
                stage.wrong.push(format!("nobody could make the file: {told} {}", child.errors()));
            }
        }
    }
}

/// Without a pause: the moment is short.
fn within_spin(mut holds: impl FnMut() -> bool) -> bool {
    (0..20_000).any(|_| holds())
}

/// Whether the tables are there, seen in a copy: whoever comes next finds what the deaths left.
fn is_made(dir: &Path) -> bool {
    let copy = copied(dir);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE;
    let Ok(conn) = Connection::open_with_flags(db(copy.path()), flags) else { return false };
    conn.query_row("SELECT count(*) FROM lanebox_meta", [], |row| row.get::<_, i64>(0)).is_ok()
}

/// The file and its log as they are now. What processes shared in memory is not taken along.
pub fn copied(dir: &Path) -> TempDir {
    let copy = tempfile::tempdir().expect("a directory");
    for entry in ours(dir) {
        std::fs::copy(dir.join(&entry), copy.path().join(&entry)).expect("a copy");
    }
    copy
}

pub fn old_file(db: &Path) {
    std::fs::copy(OLD, db).expect("a copy");
    std::fs::set_permissions(db, Permissions::from_mode(0o600)).expect("its owner's");
}

/// Nothing was ever said here.
pub fn clear(dir: &Path) {
    for entry in ours(dir) {
        std::fs::remove_file(dir.join(entry)).expect("removed");
    }
    for line in 0..2 {
        // There may be none.
        let _ = std::fs::remove_file(super::producer::log(dir, line));
    }
}

fn ours(dir: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(dir).expect("the directory");
    let names = entries.map(|entry| entry.expect("an entry").file_name().into_string());
    let names = names.map(|name| name.expect("text"));
    names.filter(|name| name.starts_with("crm.db")).collect()
}
