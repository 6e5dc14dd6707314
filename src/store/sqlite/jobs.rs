//! The verbs of jobs, each handed to the writer.

use super::{SqliteStore, enqueue, names, round};
use crate::error::Result;
use crate::model::id::KindNo;
use crate::model::job::{Enqueued, NewJob};
use crate::store::jobs::{Jobs, Round, Rounded};

impl Jobs for SqliteStore {
    fn kind(&self, name: &str) -> Result<KindNo> {
        let name = name.to_owned();
        self.writer.write(move |tx| names::kind(tx, &name))
    }

    fn enqueue(&self, jobs: Vec<NewJob>) -> Result<Vec<Enqueued>> {
        jobs.iter().try_for_each(NewJob::check)?;
        self.writer.write(move |tx| jobs.iter().map(|job| enqueue::enqueue(tx, job)).collect())
    }

    fn round(&self, pass: Round) -> Result<Rounded> {
        self.writer.write(move |tx| round::round(tx, &pass))
    }
}
