//! What the host and people say about channels, consent and sends: on the handle, and inside a
//! transaction of the host's.

use crate::error::Result;
use crate::lanebox::{Lanebox, Transaction};
use crate::model::id::SendKey;
use crate::model::send::{ChannelState, Evidence, Witness};
use crate::store::ledger::{ChannelChange, Consent, Fact, Ledger};

pub use crate::store::ledger::{Accepted, Ordered, Resolved, Word};

impl Lanebox {
    /// Tells the ledger that the provider has a message: an echo or a delivery status that carries
    /// our key, or the host's own word. A fact is never refused for coming late; the job that
    /// waited for it goes on.
    ///
    /// # Errors
    /// Whatever keeps it from being recorded; say it again then.
    pub fn evidence(
        &self,
        channel: &str,
        key: SendKey,
        receipt: Option<&str>,
        source: Evidence,
    ) -> Result<Accepted> {
        let answer = self.store().accept(fact(channel, key, receipt, source))?;
        self.bell();
        Ok(answer)
    }

    /// Records that a recipient gave consent for a channel, or gave it again; `evidence` says where
    /// (a message id, a form), never a body. Sends need none: only a withdrawn consent keeps them
    /// back.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) for a text out of its bounds; nothing was stored.
    pub fn give_consent(
        &self,
        org: &str,
        recipient: &str,
        channel: &str,
        evidence: &str,
    ) -> Result<()> {
        self.store().set_consent(consent(org, recipient, channel, true, evidence))
    }

    /// Records that a recipient withdrew consent: from this commit on no send to it by this channel
    /// begins.
    ///
    /// # Errors
    /// As [`Lanebox::give_consent`].
    pub fn withdraw_consent(
        &self,
        org: &str,
        recipient: &str,
        channel: &str,
        evidence: &str,
    ) -> Result<()> {
        self.store().set_consent(consent(org, recipient, channel, false, evidence))
    }

    /// Opens, pauses, downs or archives a channel of an org. While it is not open, sends wait
    /// without using an attempt; by an archived one they are rejected before any call.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) for a text out of its bounds; nothing was stored.
    pub fn set_channel(
        &self,
        org: &str,
        channel: &str,
        state: ChannelState,
        reason: Option<&str>,
        by: &str,
    ) -> Result<()> {
        self.store().set_channel(change(org, channel, state, reason, by))?;
        self.bell();
        Ok(())
    }

    /// Holds every send of the file at its gate (a reason, for people), or lets them go on
    /// (`None`).
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) for a text out of its bounds; nothing was stored.
    pub fn hold_sends(&self, reason: Option<&str>, by: &str) -> Result<()> {
        self.store().set_hold(reason.map(str::to_owned), by)?;
        self.bell();
        Ok(())
    }

    /// A person's word about a send whose fate is unknown: it went out, send it again whatever
    /// became of it, or give it up. A second click changes nothing; to send again is refused once
    /// its job has ended and does not run any more.
    ///
    /// # Errors
    /// Whatever keeps it from being recorded.
    pub fn resolve_send(&self, key: SendKey, word: Word, by: &str) -> Result<Resolved> {
        let answer = self.store().resolve(key, word, by)?;
        self.bell();
        Ok(answer)
    }

    /// A person orders an accepted or given-up send once more: the next run of its job sends it. A
    /// job that is done or cancelled has no next run, which the answer says.
    ///
    /// # Errors
    /// Whatever keeps it from being recorded.
    pub fn order_again(&self, key: SendKey, by: &str) -> Result<Ordered> {
        self.store().order(key, by)
    }
}

impl Transaction<'_> {
    /// As [`Lanebox::evidence`], in this transaction.
    ///
    /// # Errors
    /// As there; the transaction remains usable.
    pub fn evidence(
        &self,
        channel: &str,
        key: SendKey,
        receipt: Option<&str>,
        source: Evidence,
    ) -> Result<Accepted> {
        self.tx.accept(&fact(channel, key, receipt, source))
    }

    /// As [`Lanebox::give_consent`], in this transaction.
    ///
    /// # Errors
    /// As there; the transaction remains usable.
    pub fn give_consent(
        &self,
        org: &str,
        recipient: &str,
        channel: &str,
        evidence: &str,
    ) -> Result<()> {
        self.tx.set_consent(&consent(org, recipient, channel, true, evidence))
    }

    /// As [`Lanebox::withdraw_consent`], in this transaction: an opt-out and the message that said
    /// it are recorded together.
    ///
    /// # Errors
    /// As there; the transaction remains usable.
    pub fn withdraw_consent(
        &self,
        org: &str,
        recipient: &str,
        channel: &str,
        evidence: &str,
    ) -> Result<()> {
        self.tx.set_consent(&consent(org, recipient, channel, false, evidence))
    }

    /// As [`Lanebox::set_channel`], in this transaction.
    ///
    /// # Errors
    /// As there; the transaction remains usable.
    pub fn set_channel(
        &self,
        org: &str,
        channel: &str,
        state: ChannelState,
        reason: Option<&str>,
        by: &str,
    ) -> Result<()> {
        self.tx.set_channel(&change(org, channel, state, reason, by))
    }
}

fn fact(channel: &str, key: SendKey, receipt: Option<&str>, source: Evidence) -> Fact {
    let channel = Some(channel.to_owned());
    Fact { key, channel, receipt: receipt.map(str::to_owned), witness: Witness::Evidence(source) }
}

fn consent(org: &str, recipient: &str, channel: &str, given: bool, evidence: &str) -> Consent {
    Consent {
        org: org.to_owned(),
        recipient: recipient.to_owned(),
        channel: channel.to_owned(),
        given,
        evidence: evidence.to_owned(),
    }
}

fn change(
    org: &str,
    channel: &str,
    state: ChannelState,
    reason: Option<&str>,
    by: &str,
) -> ChannelChange {
    ChannelChange {
        org: org.to_owned(),
        channel: channel.to_owned(),
        state,
        reason: reason.map(str::to_owned),
        who: by.to_owned(),
    }
}
