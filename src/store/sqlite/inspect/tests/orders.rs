//! What a person orders leaves its line in the audit, with what it changed.

use super::sends::with_sends;
use super::*;
use crate::error::Error;
use crate::store::jobs::{Cancelled, Requeued};

fn audit(file: &File) -> Vec<(String, String, String, i64, Option<String>)> {
    let sql = "SELECT who, verb, ref_kind, ref_id, detail FROM lanebox_audit ORDER BY id";
    let rows = file.store.read(|conn| {
        let mut statement = conn.prepare(sql)?;
        let rows = statement.query_map([], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?))
        })?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    });
    rows.expect("the audit")
}

#[test]
fn a_requeue_is_recorded_and_resolves_the_last_ones_notice() {
    let file = File::new();
    let dead: Vec<JobId> = (0..2).map(|_| file.job("k", Lane::NONE)).collect();
    for _ in 0..2 {
        let _ = file.run("k", End::Dead("gone".to_owned()));
    }
    let open = || file.store.notices(&Filter::new()).expect("notices").rows;
    assert_eq!((open().len(), open()[0].count), (1, 2));
    let done = file.store.requeue(dead[0], "eva").expect("requeued");
    assert_eq!((done, open().len()), (Requeued::Again { sent: false }, 1));
    let done = file.store.requeue(dead[1], "eva").expect("requeued");
    assert_eq!((done, open().len()), (Requeued::Again { sent: false }, 0));
    let lines = audit(&file);
    assert_eq!(lines[1], ("eva".into(), "requeue".into(), "job".into(), 2, None));
    assert_eq!(file.store.requeue(dead[1], "eva").expect("a value"), Requeued::NotDead);
    assert_eq!(audit(&file).len(), 2);
}

#[test]
fn a_requeue_of_a_job_that_has_sent_says_so() {
    let (file, id) = with_sends();
    file.sql("UPDATE lanebox_send_try SET state = 'accepted', receipt = 'r', ended_at = 1, notice = NULL WHERE send = 2");
    let held = file.store.read(|conn| {
        Ok(conn.query_row("SELECT token FROM lanebox_running", [], |row| row.get::<_, i64>(0))?)
    });
    assert_eq!(held.expect("a token"), 1);
    file.sql(
        "DELETE FROM lanebox_running; INSERT INTO lanebox_finished(id, state, finished_at, series, attempts, lost, error, notice) \
         VALUES (1, 'dead', 1, 1, 1, 0, 'x', 7)",
    );
    let done = file.store.requeue(id, "eva").expect("requeued");
    assert_eq!(done, Requeued::Again { sent: true });
    assert!(audit(&file)[0].4.as_ref().expect("a detail").contains("accepted before"));
}

#[test]
fn a_cancel_is_recorded_only_if_it_changed_something() {
    let file = File::new();
    let waits = file.job("k", Lane::NONE);
    assert_eq!(file.store.cancel(waits, "eva").expect("a value"), Cancelled::Now);
    assert_eq!(file.store.cancel(waits, "eva").expect("a value"), Cancelled::Ended);
    let runs = file.job("k", Lane::NONE);
    assert_eq!(file.claim(&["k"], 1).len(), 1);
    assert_eq!(file.store.cancel(runs, "eva").expect("a value"), Cancelled::Asked);
    let verbs: Vec<_> = audit(&file).into_iter().map(|line| (line.1, line.3)).collect();
    assert_eq!(verbs, [("cancel".to_owned(), 1), ("cancel".to_owned(), 2)]);
}

#[test]
fn a_notice_is_acknowledged_and_resolved_once_and_not_while_a_send_is_unknown() {
    let (file, _) = with_sends();
    assert!(file.store.acknowledge(7, "eva").expect("a value"));
    assert!(!file.store.acknowledge(7, "eva").expect("a value"));
    let refused = file.store.resolve_notice(7, "eva");
    assert!(
        matches!(&refused, Err(Error::Refused { why, .. }) if why.contains("send 2")),
        "{refused:?}"
    );
    file.sql("UPDATE lanebox_send_try SET state = 'accepted', receipt = 'r', ended_at = 1, notice = NULL WHERE send = 2");
    assert!(file.store.resolve_notice(7, "eva").expect("a value"));
    assert!(!file.store.resolve_notice(7, "eva").expect("a value"));
    let notice = file.store.notice(7).expect("the notice");
    assert_eq!((notice.state.as_str(), notice.resolved_by.as_deref()), ("resolved", Some("eva")));
    assert_eq!(audit(&file).len(), 2);
    assert!(matches!(file.store.acknowledge(99, "eva"), Err(Error::NotFound { .. })));
}

#[test]
fn nobody_cannot_order_anything() {
    let file = File::new();
    let id = file.job("k", Lane::NONE);
    for nobody in ["", " eva", "e\0va"] {
        assert!(matches!(file.store.cancel(id, nobody), Err(Error::Invalid { what: "who", .. })));
    }
    assert!(audit(&file).is_empty());
}
