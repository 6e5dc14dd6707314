//! The files: torn ends, the demo's own log, a database that was left behind by a kill, and ones
//! that are none.

use std::fs::{self, OpenOptions};
use std::io::Write;

use super::super::super::log::{Blow, BlowRecord};
use super::super::{Evidence, run};
use super::*;

fn error(scene: &Scene) -> String {
    format!("{:#}", Evidence::read(&scene.args()).err().expect("an error"))
}

#[test]
fn a_torn_last_line_counts_as_not_written() {
    let mut scene = Scene::new();
    scene.replied("m1", "551100001111", &["oi"]);
    let args = scene.write_logs();
    for path in [&args.feeder_log, &args.provider_log] {
        let first = fs::read_to_string(path).unwrap();
        let torn = &first[..first.len() / 2];
        OpenOptions::new().append(true).open(path).unwrap().write_all(torn.as_bytes()).unwrap();
    }
    let report = Report::of(&Evidence::read(&args).unwrap());
    assert_eq!((figures(&report), report.replied), ([0; 4], 1));

    // The accept itself is torn: it never happened, so the reply is lost.
    let written = fs::read(&args.provider_log).unwrap();
    let end = written.iter().position(|&byte| byte == b'\n').unwrap();
    fs::write(&args.provider_log, &written[..end]).unwrap();
    let report = Report::of(&Evidence::read(&args).unwrap());
    assert_eq!(figures(&report), [1, 0, 0, 0]);
}

#[test]
fn a_whole_line_that_is_no_record_is_an_error() {
    let scene = Scene::new();
    let args = scene.write_logs();
    fs::write(&args.provider_log, "{}\n").unwrap();
    assert!(error(&scene).contains("line 1 is not a record"), "{}", error(&scene));
}

#[test]
fn kills_and_freezes_are_counted_from_the_demos_own_log() {
    let mut scene = Scene::new();
    let [kill, freeze, thaw] = [Blow::Kill, Blow::Freeze, Blow::Thaw];
    for (what, who) in [
        (kill, "worker-1"),
        (freeze, "worker-2"),
        (thaw, "worker-2"),
        (kill, "worker-2"),
        (kill, "receiver"),
    ] {
        scene.blows.push(BlowRecord {
            at_ms: 1,
            what,
            who: who.to_owned(),
            pid: 1,
            point: "after_claim".to_owned(),
            message: None,
        });
    }
    let report = scene.judge();
    assert_eq!((report.kills, report.receiver_kills, report.freezes), (2, 1, 1));
}

#[test]
fn missing_files_are_named() {
    let scene = Scene::new();
    assert!(error(&scene).contains("feeder.jsonl"), "{}", error(&scene));
    let args = scene.write_logs();
    fs::remove_file(&args.db).unwrap();
    assert!(error(&scene).contains("cannot open the database"), "{}", error(&scene));
    assert!(!args.db.exists(), "a judge makes no files");
}

#[test]
fn a_file_that_is_not_of_lanebox_is_refused() {
    let scene = Scene::new();
    let mut args = scene.write_logs();
    for (name, content) in [
        ("text.db", "not a database, but long enough to look".repeat(9)),
        ("empty.db", String::new()),
    ] {
        args.db = scene.dir.path().join(name);
        fs::write(&args.db, content).unwrap();
        let error = format!("{:#}", Evidence::read(&args).err().unwrap());
        assert!(error.contains(name) && error.contains("not a Lanebox file"), "{error}");
    }
}

#[test]
fn what_a_killed_worker_left_in_the_wal_is_read() {
    let mut scene = Scene::new();
    scene.replied("m1", "551100001111", &["oi"]);
    let args = scene.write_logs();
    // A copy of database and WAL without its index is what a machine finds after a crash.
    let copy = tempfile::tempdir().unwrap();
    for suffix in ["", "-wal"] {
        let name = format!("demo.db{suffix}");
        fs::copy(scene.dir.path().join(&name), copy.path().join(&name)).unwrap();
    }
    let args = super::super::JudgeArgs { db: copy.path().join("demo.db"), ..args };
    let report = Report::of(&Evidence::read(&args).unwrap());
    assert_eq!((figures(&report), report.replied), ([0; 4], 1));
}

#[test]
fn the_command_fails_and_names_the_figures_unless_all_four_are_zero() {
    let mut scene = Scene::new();
    scene.replied("m1", "551100001111", &["oi"]);
    run(&scene.write_logs()).unwrap();
    let mut scene = Scene::new();
    scene.acknowledged("m1", "551100001111");
    scene.takes_key(None, "551100001111", "oi");
    let error = run(&scene.write_logs()).unwrap_err().to_string();
    assert!(error.ends_with("1 lost, 1 unexpected"), "{error}");
}
