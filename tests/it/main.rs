//! Real processes on real files: they start at once, share work, are killed, and belong to
//! different users; and the command line, as people run it.

#![cfg(unix)]

mod child;
#[cfg(feature = "cli")]
mod cli;
mod crowd;
mod death;
mod drain;
mod finish_in;
mod fixture;
mod full;
mod hung;
#[cfg(feature = "testing")]
mod idle;
mod kept;
mod lanes;
mod leases;
mod options;
mod order;
#[cfg(feature = "testing")]
mod reader;
mod record;
mod runs;
mod scene;
mod space;
mod start;
mod steps;
mod stop;
mod strangers;

use std::collections::BTreeMap;
use std::path::Path;

use rusqlite::Connection;

/// A number that the file itself answers, read as another program would.
fn number(path: &Path, sql: &str) -> i64 {
    let conn = Connection::open(path).expect("another program opens the file");
    conn.query_row(sql, [], |row| row.get(0)).expect("a number")
}

/// Names, modes and sizes of what is in a directory.
fn listing(directory: &Path) -> BTreeMap<String, (u32, u64)> {
    use std::os::unix::fs::MetadataExt;
    let entries = std::fs::read_dir(directory).expect("listed");
    entries
        .map(|entry| {
            let entry = entry.expect("an entry");
            let found = entry.path().symlink_metadata().expect("stat");
            (entry.file_name().to_string_lossy().into_owned(), (found.mode(), found.len()))
        })
        .collect()
}
