//! honker: SQL functions on one connection; workers are the program's own loops, which claim and
//! acknowledge in batches, as its guide has it.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use honker::{Database, EnqueueOpts, Queue, QueueOpts};
use peers_workload::{Ask, Handler, NewJob, Peer, Question, Result};
use rusqlite::{Connection, OpenFlags};
use serde_json::Value;

/// Jobs by one claim.
const BATCH: i64 = 32;

struct Honker {
    db: Database,
    queue: Queue,
    file: PathBuf,
}

struct Workers {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<Result<()>>>,
}

impl Peer for Honker {
    type Workers = Workers;

    fn cannot(ask: &Ask) -> Option<&'static str> {
        (ask.question == Question::Lanes).then_some("no lanes")
    }

    fn open(folder: &Path, ask: &Ask) -> Result<Honker> {
        let file = folder.join("honker.db");
        let db = Database::open(&file)?;
        if ask.full {
            db.with_conn(|conn| conn.pragma_update(None, "synchronous", "FULL"))?;
        }
        let queue = db.queue("noop", QueueOpts::default());
        Ok(Honker { db, queue, file })
    }

    fn add(&self, payload: &str) -> Result<()> {
        self.queue.enqueue(&serde_json::from_str::<Value>(payload)?, EnqueueOpts::default())?;
        Ok(())
    }

    fn add_all(&self, jobs: Vec<NewJob>) -> Result<()> {
        let tx = self.db.transaction()?;
        for new in jobs {
            let payload: Value = serde_json::from_str(&new.payload)?;
            self.queue.enqueue_tx(&tx, &payload, EnqueueOpts::default())?;
        }
        Ok(tx.commit()?)
    }

    fn start(&self, workers: usize, handler: Arc<Handler>) -> Result<Workers> {
        let stop = Arc::new(AtomicBool::new(false));
        let worker = |no: usize| {
            let (db, queue) = (self.db.clone(), self.queue.clone());
            let (stop, handler) = (stop.clone(), handler.clone());
            std::thread::spawn(move || work(&db, &queue, &format!("worker-{no}"), &stop, &handler))
        };
        let threads = (0..workers).map(worker).collect();
        Ok(Workers { stop, threads })
    }

    fn stop(&self, workers: Workers) -> Result<()> {
        workers.stop.store(true, Ordering::SeqCst);
        let mut threads = workers.threads.into_iter();
        threads.try_for_each(|thread| thread.join().expect("a worker that panics"))
    }

    fn unfinished(&self) -> Result<usize> {
        let reader = Connection::open_with_flags(&self.file, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        Ok(reader.query_row("SELECT count(*) FROM _honker_live", [], |row| row.get(0))?)
    }
}

fn work(
    db: &Database,
    queue: &Queue,
    name: &str,
    stop: &AtomicBool,
    handler: &Handler,
) -> Result<()> {
    let updates = db.update_events();
    while !stop.load(Ordering::SeqCst) {
        let jobs = queue.claim_batch(name, BATCH)?;
        if jobs.is_empty() {
            updates.recv_timeout(Duration::from_millis(50))?;
            continue;
        }
        jobs.iter().for_each(|_| handler.run());
        let ids: Vec<i64> = jobs.iter().map(|job| job.id).collect();
        queue.ack_batch(&ids, name)?;
    }
    Ok(())
}

fn main() -> ExitCode {
    peers_workload::answer::<Honker>()
}
