//! The verbs of jobs, each handed to the writer.

use super::{SqliteStore, cancel, enqueue, names, requeue, round, row};
use crate::error::Result;
use crate::model::id::{JobId, KindNo};
use crate::model::job::{Enqueued, NewJob};
use crate::model::verdict::CancelReason;
use crate::store::jobs::{Cancelled, Jobs, Requeued, Round, Rounded};

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

    fn cancel(&self, job: JobId) -> Result<Cancelled> {
        self.writer
            .write(move |tx| cancel::cancel(tx, row::number_of(tx, job)?, CancelReason::Operator))
    }

    fn requeue(&self, job: JobId) -> Result<Requeued> {
        self.writer.write(move |tx| requeue::requeue(tx, row::number_of(tx, job)?))
    }
}
