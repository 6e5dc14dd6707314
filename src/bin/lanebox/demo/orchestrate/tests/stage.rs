//! Files are private, kept where the user asked for, and never put among others.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::super::stage::Stage;

#[test]
fn a_directory_of_its_own_is_private_and_removed_when_it_is_cleared() {
    let stage = Stage::set(None).unwrap();
    let act = stage.act("lookup").unwrap();
    fs::write(act.join("demo.db"), "x").unwrap();
    let mode = fs::metadata(stage.dir()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    let dir = stage.dir().to_owned();
    assert!(stage.clear().unwrap());
    assert!(!dir.exists());
}

#[test]
fn a_directory_that_is_not_cleared_stays() {
    let stage = Stage::set(None).unwrap();
    let dir = stage.dir().to_owned();
    drop(stage);
    assert!(dir.exists());
    fs::remove_dir(dir).unwrap();
}

#[test]
fn the_users_directory_is_made_or_must_be_empty_and_is_kept() {
    let home = tempfile::tempdir().unwrap();
    for name in ["new", "empty"] {
        let dir = home.path().join(name);
        if name == "empty" {
            fs::create_dir(&dir).unwrap();
        }
        let stage = Stage::set(Some(&dir)).unwrap();
        stage.act("lookup").unwrap();
        assert!(!stage.clear().unwrap());
        assert!(dir.join("lookup").exists());
        let error = Stage::set(Some(&dir)).err().unwrap().to_string();
        assert!(error.contains("is not empty"), "{error}");
    }
    let error = format!("{:#}", Stage::set(Some(&home.path().join("a/b"))).err().unwrap());
    assert!(error.contains("a/b"), "{error}");
}
