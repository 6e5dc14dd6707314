//! The file in numbers, and its health.

use super::*;

#[test]
fn init_makes_a_file_once_and_says_so() {
    let cli = Cli::new();
    let again = cli.json(&["init"]);
    assert_eq!(again["made"], false);
    let other = cli.db.with_file_name("other.db");
    let made = cli.json(&["init", "--relaxed", "--db", other.to_str().expect("text")]);
    assert_eq!(made["made"], true);
    let durability = |cli: &Cli, db: &Path| {
        let json = cli.json(&["doctor", "--db", db.to_str().expect("text")]);
        let facts = json["facts"].as_array().expect("facts").clone();
        let fact = facts.into_iter().find(|fact| fact["name"] == "durability");
        fact.expect("the fact")["value"].as_str().expect("text").to_owned()
    };
    assert!(durability(&cli, &other).starts_with("relaxed"));
    assert_eq!(durability(&cli, &cli.db), "full");
    let missing = cli.run(&["init", "--db", "/no/such/directory/a.db"]);
    assert!(missing.refused().contains("/no/such/directory"), "{missing:?}");
}

// The shell sets the limit and ignores no signal: that is the binary's own matter.
// fault: size-limit-ends-the-program
#[cfg(unix)]
#[test]
fn e117_a_file_at_its_size_limit_is_an_error_and_not_the_end_of_the_program() {
    let cli = Cli::new();
    let payload = format!("{{\"text\":\"{}\"}}", "x".repeat(100_000));
    let enqueue = |limit: &str| {
        let script = format!("ulimit -f {limit} && exec \"$0\" \"$@\"");
        let mut shell = std::process::Command::new("sh");
        shell.env("LANEBOX_DB", &cli.db).args(["-c", &script, env!("CARGO_BIN_EXE_lanebox")]);
        shell.args(["enqueue", "turn", "--org", "acme", "--no-lane", &payload]);
        shell.output().expect("the shell runs")
    };
    // Less than the log of that transaction takes, in blocks of 512 or 1,024 bytes.
    let full = enqueue("80");
    assert_eq!(full.status.code(), Some(1), "{full:?}");
    let said = String::from_utf8(full.stderr).expect("UTF-8");
    assert!(said.starts_with("lanebox: ") && said.lines().count() == 1, "{said}");
    assert_eq!(cli.value("SELECT count(*) FROM lanebox_job"), "0");
    assert!(cli.run(&["doctor"]).ok().contains("none found anything"));
    assert_eq!(enqueue("unlimited").status.code(), Some(0), "with room it is stored");
    assert_eq!(cli.value("SELECT count(*) FROM lanebox_job"), "1");
}

// fault: umask-is-the-shells
#[cfg(unix)]
#[test]
fn whatever_the_binary_makes_is_its_owners_alone_under_any_umask() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().expect("a directory");
    let db = dir.path().join("crm.db");
    let open_to_all = |args: &[&str]| {
        let mut shell = Command::new("sh");
        shell.args(["-c", "umask 000 && exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_lanebox")]);
        shell.args(args).env("LANEBOX_DB", &db).stdin(Stdio::piped());
        shell.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it runs")
    };
    assert!(open_to_all(&["init"]).wait().expect("it ends").success());
    let mut waits = open_to_all(&["enqueue", "turn", "--org", "acme", "--no-lane", "-"]);
    let wal = dir.path().join("crm.db-wal");
    crate::scene::until("it has opened the file", || wal.exists());
    for entry in std::fs::read_dir(dir.path()).expect("the directory") {
        let entry = entry.expect("an entry");
        let mode = entry.metadata().expect("a file").permissions().mode() & 0o777;
        assert_eq!(mode, 0o600, "{:?}", entry.file_name());
    }
    // What holds for all that it would make, such as logs; other systems do not show it.
    let status = std::fs::read_to_string(format!("/proc/{}/status", waits.id()));
    let status = status.unwrap_or_default();
    let umask = status.lines().find_map(|line| line.strip_prefix("Umask:\t"));
    assert_eq!(umask.unwrap_or("0077"), "0077");
    drop(waits.stdin.take());
    let _refused = waits.wait().expect("it ends");
}

#[test]
fn stats_count_jobs_by_state_kind_and_org() {
    let cli = Cli::new();
    let _ = cli.dead_job("gone");
    cli.run(&["enqueue", "report", "--org", "acme", "--no-lane"]).ok();
    cli.run(&["enqueue", "report", "--org", "acme", "--no-lane", "--at", "1h"]).ok();
    let json = cli.json(&["stats"]);
    assert_eq!(
        (&json["jobs"], &json["dead"]["n"], &json["ready"]["n"]),
        (&3.into(), &1.into(), &1.into())
    );
    assert_eq!(json["scheduled"]["n"], 1);
    let kind = &json["kinds"][0];
    assert_eq!((&kind["name"], &kind["ready"]["n"]), (&"report".into(), &1.into()));
    let text = cli.run(&["stats"]);
    assert!(text.ok().contains("KIND") && text.out.contains("open notices"), "{text:?}");
}

#[test]
fn the_doctor_fails_when_something_is_wrong_and_says_what() {
    let cli = Cli::new();
    cli.run(&["enqueue", "turn", "--org", "acme", "--lane", "ann"]).ok();
    assert!(cli.run(&["doctor"]).ok().contains("audits, none found anything"));
    assert_eq!(cli.json(&["doctor"])["sound"], true);
    cli.sql("DELETE FROM lanebox_ready");
    let text = cli.run(&["doctor"]);
    assert_eq!(text.code, 1);
    assert!(text.out.contains("claimable_not_ready"), "{text:?}");
    assert!(text.err.contains("1 audits found rows"), "{text:?}");
    let json = cli.run(&["doctor", "--json"]);
    let health: Value = serde_json::from_str(&json.out).expect("one document");
    assert_eq!((json.code, &health["sound"]), (1, &false.into()));
}

// A damaged file, or a clock that was wrong by ages: still a sentence, never a panic.
#[test]
fn numbers_out_of_this_world_are_shown_too() {
    let cli = Cli::new();
    let id = cli.dead_job("gone").to_string();
    cli.sql(
        "UPDATE lanebox_finished SET started_at = -9223372036854775808, finished_at = 9223372036854775807; \
         UPDATE lanebox_notice SET first_at = -9223372036854775808, last_at = 9223372036854775807; \
         INSERT INTO lanebox_event(org, name, occurred_at, recorded_at) VALUES ('acme', 'a.b', 9223372036854775807, -9223372036854775808)",
    );
    for args in
        [&["jobs"][..], &["jobs", &id], &["trace", &id], &["events"], &["notices", "1"], &["stats"]]
    {
        cli.run(args).ok();
        cli.run(&[args, &["--json"]].concat()).ok();
    }
}
