//! The copy of the package with every fault in it, and the test programs that come of it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::read::{ROOT, files_in};

/// What a build needs, from the root of the package.
const PARTS: [&str; 9] = [
    ".cargo",
    "Cargo.lock",
    "Cargo.toml",
    "README.md",
    "benches",
    "examples",
    "schema",
    "src",
    "tests",
];

/// Writes the package with the planted files, and nothing that is there already: what did not
/// change is not built anew.
pub(crate) fn copy(planted: &BTreeMap<String, String>) {
    let root = Path::new(ROOT);
    let read = |file: String| {
        let bytes = std::fs::read(root.join(&file)).expect("read");
        (file, bytes)
    };
    let mut files: BTreeMap<String, Vec<u8>> =
        files_in(root, &PARTS).into_iter().map(read).collect();
    for (file, text) in planted {
        files.insert(file.clone(), text.clone().into_bytes());
    }
    let copy = place();
    let there = files_in(&copy, &PARTS);
    for gone in there.iter().filter(|file| !files.contains_key(*file)) {
        std::fs::remove_file(copy.join(gone)).expect("removed");
    }
    for (file, bytes) in files {
        let path = copy.join(file);
        if std::fs::read(&path).ok().as_ref() != Some(&bytes) {
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            std::fs::write(path, bytes).expect("written");
        }
    }
}

/// Where the copy stands: below the target folder of this build.
pub(crate) fn place() -> PathBuf {
    let target = std::env::current_exe().expect("a program").ancestors().nth(3).map(PathBuf::from);
    target.expect("target/PROFILE/deps/PROGRAM").join("faults")
}

/// What others wrote is the same in the copy: it is taken from this build instead of built again.
fn take_dependencies(target: &Path) {
    let (from, to) = (place().join("../debug"), target.join("debug"));
    if to.exists() {
        return;
    }
    for file in files_in(&from, &["build", "deps", ".fingerprint"]) {
        let mut parts = file.split('/');
        let (part, name) = (parts.next().expect("a part"), parts.next().expect("a name"));
        let is_program = part == "deps" && !name.contains('.');
        if !is_program && !name.trim_start_matches("lib").starts_with("lanebox") {
            let path = to.join(&file);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            std::fs::copy(from.join(&file), &path).expect("copied");
            // Cargo builds anew what is older than what it depends on.
            let built = std::fs::metadata(from.join(&file)).and_then(|it| it.modified());
            let copy = std::fs::File::options().append(true).open(path).expect("the copy");
            copy.set_modified(built.expect("its time")).expect("set");
        }
    }
}

/// Builds every test of the copy: the program of each target, by its name.
pub(crate) fn programs() -> Result<BTreeMap<String, PathBuf>, String> {
    let target = place().join("target");
    take_dependencies(&target);
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["test", "--all-features", "--lib", "--bins", "--tests", "--no-run", "--quiet"]);
    cargo.args(["--message-format=json"]).current_dir(place());
    cargo.env("CARGO_TARGET_DIR", target).stderr(Stdio::inherit());
    let built = cargo.output().map_err(|error| format!("cargo: {error}"))?;
    if !built.status.success() {
        return Err("the copy with the faults does not compile: see above".to_owned());
    }
    let mut programs = BTreeMap::new();
    for line in String::from_utf8_lossy(&built.stdout).lines() {
        let message: serde_json::Value = serde_json::from_str(line).expect("cargo speaks JSON");
        let Some(program) = message["executable"].as_str() else { continue };
        if message["profile"]["test"] == true {
            let (kind, name) = (&message["target"]["kind"][0], &message["target"]["name"]);
            let name = match kind.as_str() {
                Some("test") => name.as_str().expect("a name"),
                Some(kind) => kind,
                None => continue,
            };
            programs.insert(name.to_owned(), PathBuf::from(program));
        }
    }
    Ok(programs)
}
