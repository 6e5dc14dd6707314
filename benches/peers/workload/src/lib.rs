//! The work that every peer in Rust does, and how it is measured: a program per peer is asked one
//! question and answers with one line of JSON.

mod ask;
mod measure;

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

pub use ask::{Ask, Question};
pub use measure::Handler;

pub type Error = Box<dyn std::error::Error + Send + Sync>;
pub type Result<T> = std::result::Result<T, Error>;

/// A job to add: what it carries, and the lane in which jobs run one at a time, in order.
pub struct NewJob {
    pub payload: String,
    pub lane: Option<String>,
}

/// A queue under measurement.
pub trait Peer: Sized + Sync {
    /// What runs jobs until it is stopped.
    type Workers;

    /// Why it has no answer to this question, if so.
    fn cannot(_ask: &Ask) -> Option<&'static str> {
        None
    }

    /// Opens a new queue in an empty folder, as durable as asked.
    fn open(folder: &Path, ask: &Ask) -> Result<Self>;

    /// Adds one job; it is committed when this returns.
    fn add(&self, payload: &str) -> Result<()>;

    /// Adds many jobs by one call; they are committed when this returns.
    fn add_all(&self, jobs: Vec<NewJob>) -> Result<()>;

    /// Adds `count` jobs one by one from each of many clients at once: threads, unless the peer's
    /// own clients are tasks.
    fn add_from_many(&self, clients: usize, count: usize) -> Result<()> {
        std::thread::scope(|scope| {
            let client = || (0..count).try_for_each(|_| self.add(&payload()));
            let clients: Vec<_> = (0..clients).map(|_| scope.spawn(client)).collect();
            clients.into_iter().try_for_each(|one| one.join().expect("a client that panics"))
        })
    }

    /// Starts so many workers, which run the handler on every job.
    fn start(&self, workers: usize, handler: Arc<Handler>) -> Result<Self::Workers>;

    /// Stops them; what they ran is committed when this returns.
    fn stop(&self, workers: Self::Workers) -> Result<()>;

    /// Jobs in the file that are not done, as another connection sees them: only what is committed.
    fn unfinished(&self) -> Result<usize>;
}

/// A payload of about 200 bytes.
pub fn payload() -> String {
    format!("{{\"text\":\"{}\"}}", "x".repeat(188))
}

/// Answers the question on the command line.
pub fn answer<P: Peer>() -> ExitCode {
    match Ask::from_args().and_then(|ask| measure::measure::<P>(&ask)) {
        Ok(line) => println!("{line}"),
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}
