//! A file for some inputs, in memory if the machine has such a place.

use std::path::{Path, PathBuf};

/// A directory that goes when it is dropped.
pub fn place() -> (tempfile::TempDir, PathBuf) {
    let memory = Path::new("/dev/shm");
    let base = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
    let dir = tempfile::tempdir_in(base).expect("a directory");
    let path = dir.path().join("crm.db");
    (dir, path)
}

/// Puts a file there, for its owner alone.
pub fn put(path: &Path, bytes: &[u8]) {
    std::fs::write(path, bytes).expect("written");
    let owners = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(path, owners).expect("its owner's");
}

/// The file of the first release, with a row in every state.
pub const FIXTURE: &[u8] = include_bytes!("../../../schema/sqlite/fixtures/0001.db");
