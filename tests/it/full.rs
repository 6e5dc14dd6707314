//! A disk that takes no more, for real: errors are told, what was acknowledged stays, and work goes
//! on when there is room again.

use std::path::Path;
use std::process::Command;

use lanebox::{Lane, Lanebox, NewJob};
use rusqlite::Connection;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::child::{Child, say};

/// No file of this process may grow beyond this.
const ROOM: u64 = 1 << 20;

fn limit(bytes: Option<u64>) {
    let maximum = getrlimit(Resource::Fsize).maximum;
    setrlimit(Resource::Fsize, Rlimit { current: bytes, maximum }).expect("a soft limit");
}

/// Part: enqueues until there is no more room and a few times beyond, then has room again.
pub fn fill(file: &Path) {
    let lanebox = Lanebox::open(file).expect("opened");
    let job = |n: usize| {
        let payload = format!("{{\"text\":\"{}\"}}", "x".repeat(10_000));
        NewJob::raw("noop", payload, Lane::of("ann")).org("acme").dedupe(format!("key {n}"))
    };
    limit(Some(ROOM));
    let mut refused = Vec::new();
    for n in 0..1_000 {
        match lanebox.enqueue(job(n)) {
            Ok(answer) => say(&format!("accepted {}", answer.id())),
            Err(error) => {
                say(&format!("error {error}"));
                refused.push(n);
            }
        }
        if refused.len() == 5 {
            break;
        }
    }
    limit(None);
    // As every error says: the same key again.
    for n in refused {
        match lanebox.enqueue(job(n)) {
            Ok(answer) => say(&format!("accepted {}", answer.id())),
            Err(error) => say(&format!("still {error}")),
        }
    }
}

// fault: commit-error-is-silent
#[test]
fn e117_a_disk_without_room_is_told_and_nothing_acknowledged_is_lost() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("crm.db");
    // The signal that would end the process is the binary's to ignore, not the library's.
    let own = std::env::current_exe().expect("this binary");
    let mut shell = Command::new("sh");
    shell.args(["-c", "trap '' XFSZ; exec \"$0\" \"$@\""]).arg(own);
    let said = Child::run(&mut shell, "fill", &file).rest();

    let with = |word: &str| -> Vec<&str> {
        said.iter().filter_map(|line| line.strip_prefix(word)).collect()
    };
    let (accepted, errors) = (with("accepted "), with("error "));
    assert!(accepted.len() > 20, "{said:?}");
    assert_eq!(errors.len(), 5, "{said:?}");
    assert!(with("still ").is_empty(), "there was room again: {said:?}");
    for error in errors {
        let honest = error.contains("may or may not hold")
            || error.contains("not stored")
            || error.contains("nothing of it was stored");
        assert!(honest && error.contains("disk I/O error"), "the first cause: {error}");
    }
    let conn = Connection::open(&file).expect("opened");
    let check: String =
        conn.query_row("PRAGMA integrity_check", [], |row| row.get(0)).expect("checked");
    assert_eq!(check, "ok");
    let jobs: usize =
        conn.query_row("SELECT count(*) FROM lanebox_job", [], |row| row.get(0)).expect("counted");
    assert_eq!(jobs, accepted.len(), "each once, and no half of one");
    let lanebox = Lanebox::open(&file).expect("opened");
    for id in accepted {
        lanebox.job(id.parse().expect("an id")).expect("what was acknowledged is there");
    }
}
