//! Traces: what came of what, as a tree.

use super::*;

#[test]
fn a_job_is_traced_with_its_attempts_and_its_notice() {
    let cli = Cli::new();
    let id = cli.dead_job("no such contact").to_string();
    let text = cli.run(&["trace", &id]);
    let lines: Vec<&str> = text.ok().lines().collect();
    assert!(lines[0].starts_with(&format!("job turn {id} in lane +49…78  dead")), "{lines:?}");
    assert!(lines[1].starts_with("  attempt 1  dead, token 1, process 1, "), "{lines:?}");
    assert_eq!(lines[2], "  notice 1  open, no such contact");
    let json = cli.json(&["trace", &id]);
    assert_eq!((&json["jobs"][0]["id"], &json["cut"]), (&id.into(), &false.into()));
    assert_eq!(json["jobs"][0]["notice"]["id"], "1");
}

#[test]
fn an_event_is_traced_by_its_entity_to_who_has_not_come_to_it_yet() {
    let cli = Cli::new();
    cli.sql(
        "INSERT INTO lanebox_event(org, name, entity_type, entity_id) VALUES ('acme', 'message.received', 'message', 'wamid.1'); \
         INSERT INTO lanebox_consumer(id, key, form, version, definition, generation, started, position) \
           VALUES (1, 'sentiment', 'consume', 1, 'd', 1, 0, 0); \
         INSERT INTO lanebox_pattern(name, consumer) VALUES ('message.*', 1)",
    );
    let text = cli.run(&["trace", "message:wamid.1"]);
    let lines: Vec<&str> = text.ok().lines().collect();
    assert!(lines[0].starts_with("event message.received seq 1 message:wamid.1  pending"));
    assert_eq!(lines[1], "  consumer sentiment  has not come to it yet");
    let json = cli.json(&["events", "--state", "pending", "--kind", "message.*"]);
    assert_eq!((&json["events"][0]["seq"], &json["events"][0]["id"]), (&"1".into(), &Value::Null));
    assert!(cli.run(&["stats"]).ok().contains("sentiment"));
}

#[test]
fn what_is_not_in_the_file_is_said() {
    let cli = Cli::new();
    for id in ["00000000-0000-0000-0000-000000000000", "7", "-7", "message:none", "nonsense", ""] {
        let answer = cli.run(&["trace", "--", id]);
        assert!(answer.refused().contains("in this file; nothing was changed"), "{answer:?}");
    }
}
