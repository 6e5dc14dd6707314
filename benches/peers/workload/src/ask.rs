//! What the program is asked.

use std::path::PathBuf;
use std::time::Duration;

use crate::{Error, Result};

/// What is to be measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    /// Adding jobs one by one, by so many clients.
    Enqueue,
    /// Adding jobs, 1,000 by a call.
    Bulk,
    /// From the start of the workers until every job is durably done.
    Drain,
    /// The same, with 20 jobs in each lane.
    Lanes,
    /// From the commit of a single job to the start of its handler.
    Latency,
}

/// One question: `QUESTION COUNT WORKERS full|relaxed FOLDER SECONDS`.
#[derive(Debug)]
pub struct Ask {
    pub question: Question,
    pub count: usize,
    /// Clients that add, or workers that run.
    pub workers: usize,
    /// Whether a commit is flushed to the disk before it returns.
    pub full: bool,
    /// An empty folder.
    pub folder: PathBuf,
    /// After this long the answer is what was done until then.
    pub budget: Duration,
}

impl Ask {
    pub fn from_args() -> Result<Ask> {
        let args: Vec<String> = std::env::args().skip(1).collect();
        let [question, count, workers, durability, folder, budget] = args.as_slice() else {
            return Err("usage: QUESTION COUNT WORKERS full|relaxed FOLDER SECONDS".into());
        };
        let question = match question.as_str() {
            "enqueue" => Question::Enqueue,
            "bulk" => Question::Bulk,
            "drain" => Question::Drain,
            "lanes" => Question::Lanes,
            "latency" => Question::Latency,
            other => return Err(Error::from(format!("no question {other}"))),
        };
        Ok(Ask {
            question,
            count: count.parse()?,
            workers: workers.parse()?,
            full: durability == "full",
            folder: PathBuf::from(folder),
            budget: Duration::from_secs(budget.parse()?),
        })
    }
}
