//! Lists, as tables and as JSON; pages; what is masked and what is escaped.

use super::*;

/// Columns of the line that begins with this word.
fn line<'a>(out: &'a str, first: &str) -> Vec<&'a str> {
    let found = out.lines().find(|line| line.starts_with(first));
    found.unwrap_or_else(|| panic!("no {first} in {out}")).split_whitespace().collect()
}

#[test]
fn every_list_of_an_empty_file_says_so_in_words_and_as_an_empty_array() {
    let cli = Cli::new();
    for list in ["events", "jobs", "lanes", "sends", "notices"] {
        assert!(cli.run(&[list]).ok().starts_with("no "), "{list}");
        let json = cli.json(&[list]);
        assert_eq!(json[list], Value::Array(Vec::new()), "{list}");
        assert_eq!(json["next"], Value::Null, "{list}");
    }
}

#[test]
fn a_list_of_an_org_that_nothing_is_of_says_so() {
    let cli = Cli::new();
    cli.run(&["enqueue", "turn", "--org", "acme", "--no-lane"]).ok();
    cli.run(&["publish", "deal.won", "--org", "events-only"]).ok();
    for list in ["events", "jobs", "lanes", "sends", "notices"] {
        let unknown = cli.run(&[list, "--org", "acmee"]);
        assert!(unknown.ok().contains(" of acmee: nothing in this file is of an org of that name"));
        let json = cli.json(&[list, "--org", "acmee"]);
        assert_eq!((&json[list], &json["next"]), (&Value::Array(Vec::new()), &Value::Null));
        for known in ["acme", "events-only", "-"] {
            assert!(!cli.run(&[list, "--org", known]).ok().contains("nothing"), "{list} {known}");
        }
    }
}

#[test]
fn a_job_is_listed_with_its_lane_masked_for_people_and_in_clear_for_programs() {
    let cli = Cli::new();
    let id = cli.dead_job("no such contact");
    let table = cli.run(&["jobs"]);
    assert_eq!(table.ok().lines().count(), 2);
    assert!(table.out.starts_with("ID "), "{}", table.out);
    let row = line(&table.out, &id.to_string());
    assert_eq!(&row[1..3], ["turn", "dead"]);
    assert!(row.contains(&"+49…78~1") && row.contains(&"1/10"), "{row:?}");
    assert!(table.out.contains("no such contact") && !table.out.contains("4915112345678"));
    let json =
        cli.json(&["jobs", "--state", "dead", "--kind", "turn", "--org", "acme", "--since", "1h"]);
    assert_eq!(json["jobs"][0]["id"], id.to_string());
    assert_eq!(json["jobs"][0]["lane"], "+4915112345678");
    assert_eq!(cli.json(&["jobs", "--state", "done"])["jobs"], Value::Array(Vec::new()));
    assert_eq!(cli.json(&["jobs", "--lane", "nobody"])["jobs"], Value::Array(Vec::new()));
}

