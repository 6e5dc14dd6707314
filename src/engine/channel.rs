//! A way out: the host's code that hands a message to a provider, and what it says about each call.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::error::{Error, Result};
use crate::model::id::{JobId, SendKey};
use crate::model::outcome::BoxError;
use crate::model::send::Slot;
use crate::model::send::ability::Abilities;
use crate::model::send::class::Refusal;
use crate::model::send::mask::mask;
use crate::model::text::check_name;

/// A way out: a WhatsApp number, a mailbox. Implemented by the host, called by
/// [`Ctx::send`](crate::Ctx).
///
/// The ledger commits the intent before [`deliver`](Channel::deliver) and records its answer after
/// it; no transaction is open during the call. What decides between one message and two is that the
/// answer is honest:
///
/// - `Rejected` and `NotCalled` only if the provider certainly does not have the message; **a
///   timeout is `Unknown`**. [`Class`](crate::Class) says which HTTP status and which phase of a
///   call is which.
/// - One call of `deliver` is one request: the client must not retry by itself, not even its
///   connection pool.
/// - The call ends within the [`Abilities`]' timeout.
/// - The letter's key goes along with the message, where the provider takes one (an idempotency
///   key, a client reference, WhatsApp's `biz_opaque_callback_data`): it is what later evidence is
///   recognised by.
///
/// ```
/// use std::time::Duration;
/// use lanebox::{Abilities, CallPhase, Channel, Class, Delivery, Letter, Lookup, Refusal, SendKey};
///
/// /// An outbox of an imaginary provider that answers HTTP statuses.
/// struct Pigeon;
///
/// # impl Pigeon {
/// #     fn post(&self, _: SendKey, _: &str, _: &str) -> Result<(u16, String), CallPhase> {
/// #         Ok((200, "p1".into()))
/// #     }
/// # }
/// impl Channel for Pigeon {
///     fn abilities(&self) -> Abilities {
///         Abilities::new(Duration::from_secs(10)).dedupes_for(Duration::from_secs(86_400))
///     }
///
///     fn deliver(&self, letter: &Letter<'_>) -> Delivery {
///         let (class, text) = match self.post(letter.key, letter.recipient, letter.body) {
///             Ok((status, text)) => (Class::of_status(status), text),
///             Err(phase) => (Class::of_phase(phase), format!("{phase:?}")),
///         };
///         match class {
///             Class::Accepted => Delivery::accepted(text),
///             Class::Rejected(Refusal::ForGood) => Delivery::rejected_for_good(text),
///             Class::Rejected(Refusal::Transient) => Delivery::rejected_for_now(text),
///             Class::NotCalled => Delivery::NotCalled { reason: text },
///             Class::Unknown => Delivery::Unknown { reason: text },
///         }
///     }
/// }
///
/// let key = SendKey(uuid::Uuid::from_u128(7));
/// let sent = Pigeon.deliver(&Letter::new("acme", "+49 151 123", "hello", key));
/// assert_eq!(sent, Delivery::accepted("p1"));
/// assert_eq!(Pigeon.lookup(key), Lookup::CannotTell);
/// ```
pub trait Channel: Send + Sync {
    /// What its provider can do. Asked before each call; the same answer each time.
    fn abilities(&self) -> Abilities;

    /// Hands one message to the provider, once.
    fn deliver(&self, letter: &Letter<'_>) -> Delivery;

    /// Asks the provider for the message of a key. Only asked if the abilities have
    /// [`lookup_after`](Abilities::lookup_after), and believed only after that time.
    fn lookup(&self, key: SendKey) -> Lookup {
        let _ = key;
        Lookup::CannotTell
    }
}

/// One message on its way out. Its `Debug` shows neither recipient nor body.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct Letter<'a> {
    /// The org of the job.
    pub org: &'a str,
    /// As the handler gave it.
    pub recipient: &'a str,
    /// As the handler gave it.
    pub body: &'a str,
    /// The key of this try: the same in a second call of the same try, another in another try.
    pub key: SendKey,
}

impl<'a> Letter<'a> {
    /// A letter, for tests of a channel.
    pub fn new(org: &'a str, recipient: &'a str, body: &'a str, key: SendKey) -> Letter<'a> {
        Letter { org, recipient, body, key }
    }
}

impl std::fmt::Debug for Letter<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Letter")
            .field("org", &self.org)
            .field("recipient", &mask(self.recipient))
            .field("key", &self.key)
            .finish_non_exhaustive()
    }
}

/// What is known after a call. The reasons are for people: one line, without the body or the
/// recipient.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// The provider has it.
    Accepted {
        /// The provider's own id of the message.
        receipt: String,
    },
    /// The provider said that it does not take it.
    Rejected {
        /// Whether it may be tried again.
        refusal: Refusal,
        /// As the provider said it.
        reason: String,
        /// The provider wants no call for so long (`Retry-After`): the channel of this org is
        /// paused, at most for a day, and no job uses an attempt meanwhile.
        retry_after: Option<Duration>,
    },
    /// Nothing reached the provider.
    NotCalled {
        /// What failed.
        reason: String,
    },
    /// It may have it or not: a timeout, a broken connection, an answer of a gateway.
    Unknown {
        /// What happened.
        reason: String,
    },
}

