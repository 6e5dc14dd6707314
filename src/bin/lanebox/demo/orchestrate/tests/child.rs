//! A child is heard, told, frozen, killed, and never left behind.

use std::process::Command;
use std::time::Duration;

use rustix::process::{Pid, Signal, test_kill_process};
use serde_json::json;
use tempfile::TempDir;

use super::super::child::Child;

/// Far longer than any of this takes; nothing waits for its end.
const LONG: Duration = Duration::from_secs(60);

fn shell(script: &str) -> (Child, TempDir) {
    let dir = tempfile::tempdir().unwrap();
    let mut command = Command::new("sh");
    command.args(["-c", script]);
    let child = Child::start_program("worker-1", &mut command, &dir.path().join("worker-1.log"));
    (child.unwrap(), dir)
}

fn is_there(pid: u32) -> bool {
    test_kill_process(Pid::from_raw(i32::try_from(pid).unwrap()).unwrap()).is_ok()
}

#[test]
fn lines_go_both_ways() {
    let (mut child, _dir) = shell(r#"echo '{"ready":true}'; read order; echo "$order""#);
    assert_eq!(child.must_say("it", LONG).unwrap(), json!({"ready": true}));
    child.tell(&json!({"halt_at": "thinking"})).unwrap();
    assert_eq!(child.line(LONG).unwrap(), Some(json!({"halt_at": "thinking"})));
}

#[test]
fn a_child_that_ends_or_talks_nonsense_is_an_error_that_names_it() {
    let (mut child, dir) = shell("echo 'no such file' >&2; exit 3");
    let error = child.line(LONG).unwrap_err().to_string();
    assert!(error.contains("worker-1 has ended (exit status: 3)"), "{error}");
    let told = std::fs::read_to_string(dir.path().join("worker-1.log")).unwrap();
    assert_eq!(told, "no such file\n");

    let (mut child, _dir) = shell("echo nonsense; read end");
    let error = format!("{:#}", child.line(LONG).unwrap_err());
    assert!(error.contains("worker-1 said \"nonsense\""), "{error}");
}

#[test]
fn silence_is_none_and_is_told_when_a_line_must_come() {
    let (mut child, _dir) = shell("read end");
    assert_eq!(child.line(Duration::ZERO).unwrap(), None);
    let error = child.must_say("that it is ready", Duration::ZERO).unwrap_err().to_string();
    assert!(error.contains("worker-1 did not say that it is ready"), "{error}");
}

#[test]
fn a_dropped_child_is_gone_even_if_it_was_frozen() {
    for frozen in [false, true] {
        let (child, _dir) = shell("read end");
        let pid = child.pid();
        if frozen {
            child.signal(Signal::STOP).unwrap();
        }
        assert!(is_there(pid));
        drop(child);
        assert!(!is_there(pid));
    }
}

#[test]
fn a_killed_child_is_gone_and_can_be_dropped() {
    let (mut child, _dir) = shell("read end");
    let pid = child.pid();
    child.kill().unwrap();
    assert!(!is_there(pid) && child.ended().unwrap().is_some());
}

#[test]
fn a_child_that_is_let_go_ends_by_itself() {
    let (child, _dir) = shell("while read line; do :; done; echo last");
    let pid = child.pid();
    assert!(child.stop().unwrap());
    assert!(!is_there(pid));
}

#[test]
fn a_frozen_child_says_nothing_until_it_is_thawed() {
    let (mut child, _dir) = shell(r#"read order; echo "$order"; read end"#);
    child.signal(Signal::STOP).unwrap();
    child.tell(&json!(1)).unwrap();
    assert_eq!(child.line(Duration::from_millis(1)).unwrap(), None);
    child.signal(Signal::CONT).unwrap();
    assert_eq!(child.line(LONG).unwrap(), Some(json!(1)));
}
