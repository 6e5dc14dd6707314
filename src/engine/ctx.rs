//! What a handler sees of its run.

use std::cell::RefCell;
use std::collections::HashSet;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use time::OffsetDateTime;
use uuid::Uuid;

use crate::engine::Engine;
use crate::engine::sender::Sender;
use crate::engine::signal::Signal;
use crate::error::Error;
use crate::model::event::NewEvent;
use crate::model::id::JobId;
use crate::model::outcome::BoxError;
use crate::model::send::error::SendError;
use crate::model::send::receipt::Receipt;
use crate::store::jobs::{Claimed, Stepped};

/// Host rows that are written with the completion.
pub(crate) type HostRows = Box<dyn FnOnce(&rusqlite::Connection) -> Result<(), BoxError>>;

/// What a handler sees of its run: who, which try, and the ways to do something durable.
///
/// It lives on the handler's thread only; a handler that uses threads of its own hands them values,
/// not the `Ctx`.
pub struct Ctx<'e> {
    pub(crate) engine: &'e Engine,
    pub(crate) claimed: &'e Claimed,
    pub(crate) signal: &'e Signal,
    sender: Sender<'e>,
    /// Steps that this run has been through.
    steps: RefCell<HashSet<String>>,
    pub(crate) outbox: RefCell<Vec<NewEvent>>,
    pub(crate) host_rows: RefCell<Vec<HostRows>>,
}

