//! The seam of the send ledger: what the engine and people ask of a store about outbound messages.

#[cfg(test)]
pub(crate) mod tests;

use crate::error::Result;
use crate::model::id::{Held, JobId, SendKey, SendNo};
use crate::model::send::ability::Abilities;
use crate::model::send::class::Refusal;
use crate::model::send::{ChannelState, Slot, Witness};

/// Verbs on sends. Each is one savepoint's worth, answered after the commit that carried it.
pub(crate) trait Ledger {
    /// Intends a send before its call, or says why it must not be called. The only verb here that
    /// is fenced.
    fn begin(&self, intent: Intent) -> Result<Begun>;

    /// A run asks for a channel that its process has no code for: a person is told once its job has
    /// waited so for longer than a deploy.
    fn no_code(&self, held: Held, channel: &str) -> Result<()>;

    /// A process that begins has code for these channels: nobody need be told of them any more.
    fn offers(&self, channels: Vec<String>) -> Result<()>;

    /// Records that a try was accepted, whoever says it and whenever.
    fn accept(&self, fact: Fact) -> Result<Accepted>;

    /// Records that the only call of a try was refused, or did not reach the provider.
    fn reject(&self, rejection: Rejection) -> Result<Rejected>;

    /// Records that the caller of a call heard nothing of use, and that it may still arrive.
    fn under_way(&self, call: UnderWay) -> Result<()>;

    /// Unknown tries whose next look is due, oldest first, beginning behind `after`.
    fn due_looks(&self, after: Option<LookPlace>, most: usize) -> Result<Looks>;

    /// Records what a look found out, and takes the resolver's next step.
    fn looked(&self, at: LookedAt) -> Result<LookedAnswer>;

    /// Lets the host read the file: its own rows are evidence.
    fn host_read(&self, read: HostRead<'_>) -> Result<()>;

    /// A person says what became of the unknown try of this key.
    fn resolve(&self, key: SendKey, word: Word, who: &str) -> Result<Resolved>;

    /// A person orders the send of this key once more. `key` is its newest try's: a click on an old
    /// page changes nothing.
    fn order(&self, key: SendKey, who: &str) -> Result<Ordered>;

    /// Opens, pauses, downs or archives a channel of an org.
    fn set_channel(&self, change: ChannelChange) -> Result<()>;

    /// Records that a recipient gave or withdrew consent. Without a record sends are allowed.
    fn set_consent(&self, consent: Consent) -> Result<()>;

    /// Holds every send of the file (a reason), or lets them go on (`None`).
    fn set_hold(&self, reason: Option<String>, who: &str) -> Result<()>;
}

/// A wish to send. It has no `Debug`: body and recipient are nobody's to print.
pub(crate) struct Intent {
    pub(crate) held: Held,
    pub(crate) slot: Slot,
    pub(crate) channel: String,
    pub(crate) abilities: Abilities,
    pub(crate) recipient: String,
    pub(crate) body: String,
}

/// What became of a wish to send. Only `Go` allows a call.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Begun {
    /// Intended under this key. The call begins at or before `call_by` (monotonic ms), or not at
    /// all.
    Go { key: SendKey, call_by: i64 },
    /// It was accepted before. `changed`: with another body, channel or recipient.
    Accepted { key: SendKey, receipt: Option<String>, changed: bool },
    /// An earlier try is undecided.
    Unknown,
    /// A person gave up, and nobody ordered otherwise.
    GivenUp,
    /// The gate is closed until this time, or is asked again then.
    Wait { until: i64, why: String },
    /// The gate refuses.
    Veto(String),
    /// A person asked to cancel the job.
    Cancelled,
    /// Refused for good before any call: no address, an archived channel.
    Refused(String),
    /// The rest of the lease does not outlive the channel's timeout.
    Short,
    /// The token does not hold the job any more.
    LeaseLost,
}

/// A fact about a key: the provider accepted it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fact {
    pub(crate) key: SendKey,
    /// The channel that it came by, if known: a key of another channel is not its evidence.
    pub(crate) channel: Option<String>,
    /// The provider's id of the message.
    pub(crate) receipt: Option<String>,
    pub(crate) witness: Witness,
}

/// What became of a fact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Accepted {
    /// The send is accepted.
    Now,
    /// It was known already.
    Already,
    /// A second message of one send went out: recorded, with a critical notice.
    Duplicate,
    /// No try has this key: nothing was written. The file may be an old copy.
    UnknownKey,
    /// The try of this key is of another channel: nothing was written.
    OtherChannel,
}

/// The only call of a try was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rejection {
    pub(crate) key: SendKey,
    pub(crate) held: Held,
    pub(crate) why: NotSent,
    pub(crate) reason: String,
    /// The provider wants no call for so long: the channel is paused.
    pub(crate) pause_ms: Option<i64>,
}

