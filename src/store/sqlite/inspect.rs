//! What people see: lists, single rows in full, numbers, traces and explanations. Nothing here
//! writes, and every list is an index walk of bounded length. SQL is put together from constant
//! parts; values are always bound.

mod attempts;
mod audited;
mod consumers;
mod count;
mod doctor;
mod events;
mod explain;
mod job_list;
mod jobs;
mod lanes;
mod notices;
mod orgs;
mod places;
mod query;
mod sends;
mod span;
mod stats;
#[cfg(test)]
mod tests;
mod trace;

pub(super) use consumers::consumers;
pub(super) use doctor::doctor;
pub(super) use events::{event, events};
pub(super) use explain::explain;
pub(super) use job_list::jobs;
pub(super) use jobs::job;
pub(super) use lanes::lanes;
pub(super) use notices::{notice, notices};
pub(super) use orgs::has_org;
pub(super) use sends::{send, sends};
pub(super) use stats::stats;
pub(super) use trace::trace;