impl<'e> Ctx<'e> {
    pub(crate) fn new(engine: &'e Engine, claimed: &'e Claimed, signal: &'e Signal) -> Ctx<'e> {
        let Engine { store, env, channels, .. } = engine;
        let sender = Sender::new(&**store, env, channels, claimed.held, &claimed.org_name, signal);
        let (outbox, host_rows) = (RefCell::default(), RefCell::default());
        Ctx { engine, claimed, signal, sender, steps: RefCell::default(), outbox, host_rows }
    }

    /// The org of the job.
    pub fn org(&self) -> &str {
        &self.claimed.org_name
    }

    /// The job's id.
    pub fn job(&self) -> JobId {
        self.claimed.id
    }

    /// Whom the job concerns, if it was said.
    pub fn subject(&self) -> Option<&str> {
        self.claimed.subject.as_deref()
    }

    /// The payload, byte for byte as it was enqueued.
    pub fn payload(&self) -> &str {
        &self.claimed.payload
    }

    /// Version of the payload's shape.
    pub fn version(&self) -> u32 {
        self.claimed.version
    }

    /// Which attempt this is: 1 on the first run, 2 on the first retry. A loss or a postponement
    /// uses none.
    pub fn attempt(&self) -> u32 {
        self.claimed.held.attempts
    }

    /// How many attempts there are.
    pub fn max_attempts(&self) -> u32 {
        self.claimed.max_attempts
    }

    /// The fencing number of this run: larger than that of every earlier run of any job.
    pub fn token(&self) -> i64 {
        self.claimed.held.token.0
    }

    /// The wall clock of the engine.
    pub fn now(&self) -> OffsetDateTime {
        let nanos = i128::from(self.engine.env.now_ms()) * 1_000_000;
        OffsetDateTime::from_unix_timestamp_nanos(nanos).unwrap_or(OffsetDateTime::UNIX_EPOCH)
    }

    /// Whether the run should stop: cancelled by a person, stopping process, over its time, or its
    /// lease is lost.
    pub fn cancelled(&self) -> bool {
        self.signal.why().is_some()
    }

    /// Waits, interrupted when the run should stop; whether the whole time passed.
    pub fn wait(&self, time: Duration) -> bool {
        !self.signal.wait(time)
    }

    /// A key for an effect of the handler's own: the same for this job and name in every run,
    /// unguessable outside.
    pub fn effect_key(&self, name: &str) -> Uuid {
        Uuid::from_bytes(self.engine.store.effect_key(self.claimed.id, name))
    }

    /// Does `work` once: when it has finished and its result is stored, a later run of this job
    /// gets the same result and does not do it again. If the process dies before that, it is done
    /// again. Each step of a handler has a name of its own: in a loop, with what tells its rounds
    /// apart.
    ///
    /// # Errors
    /// [`StepError::Failed`] with the error of `work`; [`StepError::LeaseLost`] if the job is
    /// somebody else's by now; [`StepError::Store`] if the result could not be stored (then it is
    /// not remembered), or if this run has been through a step of this name (then `work` is not
    /// done, and the job is dead: the handler has to be mended).
    pub fn step<T, E>(
        &self,
        name: &str,
        work: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, StepError>
    where
        T: Serialize + DeserializeOwned,
        E: Into<BoxError>,
    {
        // Else the second would be taken for the first, and never be done.
        if self.steps.borrow().contains(name) {
            let why = "this run has been through a step of this name: each needs one of its own";
            return Err(StepError::Store(Error::invalid("step name", why)));
        }
        let answer = self.step_once(name, work)?;
        self.steps.borrow_mut().insert(name.to_owned());
        Ok(answer)
    }

    fn step_once<T, E>(
        &self,
        name: &str,
        work: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, StepError>
    where
        T: Serialize + DeserializeOwned,
        E: Into<BoxError>,
    {
        let held = self.claimed.held;
        if let Some(result) = self.engine.store.step_result(held.job, name)? {
            let why = |e: serde_json::Error| StepError::Changed {
                name: name.to_owned(),
                why: e.to_string(),
            };
            return serde_json::from_str(&result).map_err(why);
        }
        let value = work().map_err(|error| StepError::Failed(error.into()))?;
        let result = serde_json::to_string(&value).map_err(|e| StepError::Failed(e.into()))?;
        match self.engine.store.finish_step(held, name.to_owned(), result)? {
            Stepped::Kept => Ok(value),
            Stepped::LeaseLost => Err(StepError::LeaseLost),
        }
    }

    /// Sends through the ledger: intended on the disk before the call, recorded after it. What was
    /// accepted in an earlier run of this job is not sent again: its receipt comes back. The sends
    /// of a run are known by their order; a handler whose order may change uses
    /// [`Ctx::send_named`].
    ///
    /// # Errors
    /// [`SendError`]: returned from the handler with `?`, also inside another error, it does what
    /// it says (veto, postpone, wait for evidence, retry, end).
    pub fn send(&self, channel: &str, recipient: &str, body: &str) -> Result<Receipt, SendError> {
        self.sender.send(channel, recipient, body)
    }

    /// Like [`Ctx::send`], known by a name instead of its number. Each message of a handler has a
    /// name of its own.
    ///
    /// # Errors
    /// As [`Ctx::send`]; [`SendError::Store`] if this run sent something else by this name (then
    /// the second is not sent, and the job is dead: the handler has to be mended).
    pub fn send_named(
        &self,
        name: &str,
        channel: &str,
        recipient: &str,
        body: &str,
    ) -> Result<Receipt, SendError> {
        self.sender.send_named(name, channel, recipient, body)
    }

    /// Tells people how far the run is: one line, at most 300 characters, shown while it runs.
    ///
    /// # Errors
    /// As [`Lanebox::enqueue`](crate::Lanebox::enqueue); a lost lease is not an error here.
    pub fn progress(&self, line: &str) -> crate::error::Result<()> {
        let line = crate::model::text::one_line(line);
        self.engine.store.progress(self.claimed.held, line)
    }

    /// Publishes with the completion: recorded in the transaction that makes the job done, or
    /// never.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the event breaks a rule; nothing was stored.
    pub fn publish(&self, event: NewEvent) -> crate::error::Result<()> {
        event.check()?;
        self.outbox.borrow_mut().push(event);
        Ok(())
    }

    /// Writes host rows in the transaction that makes the job done, fenced: all of it happens or
    /// none. They are written only if this run ends as done; an error of `rows` makes it a retry.
    /// Work that follows is accepted there too, by
    /// [`Lanebox::enqueue_in`](crate::Lanebox::enqueue_in) of a handle that the handler owns.
    pub fn finish_in<E: Into<BoxError>>(
        &self,
        rows: impl FnOnce(&rusqlite::Connection) -> Result<(), E> + 'static,
    ) {
        self.host_rows.borrow_mut().push(Box::new(|conn| rows(conn).map_err(Into::into)));
    }
}

/// Why a step gave no result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StepError {
    /// The work itself failed; nothing is remembered, a later run does it again.
    #[error("{0}")]
    Failed(#[source] BoxError),
    /// The stored result is not of this type any more.
    #[error("step {name} was finished by an earlier version of this handler: {why}")]
    Changed {
        /// The step.
        name: String,
        /// What the result did not fit.
        why: String,
    },
    /// The job is somebody else's by now: the result was dropped.
    #[error("the lease of this run is lost; its result was dropped, another run does the work")]
    LeaseLost,
    /// The store refused.
    #[error(transparent)]
    Store(#[from] Error),
}
