//! Lists of lanes.

use super::*;
use crate::error::Error;
use crate::store::people::LaneView;

fn lanes(file: &File, filter: Filter) -> Vec<LaneView> {
    file.store.lanes(&filter).expect("a page").rows
}

fn named(rows: &[LaneView]) -> Vec<(&str, &str)> {
    rows.iter().map(|row| (row.name.as_deref().unwrap_or("-"), row.state.as_str())).collect()
}

fn some_lanes(file: &File) -> JobId {
    let _ = (file.job("k", Lane::of("idle")), file.run("k", done()));
    let _ = (file.job("k", Lane::of("waits")), file.run("k", retry("x", 60_000)));
    let running = file.job("k", Lane::of("runs"));
    assert_eq!(file.claim(&["k"], 1).len(), 1);
    let _ = (file.job("k", Lane::of("runs")), file.job("k", Lane::of("runs")));
    let _ = file.job("k", Lane::of("next"));
    let at = time::OffsetDateTime::from_unix_timestamp(T0 / 1000 + 3600).expect("a time");
    let _ = file.enqueue(NewJob::raw("k", "{}", Lane::of("later")).org("acme").at(at));
    file.sql("INSERT INTO lanebox_pause(lane, by_operator) SELECT id, 1 FROM lanebox_lane WHERE name = 'next'");
    running
}

#[test]
fn lanes_in_use_show_occupant_line_and_pause() {
    let file = File::new();
    let running = some_lanes(&file);
    let rows = lanes(&file, Filter::new());
    let expected =
        [("waits", "waiting"), ("runs", "running"), ("next", "paused"), ("later", "scheduled")];
    assert_eq!(named(&rows), expected);
    assert_eq!((rows[1].occupant, rows[1].line, rows[1].scheduled), (Some(running), 2, 0));
    assert_eq!(rows[1].occupant_kind.as_deref(), Some("k"));
    assert_eq!(rows[2].paused, ["operator"]);
    assert_eq!((rows[2].line, rows[3].scheduled), (1, 1));
}

#[test]
fn lanes_are_narrowed_by_name_state_and_org() {
    let file = File::new();
    let _ = some_lanes(&file);
    assert_eq!(named(&lanes(&file, Filter::new().lane("idle"))), [("idle", "idle")]);
    assert_eq!(named(&lanes(&file, Filter::new().state("paused"))), [("next", "paused")]);
    let no = lanes(&file, Filter::new().lane("next")).remove(0).no;
    let by_number = || Filter::new().lane_no(no.clone());
    assert_eq!(named(&lanes(&file, by_number())), [("next", "paused")]);
    assert!(lanes(&file, by_number().lane("idle")).is_empty());
    assert!(lanes(&file, by_number().org("nobody")).is_empty());
    let ill = file.store.lanes(&Filter::new().lane_no("next"));
    assert!(matches!(ill, Err(Error::Refused { .. })));
    assert!(lanes(&file, Filter::new().org("nobody")).is_empty());
    assert!(lanes(&file, Filter::new().lane("runs").org("nobody")).is_empty());
    assert_eq!(lanes(&file, Filter::new().lane("runs").org("acme")).len(), 1);
    let refused = file.store.lanes(&Filter::new().kind("k"));
    assert!(matches!(refused, Err(Error::Refused { .. })));
}

#[test]
fn pages_of_lanes_meet() {
    let file = File::new();
    let _ = some_lanes(&file);
    let first = file.store.lanes(&Filter::new().limit(3)).expect("a page");
    let next = first.next.expect("there is a fourth");
    let second = file.store.lanes(&Filter::new().limit(3).after(next)).expect("a page");
    assert_eq!((first.rows.len(), named(&second.rows)), (3, vec![("later", "scheduled")]));
    assert_eq!(second.next, None);
}
