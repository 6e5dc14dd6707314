//! A door for the conformance suite: verbs that no trait has yet, several of them in one commit of
//! the real writer, and a look at the file after each.

use std::path::Path;
use std::sync::Arc;

use rusqlite::Connection;

use super::connection::{self, Source};
use super::round::Care;
use super::tx::{Secret, Tx};
pub(crate) use super::writer::faults::{Fault, Point};
use super::writer::{Answering, Writer};
use super::{
    Disk, Durability, SqliteStore, audit, enqueue, guard, order, pause, process, round, settle,
};
use crate::env::Env;
use crate::error::Result;
use crate::model::id::{JobNo, LaneNo, ProcessNo, SendNo};
use crate::model::job::{Enqueued, NewJob};
use crate::store::jobs::{Cancelled, Requeued, Round, Rounded};
use crate::store::people::Finding;

/// One operation of a commit.
#[derive(Debug)]
pub(crate) enum Step {
    Enqueue(NewJob),
    Round(Round),
    Cancel(JobNo),
    Requeue(JobNo),
    PauseLane(LaneNo),
    ResumeLane(LaneNo),
    /// The fate of a send is known: whoever waits for it goes on.
    Free(SendNo),
    Gone(ProcessNo),
    /// Statements that no verb has: settings, and rows of areas that are not under test.
    Sql(String),
}

/// What a step answered.
#[derive(Debug)]
pub(crate) enum Answer {
    Enqueued(Enqueued),
    Round(Rounded),
    Cancelled(Cancelled),
    Requeued(Requeued),
    Nothing,
}

impl SqliteStore {
    /// Runs the steps in this order, in one commit unless the first of what is left fails; looks
    /// after each.
    pub(crate) fn group<T: Send + 'static>(
        &self,
        steps: Vec<Step>,
        look: impl Fn(&Connection) -> T + Clone + Send + 'static,
    ) -> Vec<Result<(Answer, T)>> {
        let operation = |step| -> Answering<(Answer, T)> {
            let look = look.clone();
            Box::new(move |tx: &Tx<'_>| Ok((run(tx, step)?, look(tx.conn))))
        };
        self.writer.group(steps.into_iter().map(operation).collect())
    }

    /// One step in a commit of its own.
    pub(crate) fn step(&self, step: Step) -> Result<Answer> {
        let mut answers = self.group(vec![step], |_| ());
        answers.remove(0).map(|(answer, ())| answer)
    }

    /// Looks at what is committed.
    pub(crate) fn look<T>(&self, look: impl FnOnce(&Connection) -> T) -> T {
        self.read(|conn| Ok(look(conn))).expect("a reader is free in a test")
    }

    /// What the audits find in what is committed.
    pub(crate) fn audit(&self) -> Vec<Finding> {
        let mut found = self.read(audit::audit).expect("every audit can be asked");
        found.retain(|finding| finding.count > 0);
        found
    }

    /// The `k`-th time (from 0) that the writer passes `at`, `fault` happens.
    pub(crate) fn order_fault(&self, at: Point, k: u32, fault: Fault) {
        self.writer.faults.order(at, k, fault);
    }

    /// Takes back what was ordered and has not happened; whether all of it has.
    pub(crate) fn end_faults(&self) -> bool {
        let all_met = self.writer.faults.all_met();
        self.writer.faults.clear();
        all_met
    }

    /// Something to be done on the write connection, outside any transaction.
    pub(crate) fn on_writer<T>(&self, body: impl FnOnce(&Connection) -> T) -> T {
        self.writer.idle(body)
    }
}

/// The write connection with its queue, on a file without any table of ours.
pub(crate) struct Alone {
    writer: Writer,
}

impl Alone {
    pub(crate) fn open(path: &Path, env: Env) -> Result<Alone> {
        let file = guard::admit(path, true, false)?;
        let conn = connection::open(&file, &env)?;
        let checkpoint = connection::Checkpoint::Own;
        connection::settle_writer(&conn, &file.path, checkpoint)?;
        let (durability, era) = (Durability::Relaxed, connection::Era::default());
        let disk = Arc::new(Disk::new(file.path.clone()));
        let source = Source { file, durability, checkpoint, era, disk };
        Ok(Alone { writer: Writer::new(conn, source, env, Secret([0; 32]), 20)? })
    }

    /// An operation of our own, in whichever commit; `full` asks for one that is flushed.
    pub(crate) fn ride<T: Send + 'static>(
        &self,
        full: bool,
        body: impl FnOnce(&Connection) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        match full {
            true => self.writer.write_full(move |tx| body(tx.conn)),
            false => self.writer.write(move |tx| body(tx.conn)),
        }
    }

    /// Code of the host's, which leads.
    pub(crate) fn host<T>(&self, body: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        self.writer.host(|tx| body(tx.conn))
    }

    /// As [`SqliteStore::order_fault`].
    pub(crate) fn order_fault(&self, at: Point, k: u32, fault: Fault) {
        self.writer.faults.order(at, k, fault);
    }

    /// Takes back what was ordered and has not happened.
    pub(crate) fn end_faults(&self) {
        self.writer.faults.clear();
    }
}

fn run(tx: &Tx<'_>, step: Step) -> Result<Answer> {
    Ok(match step {
        Step::Enqueue(job) => {
            job.check()?;
            Answer::Enqueued(enqueue::enqueue(tx, &job)?)
        }
        Step::Round(pass) => Answer::Round(round::round(tx, &pass, Care::Together)?),
        Step::Cancel(job) => Answer::Cancelled(order::cancel(tx, job, "ada")?),
        Step::Requeue(job) => Answer::Requeued(order::requeue(tx, job, "ada")?),
        Step::PauseLane(lane) => nothing(pause::pause_lane(tx, lane))?,
        Step::ResumeLane(lane) => nothing(pause::resume_lane(tx, lane))?,
        Step::Free(send) => nothing(settle::free(tx, send))?,
        Step::Gone(process) => nothing(process::mark_gone(tx, process))?,
        Step::Sql(sql) => nothing(tx.conn.execute_batch(&sql).map_err(Into::into))?,
    })
}

fn nothing<T>(done: Result<T>) -> Result<Answer> {
    done.map(|_| Answer::Nothing)
}
