//! Lists of events: states are derived, names may be prefixes.

use super::*;
use crate::model::id::EventId;
use crate::store::people::EventView;

/// Five events: nobody wants 1, 2 is done, 3 is dead, 4 is ahead of its consumer, 5 was not
/// adopted.
pub(super) const EVENTS: &str = "
INSERT INTO lanebox_event(uuid, org, name, entity_type, entity_id, subject, occurred_at, recorded_at) VALUES
  (x'01860000000070008000000000000001', 'acme', 'note.made', 'note', 'n1', NULL, 1900000000000, 1900000000000),
  (x'01860000000070008000000000000002', 'acme', 'message.received', 'message', 'm1', 'ann', 1900000000000, 1900000001000),
  (x'01860000000070008000000000000003', 'acme', 'message.received', 'message', 'm2', 'ann', 1900000000000, 1900000002000),
  (x'01860000000070008000000000000004', 'acme', 'message.deleted', 'message', 'm1', 'ann', 1900000000000, 1900000003000);
INSERT INTO lanebox_event(org, name, recorded_at) VALUES ('other', 'messages.seen', 1900000004000);
UPDATE lanebox_front SET seq = 4;
INSERT INTO lanebox_consumer(id, key, form, version, definition, generation, started, position) VALUES (1, 'sentiment', 'consume', 1, 'd', 1, 0, 3);
INSERT INTO lanebox_pattern(name, consumer) VALUES ('message.*', 1);
INSERT INTO lanebox_notice(id, org, kind, cause, severity, reason, next_step, first_at, last_at) VALUES (1, 1, 'route.failed', 'c', 'warn', 'it fell', 'mend it', 0, 0);
INSERT INTO lanebox_delivery(consumer, event, state, at, reason) VALUES (1, 2, 'skipped', 1900000001000, 'not ours');
INSERT INTO lanebox_delivery(consumer, event, state, at, attempts, last_error, notice) VALUES (1, 3, 'dead', 1900000002000, 10, 'boom', 1);
";

fn states(rows: &[EventView]) -> Vec<(&str, &str)> {
    rows.iter().map(|row| (row.seq.as_str(), row.state.as_str())).collect()
}

fn listed(file: &File, filter: Filter) -> Vec<EventView> {
    file.store.events(&filter).expect("a page").rows
}

#[test]
fn events_are_shown_newest_first_with_their_derived_state() {
    let file = File::new();
    file.sql(EVENTS);
    let rows = listed(&file, Filter::new());
    let expected =
        [("5", "unhandled"), ("4", "pending"), ("3", "dead"), ("2", "done"), ("1", "unhandled")];
    assert_eq!(states(&rows), expected);
    assert_eq!((rows[0].id, rows[2].attempts), (None, Some(10)));
    assert_eq!(rows[3].entity_id.as_deref(), Some("m1"));
}

#[test]
fn events_are_narrowed_by_state_name_prefix_org_and_time() {
    let file = File::new();
    file.sql(EVENTS);
    assert_eq!(states(&listed(&file, Filter::new().state("dead"))), [("3", "dead")]);
    assert_eq!(listed(&file, Filter::new().kind("message.received")).len(), 2);
    assert_eq!(listed(&file, Filter::new().kind("message.*")).len(), 3);
    assert_eq!(listed(&file, Filter::new().kind("*")).len(), 5);
    assert_eq!(listed(&file, Filter::new().org("other")).len(), 1);
    let since = time::OffsetDateTime::from_unix_timestamp(T0 / 1000 + 3).expect("a time");
    assert_eq!(listed(&file, Filter::new().since(since)).len(), 2);
    assert!(file.store.events(&Filter::new().lane("ann")).is_err());
}

#[test]
fn one_event_in_full_has_its_payload_and_cause() {
    let file = File::new();
    file.sql(EVENTS);
    file.sql(
        "INSERT INTO lanebox_event(uuid, org, name, payload, dedupe_key, cause_event, depth) \
         VALUES (x'01860000000070008000000000000009', 'acme', 'a.b', '{\"n\": 1}', 'k1', 2, 1)",
    );
    let id = EventId("01860000-0000-7000-8000-000000000009".parse().expect("a uuid"));
    let event = file.store.event(id).expect("the event");
    assert_eq!(event.payload.as_deref(), Some("{\"n\": 1}"));
    assert_eq!(event.cause_event.as_deref(), Some("01860000-0000-7000-8000-000000000002"));
    assert_eq!((event.dedupe_key.as_deref(), event.depth), (Some("k1"), 1));
}

#[test]
fn an_event_that_is_not_utf8_stands_in_the_list_and_in_full() {
    let file = File::new();
    file.sql(
        "WITH bad(t, j) AS (VALUES (CAST(x'61ff' AS TEXT), CAST(x'7b2261223a22ff227d' AS TEXT))) \
         INSERT INTO lanebox_event(uuid, org, name, entity_type, entity_id, subject, payload, metadata, dedupe_key) \
         SELECT x'01860000000070008000000000000009', t, 'a.b', t, t, t, j, j, t FROM bad",
    );
    let row = listed(&file, Filter::new()).remove(0);
    assert_eq!((row.org.as_str(), row.subject.as_deref()), ("a\u{FFFD}", Some("a\u{FFFD}")));
    let event = file.store.event(row.id.expect("an id")).expect("the event");
    assert_eq!(event.payload.as_deref(), Some("{\"a\":\"\u{FFFD}\"}"));
    assert_eq!(event.dedupe_key.as_deref(), Some("a\u{FFFD}"));
}
