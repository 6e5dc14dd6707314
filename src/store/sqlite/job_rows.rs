//! The rows of new jobs: written once, eight by one statement where there are as many. To begin a
//! statement and to open its tables costs more than to write a row.

use rusqlite::ToSql;

use super::tx::Tx;
use crate::error::Result;
use crate::model::id::{ConsumerNo, JobId, JobNo, KindNo, LaneNo, OrgNo};
use crate::model::job::NewJob;

// Of this file: a host's connection may count ids of temporary tables too.
const NO_LAST: &str = "SELECT seq FROM main.sqlite_sequence WHERE name = 'lanebox_job'";
const ROW_NEW: &str = "INSERT INTO lanebox_job(id, uuid, org, kind, version, lane, subject, priority, run_at, max_attempts, expires_at, source_event, consumer, ordinal, created_at, payload) \
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
const ROWS_NEW: &str = "INSERT INTO lanebox_job(id, uuid, org, kind, version, lane, subject, priority, run_at, max_attempts, expires_at, source_event, consumer, ordinal, created_at, payload) \
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?), \
     (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?), \
     (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?), \
     (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?), \
     (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?), \
     (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?), \
     (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?), \
     (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";

/// Rows of [`ROWS_NEW`].
const MANY: usize = 8;

/// A job as its row holds it.
pub(super) struct JobRow<'j> {
    pub(super) no: JobNo,
    pub(super) id: JobId,
    pub(super) org: OrgNo,
    pub(super) kind: KindNo,
    pub(super) lane: Option<LaneNo>,
    pub(super) run_at: i64,
    pub(super) source_event: Option<i64>,
    pub(super) consumer: Option<ConsumerNo>,
    pub(super) ordinal: Option<u32>,
    pub(super) created_at: i64,
    pub(super) payload: &'j str,
    pub(super) job: &'j NewJob,
}

impl JobRow<'_> {
    fn values(&self) -> [&dyn ToSql; 16] {
        [
            &self.no,
            &self.id,
            &self.org,
            &self.kind,
            &self.job.version,
            &self.lane,
            &self.job.subject,
            &self.job.priority,
            &self.run_at,
            &self.job.max_attempts,
            &self.job.expires_at,
            &self.source_event,
            &self.consumer,
            &self.ordinal,
            &self.created_at,
            &self.payload,
        ]
    }
}

/// Rows that have their numbers and are not written yet: whoever reads the table writes them first.
#[derive(Default)]
pub(super) struct JobRows<'j> {
    last: Option<JobNo>,
    waiting: Vec<JobRow<'j>>,
}

impl<'j> JobRows<'j> {
    /// The number of the row that is added next.
    pub(super) fn next(&self, tx: &Tx<'_>) -> Result<JobNo> {
        let last = match self.last {
            Some(JobNo(last)) => last,
            None => tx.one(NO_LAST, [], |row| row.get(0))?.unwrap_or(0),
        };
        Ok(JobNo(last + 1))
    }

    /// Adds a row under that number.
    pub(super) fn add(&mut self, tx: &Tx<'_>, row: JobRow<'j>) -> Result<()> {
        self.last = Some(row.no);
        self.waiting.push(row);
        if self.waiting.len() == MANY {
            let values: Vec<&dyn ToSql> = self.waiting.iter().flat_map(JobRow::values).collect();
            tx.run(ROWS_NEW, &*values)?;
            self.waiting.clear();
        }
        Ok(())
    }

    /// Writes what is not written yet.
    pub(super) fn write(&mut self, tx: &Tx<'_>) -> Result<()> {
        for row in &self.waiting {
            tx.run(ROW_NEW, &row.values()[..])?;
        }
        self.waiting.clear();
        Ok(())
    }
}
