//! What people see, handed to the pool of readers, each read in one snapshot; what they say about
//! notices, to the writer.

use rusqlite::Connection;

use super::process::{Alive, Lock};
use super::{SqliteStore, audit_log, inspect, order, process};
use crate::error::Result;
use crate::model::id::{EventId, JobId, NoticeNo};
use crate::store::people::{
    ConsumerView, Diagnosis, EventDetail, EventView, Explanation, Filter, JobDetail, JobView,
    LaneView, NoticeView, Page, People, SendDetail, SendView, Stats, Trace,
};

/// The longest that a diagnosis may take, in milliseconds. Each of its statements is a snapshot of
/// its own.
const LONGEST_DOCTOR_MS: i64 = 10 * 60_000;

impl SqliteStore {
    // Several statements that agree with each other: a read transaction, which ends with the call.
    fn snapshot<T>(&self, body: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        self.read(|conn| {
            let snapshot = conn.unchecked_transaction()?;
            body(&snapshot)
        })
    }

    // A job of a dead process stands as running until a started one takes it back.
    fn with_its_holder(&self, said: Explanation) -> Result<Explanation> {
        let holder = self.read(|conn| process::of_job(conn, said.job))?;
        let probe = holder.map(|uuid| Lock::probe(&self.file.path, uuid));
        if !matches!(probe, Some(Alive::No(_))) {
            return Ok(said);
        }
        let why = "its process is gone, and it waits until a running one takes it back";
        Ok(Explanation {
            sentence: format!("{}; {why}", said.sentence),
            waits_for: "worker",
            ..said
        })
    }
}

impl People for SqliteStore {
    fn events(&self, filter: &Filter) -> Result<Page<EventView>> {
        self.snapshot(|conn| inspect::events(conn, filter))
    }

    fn jobs(&self, filter: &Filter) -> Result<Page<JobView>> {
        self.snapshot(|conn| inspect::jobs(conn, filter))
    }

    fn lanes(&self, filter: &Filter) -> Result<Page<LaneView>> {
        self.snapshot(|conn| inspect::lanes(conn, filter))
    }

    fn sends(&self, filter: &Filter) -> Result<Page<SendView>> {
        self.snapshot(|conn| inspect::sends(conn, filter))
    }

    fn notices(&self, filter: &Filter) -> Result<Page<NoticeView>> {
        self.snapshot(|conn| inspect::notices(conn, filter))
    }

    fn consumers(&self) -> Result<Vec<ConsumerView>> {
        self.snapshot(inspect::consumers)
    }

    fn event(&self, id: EventId) -> Result<EventDetail> {
        self.snapshot(|conn| inspect::event(conn, id))
    }

    fn job(&self, id: JobId) -> Result<JobDetail> {
        let detail = self.snapshot(|conn| inspect::job(conn, id))?;
        let explanation = self.with_its_holder(detail.explanation)?;
        Ok(JobDetail { explanation, ..detail })
    }

    fn send(&self, id: i64) -> Result<SendDetail> {
        self.snapshot(|conn| inspect::send(conn, id))
    }

    fn notice(&self, id: i64) -> Result<NoticeView> {
        self.snapshot(|conn| inspect::notice(conn, id))
    }

    fn has_org(&self, name: &str) -> Result<bool> {
        self.snapshot(|conn| inspect::has_org(conn, name))
    }

    fn stats(&self) -> Result<Stats> {
        self.snapshot(|conn| inspect::stats(conn, &self.file.path))
    }

    fn trace(&self, id: &str) -> Result<Trace> {
        self.snapshot(|conn| inspect::trace(conn, id))
    }

    fn explain(&self, job: JobId) -> Result<Explanation> {
        let said = self.snapshot(|conn| inspect::explain(conn, job))?;
        self.with_its_holder(said)
    }

    // Not one snapshot: it reads for long, and a reader that stands still keeps the log from
    // shrinking.
    fn doctor(&self) -> Result<Diagnosis> {
        let mut found =
            self.read_for(LONGEST_DOCTOR_MS, |conn| inspect::doctor(conn, &self.file.path))?;
        let around = self.surroundings()?;
        found.sound &= around.iter().all(|fact| fact.wrong.is_none());
        found.facts.extend(around);
        Ok(found)
    }

    fn acknowledge(&self, notice: i64, by: &str) -> Result<bool> {
        let by = audit_log::who(by)?;
        self.writer.write(move |tx| order::acknowledge(tx, NoticeNo(notice), &by))
    }

    fn resolve_notice(&self, notice: i64, by: &str) -> Result<bool> {
        let by = audit_log::who(by)?;
        self.writer.write(move |tx| order::resolve_notice(tx, NoticeNo(notice), &by))
    }
}