impl Delivery {
    /// The provider has it, under this id of its own.
    pub fn accepted(receipt: impl Into<String>) -> Delivery {
        Delivery::Accepted { receipt: receipt.into() }
    }

    /// The provider does not take this message.
    pub fn rejected_for_good(reason: impl Into<String>) -> Delivery {
        let (refusal, reason) = (Refusal::ForGood, reason.into());
        Delivery::Rejected { refusal, reason, retry_after: None }
    }

    /// The provider does not take it now.
    pub fn rejected_for_now(reason: impl Into<String>) -> Delivery {
        let (refusal, reason) = (Refusal::Transient, reason.into());
        Delivery::Rejected { refusal, reason, retry_after: None }
    }
}

/// What the provider's lookup says about a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lookup {
    /// It has the message.
    Found {
        /// The provider's own id of it.
        receipt: String,
    },
    /// It has no message of this key.
    NotFound,
    /// It did not answer, or cannot be asked.
    CannotTell,
}

/// An unknown send, as the host's `recognise` is asked about it.
#[derive(Clone, Debug)]
pub struct UnknownSend {
    pub(crate) key: SendKey,
    pub(crate) org: String,
    pub(crate) channel: String,
    pub(crate) job: Option<JobId>,
    pub(crate) slot: Slot,
    pub(crate) intended_at: i64,
}

impl UnknownSend {
    /// The key that the provider was given.
    pub fn key(&self) -> SendKey {
        self.key
    }

    /// The org of the job.
    pub fn org(&self) -> &str {
        &self.org
    }

    /// The channel by which it may have gone out.
    pub fn channel(&self) -> &str {
        &self.channel
    }

    /// The job that sent it.
    pub fn job(&self) -> Option<JobId> {
        self.job
    }

    /// The name that the handler gave to the send, if it gave one.
    pub fn name(&self) -> Option<&str> {
        match &self.slot {
            Slot::Name(name) => Some(name),
            Slot::Seq(_) => None,
        }
    }

    /// Which of its run's unnamed sends it is, from 1, if it has no name.
    pub fn number(&self) -> Option<u32> {
        match self.slot {
            Slot::Seq(seq) => Some(seq),
            Slot::Name(_) => None,
        }
    }

    /// When it was intended, in milliseconds since 1970 UTC.
    pub fn intended_at_ms(&self) -> i64 {
        self.intended_at
    }
}

/// The host's own evidence: the provider's id of the message if a row of the host proves that it
/// went out. The connection is a reader of the file.
pub(crate) type Recognise =
    dyn Fn(&UnknownSend, &rusqlite::Connection) -> Result<Option<String>, BoxError> + Send + Sync;

/// The ways out of one process, by name.
#[derive(Clone, Default)]
pub(crate) struct Channels {
    channels: BTreeMap<String, Arc<dyn Channel>>,
    recognisers: BTreeMap<String, Arc<Recognise>>,
}

impl Channels {
    /// Adds the code of a channel.
    pub(crate) fn add(&mut self, name: &str, channel: Arc<dyn Channel>) -> Result<()> {
        check_name("channel", name, 128)?;
        match self.channels.insert(name.to_owned(), channel) {
            None => Ok(()),
            Some(_) => Err(twice(name, "two implementations")),
        }
    }

    /// Adds the host's evidence for sends by a channel, whether or not its code is here.
    pub(crate) fn recognise(&mut self, name: &str, recognise: Arc<Recognise>) -> Result<()> {
        check_name("channel", name, 128)?;
        match self.recognisers.insert(name.to_owned(), recognise) {
            None => Ok(()),
            Some(_) => Err(twice(name, "two recognisers")),
        }
    }

    /// Refuses a channel whose calls no lease would outlive.
    pub(crate) fn check(&self, lease_ms: i64) -> Result<()> {
        self.channels.values().try_for_each(|channel| channel.abilities().check(lease_ms))
    }

    pub(crate) fn names(&self) -> Vec<String> {
        self.channels.keys().cloned().collect()
    }

    pub(crate) fn channel(&self, name: &str) -> Option<&dyn Channel> {
        self.channels.get(name).map(|channel| &**channel)
    }

    pub(crate) fn recogniser(&self, name: &str) -> Option<&Recognise> {
        self.recognisers.get(name).map(|recognise| &**recognise)
    }
}

fn twice(name: &str, what: &str) -> Error {
    Error::Setting { what: "reactions", why: format!("channel {name} has {what}") }
}

#[cfg(test)]
pub(crate) mod tests;
