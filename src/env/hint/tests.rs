//! A write is heard, also by who came to wait before it; a file that goes says so.

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use super::Hint;

const LONG: Duration = Duration::from_secs(600);

fn file() -> (tempfile::TempDir, std::path::PathBuf, std::fs::File) {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("file");
    let file = std::fs::File::create(&path).expect("a file");
    (dir, path, file)
}

#[test]
fn whoever_waits_hears_a_write_and_hears_it_once() {
    let (_dir, path, mut file) = file();
    let hint = Hint::of(&path).expect("hints");
    assert!(!hint.taken().expect("nothing yet"));
    hint.wait(Duration::ZERO).expect("it does not wait");
    let writer = std::thread::spawn(move || file.write_all(b"one"));
    hint.wait(LONG).expect("it waits");
    assert!(hint.taken().expect("a write"));
    assert!(!hint.taken().expect("no other"));
    writer.join().expect("no panic").expect("written");
}

#[test]
fn whoever_waits_or_rests_is_roused_for_good() {
    let (_dir, path, _file) = file();
    let hint = Arc::new(Hint::of(&path).expect("hints"));
    let rouses = hint.clone();
    let other = std::thread::spawn(move || rouses.rouse());
    hint.wait(LONG).expect("roused");
    hint.rest(LONG).expect("roused");
    assert!(!hint.taken().expect("nobody wrote"));
    other.join().expect("no panic");
}

#[test]
fn a_file_that_is_not_there_or_goes_away_gives_no_hints() {
    let (_dir, path, file) = file();
    assert!(Hint::of(&path.with_extension("not")).is_err());
    let hint = Hint::of(&path).expect("hints");
    drop(file);
    std::fs::remove_file(&path).expect("removed");
    hint.wait(LONG).expect("woken");
    assert!(hint.taken().is_err());
}