#[test]
fn a_job_in_full_shows_its_payload_its_attempts_and_why_it_waits() {
    let cli = Cli::new();
    let id = cli.dead_job("no such contact").to_string();
    let text = cli.run(&["jobs", &id]);
    assert!(text.ok().contains(r#"{"n":1}"#));
    assert!(text.out.contains("stays so until a person requeues it"), "{}", text.out);
    let json = cli.json(&["jobs", &id]);
    assert_eq!((&json["payload"]["n"], &json["history"][0]["ended"]), (&1.into(), &"dead".into()));
    assert_eq!(json["explanation"]["waits_for"], "person");
}

// A masked name is not a name, and two contacts may look the same.
#[test]
fn a_lane_as_a_table_shows_it_can_be_copied_into_the_filter() {
    let cli = Cli::new();
    for contact in ["+4915112345678", "+4917799999978"] {
        cli.run(&["enqueue", "turn", "--org", "acme", "--lane", contact]).ok();
    }
    let table = cli.run(&["lanes"]);
    let rows: Vec<&str> = table.ok().lines().skip(1).collect();
    assert_eq!(rows.len(), 2);
    for (row, contact) in rows.iter().zip(["+4915112345678", "+4917799999978"]) {
        let cell = row.split_whitespace().next().expect("a cell");
        assert!(cell.starts_with("+49…78~"), "{row}");
        for list in ["jobs", "lanes"] {
            assert!(cli.run(&[list]).ok().contains(cell), "{list} shows it");
            let json = cli.json(&[list, "--lane", cell]);
            let (rows, name) = (json[list].as_array().expect("rows"), ["lane", "name"]);
            let name = rows[0].get(name[0]).or(rows[0].get(name[1]));
            assert_eq!((rows.len(), name), (1, Some(&contact.into())));
        }
        assert_eq!(cli.json(&["sends", "--lane", cell])["sends"], Value::Array(Vec::new()));
        assert!(cli.run(&["lanes", "--lane", cell, "--org", "other"]).ok().starts_with("no "));
    }
    assert!(cli.run(&["jobs", "--help"]).ok().contains("as tables show it, like +49…78~12"));
}

#[test]
fn lanes_in_use_are_listed_with_their_line() {
    let cli = Cli::new();
    for _ in 0..2 {
        cli.run(&["enqueue", "turn", "--org", "acme", "--lane", "+4915112345678"]).ok();
    }
    let table = cli.run(&["lanes"]);
    assert_eq!(&line(table.ok(), "+49…78~1")[1..], ["acme", "ready", "2", "0", &cli.value(HEAD)]);
    let json = cli.json(&["lanes", "--state", "ready"]);
    assert_eq!(
        (&json["lanes"][0]["line"], &json["lanes"][0]["occupant"]),
        (&2.into(), &Value::Null)
    );
    assert_eq!(cli.json(&["lanes", "--state", "paused"])["lanes"], Value::Array(Vec::new()));
}

const HEAD: &str = "SELECT lower(substr(hex(uuid),1,8)||'-'||substr(hex(uuid),9,4)||'-'||substr(hex(uuid),13,4)||'-'||\
                    substr(hex(uuid),17,4)||'-'||substr(hex(uuid),21)) FROM lanebox_job ORDER BY id LIMIT 1";

#[test]
fn pages_follow_each_other_by_their_next() {
    let cli = Cli::new();
    for _ in 0..3 {
        cli.run(&["enqueue", "turn", "--org", "acme", "--no-lane"]).ok();
    }
    let first = cli.json(&["jobs", "--limit", "2"]);
    let next = first["next"].as_str().expect("there is a third");
    assert_eq!(first["jobs"].as_array().map(Vec::len), Some(2));
    let second = cli.json(&["jobs", "--limit", "2", "--after", next]);
    assert_eq!(second["jobs"].as_array().map(Vec::len), Some(1));
    assert_eq!(second["next"], Value::Null);
    let table = cli.run(&["jobs", "--limit", "2"]);
    assert!(table.ok().ends_with(&format!("there is more: --after {next}\n")));
}

#[test]
fn what_lies_far_back_is_found_all_the_same() {
    let cli = Cli::new();
    let id = cli.json(&["enqueue", "rare", "--org", "acme", "--no-lane"])["id"].clone();
    cli.sql("UPDATE sqlite_sequence SET seq = 100000 WHERE name = 'lanebox_job'");
    cli.run(&["enqueue", "often", "--org", "acme", "--no-lane"]).ok();
    let json = cli.json(&["jobs", "--kind", "rare"]);
    assert_eq!((&json["jobs"][0]["id"], &json["next"]), (&id, &Value::Null));
}

// Whoever sends a message to this CRM can put anything into its texts.
#[test]
fn hostile_text_is_shown_and_never_obeyed() {
    let cli = Cli::new();
    let hostile = "\u{1b}[2J\u{9b}31m\u{202e}lived\r\nSEQ";
    let conn = Connection::open(&cli.db).expect("the file");
    let insert = "INSERT INTO lanebox_event(org, name, entity_type, entity_id, subject, payload) VALUES (?1, 'a.b', ?1, ?1, ?1, ?2)";
    let payload = serde_json::json!({ "text": hostile }).to_string();
    conn.execute(insert, [hostile, &payload]).expect("a foreign event");
    let obeyed =
        |text: &str| text.chars().any(|c| c != '\n' && (c.is_control() || c == '\u{202e}'));
    let table = cli.run(&["events"]);
    assert!(table.ok().lines().count() == 2 && !obeyed(&table.out), "{:?}", table.out);
    assert!(table.out.contains("\\u{1b}[2J"), "{}", table.out);
    let json = cli.run(&["events", "--json"]);
    assert!(json.ok().lines().count() == 1 && !obeyed(&json.out), "{:?}", json.out);
    let parsed: Value = serde_json::from_str(&json.out).expect("json");
    assert_eq!(parsed["events"][0]["org"], hostile);
    for args in [
        &["jobs", "--after", "\u{1b}[2J"][..],
        &["trace", "\u{1b}[2J"],
        &["publish", "\u{1b}", "--org", "x"],
    ] {
        let answer = cli.run(args);
        assert!(!obeyed(&answer.err) && answer.code != 0, "{answer:?}");
    }
}

#[test]
fn a_reader_that_has_read_enough_ends_it_quietly() {
    let cli = Cli::new();
    let mut child = command(&cli.db)
        .args(["stats"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary runs");
    drop(child.stdout.take());
    let done = child.wait_with_output().expect("it ends");
    assert_eq!((done.status.code(), done.stderr), (Some(0), Vec::new()));
}

#[test]
fn it_works_beside_a_running_service() {
    let cli = Cli::new();
    let lanebox = cli.lanebox();
    let (ran, runs) = mpsc::channel();
    let (go, may_go) = mpsc::channel::<()>();
    let may_go = std::sync::Mutex::new(may_go);
    let reactions = Reactions::new().on_kind("turn", Policy::default(), move |_| {
        ran.send(()).expect("the test waits");
        let _ = may_go.lock().expect("one run").recv();
        Ok::<_, std::io::Error>(Outcome::Done)
    });
    let running = lanebox.start(reactions).expect("started");
    cli.run(&["enqueue", "turn", "--org", "acme", "--no-lane"]).ok();
    runs.recv_timeout(Duration::from_secs(30)).expect("another process woke it");
    let json = cli.json(&["jobs", "--state", "running"]);
    assert_eq!(json["jobs"].as_array().map(Vec::len), Some(1));
    assert!(cli.run(&["doctor"]).ok().contains("audits, none found anything"));
    drop(go);
    let _ = running.stop(Duration::from_secs(10));
    assert_eq!(cli.json(&["jobs", "--state", "done"])["jobs"].as_array().map(Vec::len), Some(1));
}
