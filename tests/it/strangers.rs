//! Other users: who must not touch a file leaves no trace at it, and who may not write is told why.

use std::fs::{Permissions, create_dir, set_permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};

use lanebox::{Lane, Lanebox, NewJob};

use crate::child::{Child, say};
use crate::{listing, number};

/// Nobody in particular.
const STRANGER: u32 = 65534;

/// Part: opens a file that must be there.
pub fn open_existing(file: &Path) {
    match Lanebox::builder(file).must_exist().open() {
        Ok(_) => say("open"),
        Err(error) => say(&error.to_string()),
    }
}

/// A place that a user who is not root owns, and how to start parts there as that user.
struct Home {
    _dir: tempfile::TempDir,
    inner: PathBuf,
    binary: Option<PathBuf>,
}

impl Home {
    fn new() -> Home {
        let dir = tempfile::tempdir().expect("a directory");
        let inner = dir.path().join("home");
        create_dir(&inner).expect("made");
        let root = rustix::process::geteuid().is_root();
        let binary = root.then(|| {
            // Where this binary lies the other user may not look.
            let binary = dir.path().join("part");
            // Not by this process: a child that another test starts meanwhile would hold the copy
            // open for writing, and what is written to cannot be run.
            let mut copy = std::process::Command::new("cp");
            copy.arg(std::env::current_exe().expect("this binary")).arg(&binary);
            assert!(copy.status().expect("cp runs").success());
            set_permissions(dir.path(), Permissions::from_mode(0o755)).expect("opened up");
            chown(&inner, Some(STRANGER), Some(STRANGER)).expect("given away");
            binary
        });
        Home { _dir: dir, inner, binary }
    }

    fn file(&self) -> PathBuf {
        self.inner.join("crm.db")
    }

    fn start(&self, part: &str) -> Child {
        match &self.binary {
            Some(binary) => Child::start_as(STRANGER, binary, part, &self.file()),
            None => Child::start(part, &self.file()),
        }
    }

    fn made(self) -> Home {
        let mut child = self.start("enqueue");
        child.hear().expect("the file is made");
        child.kill();
        self
    }

    fn refused(&self) -> String {
        let before = listing(&self.inner);
        let said = self.start("open existing").rest().join("\n");
        assert!(said.ends_with("the file was not changed"), "{said}");
        assert_eq!(listing(&self.inner), before, "something was left behind");
        said
    }
}

#[test]
fn a_file_that_may_not_be_written_is_refused() {
    let home = Home::new().made();
    set_permissions(home.file(), Permissions::from_mode(0o400)).expect("taken away");
    let said = home.refused();
    assert!(said.contains("by this user: give the right back with `chmod u+rw`"), "{said}");
}

#[test]
fn a_directory_that_may_not_be_written_is_refused() {
    let home = Home::new().made();
    set_permissions(&home.inner, Permissions::from_mode(0o500)).expect("taken away");
    let said = home.refused();
    assert!(said.contains("SQLite must make files beside it"), "{said}");
    assert!(said.contains("give the right back with `chmod u+rwx`"), "{said}");
    set_permissions(&home.inner, Permissions::from_mode(0o700)).expect("given back");
}

// Only who owns it, or root, can follow an advice to change the rights.
#[test]
fn the_rights_of_anothers_directory_are_that_users_to_change() {
    let home = Home::new().made();
    if home.binary.is_none() {
        return; // Only root can give a directory away.
    }
    chown(&home.inner, Some(0), Some(0)).expect("taken back");
    let theirs = "it belongs to user 0: run this program as that user, or name a file in a directory of your own";
    for (mode, why) in
        [(0o755, "SQLite must make files beside it"), (0o777, "every user may replace files")]
    {
        set_permissions(&home.inner, Permissions::from_mode(mode)).expect("changed");
        let said = home.refused();
        assert!(said.contains(why) && said.contains(theirs), "{said}");
        assert!(!said.contains("chmod"), "{said}");
    }
    chown(&home.inner, Some(STRANGER), Some(STRANGER)).expect("given away");
    let said = home.refused();
    assert!(said.contains("take that right away with `chmod o-w`"), "{said}");
    let root = Lanebox::open(home.file()).err().expect("refused").to_string();
    assert!(root.contains("with `chmod o-w`"), "{root}");
}

#[test]
fn anothers_file_is_opened_as_that_user() {
    let home = Home::new();
    if home.binary.is_none() {
        return; // Only root can make a file that is not a stranger's.
    }
    drop(Lanebox::open(home.file()).expect("root makes it"));
    let said = home.refused();
    assert!(said.contains("out: run it as user 0; the file was not changed"), "{said}");
}

#[test]
fn r10_root_leaves_the_file_of_a_service_alone() {
    let home = Home::new().made();
    if home.binary.is_none() {
        return; // Only root can be the one who must be kept away.
    }
    let before = listing(&home.inner);
    for opened in [Lanebox::open(home.file()), Lanebox::builder(home.file()).must_exist().open()] {
        let why = opened.err().expect("refused").to_string();
        assert!(why.contains("belongs to user 65534 and this program runs as user 0"), "{why}");
        assert!(why.contains("run it as user 65534, or give that user's files to 0 with"), "{why}");
    }
    assert_eq!(listing(&home.inner), before, "something was left behind");
    let mut service = home.start("enqueue");
    service.hear().expect("the service goes on");
}

#[test]
fn r10_a_stranger_who_could_write_is_refused_before_anything_is_made() {
    let home = Home::new();
    if home.binary.is_none() {
        return; // Only root can make a file that a stranger may write.
    }
    let lanebox = Lanebox::open(home.file()).expect("root makes it");
    drop(lanebox);
    set_permissions(home.file(), Permissions::from_mode(0o666)).expect("opened up");
    let said = home.refused();
    assert!(said.contains("belongs to user 0 and this program runs as user 65534"), "{said}");
    let lanebox = Lanebox::open(home.file()).expect("its owner goes on");
    let _id = lanebox.enqueue(NewJob::raw("noop", "{}", Lane::NONE).org("acme")).expect("accepted");
    assert_eq!(number(&home.file(), "SELECT count(*) FROM lanebox_job"), 1);
}
