//! Who else uses the file meanwhile: a reader that takes seconds, and a backup that never rests.

use std::path::Path;
use std::time::Duration;

use lanebox::Lanebox;
use rusqlite::Connection;
use rusqlite::backup::{Backup, StepResult};

use crate::clock::{now, rest, since};
use crate::part::{Order, fail, hear, is_set, say, told_to_stop};

/// How long one snapshot is held.
const READ: Duration = Duration::from_millis(2_500);

/// Part: holds one snapshot after the other; nothing moves inside one.
pub fn read(order: &Order) {
    let (told, _leash) = (told_to_stop(), hear());
    let conn = connect(&order.db());
    say("open");
    let count = || {
        let sql = "SELECT count(*) FROM lanebox_event";
        conn.query_row(sql, [], |row| row.get::<_, i64>(0)).expect("a number")
    };
    let mut reads = 0;
    while !is_set(&told) {
        conn.execute_batch("BEGIN").expect("a snapshot");
        let (from, before) = (now(), count());
        while since(from) < READ && !is_set(&told) {
            rest();
        }
        if count() != before {
            fail("a snapshot moved");
        }
        conn.execute_batch("COMMIT").expect("its end");
        reads += 1;
    }
    say(&format!("reads {reads}"));
    say("stopped");
}

/// Part: copies the live file again and again, and looks at each copy.
pub fn back_up(order: &Order) {
    let (told, _leash) = (told_to_stop(), hear());
    let conn = connect(&order.db());
    say("open");
    let mut copies = 0;
    while !is_set(&told) {
        let dir = tempfile::tempdir_in(&order.dir).expect("a directory");
        let copy = dir.path().join("copy.db");
        let mut into = Connection::open(&copy).expect("a new file");
        let backup = Backup::new(&conn, &mut into).expect("a backup");
        match backup.step(-1) {
            Ok(StepResult::Done) => {}
            other => fail(&format!("a backup was {other:?}")),
        }
        drop(backup);
        into.close().expect("closed");
        look_at(&copy);
        copies += 1;
    }
    say(&format!("copies {copies}"));
    say("stopped");
}

fn connect(db: &Path) -> Connection {
    let conn = Connection::open(db).expect("the file opens");
    conn.busy_timeout(Duration::from_secs(30)).expect("a timeout");
    conn
}

fn look_at(copy: &Path) {
    let conn = Connection::open(copy).expect("the copy opens");
    let check: String =
        conn.query_row("PRAGMA integrity_check", [], |row| row.get(0)).expect("an answer");
    if check != "ok" {
        fail(&format!("integrity_check of a copy says {check}"));
    }
    conn.close().expect("closed");
    let lanebox = match Lanebox::open(copy) {
        Ok(lanebox) => lanebox,
        Err(error) => fail(&format!("a copy does not open: {error}")),
    };
    for audit in lanebox.doctor().expect("a diagnosis").audits {
        if audit.count > 0 {
            fail(&format!("audit {} of a copy finds {:?}", audit.name, audit.first));
        }
    }
}
