//! The seam of jobs: what the engine asks of a store to accept, take, keep and end work.

use std::sync::Arc;

use crate::error::Result;
use crate::model::event::{NewEvent, Published};
use crate::model::id::{Held, JobId, JobNo, KindNo, ProcessNo};
use crate::model::job::{Enqueued, NewJob};
use crate::model::outcome::BoxError;
use crate::model::verdict::End;
use crate::store::bus::{Dispatch, Dispatched};
use crate::store::ledger::{Accepted, ChannelChange, Consent, Fact};

/// Verbs on jobs. Each is one savepoint's worth, answered after the commit that carried it.
pub(crate) trait Jobs {
    /// Accepts jobs, all or none; each answer is the new job or the one that has its key.
    fn enqueue(&self, jobs: Vec<NewJob>) -> Result<Vec<Enqueued>>;

    /// One engine pass in one commit.
    fn round(&self, round: Round) -> Result<Rounded>;

    /// A person cancels a job: at once if it waits; a running one is asked to stop.
    fn cancel(&self, job: JobId, by: &str) -> Result<Cancelled>;

    /// A person starts a dead job again, as a new series with its history and its send identity.
    fn requeue(&self, job: JobId, by: &str) -> Result<Requeued>;

    /// Ends one run as done together with the host's own rows, on the caller's thread: all of it or
    /// nothing. The rows are not asked for unless the end will be done.
    fn finish_with(&self, finish: Finish, rows: HostWork<'_>) -> Result<Ended>;

    /// What a finished step of this job answered.
    fn step_result(&self, job: JobNo, name: &str) -> Result<Option<String>>;

    /// Remembers what a step answered, for every later run of the job.
    fn finish_step(&self, held: Held, name: String, result: String) -> Result<Stepped>;

    /// Remembers how far a run is; nothing happens if its lease is lost.
    fn progress(&self, held: Held, line: String) -> Result<()>;

    /// A key for an effect of a handler's own, the same in every run of the job.
    fn effect_key(&self, job: JobId, name: &str) -> [u8; 16];
}

/// Verbs inside a transaction that the host shares. A refusal takes back nothing of the host's.
pub(crate) trait Within {
    /// Records a fact.
    fn publish(&self, event: &NewEvent) -> Result<Published>;

    /// Accepts a job.
    fn enqueue(&self, job: &NewJob) -> Result<Enqueued>;

    /// Records that a recipient gave or withdrew consent.
    fn set_consent(&self, consent: &Consent) -> Result<()>;

    /// Opens, pauses, downs or archives a channel of an org.
    fn set_channel(&self, change: &ChannelChange) -> Result<()>;

    /// Records that a try was accepted.
    fn accept(&self, fact: &Fact) -> Result<Accepted>;

    /// The connection that the transaction is on.
    fn connection(&self) -> &rusqlite::Connection;
}

/// Host code that writes its own rows in a transaction of ours, in the terms of the store that runs
/// it.
pub(crate) enum HostWork<'h> {
    Sqlite(&'h mut dyn FnMut(&rusqlite::Connection) -> Result<(), BoxError>),
}

/// What became of a finished step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Stepped {
    Kept,
    LeaseLost,
}

/// One engine pass in one commit: what ended, what is still held, what was lost, what is taken
/// next.
#[derive(Debug, Default)]
pub(crate) struct Round {
    /// Runs that ended.
    pub(crate) finish: Vec<Finish>,
    /// Leases to be extended to `lease_ms` from now.
    pub(crate) renew: Vec<Held>,
    pub(crate) lease_ms: i64,
    /// Take back the leases of those who vanished.
    pub(crate) reap: Option<Reap>,
    /// What the routes of this process made of what it looked at.
    pub(crate) dispatch: Option<Dispatch>,
    /// Take work for this process.
    pub(crate) claim: Option<Ask>,
}

impl Round {
    /// Whether it may end a run: one that cannot be written must cost the others nothing.
    pub(crate) fn ends_any(&self) -> bool {
        !self.finish.is_empty() || self.reap.is_some()
    }
}

/// Whose leases are taken back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reap {
    /// Of processes that are gone for sure: marked so, or of another boot.
    Gone,
    /// And every lease whose time is over.
    Expired,
}

