//! Bad input: a sentence that says what was not lost, nothing half-written, and never a panic.

use super::*;

fn jobs(cli: &Cli) -> String {
    cli.value("SELECT count(*) FROM lanebox_job")
}

const ENQUEUE: [&str; 5] = ["enqueue", "turn", "--org", "acme", "--no-lane"];

#[test]
fn a_job_comes_from_an_argument_a_file_or_stdin() {
    let cli = Cli::new();
    let file = cli.db.with_file_name("body.json");
    std::fs::write(&file, "{\"from\": \"file\"}\n").expect("a file");
    let at_file = format!("@{}", file.display());
    for (body, stdin, stored) in [
        (r#"{"from":"argument"}"#, &b""[..], r#"{"from":"argument"}"#),
        (at_file.as_str(), b"", r#"{"from": "file"}"#),
        ("-", b"[1, 2]\n", "[1, 2]"),
    ] {
        let answer = cli.fed(&[&ENQUEUE[..], &[body, "--json"]].concat(), stdin);
        assert!(answer.ok().contains(r#""answer":"new""#), "{answer:?}");
        let newest = cli.value("SELECT payload FROM lanebox_job ORDER BY id DESC LIMIT 1");
        assert_eq!(newest, stored);
    }
    cli.run(&ENQUEUE).ok();
    assert_eq!(cli.value("SELECT payload FROM lanebox_job ORDER BY id DESC LIMIT 1"), "{}");
}

#[test]
fn a_key_makes_a_repeat_the_same_job_and_another_payload_a_conflict() {
    let cli = Cli::new();
    let enqueue = |body| cli.run(&[&ENQUEUE[..], &[body, "--dedupe", "k1", "--json"]].concat());
    let first: Value = serde_json::from_str(enqueue("{}").ok()).expect("json");
    let second: Value = serde_json::from_str(enqueue("{}").ok()).expect("json");
    assert_eq!((&second["answer"], &second["id"]), (&"existing".into(), &first["id"]));
    let conflict = enqueue(r#"{"other":1}"#);
    assert!(conflict.refused().contains("the first one stands and nothing was stored"));
    assert_eq!(jobs(&cli), "1");
}

// J18. The text, the file or the pipe is not JSON, too large, no text, or holds a NUL; J16: or is
// null.
#[test]
fn j18_a_payload_that_cannot_be_stored_is_refused_whole() {
    let cli = Cli::new();
    let large = format!("\"{}\"", "x".repeat(1 << 20));
    let deep = "[".repeat(100) + &"]".repeat(100);
    for (stdin, said) in [
        (&b"{\"a\":"[..], "it is not JSON"),
        (b"", "it is not JSON"),
        (b"{} {}", "it is not JSON"),
        (b"{\"a\":\"\0\"}", "it contains NUL"),
        (b"\"\\u0000\"", "it contains NUL"),
        (b"\xff\xfe", "it is not UTF-8 text"),
        (large.as_bytes(), "larger than 1048576 bytes; it was not cut"),
        (deep.as_bytes(), "it nests deeper than 64 levels"),
        (b"null", "it is null"),
    ] {
        let answer = cli.fed(&[&ENQUEUE[..], &["-"]].concat(), stdin);
        assert!(answer.refused().contains(said), "{said}: {answer:?}");
        assert!(answer.err.contains("nothing was stored"), "{answer:?}");
    }
    let missing = cli.run(&[&ENQUEUE[..], &["@/no/such/file"]].concat());
    assert!(missing.refused().contains("/no/such/file; nothing was stored"), "{missing:?}");
    assert_eq!(jobs(&cli), "0");
}

// J16. Blank or illegal names, no attempts, priorities beyond their bounds.
// fault: max-attempts-may-be-none
#[test]
fn j16_names_and_numbers_out_of_bounds_are_refused_before_anything_is_stored() {
    let cli = Cli::new();
    let long = "x".repeat(300);
    for args in [
        &["enqueue", "", "--org", "acme", "--no-lane"][..],
        &["enqueue", "Turn", "--org", "acme", "--no-lane"],
        &["enqueue", "turn now", "--org", "acme", "--no-lane"],
        &["enqueue", &long, "--org", "acme", "--no-lane"],
        &["enqueue", "turn", "--org", "", "--no-lane"],
        &["enqueue", "turn", "--org", " acme", "--no-lane"],
        &["enqueue", "turn", "--org", &long, "--no-lane"],
        &["enqueue", "turn", "--org", "acme", "--lane", ""],
        &["enqueue", "turn", "--org", "acme", "--lane", "ann "],
        &["enqueue", "turn", "--org", "acme", "--lane", &long],
        &["enqueue", "turn", "--org", "acme", "--no-lane", "--max-attempts", "0"],
        &["enqueue", "turn", "--org", "acme", "--no-lane", "--priority", "1000"],
        &["enqueue", "turn", "--org", "acme", "--no-lane", "--subject", ""],
        &["enqueue", "turn", "--org", "acme", "--no-lane", "--dedupe", ""],
    ] {
        let answer = cli.run(args);
        assert!(answer.refused().contains("nothing was stored"), "{args:?}: {answer:?}");
    }
    assert_eq!(jobs(&cli), "0");
    assert_eq!(cli.value("SELECT count(*) FROM lanebox_kind"), "0");
}

#[test]
fn a_fact_is_recorded_once_and_shown_in_full() {
    let cli = Cli::new();
    let args = [
        "publish",
        "message.received",
        r#"{"text": "hello"}"#,
        "--org",
        "acme",
        "--entity",
        "message:wamid.1",
        "--subject",
        "+4915112345678",
        "--dedupe",
        "wamid.1",
        "--metadata",
        r#"{"via":"shell"}"#,
        "--occurred",
        "2026-05-01T08:00:00Z",
    ];
    let first = cli.json(&args);
    assert_eq!(first["answer"], "new");
    let second = cli.json(&args);
    assert_eq!((&second["answer"], &second["id"]), (&"duplicate".into(), &first["id"]));
    let id = first["id"].as_str().expect("an id");
    let event = cli.json(&["events", id]);
    assert_eq!(
        (&event["payload"]["text"], &event["metadata"]["via"]),
        (&"hello".into(), &"shell".into())
    );
    assert_eq!(
        (&event["entity_id"], &event["occurred_at"]),
        (&"wamid.1".into(), &1_777_622_400_000_i64.into())
    );
    let text = cli.run(&["events", id]);
    assert!(text.ok().contains(r#"{"text": "hello"}"#) && text.out.contains("+49…78"), "{text:?}");
    assert!(cli.run(&["events"]).ok().contains("message:wamid.1"));
    let conflict =
        cli.run(&["publish", "message.received", "--org", "acme", "--dedupe", "wamid.1"]);
    assert!(conflict.refused().contains("the first one stands"), "{conflict:?}");
    assert_eq!(cli.value("SELECT count(*) FROM lanebox_event"), "1");
}

#[test]
fn a_fact_that_breaks_a_rule_is_refused_whole() {
    let cli = Cli::new();
    let long = "x".repeat(600);
    for (args, stdin) in [
        (&["publish", "message"][..], ""),
        (&["publish", "Message.Received"], ""),
        (&["publish", "message.received."], ""),
        (&["publish", ""], ""),
        (&["publish", "message.received", "[1]"], ""),
        (&["publish", "message.received", "{"], ""),
        (&["publish", "message.received", "-"], "{\"a\":\"\0\"}"),
        (&["publish", "message.received", "--metadata", "{"], ""),
        (&["publish", "message.received", "--metadata", "7"], ""),
        (&["publish", "message.received", "--subject", &long], ""),
        (&["publish", "message.received", "--dedupe", ""], ""),
        (&["publish", "message.received", "--entity", "message:"], ""),
    ] {
        let answer = cli.fed(&[args, &["--org", "acme"]].concat(), stdin.as_bytes());
        assert!(answer.refused().contains("nothing was stored"), "{args:?}: {answer:?}");
    }
    let orgless = cli.run(&["publish", "message.received", "--org", ""]);
    assert!(orgless.refused().contains("nothing was stored"), "{orgless:?}");
    assert!(
        cli.run(&["publish", "a.b", "--org", "x", "--entity", "wamid.1"])
            .misused()
            .contains("type:id")
    );
    assert_eq!(cli.value("SELECT count(*) FROM lanebox_event"), "0");
}

#[test]
fn wrong_use_is_told_with_help_and_exit_code_2() {
    let cli = Cli::new();
    for args in [
        &["frobnicate"][..],
        &["jobs", "--state", "finished"],
        &["jobs", "--limit", "0"],
        &["jobs", "--limit", "201"],
        &["jobs", "--since", "yesterday"],
        &["jobs", "not-an-id"],
        &["events", "--lane", "ann"],
        &["lanes", "--kind", "turn"],
        &["enqueue", "turn", "--org", "acme"],
        &["enqueue", "turn", "--org", "acme", "--lane", "a", "--no-lane"],
        &["enqueue", "turn", "--no-lane"],
        &["enqueue", "turn", "--org", "acme", "--no-lane", "--once-for", "x"],
        &["enqueue", "turn", "--org", "acme", "--no-lane", "--dedupe", "a", "--unique", "a"],
        &["trace"],
        &["cancel"],
    ] {
        let answer = cli.run(args);
        assert!(answer.misused().contains("--help"), "{args:?}: {answer:?}");
    }
    let mut nameless = command(&cli.db);
    let nameless = nameless.env_remove("LANEBOX_DB").arg("jobs").output().expect("it runs");
    assert_eq!(nameless.status.code(), Some(2));
    let said = String::from_utf8_lossy(&nameless.stderr);
    assert!(said.contains("--db FILE, or LANEBOX_DB"), "{said}");
}

#[test]
fn an_id_that_is_none_and_one_that_nothing_has_are_told_what_is_taken() {
    let cli = Cli::new();
    for (args, list) in [
        (&["events", "123"][..], "events"),
        (&["jobs", "x"], "jobs"),
        (&["requeue", "x"], "jobs"),
        (&["cancel", ""], "jobs"),
        (&["sends", "0198c1f2-7e5a-7000-8000-5d3c2b1a0f00"], "sends"),
        (&["notices", "first", "--resolve"], "notices"),
        (&["resolve", "x", "--sent"], "sends"),
        (&["enqueue", "turn", "--org", "acme", "--no-lane", "--once-for", "7"], "events"),
    ] {
        let said = format!("as `lanebox {list}` lists it; nothing was changed");
        let answer = cli.run(args);
        assert!(answer.misused().contains(&said), "{args:?}: {answer:?}");
    }
    let nobody = "00000000-0000-0000-0000-000000000000";
    for (args, list) in [
        (&["events", nobody][..], "events"),
        (&["jobs", nobody], "jobs"),
        (&["requeue", nobody], "jobs"),
        (&["cancel", nobody], "jobs"),
        (&["sends", "12"], "sends"),
        (&["notices", "12", "--acknowledge"], "notices"),
        (&["resolve", "12", "--sent"], "sends"),
    ] {
        let said =
            format!("in this file; nothing was changed: `lanebox {list}` lists what is there");
        let answer = cli.run(args);
        assert!(answer.refused().contains(&said), "{args:?}: {answer:?}");
    }
}

#[test]
fn a_cursor_that_is_none_is_refused() {
    let cli = Cli::new();
    for list in ["jobs", "events", "lanes", "sends", "notices"] {
        let answer = cli.run(&[list, "--after", "soon"]);
        assert!(answer.refused().contains("is not the `next` of a page"), "{answer:?}");
    }
}

// R10 in the small: nothing is made or changed where a command was pointed at the wrong thing.
#[test]
fn a_file_that_is_not_there_or_not_ours_is_left_alone() {
    let cli = Cli::new();
    let dir = cli.db.parent().expect("a directory");
    let missing = dir.join("missing.db");
    let missing_name = missing.to_str().expect("text");
    let answer = cli.run(&["jobs", "--db", missing_name]);
    assert!(answer.refused().contains("no such file"), "{answer:?}");
    assert!(!missing.exists());

    let other = dir.join("other.db");
    std::fs::write(&other, "this is not a database, it is a letter to a friend").expect("a file");
    let before = std::fs::read(&other).expect("the file");
    for command in [&["jobs"][..], &["init"], &["stats"]] {
        let answer = cli.run(&[command, &["--db", other.to_str().expect("text")]].concat());
        assert!(answer.refused().contains("other.db"), "{answer:?}");
        assert!(answer.err.contains("was not changed"), "{answer:?}");
    }
    assert_eq!(std::fs::read(&other).expect("the file"), before);

    let foreign = dir.join("foreign.db");
    let conn = Connection::open(&foreign).expect("another program's file");
    conn.execute_batch("CREATE TABLE deal(id INTEGER PRIMARY KEY)").expect("a table");
    let answer = cli.run(&["jobs", "--db", foreign.to_str().expect("text")]);
    assert!(answer.refused().contains("run `lanebox init` on it first"), "{answer:?}");
    let tables = "SELECT count(*) FROM sqlite_schema";
    assert_eq!(conn.query_row(tables, [], |row| row.get(0)), Ok(1));
}

#[test]
fn every_command_has_help_with_an_example() {
    let cli = Cli::new();
    let help = cli.run(&["--help"]);
    assert!(help.ok().contains("Exit codes: 0 done, 1 refused or failed, 2 used wrongly."));
    let commands = [
        "init", "enqueue", "events", "jobs", "lanes", "sends", "notices", "trace", "requeue",
        "resolve", "cancel", "stats", "doctor", "bench",
    ];
    for command in commands {
        let help = cli.run(&[command, "--help"]);
        assert!(help.ok().contains("Example") && help.out.contains("--db <FILE>"), "{help:?}");
        assert!(help.out.contains("--json"), "{help:?}");
    }
}
