//! How many commits a file has seen, by SQLite's own count of them in the index of its log.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

/// Where the count stands in the index: <https://sqlite.org/walformat.html>, `iChange`.
const COUNT_AT: u64 = 8;

/// The index of the log of an open file.
pub struct Commits {
    // Closing it takes back the locks that SQLite holds on it in this process, so it is kept for as
    // long as the database is open: dropped after it.
    index: File,
}

impl Commits {
    /// Of a file that is open elsewhere in this process.
    pub fn of(db: &Path) -> io::Result<Commits> {
        let mut name = db.as_os_str().to_owned();
        name.push("-shm");
        Ok(Commits { index: File::open(name)? })
    }

    /// The count now. Only differences mean something; it wraps.
    pub fn count(&mut self) -> io::Result<u32> {
        let mut count = [0; 4];
        self.index.seek(SeekFrom::Start(COUNT_AT))?;
        self.index.read_exact(&mut count)?;
        Ok(u32::from_ne_bytes(count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_commit_counts_once_whatever_its_size() {
        let dir = tempfile::tempdir().expect("a directory");
        let db = dir.path().join("a.db");
        let conn = lanebox::rusqlite::Connection::open(&db).expect("a file");
        conn.execute_batch("PRAGMA journal_mode=WAL; CREATE TABLE t (a);").expect("a table");
        let mut commits = Commits::of(&db).expect("the index");
        let before = commits.count().expect("a count");
        for _ in 0..5 {
            conn.execute_batch("BEGIN; INSERT INTO t VALUES (1); INSERT INTO t VALUES (2); COMMIT")
                .expect("committed");
        }
        conn.execute_batch("BEGIN; INSERT INTO t VALUES (3); ROLLBACK").expect("undone");
        conn.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").expect("taken over");
        conn.execute_batch("INSERT INTO t VALUES (4)").expect("committed");
        assert_eq!(commits.count().expect("a count").wrapping_sub(before), 6);
        drop(conn);
        drop(commits);
    }
}
