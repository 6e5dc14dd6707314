//! Group commit: every member hears what became of it, whoever fails, and nobody waits for ever.

mod alone;
mod crowd;
mod host;
mod storage;

use std::path::PathBuf;
use std::sync::Arc;

use rusqlite::Connection;

use crate::env::{Env, ManualClock};
use crate::error::{Error, Result};
use crate::store::sqlite::tx::Tx;
use crate::store::sqlite::{Durability, Opening, SqliteStore};

const NOTE: &str = "INSERT INTO note(n) VALUES (?1)";

/// A file with a table of the host's for what the operations write.
struct Bench {
    dir: tempfile::TempDir,
    path: PathBuf,
    store: SqliteStore,
}

type Operation = Box<dyn FnOnce(&Tx<'_>) -> Result<()> + Send>;

impl Bench {
    fn new() -> Bench {
        Bench::with(Durability::Full, 20)
    }

    fn with(durability: Durability, busy_ms: u64) -> Bench {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("crm.db");
        let how = Opening { durability, busy_ms, ..Opening::default() };
        // Its clock stands still: whoever waits must not wait for it.
        let env = Env::new(Arc::new(ManualClock::at(1_700_000_000_000)), 7);
        let store = SqliteStore::open(&path, env, &how).expect("opened");
        let bench = Bench { dir, path, store };
        bench.elsewhere().execute_batch("CREATE TABLE note(n INTEGER PRIMARY KEY)").expect("made");
        bench
    }

    /// Another program's connection.
    fn elsewhere(&self) -> Connection {
        Connection::open(&self.path).expect("opened")
    }

    /// What is in the file.
    fn notes(&self) -> Vec<i64> {
        let conn = self.elsewhere();
        let mut all = conn.prepare("SELECT n FROM note ORDER BY n").expect("prepared");
        let all = all.query_map([], |row| row.get(0)).expect("queried");
        all.collect::<rusqlite::Result<_>>().expect("read")
    }

    /// Eight operations that meet in one queue; each writes its number.
    fn eight(&self) -> Vec<Result<()>> {
        self.store.writer.group((0..8).map(note).collect())
    }

    fn works(&self) {
        self.store.writer.write(|tx| note(100)(tx)).expect("it works");
        assert!(self.notes().contains(&100));
    }
}

fn note(n: i64) -> Operation {
    Box::new(move |tx| tx.run(NOTE, [n]).map(|_| ()))
}

fn failed(answers: &[Result<()>]) -> Vec<i64> {
    (0..).zip(answers).filter(|(_, answer)| answer.is_err()).map(|(n, _)| n).collect()
}

fn all_but(n: i64) -> Vec<i64> {
    (0..8).filter(|m| *m != n).collect()
}
