//! People between the machines: they cancel, start again, decide about sends, order, and close and
//! open a channel.

use std::sync::Arc;

use super::work::RECIPIENT;
use super::world::World;
use crate::model::id::{JobId, SendKey};
use crate::model::send::{ChannelState, Evidence, Witness};
use crate::store::ledger::{ChannelChange, Consent, Fact, Word};

impl World {
    pub(super) fn somebody_acts(self: &Arc<World>) {
        match self.below(10) {
            0 => {
                let waits = "SELECT uuid FROM lanebox_job_state WHERE state IN ('pending', 'running') ORDER BY id";
                if let Some(job) = self.any(waits) {
                    self.note("a cancel");
                    drop(self.host(|store| store.cancel(JobId(job), "ann")));
                }
            }
            1..3 => self.start_a_dead_one_again(),
            3..5 => self.a_word(),
            5 => {
                let newest = "SELECT key FROM lanebox_send_try t WHERE state = 'accepted' AND n = (SELECT max(n) FROM lanebox_send_try WHERE send = t.send) ORDER BY send";
                if let Some(key) = self.any(newest) {
                    self.note("an order");
                    drop(self.host(|store| store.order(SendKey(key), "ann")));
                }
            }
            6 => self.channel(ChannelState::Down),
            7 => self.consent(self.below(2) == 0),
            8 => self.hold(self.below(2) == 0),
            _ => self.channel(ChannelState::Open),
        }
    }

    /// The contact wants messages, or none.
    pub(super) fn consent(self: &Arc<World>, given: bool) {
        self.see(if given { "consent given" } else { "consent withdrawn" });
        self.note("a consent");
        let consent = Consent {
            org: "acme".to_owned(),
            recipient: RECIPIENT.to_owned(),
            channel: "chat".to_owned(),
            given,
            evidence: "said so".to_owned(),
        };
        drop(self.host(|store| store.set_consent(consent)));
    }

    /// Every send of the file waits, or goes on.
    pub(super) fn hold(self: &Arc<World>, held: bool) {
        self.see(if held { "sends held" } else { "sends go on" });
        self.note("a hold");
        drop(self.host(|store| store.set_hold(held.then(|| "stop".to_owned()), "ann")));
    }

    fn start_a_dead_one_again(self: &Arc<World>) {
        let dead = "SELECT uuid FROM lanebox_job_state WHERE state = 'dead' ORDER BY id";
        if let Some(job) = self.any(dead) {
            self.note("a requeue");
            drop(self.host(|store| store.requeue(JobId(job), "ann")));
        }
    }

    fn a_word(self: &Arc<World>) {
        let unknown = "SELECT key FROM lanebox_send_try WHERE state = 'unknown' ORDER BY send";
        let Some(key) = self.any(unknown) else { return };
        // Who looks first says what is true; who is in a hurry says anything but "sent".
        let out = self.outside.messages().iter().any(|message| message.key == SendKey(key));
        let words = [Word::SendAgain, Word::GiveUp, if out { Word::Sent } else { Word::GiveUp }];
        let word = words[self.below(3)];
        self.note(&format!("a word: {word:?}"));
        drop(self.host(|store| store.resolve(SendKey(key), word, "ann")));
    }

    pub(super) fn channel(self: &Arc<World>, state: ChannelState) {
        let (org, channel) = ("acme".to_owned(), "chat".to_owned());
        let change = ChannelChange { org, channel, state, reason: None, who: "ann".to_owned() };
        self.note("a gate");
        drop(self.host(|store| store.set_channel(change)));
    }

    /// A status of the provider reaches some process.
    pub(super) fn hear_a_status(self: &Arc<World>) -> bool {
        let Some((key, id)) = self.status() else { return false };
        let (channel, receipt) = (Some("chat".to_owned()), Some(id));
        let witness = Witness::Evidence(Evidence::Status);
        self.note("a status");
        drop(self.host(|store| store.accept(Fact { key, channel, receipt, witness })));
        true
    }

    /// Who was told looks at the provider, and says what is true.
    pub(super) fn settle_what_was_told(self: &Arc<World>) {
        let told = "SELECT t.key FROM lanebox_send_try t JOIN lanebox_notice n ON n.id = t.notice WHERE t.state = 'unknown' ORDER BY t.send";
        for key in self.all(told) {
            let out = self.outside.messages().iter().any(|message| message.key == SendKey(key));
            let word = if out { Word::Sent } else { Word::GiveUp };
            self.see("a person was told of a send");
            drop(self.host(|store| store.resolve(SendKey(key), word, "ann")));
        }
    }

    fn all(&self, sql: &str) -> Vec<uuid::Uuid> {
        let raw = self.raw.lock();
        let mut statement = raw.prepare(sql).expect("a good query");
        let rows = statement.query_map([], |row| row.get::<_, [u8; 16]>(0)).expect("it runs");
        rows.map(|id| uuid::Uuid::from_bytes(id.expect("an id"))).collect()
    }

    fn any(&self, sql: &str) -> Option<uuid::Uuid> {
        let mut all = self.all(sql);
        (!all.is_empty()).then(|| all.swap_remove(self.below(all.len())))
    }
}
