//! The verbs of jobs, each handed to the writer.

use super::round::Care;
use super::space::Disk;
use super::tx::Tx;
use super::{
    SqliteStore, accept, audit_log, channel, consent, end, enqueue, order, publish, round, row,
    step,
};
use crate::error::{Error, Result};
use crate::model::event::{NewEvent, Published};
use crate::model::id::{Held, JobId, JobNo};
use crate::model::job::{Enqueued, MAX_JOB_PAYLOAD, NewJob};
use crate::model::text::{check_json, check_name};
use crate::store::jobs::{
    Cancelled, Ended, Finish, HostWork, Jobs, Requeued, Round, Rounded, Stepped, Within,
};
use crate::store::ledger::{Accepted, ChannelChange, Consent, Fact};

impl Jobs for SqliteStore {
    fn enqueue(&self, jobs: Vec<NewJob>) -> Result<Vec<Enqueued>> {
        jobs.iter().try_for_each(NewJob::check)?;
        self.disk.admit(&self.env)?;
        self.writer.write(move |tx| enqueue::enqueue_all(tx, &jobs))
    }

    fn round(&self, pass: Round) -> Result<Rounded> {
        let pass = std::sync::Arc::new(pass);
        let together = pass.clone();
        match self.writer.write(move |tx| round::round(tx, &together, Care::Together)) {
            // A broken rule of one row: batches never fail as a whole for one.
            Err(error) if error.is_of_one_row() && pass.ends_any() => {
                tracing::error!(%error, "a pass is written again, each end apart");
                self.writer.write(move |tx| round::round(tx, &pass, Care::Apart))
            }
            answer => answer,
        }
    }

    fn cancel(&self, job: JobId, by: &str) -> Result<Cancelled> {
        let by = audit_log::who(by)?;
        self.writer.write(move |tx| order::cancel(tx, row::number_of(tx, job)?, &by))
    }

    fn requeue(&self, job: JobId, by: &str) -> Result<Requeued> {
        let by = audit_log::who(by)?;
        self.writer.write(move |tx| order::requeue(tx, row::number_of(tx, job)?, &by))
    }

    fn finish_with(&self, finish: Finish, rows: HostWork<'_>) -> Result<Ended> {
        let HostWork::Sqlite(rows) = rows;
        self.writer.host(|tx| {
            // Asked before the host's code runs: rows of a run that will not be done must not be
            // written.
            if end::will_be_done(tx, &finish)? {
                rows(tx.conn).map_err(Error::Host)?;
                if tx.conn.is_autocommit() {
                    return Err(Error::TransactionEnded);
                }
            }
            end::end(tx, &finish)
        })
    }

    fn step_result(&self, job: JobNo, name: &str) -> Result<Option<String>> {
        // Before the work is done whose result could not be kept.
        check_name("step name", name, 128)?;
        self.read(|conn| step::result(conn, job, name))
    }

    fn finish_step(&self, held: Held, name: String, result: String) -> Result<Stepped> {
        check_json("result of a step", &result, MAX_JOB_PAYLOAD)?;
        self.writer.write(move |tx| step::finish(tx, held, &name, &result))
    }

    fn progress(&self, held: Held, line: String) -> Result<()> {
        self.writer.write(move |tx| step::progress(tx, held, &line))
    }

    fn effect_key(&self, job: JobId, name: &str) -> [u8; 16] {
        let hmac = self.meta.secret.hmac("effect", &[job.0.as_bytes(), name.as_bytes()]);
        std::array::from_fn(|i| hmac[i])
    }
}

impl SqliteStore {
    /// Runs host code on this thread as the leader of a transaction.
    pub(crate) fn transaction<T>(&self, body: impl FnOnce(&dyn Within) -> Result<T>) -> Result<T> {
        self.writer.host(|tx| body(&Hosted { tx, disk: &self.disk }))
    }
}

/// A transaction that the host shares.
struct Hosted<'t, 'c> {
    tx: &'t Tx<'c>,
    disk: &'t Disk,
}

impl Within for Hosted<'_, '_> {
    fn publish(&self, event: &NewEvent) -> Result<Published> {
        event.check()?;
        self.disk.admit(self.tx.env)?;
        self.tx.savepoint(|| publish::publish(self.tx, event))
    }

    fn enqueue(&self, job: &NewJob) -> Result<Enqueued> {
        job.check()?;
        self.disk.admit(self.tx.env)?;
        self.tx.savepoint(|| enqueue::enqueue(self.tx, job))
    }

    fn set_consent(&self, consent: &Consent) -> Result<()> {
        self.tx.savepoint(|| consent::set_consent(self.tx, consent))
    }

    fn set_channel(&self, change: &ChannelChange) -> Result<()> {
        self.tx.savepoint(|| channel::set_state(self.tx, change))
    }

    fn accept(&self, fact: &Fact) -> Result<Accepted> {
        self.tx.savepoint(|| accept::accept(self.tx, fact))
    }

    fn connection(&self) -> &rusqlite::Connection {
        self.tx.conn
    }
}
