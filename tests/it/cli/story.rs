//! Traces: what came of what, as a tree.

use lanebox::{Consumer, NewEvent, Start};

use super::*;

#[test]
fn a_job_is_traced_with_its_attempts_and_its_notice() {
    let cli = Cli::new();
    let id = cli.dead_job("no such contact").to_string();
    let text = cli.run(&["trace", &id]);
    let lines: Vec<&str> = text.ok().lines().collect();
    assert!(lines[0].starts_with(&format!("job turn {id} in lane +49…78~1  dead")), "{lines:?}");
    assert!(lines[1].starts_with("  attempt 1  dead, token 1, process 1, "), "{lines:?}");
    assert_eq!(lines[2], "  notice 1  open, no such contact");
    let json = cli.json(&["trace", &id]);
    assert_eq!((&json["jobs"][0]["id"], &json["cut"]), (&id.into(), &false.into()));
    assert_eq!(json["jobs"][0]["notice"]["id"], "1");
}

#[test]
fn what_people_did_is_in_the_trace_with_who_and_when() {
    let cli = Cli::new();
    let id = cli.dead_job("no such contact").to_string();
    cli.run(&["notices", "1", "--acknowledge", "--by", "eva"]).ok();
    let text = cli.run(&["trace", &id]);
    assert!(text.ok().contains("\n  person eva  acknowledge notice 1, "), "{text:?}");
    cli.run(&["requeue", &id, "--by", "ann"]).ok();
    cli.run(&["cancel", &id, "--by", "bob"]).ok();
    let text = cli.run(&["trace", &id]);
    assert!(text.ok().contains("\n  person ann  requeue, "), "{text:?}");
    assert!(text.out.contains("\n  person bob  cancel, "), "{text:?}");
    let json = cli.json(&["trace", &id]);
    let (first, second) = (&json["jobs"][0]["audit"][0], &json["jobs"][0]["audit"][1]);
    assert_eq!((&first["who"], &second["who"]), (&"ann".into(), &"bob".into()));
    assert_eq!((&first["verb"], &first["about"]), (&"requeue".into(), &"job".into()));
    assert_eq!((&first["about_id"], &first["detail"]), (&id.into(), &Value::Null));
    assert!(first["at"].as_i64() <= second["at"].as_i64());
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
        for form in ["by its id (0198c1f2-", "by its number (12)", "(message:wamid.1)"] {
            assert!(answer.err.contains(form), "{answer:?}");
        }
    }
}

// The whole way: a fact, its consumer's job, what that published with its end, and who saw that.
#[test]
fn a_message_is_traced_to_what_was_published_because_of_it() {
    let cli = Cli::new();
    let lanebox = cli.lanebox();
    let (ran, runs) = mpsc::channel();
    let wants = Consumer::new("echo", "message.received").start(Start::Beginning);
    let reactions = Reactions::new().consume(wants, move |ctx, event| {
        ctx.publish(NewEvent::new("acme", "message.sent").subject("+4915112345678"))?;
        ran.send(event.id()).expect("the test waits");
        Ok::<_, lanebox::Error>(Outcome::Done)
    });
    let running = lanebox.start(reactions).expect("started");
    let args = ["publish", "message.received", "--org", "acme", "--subject", "+4915112345678"];
    let id = cli.json(&args)["id"].clone();
    let heard = runs.recv_timeout(Duration::from_secs(30)).expect("the consumer heard it");
    assert_eq!(heard.to_string(), id.as_str().expect("an id"));
    let _ = running.stop(Duration::from_secs(10));

    let text = cli.run(&["trace", &heard.to_string()]);
    let lines: Vec<&str> = text.ok().lines().collect();
    assert!(lines[0].starts_with(&format!("event message.received {heard} +49…78  done")));
    assert!(lines[1].starts_with("  consumer echo  took it"), "{lines:?}");
    assert!(lines[2].starts_with("    job consume.echo ") && lines[2].ends_with("  done"));
    assert!(lines[2].contains(" in lane echo/+49…78~"), "{lines:?}");
    assert!(lines[3].starts_with("      attempt 1  done"), "{lines:?}");
    assert!(lines[4].starts_with("      event message.sent "), "{lines:?}");
    let sent = cli.json(&["events", "--kind", "message.sent"])["events"][0]["id"].clone();
    let upward = cli.json(&["trace", sent.as_str().expect("an id")]);
    assert_eq!(upward["events"][0]["id"], id);
}

#[test]
fn the_readmes_commands_do_what_they_are_shown_for() {
    let cli = Cli::new();
    let readme = include_str!("../../../README.md");
    let shown = readme.lines().filter_map(|line| line.strip_prefix("$ lanebox "));
    // Nothing is there to be resolved in a new file; `bench` has tests of its own, of a short run.
    let shown: Vec<&str> =
        shown.filter(|line| !line.contains(" SEND") && !line.starts_with("bench ")).collect();
    assert_eq!(shown.len(), 5, "{shown:?}");
    for line in shown {
        let words = line.replace("--db crm.db ", "").replace('\'', "");
        let words: Vec<&str> = words.split_whitespace().filter(|&word| word != "--db").collect();
        let words: Vec<&str> = words.into_iter().filter(|&word| word != "crm.db").collect();
        let answer = cli.run(&words);
        assert_eq!(answer.code, 0, "{line}: {answer:?}");
    }
}
