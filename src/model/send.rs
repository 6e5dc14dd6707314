//! Sends: the words of the ledger, and its pure decisions.

pub(crate) mod ability;
pub(crate) mod class;
pub(crate) mod error;
pub(crate) mod look;
pub(crate) mod mask;
pub(crate) mod numbering;
pub(crate) mod receipt;
pub(crate) mod tries;

use time::OffsetDateTime;

use crate::error::Result;
use crate::model::text::check_key;

/// Which send of its origin this is: the n-th unnamed one of a run, or the one of that name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Slot {
    Seq(u32),
    Name(String),
}

impl Slot {
    /// Most unnamed sends of one run.
    pub(crate) const MOST: u32 = 1_000;

    /// The slot of a name: 1 to 128 characters without NUL.
    pub(crate) fn named(name: &str) -> Result<Slot> {
        check_key("name of a send", name, 128)?;
        Ok(Slot::Name(name.to_owned()))
    }
}

/// What proves that a message went out although nobody heard the answer of its call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Evidence {
    /// The provider's echo of our own message, carrying our key.
    Echo,
    /// A delivery status that carries our key. "Failed" is one too: the channel had taken the
    /// message.
    Status,
    /// The host knows: a row of its own, a person's mailbox, a log.
    Host,
}

/// Who says that a try was accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Witness {
    /// The call's own answer.
    Call,
    Evidence(Evidence),
    /// The host's `recognise`, asked by the resolver.
    Recognised,
    /// The provider's lookup by key.
    Lookup,
    Person(String),
}

impl Witness {
    /// As the ledger stores it; nothing for the ordinary case, the call's own answer in time.
    pub(crate) fn settled_by(&self, late: bool) -> Option<&str> {
        match self {
            Witness::Call => late.then_some("late"),
            Witness::Evidence(Evidence::Echo) => Some("echo"),
            Witness::Evidence(Evidence::Status) => Some("status"),
            Witness::Evidence(Evidence::Host) => Some("host"),
            Witness::Recognised => Some("recognise"),
            Witness::Lookup => Some("lookup"),
            Witness::Person(who) => Some(who),
        }
    }
}

/// Whether a channel takes messages now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ChannelState {
    /// It takes messages.
    #[default]
    Open,
    /// Sends wait, without using an attempt: until this time, or until somebody opens it.
    Paused {
        /// The end of the pause, if it has one.
        until: Option<OffsetDateTime>,
    },
    /// Out of order: sends wait, without using an attempt, until somebody opens it.
    Down,
    /// Closed for good: a send by it is rejected before any call.
    Archived,
}
