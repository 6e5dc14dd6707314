//! Workers that are stepped by hand: each call is an intent, a call and an answer, with anything
//! between them.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::outside::{Heard, Outside};
use crate::engine::channel::Channels;
use crate::engine::resolver::tick;
use crate::model::id::{Held, JobId, ProcessNo, SendKey};
use crate::model::send::Slot;
use crate::model::send::ability::Abilities;
use crate::model::send::class::Refusal;
use crate::model::verdict::End;
use crate::store::jobs::{Jobs, Reap, Round};
use crate::store::ledger::tests::world::{LEASE, SETTLE, TIMEOUT, World};
use crate::store::ledger::{
    Begun, Intent, Ledger, LookedAnswer, LookedAt, NotSent, Rejected, UnderWay,
};
use crate::store::processes::Processes;

/// One send of one job, whatever its tries.
pub(super) type SendOf = (i64, String);

/// A run under way.
#[derive(Debug)]
pub(super) struct Run {
    held: Held,
    process: ProcessNo,
    /// Its next send.
    next: usize,
    stage: Stage,
}

#[derive(Debug)]
enum Stage {
    Ready,
    Intended { key: SendKey, call_by: i64 },
    Called { key: SendKey, heard: Heard, not_before: i64, until: (i64, i64) },
    Over(End),
}

/// The file, its workers, and the outside.
pub(super) struct Fleet {
    pub(super) w: World,
    pub(super) chance: fastrand::Rng,
    pub(super) outside: Arc<Outside>,
    channels: Channels,
    abilities: Abilities,
    processes: Vec<ProcessNo>,
    pub(super) runs: Vec<Run>,
    pub(super) jobs: Vec<JobId>,
    pub(super) keys: Vec<SendKey>,
    pub(super) sends: HashMap<SendKey, SendOf>,
    pub(super) orders: HashMap<SendOf, usize>,
    old_looks: Vec<LookedAt>,
    pub(super) seen: BTreeMap<&'static str, usize>,
}

impl Fleet {
    pub(super) fn new(abilities: Abilities, seed: u64) -> Fleet {
        let w = World::seeded(seed);
        let outside = Outside::new(abilities, w.env.clone(), seed);
        let mut channels = Channels::default();
        channels.add("whatsapp", outside.clone()).expect("the only one");
        let processes = vec![w.process, w.store.register().expect("a second process")];
        let chance = fastrand::Rng::with_seed(seed);
        let jobs = (0..8).map(|i| w.job(&format!("contact {}", i % 6))).collect();
        Fleet {
            w,
            chance,
            outside,
            channels,
            abilities,
            processes,
            runs: Vec::new(),
            jobs,
            keys: Vec::new(),
            sends: HashMap::new(),
            orders: HashMap::new(),
            old_looks: Vec::new(),
            seen: BTreeMap::new(),
        }
    }

    pub(super) fn see(&mut self, what: &'static str) {
        *self.seen.entry(what).or_default() += 1;
    }

