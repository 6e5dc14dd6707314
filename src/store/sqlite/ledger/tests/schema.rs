//! What the schema itself refuses, tried by raw SQL: so that no program can store it.

use crate::model::verdict::End;
use crate::store::jobs::Ended;
use crate::store::ledger::Accepted;
use crate::store::ledger::tests::world::{NEITHER, World};

/// A sound try, column by column; each case spoils one of them.
const TRY: &[(&str, &str)] = &[
    ("send", "1"),
    ("n", "2"),
    ("key", "randomblob(16)"),
    ("channel", "1"),
    ("recipient_hmac", "randomblob(32)"),
    ("recipient_mask", "'m'"),
    ("hash", "randomblob(32)"),
    ("state", "'intended'"),
    ("job", "1"),
    ("token", "1"),
    ("after", "'rejected'"),
    ("ordered_by", "NULL"),
    ("order_no", "0"),
    ("calls", "1"),
    ("intended_at", "0"),
    ("resend", "0"),
];

/// A running job whose first try was rejected.
fn rejected() -> World {
    let w = World::new();
    w.job("ann");
    let held = w.claim();
    let key = w.go(held, NEITHER);
    let _now = w.refused(held, key);
    w
}

fn insert(w: &World, spoilt: &[(&str, &str)]) -> Result<usize, rusqlite::Error> {
    let names: Vec<_> = TRY.iter().map(|(name, _)| *name).collect();
    let values: Vec<_> = TRY
        .iter()
        .map(|(name, value)| spoilt.iter().find(|(n, _)| n == name).map_or(*value, |(_, v)| *v))
        .collect();
    let sql = format!(
        "INSERT INTO lanebox_send_try({}) VALUES ({})",
        names.join(", "),
        values.join(", ")
    );
    w.raw.execute(&sql, [])
}

fn refused(w: &World, what: &str, sql: &str) {
    let before: i64 = w.ask("SELECT count(*) FROM lanebox_send_try");
    let answer = w.raw.execute(sql, []);
    let error = answer.expect_err(&format!("{what} must be refused: {sql}"));
    let code = error.sqlite_error_code();
    assert_eq!(code, Some(rusqlite::ErrorCode::ConstraintViolation), "{what}: {error}");
    assert_eq!(w.ask::<i64>("SELECT count(*) FROM lanebox_send_try"), before);
}

#[test]
fn a_try_is_born_only_as_it_may_be() {
    let w = rejected();
    insert(&w, &[]).expect("the sound one, or this test proves nothing");
    let w = rejected();
    let cases: &[(&str, &[(&str, &str)])] = &[
        ("accepted at birth", &[("state", "'accepted'")]),
        ("two calls at birth", &[("calls", "2")]),
        ("no call", &[("calls", "0")]),
        ("another token", &[("token", "99")]),
        ("a job that does not run", &[("job", "99")]),
        ("a gap", &[("n", "3")]),
        ("the same number", &[("n", "1"), ("after", "NULL")]),
        ("number 0", &[("n", "0")]),
        ("beyond a thousand", &[("n", "1001")]),
        ("without a cause", &[("after", "NULL")]),
        ("an unknown cause", &[("after", "'boredom'")]),
        ("by order of nobody", &[("after", "'order'")]),
        ("an order without a number", &[("ordered_by", "'ann'")]),
        ("a number without an order", &[("order_no", "1")]),
        ("a short key", &[("key", "randomblob(15)")]),
        ("a short recipient", &[("recipient_hmac", "randomblob(31)")]),
        ("a short hash", &[("hash", "randomblob(31)")]),
        ("a channel that is not there", &[("channel", "9")]),
        ("a send that is not there", &[("send", "9"), ("n", "1"), ("after", "NULL")]),
        ("a permission at birth", &[("resend", "1")]),
    ];
    for (what, spoilt) in cases {
        let answer = insert(&w, spoilt);
        assert!(answer.is_err(), "{what} must be refused");
    }
    w.sound();
}

#[test]
fn a_second_undecided_try_and_a_second_key_are_refused() {
    let w = rejected();
    insert(&w, &[("key", "x'00112233445566778899aabbccddeeff'")]).expect("the second");
    assert!(insert(&w, &[("n", "3")]).is_err(), "one undecided try per send");
    let _rejected = w.raw.execute(
        "UPDATE lanebox_send_try SET state = 'rejected', class = 'good', ended_at = 0 WHERE n = 2",
        [],
    );
    let again = [("n", "3"), ("key", "x'00112233445566778899aabbccddeeff'")];
    assert!(insert(&w, &again).is_err(), "a key is used once");
}

