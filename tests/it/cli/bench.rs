//! The measurement of a disk: its document, what it refuses, and that nothing is left of it.

use super::*;

fn left_in(dir: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(dir).expect("the directory");
    entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into()).collect()
}

#[test]
fn the_shortest_measurement_answers_all_of_it_and_leaves_nothing() {
    let cli = Cli::new();
    let before = std::fs::read(&cli.db).expect("the file");
    let dir = cli.db.parent().expect("a directory");
    let there = left_in(dir);
    // Without --dir it measures where the file is.
    let json = cli.json(&["bench", "--seconds", "5"]);
    assert_eq!(left_in(dir), there);
    assert_eq!(std::fs::read(&cli.db).expect("the file"), before, "it has files of its own");

    assert_eq!(json["dir"].as_str().map(Path::new), Some(dir), "{json}");
    assert!(json["sqlite"].as_str().is_some_and(|version| version.starts_with("3.")), "{json}");
    let positive = |value: &Value| value.as_f64().is_some_and(|figure| figure > 0.0);
    assert!(positive(&json["flush_append_per_s"]) && positive(&json["flush_overwrite_per_s"]));
    for durability in ["full", "relaxed"] {
        let column = json[durability].as_object().expect("a column");
        assert_eq!(column.len(), 22, "{column:?}");
        // A latency can be nothing: the handler may begin before its enqueue has returned.
        let figures = column.iter().filter(|(key, _)| !key.contains("latency"));
        figures.for_each(|(key, value)| assert!(positive(value), "{durability} {key}: {value}"));
    }
    let sentence = json["advice"]["sentence"].as_str().expect("a sentence");
    assert!(sentence.ends_with('.') && json["advice"]["verdict"].is_string(), "{sentence}");
}

#[test]
fn a_measurement_that_cannot_be_says_why() {
    let cli = Cli::new();
    let refused = cli.run(&["bench", "--dir", "/no/such/directory"]);
    assert!(refused.refused().contains("/no/such/directory"), "{refused:?}");
    assert!(refused.err.contains("--dir"), "{refused:?}");
    for seconds in ["4", "601", "x"] {
        let misused = cli.run(&["bench", "--seconds", seconds]);
        assert!(misused.misused().contains("5 to 600 seconds"), "{misused:?}");
    }
}

#[cfg(unix)]
#[test]
fn an_interrupted_measurement_leaves_nothing() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut bench = command(&dir.path().join("crm.db"));
    bench.args(["bench", "--seconds", "5"]).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = bench.spawn().expect("the binary runs");
    while left_in(dir.path()).is_empty() && child.try_wait().expect("its state").is_none() {
        std::thread::park_timeout(Duration::from_millis(1));
    }
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("it is there");
    let done = child.wait_with_output().expect("it ends");
    let said = String::from_utf8(done.stderr).expect("UTF-8");
    assert_eq!(done.status.code(), Some(1), "{said}");
    assert!(said.contains("it was interrupted") && said.lines().count() == 1, "{said}");
    assert_eq!(left_in(dir.path()), [""; 0]);
}
