//! Lines survive, torn ends do not, and a foreign line is named.

use std::fs;

use super::*;

fn record(line: usize) -> FeederRecord {
    FeederRecord {
        at_ms: 1_767_225_600_000,
        what: Answer::Acknowledged,
        line,
        posts: 2,
        http: 200,
        messages: vec![FedMessage {
            wamid: format!("wamid.{line}"),
            from: "5511998765432".to_owned(),
            stop: false,
        }],
    }
}

#[test]
fn what_was_appended_is_read_back_in_order() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("feeder.jsonl");
    let mut log = Log::open(&path).unwrap();
    log.append(&record(1)).unwrap();
    drop(log);
    Log::open(&path).unwrap().append(&record(2)).unwrap();

    assert_eq!(read::<FeederRecord>(&path).unwrap(), [record(1), record(2)]);
}

#[test]
fn a_torn_last_line_is_left_out_and_cut_off_before_the_next_one() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("feeder.jsonl");
    Log::open(&path).unwrap().append(&record(1)).unwrap();
    let mut torn = fs::read(&path).unwrap();
    let whole = torn.clone();
    torn.extend_from_slice(&whole[..20]);
    fs::write(&path, &torn).unwrap();

    assert_eq!(read::<FeederRecord>(&path).unwrap(), [record(1)]);
    Log::open(&path).unwrap().append(&record(2)).unwrap();
    assert_eq!(read::<FeederRecord>(&path).unwrap(), [record(1), record(2)]);
}

#[test]
fn a_whole_line_that_is_no_record_is_named_by_its_number() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("feeder.jsonl");
    Log::open(&path).unwrap().append(&record(1)).unwrap();
    let mut text = fs::read_to_string(&path).unwrap();
    text.push_str("{\"at_ms\":1}\n");
    fs::write(&path, text).unwrap();

    let error = format!("{:#}", read::<FeederRecord>(&path).unwrap_err());
    assert!(error.contains("line 2 is not a record"), "{error}");
}

#[test]
fn a_log_that_failed_stays_closed() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("feeder.jsonl");
    let mut log = Log::open(&path).unwrap();
    log.file = File::open(&path).unwrap(); // not writable: the next write fails
    assert!(log.append(&record(1)).is_err());
    log.file = OpenOptions::new().append(true).open(&path).unwrap();
    let error = log.append(&record(2)).unwrap_err().to_string();
    assert!(error.contains("failed before"), "{error}");
    assert_eq!(read::<FeederRecord>(&path).unwrap(), []);
}

#[test]
fn a_log_in_a_directory_that_is_not_there_says_which() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("no/feeder.jsonl");
    let error = Log::open(&path).err().map(|error| format!("{error:#}")).unwrap();
    assert!(error.contains("no/feeder.jsonl"), "{error}");
}
