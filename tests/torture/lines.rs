//! Append-only logs, a line a fact, fields apart by tabs: what outsiders wrote down.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;

/// A log that this process appends to.
pub struct Log(File);

impl Log {
    pub fn open(path: &Path) -> Log {
        let file = OpenOptions::new().create(true).append(true).open(path);
        Log(file.expect("a log opens"))
    }

    /// One write, so that lines of several processes do not mix.
    pub fn add(&self, fields: &[&str]) {
        let line = fields.join("\t") + "\n";
        (&self.0).write_all(line.as_bytes()).expect("a line is written");
    }

    /// On the disk when it returns.
    pub fn keep(&self, fields: &[&str]) {
        self.add(fields);
        self.0.sync_data().expect("a line is kept");
    }
}

/// The whole lines of a log so far. What a death left of its last line was not said.
pub fn read(path: &Path) -> Vec<Vec<String>> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
    let fields = |line: &str| line.split('\t').map(str::to_owned).collect();
    whole.lines().map(fields).collect()
}
