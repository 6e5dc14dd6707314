//! What a disk may do to us: lose what was not flushed when the power fails, fail at any call, and
//! give back another file than it was given. The first two are done by a layer below SQLite.

mod check;
mod damage;
mod damaged;
mod disk;
mod engine;
mod faults;
mod full;
mod letters;
mod orders;
mod power;
#[path = "../rig/say.rs"]
mod say;
mod shim;
mod shop;
mod trouble;
mod visit;

use std::path::Path;
use std::sync::Mutex;

/// A file of the first schema.
const OLD: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/schema/sqlite/fixtures/0001.db");

/// The layer is one for the whole process.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// Where disks are put together: in memory, if the machine has such a place.
fn place() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    let base = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
    tempfile::tempdir_in(base).expect("a directory")
}