/// A call whose caller does not know whether it arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UnderWay {
    pub(crate) key: SendKey,
    pub(crate) held: Held,
    /// It may arrive until this wall time: a lookup's "not found" is believed only so long after
    /// it.
    pub(crate) until: i64,
    /// The same by the monotonic clock.
    pub(crate) until_mono: i64,
    pub(crate) reason: String,
}

/// Why a try is certain not to have gone out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotSent {
    Refused(Refusal),
    NotCalled,
}

/// What became of a rejection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Rejected {
    Now,
    /// It was not the only call of an undecided try: nothing is learned about the others.
    NothingLearned,
}

/// Host code that reads its own rows, in the terms of the store that runs it.
pub(crate) enum HostRead<'h> {
    Sqlite(&'h mut dyn FnMut(&rusqlite::Connection)),
}

/// A place in the order of looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct LookPlace {
    pub(crate) next_look: i64,
    pub(crate) send: SendNo,
    pub(crate) n: u32,
}

/// An unknown try that is due to be looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Look {
    pub(crate) place: LookPlace,
    /// What an answer is about: the calls made so far, and when the last of them could have ended.
    pub(crate) calls: i64,
    pub(crate) unknown_at: i64,
    pub(crate) wait_until: i64,
    pub(crate) key: SendKey,
    pub(crate) org: String,
    pub(crate) channel: String,
    pub(crate) job: Option<JobId>,
    pub(crate) slot: Slot,
    pub(crate) recipient_mask: String,
    pub(crate) intended_at: i64,
}

/// One page of looks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Looks {
    /// When the page was read, by both clocks: what is asked outside is asked after it.
    pub(crate) asked_at: i64,
    pub(crate) asked_mono: i64,
    pub(crate) due: Vec<Look>,
    /// When the next look after now is due.
    pub(crate) next: Option<i64>,
}

/// What a look found out. (That a message was found is a fact: `accept`.)
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LookedAt {
    pub(crate) place: LookPlace,
    pub(crate) calls: i64,
    pub(crate) unknown_at: i64,
    pub(crate) asked_at: i64,
    pub(crate) asked_mono: i64,
    /// The provider said that it has no message of this key.
    pub(crate) not_found: bool,
}

/// What became of a look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum LookedAnswer {
    /// It did not go out: the job runs again and sends it by a new try.
    NotFound,
    /// The job runs again and may call with the same key.
    Permitted,
    /// Looked at again then.
    Later { next_look: i64 },
    /// A person is told. Looked at again then, if at all.
    Told { next_look: Option<i64> },
    /// It was settled or called again meanwhile: nothing was written.
    Stale,
}

/// A person's word about an unknown try.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    /// It went out.
    Sent,
    /// Send it again, whatever became of it.
    SendAgain,
    /// Leave it.
    GiveUp,
}

/// What became of a person's word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Resolved {
    Now,
    /// The try is not unknown (any more): nothing was changed. A second click ends here.
    NotUnknown,
    /// Its job has ended and does not run again, so nobody would send it again: nothing was
    /// changed. That it went out, or is given up, can still be said. Enqueue a new job for what
    /// must still go out.
    JobEnded,
    /// No try has this key: nothing was changed.
    UnknownKey,
}

/// What became of an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Ordered {
    /// The next run of its job sends it once more, or the run under way if it comes to it; if the
    /// job is done or cancelled before, a notice says so. A dead job runs again only after
    /// [`Lanebox::requeue`](crate::Lanebox::requeue).
    Now,
    /// An order is pending already: a second click ends here.
    Pending,
    /// A try is undecided: settle it first.
    Undecided,
    /// Its job is done, cancelled, or dead and expired: it does not run again, so nobody would send
    /// it. Nothing was changed; enqueue a new job for what must go out once more.
    JobEnded,
    /// It never was accepted or given up: its job sends it anyway when it runs again.
    NotNeeded,
    /// There is a newer try of this send: order by its key.
    Superseded {
        /// Its newest try.
        newest: SendKey,
    },
    /// No try has this key: nothing was changed.
    UnknownKey,
}

/// A change of a channel's state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ChannelChange {
    pub(crate) org: String,
    pub(crate) channel: String,
    pub(crate) state: ChannelState,
    /// One line for people.
    pub(crate) reason: Option<String>,
    pub(crate) who: String,
}

/// Consent of one recipient for one channel. It has no `Debug`: the recipient is nobody's to print.
pub(crate) struct Consent {
    pub(crate) org: String,
    pub(crate) recipient: String,
    pub(crate) channel: String,
    pub(crate) given: bool,
    /// Where it was said: a message id, a form, a person. Never a body.
    pub(crate) evidence: String,
}
