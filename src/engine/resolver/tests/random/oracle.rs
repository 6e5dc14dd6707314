//! What must be true after each step, and once everything has settled.

use std::collections::HashMap;

use super::fleet::{Fleet, SendOf};

impl Fleet {
    /// What must be true now.
    pub(super) fn check(&self, when: &str) {
        let findings = self.w.findings();
        assert!(findings.is_empty(), "{when}: {findings:#?}");
        let mut out: HashMap<&SendOf, usize> = HashMap::new();
        for message in self.outside.messages() {
            *out.entry(&self.sends[&message.key]).or_default() += 1;
            let state = self.w.state_of(message.key);
            let denied = state == "rejected" || state == "abandoned(not_found)";
            assert!(!denied, "{when}: {message:?} went out, but its try is {state}");
        }
        for (send, times) in out {
            let allowed = 1 + self.orders.get(send).copied().unwrap_or(0);
            assert!(times <= allowed, "{when}: {send:?} went out {times} times, {allowed} allowed");
        }
    }

    /// Faults are over: everything settles in a bounded number of steps.
    pub(super) fn settle(&mut self, when: &str) {
        self.open_all_gates();
        for _ in 0..400 {
            self.statuses(true);
            self.resolve();
            self.reap();
            self.claim();
            for _ in 0..6 {
                self.step_a_run();
            }
            self.a_person_settles_what_was_told();
            self.w.advance(30_000);
            self.outside.time_passed();
            self.check(when);
            if self.runs.is_empty() && self.all_ended() {
                self.every_message_is_known(when);
                if self.outside.repeats() > 0 {
                    self.see("repeat recognised");
                }
                return;
            }
        }
        let places: Vec<_> = self.jobs.iter().map(|job| self.w.place_of(*job)).collect();
        panic!("{when}: not settled: {places:?}, {:?}", self.runs);
    }

    fn all_ended(&self) -> bool {
        let live = ["running", "waiting", "unknown", "parked", "ready"];
        self.jobs.iter().all(|job| !live.contains(&self.w.place_of(*job).as_str()))
    }

    // Recorded, or a person was told and decided otherwise.
    fn every_message_is_known(&self, when: &str) {
        for message in self.outside.messages() {
            let state = self.w.state_of(message.key);
            let open = "SELECT count(*) FROM lanebox_send_try t JOIN lanebox_notice n ON n.id = t.notice WHERE n.state <> 'resolved' AND t.state = 'unknown'";
            let known = match state.as_str() {
                "accepted" | "duplicate" | "abandoned(send_again)" | "abandoned(given_up)" => true,
                "unknown" => self.w.ask::<i64>(open) > 0,
                _ => false,
            };
            assert!(known, "{when}: {message:?} is {state}");
        }
    }
}
