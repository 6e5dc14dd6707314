//! The verbs of the send ledger, each handed to the writer.

use super::{
    SqliteStore, accept, audit_log, channel, consent, hold, intend, looked, no_code, once_more,
    reject, resolve, undecided,
};
use crate::error::Result;
use crate::model::id::{Held, SendKey};
use crate::model::text::check_name;
use crate::store::ledger::{
    Accepted, Begun, ChannelChange, Consent, Fact, HostRead, Intent, Ledger, LookPlace,
    LookedAnswer, LookedAt, Looks, Ordered, Rejected, Rejection, Resolved, UnderWay, Word,
};

impl Ledger for SqliteStore {
    fn begin(&self, intent: Intent) -> Result<Begun> {
        check_name("channel", &intent.channel, 128)?;
        // On the disk before the call, whatever the file's durability; so is what became of it.
        self.writer.write_full(move |tx| intend::begin(tx, &intent))
    }

    fn no_code(&self, held: Held, channel: &str) -> Result<()> {
        check_name("channel", channel, 128)?;
        let now = self.env.now_ms();
        if !self.read(|conn| no_code::waits_long(conn, held, channel, now))? {
            return Ok(());
        }
        let channel = channel.to_owned();
        self.writer.write(move |tx| no_code::tell(tx, held, &channel))
    }

    fn offers(&self, channels: Vec<String>) -> Result<()> {
        if channels.is_empty() {
            return Ok(());
        }
        self.writer.write(move |tx| no_code::offers(tx, &channels))
    }

    fn accept(&self, fact: Fact) -> Result<Accepted> {
        self.writer.write_full(move |tx| accept::accept(tx, &fact))
    }

    fn reject(&self, rejection: Rejection) -> Result<Rejected> {
        self.writer.write(move |tx| reject::reject(tx, &rejection))
    }

    fn under_way(&self, call: UnderWay) -> Result<()> {
        self.writer.write(move |tx| undecided::under_way(tx, &call))
    }

    fn due_looks(&self, after: Option<LookPlace>, most: usize) -> Result<Looks> {
        let asked = (self.env.now_ms(), self.env.mono_ms());
        self.read(|conn| looked::due(conn, asked, after, most))
    }

    fn looked(&self, at: LookedAt) -> Result<LookedAnswer> {
        self.writer.write(move |tx| looked::looked(tx, &at))
    }

    fn host_read(&self, read: HostRead<'_>) -> Result<()> {
        let HostRead::Sqlite(read) = read;
        self.read(|conn| {
            read(conn);
            Ok(())
        })
    }

    fn resolve(&self, key: SendKey, word: Word, who: &str) -> Result<Resolved> {
        let who = audit_log::who(who)?;
        self.writer.write_full(move |tx| resolve::resolve(tx, key, word, &who))
    }

    fn order(&self, key: SendKey, who: &str) -> Result<Ordered> {
        let who = audit_log::who(who)?;
        self.writer.write(move |tx| once_more::order(tx, key, &who))
    }

    fn set_channel(&self, change: ChannelChange) -> Result<()> {
        self.writer.write(move |tx| channel::set_state(tx, &change))
    }

    fn set_consent(&self, consent: Consent) -> Result<()> {
        self.writer.write(move |tx| consent::set_consent(tx, &consent))
    }

    fn set_hold(&self, reason: Option<String>, who: &str) -> Result<()> {
        let who = audit_log::who(who)?;
        self.writer.write(move |tx| hold::set_hold(tx, reason.as_deref(), &who))
    }
}

#[cfg(test)]
mod tests;
