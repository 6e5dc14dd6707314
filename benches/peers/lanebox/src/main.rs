//! Lanebox itself, by its public API.

use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use lanebox::rusqlite::{Connection, OpenFlags};
use lanebox::{Durability, Lane, Lanebox, Outcome, Policy, Reactions, Running};
use peers_workload::{Ask, Handler, NewJob, Peer, Result};

struct Ours {
    lanebox: Lanebox,
    file: PathBuf,
}

fn job(payload: impl Into<String>, lane: Lane) -> lanebox::NewJob {
    lanebox::NewJob::raw("noop", payload, lane).org("acme")
}

impl Peer for Ours {
    type Workers = Running;

    fn open(folder: &Path, ask: &Ask) -> Result<Ours> {
        let file = folder.join("lanebox.db");
        let durability = if ask.full { Durability::Full } else { Durability::Relaxed };
        let lanebox = Lanebox::builder(&file).workers(ask.workers).durability(durability).open()?;
        Ok(Ours { lanebox, file })
    }

    fn add(&self, payload: &str) -> Result<()> {
        let _accepted = self.lanebox.enqueue(job(payload, Lane::NONE))?;
        Ok(())
    }

    fn add_all(&self, jobs: Vec<NewJob>) -> Result<()> {
        let lane = |name: Option<String>| name.map_or(Lane::NONE, Lane::of);
        let jobs = jobs.into_iter().map(|new| job(new.payload, lane(new.lane))).collect();
        let _accepted = self.lanebox.enqueue_all(jobs)?;
        Ok(())
    }

    fn start(&self, _workers: usize, handler: Arc<Handler>) -> Result<Running> {
        let reactions = Reactions::new().on_kind("noop", Policy::default(), move |_ctx| {
            handler.run();
            Ok::<_, Infallible>(Outcome::Done)
        });
        Ok(self.lanebox.start(reactions)?)
    }

    fn stop(&self, workers: Running) -> Result<()> {
        let report = workers.stop(Duration::from_secs(10));
        if report.still_running > 0 {
            return Err(format!("{report:?}").into());
        }
        Ok(())
    }

    fn unfinished(&self) -> Result<usize> {
        let reader = Connection::open_with_flags(&self.file, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        let sql =
            "SELECT (SELECT count(*) FROM lanebox_job) - (SELECT count(*) FROM lanebox_finished)";
        Ok(reader.query_row(sql, [], |row| row.get(0))?)
    }
}

fn main() -> ExitCode {
    peers_workload::answer::<Ours>()
}
