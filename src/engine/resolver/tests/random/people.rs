//! People between the machines: words, orders, cancels, requeues, and gates opened and closed.

use super::fleet::Fleet;
use crate::model::id::SendKey;
use crate::model::send::ChannelState;
use crate::store::jobs::{Jobs, Requeued};
use crate::store::ledger::{ChannelChange, Ledger, Ordered, Resolved, Word};

impl Fleet {
    pub(super) fn somebody_acts(&mut self) -> &'static str {
        match self.chance.u32(0..14) {
            0..4 => self.a_word(),
            4..6 => self.an_order(),
            6 => self.a_cancel(),
            7..9 => self.a_requeue(),
            9 => self.a_gate(),
            10 => {
                self.open_all_gates();
                "gates opened"
            }
            _ => {
                let contact = format!("contact {}", self.chance.u32(0..6));
                let job = self.w.job(&contact);
                self.jobs.push(job);
                "a new job"
            }
        }
    }

    fn any_key(&mut self) -> Option<SendKey> {
        let n = self.keys.len();
        (n > 0).then(|| self.keys[n - 1 - self.chance.usize(0..n.min(5))])
    }

    fn a_word(&mut self) -> &'static str {
        let Some(key) = self.any_key() else { return "no key" };
        let word = [Word::Sent, Word::SendAgain, Word::GiveUp][self.chance.usize(0..3)];
        self.says(key, word);
        "a word"
    }

    fn says(&mut self, key: SendKey, word: Word) {
        if self.w.store.resolve(key, word, "ann").expect("an answer") != Resolved::Now {
            return;
        }
        self.see(match word {
            Word::Sent => "marked as sent",
            Word::SendAgain => "sent again",
            Word::GiveUp => "given up",
        });
        if word == Word::SendAgain {
            self.one_more_is_allowed(key);
        }
    }

    fn one_more_is_allowed(&mut self, key: SendKey) {
        let send = self.sends[&key].clone();
        *self.orders.entry(send).or_default() += 1;
    }

    // Twice, as people click.
    fn an_order(&mut self) -> &'static str {
        let Some(key) = self.any_key() else { return "no key" };
        for click in 0..2 {
            if self.w.store.order(key, "ann").expect("an answer") == Ordered::Now {
                assert_eq!(click, 0, "the second click of a double click orders nothing");
                self.one_more_is_allowed(key);
                self.see("ordered");
            }
        }
        "an order"
    }

    fn a_cancel(&mut self) -> &'static str {
        let job = self.jobs[self.chance.usize(0..self.jobs.len())];
        let _answer = self.w.store.cancel(job, "ann").expect("an answer");
        "a cancel"
    }

    fn a_requeue(&mut self) -> &'static str {
        for job in self.jobs.clone() {
            if let Requeued::Again { .. } = self.w.store.requeue(job, "ann").expect("an answer") {
                self.see("requeued");
                return "a requeue";
            }
        }
        "nothing is dead"
    }

    fn a_gate(&mut self) -> &'static str {
        match self.chance.u32(0..3) {
            0 => self.channel(ChannelState::Down),
            1 => self.w.store.set_hold(Some("stop".to_owned()), "ann").expect("held"),
            _ => self.w.consent(false),
        }
        "a gate closed"
    }

    pub(super) fn open_all_gates(&mut self) {
        self.channel(ChannelState::Open);
        self.w.store.set_hold(None, "ann").expect("lifted");
        self.w.consent(true);
    }

    fn channel(&self, state: ChannelState) {
        let (org, channel) = ("acme".to_owned(), "whatsapp".to_owned());
        let change = ChannelChange { org, channel, state, reason: None, who: "ann".to_owned() };
        self.w.store.set_channel(change).expect("changed");
    }

    /// Who was told looks at the provider, and says what is true.
    pub(super) fn a_person_settles_what_was_told(&mut self) {
        let told = "SELECT t.key FROM lanebox_send_try t JOIN lanebox_notice n ON n.id = t.notice WHERE t.state = 'unknown'";
        let keys: Vec<SendKey> = {
            let mut statement = self.w.raw.prepare(told).expect("a statement");
            let keys = statement.query_map([], |row| row.get(0)).expect("rows");
            keys.collect::<Result<_, _>>().expect("keys of tries")
        };
        let out: Vec<SendKey> = self.outside.messages().iter().map(|m| m.key).collect();
        for key in keys {
            self.says(key, if out.contains(&key) { Word::Sent } else { Word::GiveUp });
        }
    }
}
