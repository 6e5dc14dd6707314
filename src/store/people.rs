//! The seam of people: what they see of a file, and what they say about notices, as plain values.

mod filter;
mod stats;
mod trace;
mod view;

pub use filter::{Filter, MAX_LIMIT, Page};
pub use stats::{Census, Count, Diagnosis, Fact, Finding, Stats};
pub use trace::{AuditView, DeliveryTrace, EventTrace, JobTrace, SendTrace, Trace};
pub use view::{
    AttemptView, ConsumerView, EventDetail, EventView, Explanation, JobDetail, JobView, LaneView,
    NoticeView, SendDetail, SendView, StepView, TryView,
};

use crate::error::Result;
use crate::model::id::{EventId, JobId};

/// Reads for people, each on a connection of the pool in one snapshot, and the state of notices.
pub(crate) trait People {
    /// Events, newest first.
    fn events(&self, filter: &Filter) -> Result<Page<EventView>>;
    /// Jobs, newest first.
    fn jobs(&self, filter: &Filter) -> Result<Page<JobView>>;
    /// Lanes that hold something or are paused, or the ones that were asked for by name.
    fn lanes(&self, filter: &Filter) -> Result<Page<LaneView>>;
    /// Sends, newest first.
    fn sends(&self, filter: &Filter) -> Result<Page<SendView>>;
    /// Notices that nobody has resolved (unless a state is asked for), newest first.
    fn notices(&self, filter: &Filter) -> Result<Page<NoticeView>>;
    /// Every consumer.
    fn consumers(&self) -> Result<Vec<ConsumerView>>;
    /// One event in full.
    fn event(&self, id: EventId) -> Result<EventDetail>;
    /// One job in full.
    fn job(&self, id: JobId) -> Result<JobDetail>;
    /// One send in full.
    fn send(&self, id: i64) -> Result<SendDetail>;
    /// One notice.
    fn notice(&self, id: i64) -> Result<NoticeView>;
    /// Whether anything is of this org.
    fn has_org(&self, name: &str) -> Result<bool>;
    /// Bounded counts of everything.
    fn stats(&self) -> Result<Stats>;
    /// What came of an event, job, send or entity, from its first cause on.
    fn trace(&self, id: &str) -> Result<Trace>;
    /// Why a job waits and until when.
    fn explain(&self, job: JobId) -> Result<Explanation>;
    /// Versions, settings, and the audits. Walks whole tables.
    fn doctor(&self) -> Result<Diagnosis>;
    /// A person has seen a notice; whether that is new.
    fn acknowledge(&self, notice: i64, by: &str) -> Result<bool>;
    /// A person has dealt with what a notice is about; whether that is new. Refused while a send of
    /// it is unknown.
    fn resolve_notice(&self, notice: i64, by: &str) -> Result<bool>;
}
