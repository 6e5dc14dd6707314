//! What was acknowledged is kept, and what was sent twice is there once.

use std::collections::BTreeMap;
use std::path::Path;

use lanebox::{Enqueued, Lane, Lanebox, NewJob};
use rusqlite::Connection;

use crate::child::{Child, say};
use crate::number;

/// Part: enqueues for ever, and says each id as soon as the call has returned.
pub fn enqueue(file: &Path) {
    let lanebox = Lanebox::open(file).expect("opened");
    loop {
        let job = NewJob::raw("noop", "{}", Lane::NONE).org("acme");
        say(&lanebox.enqueue(job).expect("accepted").id().to_string());
    }
}

// fault: commit-is-forgotten
#[test]
fn j19_what_was_acknowledged_survives_a_kill_right_after() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("crm.db");
    let mut acknowledged = Vec::new();
    for round in 0..20 {
        let mut child = Child::start("enqueue", &file);
        for _ in 0..=round {
            acknowledged.push(child.hear().expect("accepted"));
        }
        child.kill();
        acknowledged.extend(child.rest());
    }
    let lanebox = Lanebox::open(&file).expect("it opens");
    for id in &acknowledged {
        let id = id.parse().expect("an id");
        lanebox.job(id).expect("an acknowledged job is there");
    }
    let conn = Connection::open(&file).expect("opened");
    let check: String =
        conn.query_row("PRAGMA integrity_check", [], |row| row.get(0)).expect("checked");
    assert_eq!(check, "ok");
}

const KEYS: usize = 5_000;

/// Part: enqueues the same keys as its twin, and says which were new to it.
pub fn same_keys(file: &Path) {
    let lanebox = Lanebox::open(file).expect("opened");
    let keys: Vec<usize> = (0..KEYS).collect();
    for some in keys.chunks(25) {
        let job =
            |key| NewJob::raw("noop", "{}", Lane::NONE).org("acme").dedupe(format!("import-{key}"));
        let answers = lanebox.enqueue_all(some.iter().map(job).collect()).expect("accepted");
        for (key, answer) in some.iter().zip(answers) {
            let new = matches!(answer, Enqueued::New(_));
            say(&format!("{key} {new} {}", answer.id()));
        }
    }
}

#[test]
fn r39_two_processes_with_the_same_keys_make_each_job_once() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("crm.db");
    let twins = [Child::start("same keys", &file), Child::start("same keys", &file)];
    let said: Vec<Vec<String>> = std::thread::scope(|scope| {
        let twins = twins.map(|twin| scope.spawn(move || twin.rest()));
        twins.map(|twin| twin.join().expect("heard to its end")).into()
    });
    let mut known: BTreeMap<String, String> = BTreeMap::new();
    let mut new = 0;
    for line in said.iter().flatten() {
        let words: Vec<&str> = line.split(' ').collect();
        let id = known.entry(words[0].to_owned()).or_insert_with(|| words[2].to_owned());
        assert_eq!(id, words[2], "both hear of one job for key {}", words[0]);
        new += usize::from(words[1] == "true");
    }
    assert_eq!((said[0].len(), said[1].len()), (KEYS, KEYS));
    assert_eq!((known.len(), new), (KEYS, KEYS));
    assert_eq!(number(&file, "SELECT count(*) FROM lanebox_job"), 5_000);
}