#[test]
fn steps_that_no_try_takes() {
    let w = World::new();
    w.job("ann");
    let held = w.claim();
    let key = w.go(held, NEITHER);
    let update = |set: &str| format!("UPDATE lanebox_send_try SET {set}");
    refused(
        &w,
        "abandoned while it is intended",
        &update("state = 'abandoned', how = 'not_found', settled_by = 'x', ended_at = 0"),
    );
    refused(&w, "accepted without a proof", &update("state = 'accepted', ended_at = 0"));
    refused(&w, "rejected without a class", &update("state = 'rejected', ended_at = 0"));
    refused(&w, "rejected without an end", &update("state = 'rejected', class = 'good'"));
    refused(
        &w,
        "unknown with nobody to look after it",
        &update("state = 'unknown', unknown_at = 0, wait_until = 0"),
    );
    refused(&w, "a look at what is not unknown", &update("next_look = 0"));
    refused(&w, "a duplicate without a notice", &update("state = 'duplicate', ended_at = 0"));
    refused(&w, "deleted while undecided", "DELETE FROM lanebox_send_try");
    for (column, value) in [
        ("key", "randomblob(16)"),
        ("channel", "2"),
        ("recipient_hmac", "randomblob(32)"),
        ("hash", "randomblob(32)"),
        ("job", "2"),
        ("n", "2"),
    ] {
        refused(&w, column, &update(&format!("{column} = {value}")));
    }

    assert_eq!(w.end(held, End::Unknown), Ended::Holds);
    refused(
        &w,
        "called again without permission",
        &update("state = 'intended', calls = 2, next_look = NULL"),
    );
    refused(
        &w,
        "called again by a run that is over",
        &update("state = 'intended', calls = 2, next_look = NULL, resend = 0"),
    );
    refused(&w, "the patience moved", &update("wait_until = wait_until + 1"));
    refused(
        &w,
        "abandoned without a reason",
        &update("state = 'abandoned', ended_at = 0, next_look = NULL"),
    );
    refused(&w, "nobody looks any more", &update("next_look = NULL"));

    assert_eq!(w.echo(key, "wamid.1"), Accepted::Now);
    refused(
        &w,
        "unknown after the accept",
        &update("state = 'unknown', ended_at = NULL, unknown_at = 0, next_look = 0"),
    );
    refused(&w, "intended after the accept", &update("state = 'intended', ended_at = NULL"));
    refused(&w, "another receipt", &update("receipt = 'wamid.2'"));
    refused(&w, "no receipt any more", &update("receipt = NULL"));
    w.sound();
}

#[test]
fn a_rejection_after_a_second_call_and_a_second_accept_are_refused() {
    let w = rejected();
    insert(&w, &[]).expect("the second try");
    w.raw
        .execute("UPDATE lanebox_send_try SET calls = 2 WHERE n = 2", [])
        .expect("as after a resend");
    refused(
        &w,
        "rejected after two calls",
        "UPDATE lanebox_send_try SET state = 'rejected', class = 'good', ended_at = 0 WHERE n = 2",
    );
    let accept =
        "UPDATE lanebox_send_try SET state = 'accepted', receipt = 'r', ended_at = 0 WHERE n = ";
    w.raw.execute(&format!("{accept}2"), []).expect("the first accept");
    refused(&w, "a second plain accept", &format!("{accept}1"));
}

#[test]
fn a_send_is_either_numbered_or_named_and_a_number_is_used_once() {
    let w = rejected();
    let insert =
        |values: &str| format!("INSERT INTO lanebox_send(org, origin, seq, name) VALUES {values}");
    refused(&w, "neither", &insert("(1, 'j1', NULL, NULL)"));
    refused(&w, "both", &insert("(1, 'j1', 5, 'x')"));
    refused(&w, "the same number", &insert("(1, 'j1', 1, NULL)"));
    refused(&w, "number 0", &insert("(1, 'j1', 0, NULL)"));
    refused(&w, "beyond a thousand", &insert("(1, 'j1', 1001, NULL)"));
    refused(&w, "an empty name", &insert("(1, 'j1', NULL, '')"));
    refused(&w, "an org that is not there", &insert("(99, 'j1', 2, NULL)"));
    w.raw.execute(&insert("(1, 'j1', NULL, 'x')"), []).expect("a named one");
    refused(&w, "the same name", &insert("(1, 'j1', NULL, 'x')"));
    refused(&w, "a short hash", "UPDATE lanebox_send SET changed_hash = x'00'");
}

#[test]
fn channels_consents_and_the_audit_keep_their_rules() {
    let w = rejected();
    let channel = |values: &str| {
        format!(
            "INSERT INTO lanebox_channel(org, name, state, until, timeout_ms, patience_ms) VALUES {values}"
        )
    };
    refused(&w, "a state of nobody's", &channel("(1, 'x', 'broken', NULL, 1, 1)"));
    refused(&w, "open until", &channel("(1, 'x', 'open', 5, 1, 1)"));
    refused(&w, "no time", &channel("(1, 'x', 'open', NULL, 0, 1)"));
    refused(&w, "no patience", &channel("(1, 'x', 'open', NULL, 1, 0)"));
    refused(&w, "a name with blanks", &channel("(1, ' x', 'open', NULL, 1, 1)"));
    refused(&w, "a channel twice", &channel("(2, 'whatsapp', 'open', NULL, 1, 1)"));
    refused(
        &w,
        "a clear recipient",
        "INSERT INTO lanebox_consent VALUES (1, '+49151', 'whatsapp', 0, 0, 'x')",
    );
    refused(
        &w,
        "neither given nor withdrawn",
        "INSERT INTO lanebox_consent VALUES (1, randomblob(32), 'whatsapp', 2, 0, 'x')",
    );
    refused(
        &w,
        "without evidence",
        "INSERT INTO lanebox_consent VALUES (1, randomblob(32), 'whatsapp', 0, 0, '')",
    );
    w.raw
        .execute("INSERT INTO lanebox_audit(at, who, verb, ref_kind, ref_id) VALUES (0, 'ann', 'x', 'send', 1)", [])
        .expect("a line");
    refused(&w, "the audit rewritten", "UPDATE lanebox_audit SET who = 'bob'");
    refused(&w, "the audit cut", "DELETE FROM lanebox_audit");
}
