//! What people see of a file and what they order: Central, traces, explanations, and the health of
//! the file.

use std::str::FromStr;

use crate::error::{Error, Result};
use crate::lanebox::Lanebox;
use crate::model::id::{EventId, JobId};
use crate::store::jobs::Jobs;
use crate::store::people::People;

pub use crate::model::send::mask::mask;
pub use crate::store::jobs::{Cancelled, Requeued};
pub use crate::store::people::{
    AttemptView, AuditView, Census, ConsumerView, Count, DeliveryTrace, Diagnosis, EventDetail,
    EventTrace, EventView, Explanation, Fact, Filter, Finding, JobDetail, JobTrace, JobView,
    LaneView, MAX_LIMIT, NoticeView, Page, SendDetail, SendTrace, SendView, Stats, StepView, Trace,
    TryView,
};

/// What people see and order. Reads never wait for a writer and never hold one up; each is one
/// snapshot, and ends with [`Error::ReadTooLong`] after 30 s ([`doctor`](Lanebox::doctor) after 10
/// minutes).
///
/// ```no_run
/// use lanebox::people::Filter;
///
/// let lanebox = lanebox::Lanebox::builder("crm.db").must_exist().open()?;
/// for job in lanebox.jobs(&Filter::new().state("dead"))?.rows {
///     println!("{}: {}", job.id, lanebox.explain(job.id)?.sentence);
/// }
/// # Ok::<(), lanebox::Error>(())
/// ```
impl Lanebox {
    /// Events, newest first. States: `unhandled`, `pending`, `done`, `dead`, `duplicate`.
    ///
    /// # Errors
    /// [`Error::Refused`] for a filter that does not fit events.
    pub fn events(&self, filter: &Filter) -> Result<Page<EventView>> {
        self.store().events(filter)
    }

    /// Jobs, newest first. States: `pending` or one of its places (`scheduled`, `queued`, `ready`,
    /// `backing_off`, `waiting_for_send`, `parked`), `running`, `done`, `dead`, `cancelled`.
    ///
    /// # Errors
    /// [`Error::Refused`] for a filter that does not fit jobs.
    pub fn jobs(&self, filter: &Filter) -> Result<Page<JobView>> {
        self.store().jobs(filter)
    }

    /// Lanes that hold something or are paused, the oldest first; a lane asked for also if it is
    /// empty. States: `paused`, `running`, `waiting`, `ready`, `scheduled`, `idle`.
    ///
    /// # Errors
    /// [`Error::Refused`] for a filter that does not fit lanes.
    pub fn lanes(&self, filter: &Filter) -> Result<Page<LaneView>> {
        self.store().lanes(filter)
    }

    /// Sends, newest first. States: `intended`, `unknown`, `accepted`, `rejected`, `abandoned`,
    /// `duplicate`.
    ///
    /// # Errors
    /// [`Error::Refused`] for a filter that does not fit sends.
    pub fn sends(&self, filter: &Filter) -> Result<Page<SendView>> {
        self.store().sends(filter)
    }

    /// Notices that nobody has resolved, newest first. States: `open`, `acknowledged`, `resolved`,
    /// `all`.
    ///
    /// # Errors
    /// [`Error::Refused`] for a filter that does not fit notices.
    pub fn notices(&self, filter: &Filter) -> Result<Page<NoticeView>> {
        self.store().notices(filter)
    }

    /// Every consumer, with its position, its lag and what failed.
    ///
    /// # Errors
    /// Only if the file cannot be read.
    pub fn consumers(&self) -> Result<Vec<ConsumerView>> {
        self.store().consumers()
    }

    /// One event in full, its payload included.
    ///
    /// # Errors
    /// [`Error::NotFound`].
    pub fn event(&self, id: EventId) -> Result<EventDetail> {
        self.store().event(id)
    }

    /// One job in full, with its payload, attempts, steps and sends.
    ///
    /// # Errors
    /// [`Error::NotFound`].
    pub fn job(&self, id: JobId) -> Result<JobDetail> {
        self.store().job(id)
    }

    /// One send in full, with its tries, by its number.
    ///
    /// # Errors
    /// [`Error::NotFound`].
    pub fn send(&self, id: &str) -> Result<SendDetail> {
        self.store().send(number("send", id)?)
    }

    /// One notice, by its number.
    ///
    /// # Errors
    /// [`Error::NotFound`].
    pub fn notice(&self, id: &str) -> Result<NoticeView> {
        self.store().notice(number("notice", id)?)
    }

    /// Whether anything in the file is of this org, among the newest 100,000 events and all else.
    /// Orgs need no registration, so a list of a misspelt one is only empty.
    ///
    /// # Errors
    /// Only if the file cannot be read.
    pub fn has_org(&self, name: &str) -> Result<bool> {
        self.store().has_org(name)
    }

    /// The file in numbers; every count is bounded.
    ///
    /// # Errors
    /// Only if the file cannot be read.
    pub fn stats(&self) -> Result<Stats> {
        self.store().stats()
    }

    /// What came of an event or a job (by id), a send (by number or the key of a try) or an entity
    /// (`type:id`): from its first cause down through deliveries, jobs, attempts, sends and
    /// notices. Entities are looked for by reading back through the events.
    ///
    /// # Errors
    /// [`Error::NotFound`].
    pub fn trace(&self, id: &str) -> Result<Trace> {
        self.store().trace(id)
    }

    /// Why a job waits and until when, as one sentence and as values.
    ///
    /// # Errors
    /// [`Error::NotFound`].
    pub fn explain(&self, job: JobId) -> Result<Explanation> {
        self.store().explain(job)
    }

    /// Versions, settings as they read back, and every audit. Walks whole tables: not for a live
    /// path.
    ///
    /// # Errors
    /// Only if the file cannot be read; what is wrong with it is in the answer.
    pub fn doctor(&self) -> Result<Diagnosis> {
        self.store().doctor()
    }

    /// Starts a dead job again: a new series at the end of its line, its history and its send
    /// identity kept. `by` goes into the audit.
    ///
    /// # Errors
    /// [`Error::NotFound`]; that it is not dead, or that its unique key is another job's by now, is
    /// a value.
    pub fn requeue(&self, job: JobId, by: &str) -> Result<Requeued> {
        let done = self.store().requeue(job, by)?;
        self.bell();
        Ok(done)
    }

    /// Cancels a job that waits; a running one is asked to stop. `by` goes into the audit.
    ///
    /// # Errors
    /// [`Error::NotFound`]; that it had ended before is a value.
    pub fn cancel(&self, job: JobId, by: &str) -> Result<Cancelled> {
        let done = self.store().cancel(job, by)?;
        self.bell();
        Ok(done)
    }

    /// Says that a person has seen a notice; whether that is new.
    ///
    /// # Errors
    /// [`Error::NotFound`].
    pub fn acknowledge(&self, notice: &str, by: &str) -> Result<bool> {
        self.store().acknowledge(number("notice", notice)?, by)
    }

    /// Says that a person has dealt with what a notice is about; whether that is new.
    ///
    /// # Errors
    /// [`Error::NotFound`]; [`Error::Refused`] while a send of it is unknown.
    pub fn resolve_notice(&self, notice: &str, by: &str) -> Result<bool> {
        self.store().resolve_notice(number("notice", notice)?, by)
    }
}

fn number(what: &'static str, id: &str) -> Result<i64> {
    i64::from_str(id).map_err(|_| Error::NotFound { what, id: id.to_owned() })
}
