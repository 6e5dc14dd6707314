//! tinystore: FULL unless told otherwise, adds of many callers share a commit, two jobs a handler.

use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use peers_workload::{Ask, Handler, NewJob, Peer, Question, Result};
use rusqlite::{Connection, OpenFlags};
use serde::{Deserialize, Serialize};
use tinystore::jobs::{Concurrency, Queue, Worker};
use tinystore::{Durability, Options, Store};

#[derive(Serialize, Deserialize)]
struct Payload {
    text: String,
}

struct Tinystore {
    store: Store,
    queue: Queue<Payload>,
    file: PathBuf,
}

impl Peer for Tinystore {
    type Workers = Worker;

    fn open(folder: &Path, ask: &Ask) -> Result<Tinystore> {
        let durability = Some(if ask.full { Durability::Full } else { Durability::Os });
        let store = Store::open(folder, Options { durability, ..Options::default() })?;
        let queue = store.queue("noop");
        // Its lanes are groups of which one runs at once. A bound takes the second job a handler.
        let queue = match ask.question {
            Question::Lanes => queue.concurrency(Concurrency::default().group(1)),
            _ => queue,
        };
        let queue = queue.open()?;
        Ok(Tinystore { store, queue, file: folder.join("jobs.db") })
    }

    fn add(&self, payload: &str) -> Result<()> {
        self.queue.add(&serde_json::from_str(payload)?)?;
        Ok(())
    }

    fn add_all(&self, jobs: Vec<NewJob>) -> Result<()> {
        self.store.tx(|tx| {
            jobs.iter().try_for_each(|new| {
                let payload = serde_json::from_str(&new.payload)?;
                match &new.lane {
                    Some(lane) => tx.with(&self.queue).group(lane).add(&payload)?,
                    None => tx.with(&self.queue).add(&payload)?,
                };
                Ok(())
            })
        })
    }

    fn start(&self, workers: usize, handler: Arc<Handler>) -> Result<Worker> {
        let handlers = self.queue.concurrency(u32::try_from(workers)?);
        let worker = handlers.work(move |_payload: Payload, _run| {
            handler.run();
            Ok::<_, Infallible>(())
        })?;
        Ok(worker)
    }

    fn stop(&self, workers: Worker) -> Result<()> {
        workers.stop();
        Ok(())
    }

    fn unfinished(&self) -> Result<usize> {
        let reader = Connection::open_with_flags(&self.file, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        Ok(reader.query_row("SELECT count(*) FROM _tinystore_jobs", [], |row| row.get(0))?)
    }
}

fn main() -> ExitCode {
    peers_workload::answer::<Tinystore>()
}
