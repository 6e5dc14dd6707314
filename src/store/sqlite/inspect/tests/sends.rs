//! Sends and notices.

use super::*;
use crate::error::Error;

/// Job 1 runs and made two sends: the first was accepted at its second try, the second is unknown
/// with a notice.
pub(super) const SENDS: &str = "
INSERT INTO lanebox_channel(id, org, name, timeout_ms, patience_ms) VALUES (1, 2, 'whatsapp', 1000, 900000);
INSERT INTO lanebox_send(id, org, origin, seq) VALUES (1, 2, 'j1', 1), (2, 2, 'j1', 2);
INSERT INTO lanebox_notice(id, org, kind, cause, severity, reason, next_step, ref_kind, ref_id, first_at, last_at)
  VALUES (7, 2, 'send.unknown', 'c', 'warn', 'who knows', 'look', 'send', 2, 1900000000000, 1900000000000);
INSERT INTO lanebox_send_try(send, n, key, channel, recipient_hmac, recipient_mask, hash, state, job, token, intended_at)
  VALUES (1, 1, x'01860000000070008000000000000011', 1, zeroblob(32), '+49***45', zeroblob(32), 'intended', 1, 1, 1900000000000);
UPDATE lanebox_send_try SET state = 'rejected', class = 'transient', reason = '503', ended_at = 1900000000100;
INSERT INTO lanebox_send_try(send, n, key, channel, recipient_hmac, recipient_mask, hash, state, job, token, intended_at, after)
  VALUES (1, 2, x'01860000000070008000000000000012', 1, zeroblob(32), '+49***45', zeroblob(32), 'intended', 1, 1, 1900000000200, 'rejected');
UPDATE lanebox_send_try SET state = 'accepted', receipt = 'wamid.9', ended_at = 1900000000300 WHERE n = 2;
INSERT INTO lanebox_send_try(send, n, key, channel, recipient_hmac, recipient_mask, hash, state, job, token, intended_at)
  VALUES (2, 1, x'01860000000070008000000000000021', 1, zeroblob(32), '+49***45', zeroblob(32), 'intended', 1, 1, 1900000000400);
UPDATE lanebox_send_try SET state = 'unknown', unknown_at = 1900000000500, wait_until = 1900000900000, notice = 7 WHERE send = 2;
UPDATE lanebox_running SET sent = 1;
";

/// A file whose job 1 runs with those sends.
pub(super) fn with_sends() -> (File, JobId) {
    let file = File::new();
    let id = file.job("turn", Lane::of("ann"));
    assert_eq!(file.claim(&["turn"], 1).len(), 1);
    file.sql(SENDS);
    (file, id)
}

#[test]
fn a_send_shows_its_newest_try_and_a_masked_recipient() {
    let (file, job) = with_sends();
    let rows = file.store.sends(&Filter::new()).expect("a page").rows;
    let shown: Vec<_> = rows.iter().map(|r| (r.id.as_str(), r.state.as_str(), r.tries)).collect();
    assert_eq!(shown, [("2", "unknown", 1), ("1", "accepted", 2)]);
    assert_eq!((rows[1].recipient.as_str(), rows[1].job), ("+49***45", Some(job)));
    assert_eq!(rows[1].receipt.as_deref(), Some("wamid.9"));
    assert_eq!(rows[0].notice.as_deref(), Some("7"));
}

#[test]
fn sends_are_narrowed_by_state_channel_and_lane() {
    let (file, _) = with_sends();
    let count = |filter| file.store.sends(&filter).expect("a page").rows.len();
    assert_eq!(count(Filter::new().state("unknown")), 1);
    assert_eq!(count(Filter::new().state("accepted")), 1);
    assert_eq!(count(Filter::new().kind("whatsapp").lane("ann").org("acme")), 2);
    assert_eq!(count(Filter::new().kind("mail")), 0);
    assert_eq!((count(Filter::new().lane_no("1")), count(Filter::new().lane_no("2"))), (2, 0));
    let since = time::OffsetDateTime::from_unix_timestamp(T0 / 1000 + 1).expect("a time");
    assert_eq!(count(Filter::new().since(since)), 0);
}

#[test]
fn a_send_in_full_has_its_tries() {
    let (file, _) = with_sends();
    let send = file.store.send(1).expect("the send");
    let tries: Vec<_> = send.history.iter().map(|t| (t.n, t.state.as_str())).collect();
    assert_eq!(tries, [(1, "rejected"), (2, "accepted")]);
    assert_eq!(send.history[0].reason.as_deref(), Some("503"));
    assert_eq!((send.origin.as_str(), send.orders), ("j1", 0));
    assert!(matches!(file.store.send(9), Err(Error::NotFound { what: "send", .. })));
}

#[test]
fn notices_show_what_nobody_resolved_unless_asked() {
    let (file, _) = with_sends();
    file.sql(
        "INSERT INTO lanebox_notice(id, org, kind, cause, severity, state, reason, next_step, first_at, last_at, resolved_at, resolved_by) \
         VALUES (8, 2, 'job.dead', 'x', 'critical', 'resolved', 'r', 'n', 0, 0, 5, 'eva')",
    );
    let listed = |filter: Filter| -> Vec<String> {
        let rows = file.store.notices(&filter).expect("a page").rows;
        rows.into_iter().map(|row| row.id).collect()
    };
    assert_eq!(listed(Filter::new()), ["7"]);
    assert_eq!(listed(Filter::new().state("all")), ["8", "7"]);
    assert_eq!(listed(Filter::new().state("resolved").kind("job.dead")), ["8"]);
    assert_eq!(listed(Filter::new().state("acknowledged")), Vec::<String>::new());
    let notice = file.store.notice(7).expect("the notice");
    assert_eq!((notice.about.as_deref(), notice.about_id.as_deref()), (Some("send"), Some("2")));
}
