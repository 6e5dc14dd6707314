//! effectum: tasks on tokio, one writer thread that groups what waits into a commit.

use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use effectum::{Job, JobRunner, Queue, RunningJob, Worker};
use peers_workload::{Ask, Handler, NewJob, Peer, Question, Result, payload};
use rusqlite::{Connection, OpenFlags};
use tokio::runtime::Runtime;

struct Effectum {
    runtime: &'static Runtime,
    queue: Arc<Queue>,
    file: PathBuf,
}

fn job(payload: String) -> Job {
    Job::builder("noop").payload(payload.into_bytes()).build()
}

impl Peer for Effectum {
    type Workers = Worker;

    fn cannot(ask: &Ask) -> Option<&'static str> {
        match ask.question {
            Question::Lanes => Some("no lanes"),
            _ if ask.full => Some("sets NORMAL itself"),
            _ => None,
        }
    }

    fn open(folder: &Path, _ask: &Ask) -> Result<Effectum> {
        let file = folder.join("effectum.db");
        // It means to use WAL but sets a pragma that does not exist; a file keeps the mode.
        let conn = Connection::open(&file)?;
        conn.pragma_update_and_check(None, "journal_mode", "wal", |_| Ok(()))?;
        // Its drop needs the runtime, to the very end of the program.
        let runtime: &Runtime = Box::leak(Box::new(Runtime::new()?));
        std::mem::forget(runtime.enter());
        let queue = Arc::new(runtime.block_on(Queue::new(&file))?);
        Ok(Effectum { runtime, queue, file })
    }

    fn add(&self, payload: &str) -> Result<()> {
        self.runtime.block_on(self.queue.add_job(job(payload.to_owned())))?;
        Ok(())
    }

    fn add_all(&self, jobs: Vec<NewJob>) -> Result<()> {
        let jobs = jobs.into_iter().map(|new| job(new.payload)).collect();
        self.runtime.block_on(self.queue.add_jobs(jobs))?;
        Ok(())
    }

    fn add_from_many(&self, clients: usize, count: usize) -> Result<()> {
        let client = || {
            let queue = self.queue.clone();
            self.runtime.spawn(async move {
                for _ in 0..count {
                    queue.add_job(job(payload())).await?;
                }
                Ok::<_, effectum::Error>(())
            })
        };
        let clients: Vec<_> = (0..clients).map(|_| client()).collect();
        for one in clients {
            self.runtime.block_on(one)??;
        }
        Ok(())
    }

    fn start(&self, workers: usize, handler: Arc<Handler>) -> Result<Worker> {
        let run = move |_job: RunningJob, _context: ()| {
            let handler = handler.clone();
            async move {
                handler.run();
                Ok::<_, Infallible>(())
            }
        };
        let runner = JobRunner::builder("noop", run).build();
        let workers = u16::try_from(workers)?;
        // It claims more when half of them are free: fewer claims, and larger ones.
        let worker = Worker::builder(&self.queue, ())
            .max_concurrency(workers)
            .min_concurrency(workers.div_ceil(2))
            .jobs([runner])
            .build();
        Ok(self.runtime.block_on(worker)?)
    }

    fn stop(&self, workers: Worker) -> Result<()> {
        Ok(self.runtime.block_on(workers.unregister(Some(Duration::from_secs(10))))?)
    }

    fn unfinished(&self) -> Result<usize> {
        let reader = Connection::open_with_flags(&self.file, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        Ok(reader.query_row("SELECT count(*) FROM active_jobs", [], |row| row.get(0))?)
    }
}

fn main() -> ExitCode {
    peers_workload::answer::<Effectum>()
}