/// A run that ended.
#[derive(Clone, Debug)]
pub(crate) struct Finish {
    pub(crate) held: Held,
    pub(crate) end: End,
    /// Facts that are recorded with a completion, and only with it.
    pub(crate) outbox: Vec<NewEvent>,
}

/// What a process can take now.
#[derive(Clone, Debug)]
pub(crate) struct Ask {
    pub(crate) process: ProcessNo,
    /// The kinds that it has code for.
    pub(crate) kinds: Vec<Handled>,
    /// Workers that have nothing to do.
    pub(crate) idle: usize,
    /// How many jobs of short kinds may be taken beyond the idle workers.
    pub(crate) ahead: usize,
    /// How long a lease holds, in milliseconds of the monotonic clock.
    pub(crate) lease_ms: i64,
    /// How long a suspect may wait before a busy process runs empty for it.
    pub(crate) suspect_wait_ms: i64,
}

/// A kind that a process has code for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Handled {
    pub(crate) kind: KindNo,
    /// Its recent runs were short: it may be taken ahead of need.
    pub(crate) short: bool,
}

/// What a pass did.
#[derive(Debug, Default)]
pub(crate) struct Rounded {
    /// One answer per `finish`, in its order.
    pub(crate) finished: Vec<Ended>,
    /// One answer per `renew`, in its order.
    pub(crate) renewed: Vec<Renewed>,
    /// Runs whose holder vanished.
    pub(crate) reaped: Vec<Lost>,
    /// The answer to `dispatch`. An error of it is its own: the rest of the pass was committed
    /// without it.
    pub(crate) dispatched: Option<Result<Dispatched>>,
    /// Part of a line was cancelled: its lane may go on, or more of it waits to be cancelled.
    pub(crate) cascaded: bool,
    /// What was taken.
    pub(crate) claimed: Vec<Claimed>,
    /// The claim looked at as many orgs as one may, and the next begins behind them; or what it
    /// found was gone, and something behind it may be claimable now.
    pub(crate) more: bool,
    /// When the next scheduled job is due, or the next waiting one expires; not asked by a claim
    /// that got all it wanted.
    pub(crate) next_due: Option<i64>,
}

/// What became of a run that ended.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Ended {
    /// The job is done.
    Done,
    /// The job is cancelled: a veto, or a person's wish.
    Cancelled,
    /// The job is dead, and a notice says so.
    Dead,
    /// It waits to be tried again, at this time.
    Waits { due: i64 },
    /// It waits for the fate of a send.
    Holds,
    /// The token is not the job's any more: nothing was changed.
    LeaseLost,
    /// This end could not be written, the others of the pass were: the lease runs out and the job
    /// is tried again.
    NotStored,
}

/// What became of a renewal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Renewed {
    Held { cancel_asked: bool },
    LeaseLost,
}

/// A run whose holder vanished.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Lost {
    pub(crate) held: Held,
    pub(crate) kind: KindNo,
    pub(crate) ended: Ended,
}

/// A job that this process holds now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Claimed {
    pub(crate) held: Held,
    pub(crate) id: JobId,
    pub(crate) org_name: Arc<str>,
    pub(crate) kind: KindNo,
    pub(crate) version: u32,
    pub(crate) subject: Option<String>,
    pub(crate) payload: String,
    pub(crate) max_attempts: u32,
    pub(crate) source_event: Option<i64>,
    pub(crate) consumer: Option<i64>,
    pub(crate) ordinal: Option<u32>,
    pub(crate) lease_until: i64,
}

/// What became of a wish to cancel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Cancelled {
    /// It waited and is cancelled now.
    Now,
    /// It runs and was asked: the send gate refuses at once, an answer of Done or Veto still
    /// stands.
    Asked,
    /// It had ended before; nothing was changed.
    Ended,
}

/// What became of a wish to requeue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Requeued {
    /// It waits again.
    Again {
        /// A send of it was accepted before, and nobody ordered it once more: it is not sent again.
        sent: bool,
    },
    /// It is not dead; nothing was changed.
    NotDead,
    /// Its expiry has passed: it would end again unseen; nothing was changed.
    Expired,
    /// Another job that has not ended took its unique key since; nothing was changed.
    KeyTaken {
        /// That job.
        by: JobId,
    },
}