    /// Something happens; what.
    pub(super) fn anything(&mut self) -> &'static str {
        match self.chance.u32(0..100) {
            0..44 => self.step_a_run(),
            44..56 => self.claim(),
            56..66 => self.time_passes(),
            66..69 => self.crash(),
            69..72 => self.all_stand_still(),
            72..76 => self.reap(),
            76..84 => self.resolve(),
            84..87 => self.look_slowly(),
            87..92 => self.statuses(false),
            _ => self.somebody_acts(),
        }
    }

    pub(super) fn claim(&mut self) -> &'static str {
        let process = self.processes[self.chance.usize(0..self.processes.len())];
        for claimed in self.w.claim_many(process, self.chance.usize(1..5)) {
            let run = Run { held: claimed.held, process, next: 0, stage: Stage::Ready };
            self.runs.push(run);
        }
        "claim"
    }

    // Who lives renews; who stands still does not.
    fn time_passes(&mut self) -> &'static str {
        let ms = match self.chance.u32(0..10) {
            0..6 => self.chance.i64(1..3_000),
            6..9 => self.chance.i64(3_000..40_000),
            _ => self.chance.i64(40_000..1_000_000),
        };
        let renew = self.runs.iter().filter(|_| self.chance.u32(0..4) > 0);
        let renew = renew.map(|run| run.held).collect();
        let round = Round { renew, lease_ms: LEASE.max(ms + 1_000), ..Round::default() };
        self.w.store.round(round).map(drop).expect("renewed");
        self.w.advance(ms);
        self.outside.time_passed();
        "time passes"
    }

    // Past every lease, and somebody else notices.
    fn all_stand_still(&mut self) -> &'static str {
        self.w.advance(LEASE + 1);
        self.outside.time_passed();
        self.reap()
    }

    // Now and then rather one whose request is under way, and who takes over asks for it as soon as
    // it can.
    fn crash(&mut self) -> &'static str {
        let hurry = self.abilities.lookup_settle_ms.is_some() && self.chance.bool();
        let calls = self.runs.iter().find(|run| matches!(run.stage, Stage::Called { .. }));
        let calls = calls.filter(|_| hurry).map(|run| run.process);
        let caller = self.processes.iter().position(|&process| Some(process) == calls);
        let i = caller.unwrap_or_else(|| self.chance.usize(0..self.processes.len()));
        let gone = self.processes[i];
        self.w.store.leave(gone).expect("it is gone");
        self.processes[i] = self.w.store.register().expect("its successor");
        self.runs.retain(|run| run.process != gone);
        self.see("crash");
        if hurry {
            self.reap();
            self.w.advance(SETTLE + 1);
            self.outside.time_passed();
            self.resolve();
        }
        "crash"
    }

    pub(super) fn reap(&mut self) -> &'static str {
        let which = if self.chance.bool() { Reap::Gone } else { Reap::Expired };
        let round = Round { reap: Some(which), ..Round::default() };
        self.w.store.round(round).map(drop).expect("a reaper's pass");
        "reap"
    }

    pub(super) fn resolve(&mut self) -> &'static str {
        let before = self.settled();
        let _again = tick(&*self.w.store, &self.channels).expect("a pass");
        let after = self.settled();
        for (what, (before, after)) in
            ["not found", "settled by the lookup", "told"].into_iter().zip(before.zip(after))
        {
            if after > before {
                self.see(what);
            }
        }
        "resolve"
    }

    fn settled(&self) -> impl Iterator<Item = i64> + use<> {
        let count = |condition: &str| {
            let sql = format!("SELECT count(*) FROM lanebox_send_try WHERE {condition}");
            self.w.ask::<i64>(&sql)
        };
        let counts = [
            count("how = 'not_found'"),
            count("state = 'accepted' AND settled_by = 'lookup'"),
            count("notice IS NOT NULL"),
        ];
        counts.into_iter()
    }

    // An answer that was asked for now, and is heard much later.
    fn look_slowly(&mut self) -> &'static str {
        if let Some(old) = self.old_looks.pop() {
            let answer = self.w.store.looked(old).expect("an answer");
            if answer == LookedAnswer::Stale {
                self.see("stale look");
            }
            return "an old look is answered";
        }
        use crate::engine::channel::{Channel, Lookup};
        let looks = self.w.store.due_looks(None, 10).expect("a page");
        for look in looks.due {
            let not_found = self.outside.lookup(look.key) == Lookup::NotFound;
            let (place, calls, unknown_at) = (look.place, look.calls, look.unknown_at);
            let (asked_at, asked_mono) = (looks.asked_at, looks.asked_mono);
            let at = LookedAt { place, calls, unknown_at, asked_at, asked_mono, not_found };
            self.old_looks.push(at);
        }
        "looks are asked for"
    }

    pub(super) fn statuses(&mut self, all: bool) -> &'static str {
        for (key, id) in self.outside.statuses(all) {
            if self.w.state_of(key) == "unknown" {
                self.see("settled by a status");
            }
            let _answer = self.w.echo(key, &id);
        }
        "statuses"
    }

    pub(super) fn step_a_run(&mut self) -> &'static str {
        if self.runs.is_empty() {
            return "no run";
        }
        let i = self.chance.usize(0..self.runs.len());
        let mut run = self.runs.swap_remove(i);
        if self.step(&mut run) {
            self.runs.push(run);
        }
        "a run"
    }

    // Whether it goes on.
    fn step(&mut self, run: &mut Run) -> bool {
        match std::mem::replace(&mut run.stage, Stage::Ready) {
            Stage::Ready => return self.next_send(run),
            Stage::Intended { key, call_by } => run.stage = self.call(run.held, key, call_by),
            Stage::Called { key, heard, not_before, until }
                if self.w.env.mono_ms() < not_before =>
            {
                run.stage = Stage::Called { key, heard, not_before, until };
            }
            Stage::Called { key, heard, until, .. } => self.hears(run, key, &heard, until),
            Stage::Over(end) => {
                let _ended = self.w.end(run.held, end);
                return false;
            }
        }
        true
    }

    // A job has one to three sends, the last of three by name.
    fn next_send(&mut self, run: &mut Run) -> bool {
        let sends = 1 + usize::try_from(run.held.job.0 % 3).expect("0 to 2");
        let slot = match run.next {
            2 => Slot::Name("note".to_owned()),
            n => Slot::Seq(u32::try_from(n + 1).expect("few")),
        };
        if run.next == sends {
            run.stage = Stage::Over(match self.chance.u32(0..10) {
                0 => End::Retry { error: "it failed".to_owned(), wait_ms: 1_000 },
                1 => End::Dead("it failed for good".to_owned()),
                _ => End::Done { result: None },
            });
            return true;
        }
        let body = if self.chance.u32(0..20) == 0 { "another" } else { "hello" }.to_owned();
        let send = (run.held.job.0, format!("{slot:?}"));
        let intent = Intent { slot, body, ..self.w.intent(run.held, 1, self.abilities) };
        let wall = self.w.now();
        run.stage = match self.w.store.begin(intent).expect("an answer") {
            Begun::Go { key, call_by } => {
                if self.sends.insert(key, send).is_some() {
                    self.see("called again");
                } else {
                    self.keys.push(key);
                }
                Stage::Intended { key, call_by }
            }
            Begun::Accepted { .. } => {
                run.next += 1;
                Stage::Ready
            }
            Begun::Unknown => Stage::Over(self.swallowed(End::Unknown)),
            Begun::GivenUp => Stage::Over(End::GivenUp("given up".to_owned())),
            Begun::Wait { until, why } => {
                self.see("gate closed");
                let keep_lane = Some(true);
                Stage::Over(End::Postpone { until, why, keep_lane, counted: false })
            }
            Begun::Veto(why) => Stage::Over(End::Veto(why)),
            Begun::Refused(why) => Stage::Over(End::Dead(why)),
            Begun::Cancelled => {
                Stage::Over(End::Retry { error: "cancelled".to_owned(), wait_ms: 0 })
            }
            Begun::Short => {
                let (until, why) = (wall, "short".to_owned());
                Stage::Over(End::Postpone { until, why, keep_lane: None, counted: true })
            }
            Begun::LeaseLost => {
                self.see("lease lost");
                return false;
            }
        };
        true
    }

    // A handler may swallow what it hears: the end of its run knows anyway.
    fn swallowed(&self, end: End) -> End {
        match self.chance.clone().u32(0..5) {
            0 => End::Done { result: None },
            1 => End::Retry { error: "unknown".to_owned(), wait_ms: 0 },
            _ => end,
        }
    }

    fn call(&mut self, held: Held, key: SendKey, call_by: i64) -> Stage {
        if self.w.env.mono_ms() > call_by {
            self.see("too late to call");
            return match self.w.reject(held, key, NotSent::NotCalled) {
                Rejected::Now => Stage::Over(End::Retry { error: "late".to_owned(), wait_ms: 0 }),
                Rejected::NothingLearned => Stage::Over(End::Unknown),
            };
        }
        let heard = self.outside.call(key);
        let wait = match heard {
            // The connection breaks, and the request is under way all the same.
            Heard::Nothing if self.chance.u32(0..3) == 0 => self.chance.i64(0..TIMEOUT),
            Heard::Nothing => TIMEOUT,
            _ => 0,
        };
        let mono = self.w.env.mono_ms();
        let (not_before, until) = (mono + wait, (self.w.now() + TIMEOUT, mono + TIMEOUT));
        Stage::Called { key, heard, not_before, until }
    }

    fn hears(&mut self, run: &mut Run, key: SendKey, heard: &Heard, until: (i64, i64)) {
        let late = self.w.state_of(key) == "unknown";
        let not_sent = match heard {
            Heard::Accepted(id) => {
                let _answer = self.w.answered(key, id);
                if late {
                    self.see("accepted late");
                }
                run.next += 1;
                return;
            }
            Heard::Nothing => {
                let (held, reason) = (run.held, "timeout".to_owned());
                let (until, until_mono) = until;
                let call = UnderWay { key, held, until, until_mono, reason };
                self.w.store.under_way(call).expect("an answer");
                run.stage = Stage::Over(self.swallowed(End::Unknown));
                return;
            }
            Heard::Refused => NotSent::Refused(Refusal::Transient),
            Heard::NotCalled => NotSent::NotCalled,
        };
        run.stage = match self.w.reject(run.held, key, not_sent) {
            Rejected::Now if late => {
                self.see("rejected late");
                Stage::Over(End::Retry { error: "refused".to_owned(), wait_ms: 1_000 })
            }
            // Swallowed: its number is used.
            Rejected::Now if self.chance.bool() => {
                run.next += 1;
                Stage::Ready
            }
            Rejected::Now => {
                Stage::Over(End::Retry { error: "refused".to_owned(), wait_ms: 1_000 })
            }
            Rejected::NothingLearned => Stage::Over(End::Unknown),
        };
    }
}
