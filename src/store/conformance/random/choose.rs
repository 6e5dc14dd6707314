//! Chooses operations by chance, with a preference for those that find something to do, and lets
//! the model go first.

use super::rig::{KINDS, MORNING, ORGS, Rig};
use crate::model::id::{Held, KindNo, Token};
use crate::model::job::{NewJob, UniqueBy};
use crate::model::lane::Lane;
use crate::model::verdict::End;
use crate::store::conformance::reference::accept::Accepted;
use crate::store::conformance::tables::Tables;
use crate::store::jobs::{
    Ask, Cancelled, Ended, Finish, Handled, Lost, Reap, Renewed, Requeued, Round,
};
use crate::store::sqlite::door::Step;

pub(super) const LEASE_MS: i64 = 10_000;

/// What happens often in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mood {
    Calm,
    /// Leases run out before their holders speak.
    Losses,
    /// The same, and most runs begin sends.
    Sends,
}

/// An operation, what the model answers to it, and the state after it.
pub(super) struct Choice {
    pub(super) step: Step,
    pub(super) said: Said,
    pub(super) tables: Tables,
}

/// The model's answer.
#[derive(Debug)]
pub(super) enum Said {
    Accepted(Accepted),
    Round(Pass),
    Cancelled(Cancelled),
    /// Or the job that has its unique key.
    Requeued(Result<Requeued, i64>),
    Nothing,
}

/// What the model did in one engine pass.
#[derive(Debug, Default)]
pub(super) struct Pass {
    pub(super) finished: Vec<Ended>,
    pub(super) renewed: Vec<Renewed>,
    pub(super) reaped: Vec<Lost>,
    pub(super) claimed: Vec<Took>,
    pub(super) next_due: Option<i64>,
}

#[derive(Debug)]
pub(super) struct Took {
    pub(super) held: Held,
    pub(super) kind: KindNo,
    pub(super) max_attempts: i64,
    pub(super) lease_until: i64,
}

impl Rig {
    /// What happens outside commits: time, reboots, new processes.
    pub(super) fn between(&mut self) {
        while self.processes.len() < 3 {
            let handle = self.random.usize(0..2);
            self.register(handle);
        }
        if self.mood != Mood::Calm && self.random.u32(0..3) == 0 {
            return self.pass(LEASE_MS + 1, false);
        }
        match self.random.u32(0..200) {
            0 => self.reboot(),
            1 => self.pass(91 * 86_400_000, false),
            2..=5 => self.pass(3_600_000, false),
            6..=14 => self.pass(PATIENCE_STEP_MS, false),
            15..=40 => self.pass(LEASE_MS + 1, false),
            41..=80 => self.pass(700, false),
            81..=100 => self.pass(1, false),
            101..=105 => self.step_back(1),
            106..=108 => self.step_back(5_000),
            109..=110 => self.step_back(3_600_000),
            111..=112 => self.pass(60_000, true),
            _ => {}
        }
    }

    fn step_back(&mut self, ms: i64) {
        if self.model.now - ms > MORNING - 86_400_000 {
            self.pass(-ms, true);
        }
    }

    /// One operation, or two that belong together.
    pub(super) fn choose(&mut self) -> Vec<Choice> {
        // Enqueue, cancel, requeue, pause, setting, gone, intend, settle; the rest are rounds.
        let weights: [u32; 8] = match self.mood {
            Mood::Calm => [26, 4, 5, 4, 2, 1, 2, 6],
            Mood::Losses => [18, 2, 6, 3, 2, 2, 1, 4],
            Mood::Sends => [8, 2, 6, 2, 1, 1, 15, 15],
        };
        let mut at = self.random.u32(0..100);
        let chosen = weights.iter().position(|&weight| {
            let here = at < weight;
            at = at.saturating_sub(weight);
            here
        });
        match chosen {
            Some(0) => vec![self.enqueue()],
            Some(1) => vec![self.cancel()],
            Some(2) => vec![self.requeue()],
            Some(3) => vec![self.lane_pause()],
            Some(4) => vec![self.setting()],
            Some(5) => vec![self.gone()],
            Some(6) => self.intend().into_iter().collect(),
            Some(_) => self.settle(),
            None => vec![self.round()],
        }
    }

    pub(super) fn said(&self, step: Step, said: Said) -> Choice {
        Choice { step, said, tables: self.model.tables() }
    }

    pub(super) fn enqueue(&mut self) -> Choice {
        let random = &mut self.random;
        let lane = match random.u32(0..10) {
            0..=2 => Lane::NONE,
            n => Lane::of(format!("contact {}", n % 3)),
        };
        let kind = KINDS[random.usize(0..KINDS.len())];
        let payload = format!("{{\"n\":{}}}", random.u32(0..2));
        let mut job = NewJob::raw(kind, payload, lane).org(ORGS[random.usize(0..ORGS.len())]);
        job.priority = [500, 500, 500, 10, 900][random.usize(0..5)];
        job.max_attempts = [1, 2, 3, 10][random.usize(0..4)];
        let wait = [1, 300, 700, 5_000, 60_000, 3_600_000][random.usize(0..6)];
        let now = self.model.now;
        match random.u32(0..10) {
            0..=2 => job.run_at = Some(now + wait),
            3 => job.run_at = Some(now - wait),
            _ => {}
        }
        if random.u32(0..6) == 0 {
            job.expires_at = Some(now + [0, 500, 5_000, 60_000][random.usize(0..4)]);
        }
        job.unique_by = match random.u32(0..8) {
            0 => UniqueBy::Dedupe(format!("key {}", random.u32(0..6))),
            1 | 3 => UniqueBy::Unfinished("key".to_owned()),
            2 => UniqueBy::Once {
                event: self.model.events[random.usize(0..3)],
                name: format!("name {}", random.u32(0..4)),
            },
            _ => UniqueBy::Nothing,
        };
        let said = Said::Accepted(self.model.enqueue(&job));
        self.said(Step::Enqueue(job), said)
    }

    fn round(&mut self) -> Choice {
        let mut round = Round { lease_ms: LEASE_MS, ..Round::default() };
        let idle = self.model.running().next().is_none();
        let part = if idle { 5 } else { self.random.u32(0..10) };
        let silent = self.mood != Mood::Calm && self.random.u32(0..3) > 0;
        if !silent && (part <= 3 || part >= 7) {
            for _ in 0..self.random.usize(1..=3) {
                if let Some(held) = self.some_claim() {
                    let end = self.some_end(held);
                    round.finish.push(Finish { held, end, outbox: Vec::new() });
                }
            }
        }
        if part == 4 || part == 9 {
            round.renew.extend(self.some_claim());
        }
        let reaps = self.random.u32(0..if self.mood == Mood::Calm { 8 } else { 2 }) == 0;
        let whose = if self.random.u32(0..4) == 0 { Reap::Gone } else { Reap::Expired };
        round.reap = reaps.then_some(whose);
        if part >= 5 {
            round.claim = Some(self.some_ask());
        }
        self.pass_of(round)
    }

    /// Lets the model do the pass first.
    pub(super) fn pass_of(&mut self, round: Round) -> Choice {
        let mut pass = Pass::default();
        for report in &round.finish {
            pass.finished.push(self.model.end(&report.held, &report.end));
        }
        for held in &round.renew {
            pass.renewed.push(self.model.renew(held, round.lease_ms));
        }
        if let Some(whose) = round.reap {
            pass.reaped = self.model.reap(whose);
        }
        if let Some(ask) = &round.claim {
            for id in self.model.claim(ask) {
                let held = self.model.held(id).expect("it runs");
                self.claims.push(held);
                let job = self.model.job(id);
                let (kind, max_attempts) = (KindNo(job.kind), job.max_attempts);
                let lease_until = self.model.mono + ask.lease_ms;
                pass.claimed.push(Took { held, kind, max_attempts, lease_until });
            }
            if pass.claimed.len() < ask.idle + ask.ahead {
                pass.next_due = self.model.next_due();
            }
        }
        self.said(Step::Round(round), Said::Round(pass))
    }

    // Mostly one that is held; sometimes one whose lease was lost long ago, or a forged token.
    fn some_claim(&mut self) -> Option<Held> {
        let running: Vec<i64> = self.model.running().map(|(job, _)| job.id).collect();
        if running.is_empty() || self.random.u32(0..8) == 0 {
            let mut held = *self.random.choice(&self.claims)?;
            if self.random.u32(0..3) == 0 {
                held.token = Token(self.model.token + 1);
            }
            return Some(held);
        }
        self.model.held(*self.random.choice(&running)?)
    }

    fn some_end(&mut self, held: Held) -> End {
        let open = self.model.sends.iter().any(|send| send.job == held.job.0 && send.is_open());
        if open && self.random.bool() {
            return End::Unknown;
        }
        let random = &mut self.random;
        let why = format!("e:{}", random.u32(0..3));
        match random.u32(0..13) {
            12 => End::Skip(why),
            0 => End::Done { result: None },
            1 => End::Done { result: Some("{\"ok\":1}".to_owned()) },
            2 => End::Veto(why),
            3 => End::Dead(why),
            4..=6 => End::Retry { error: why, wait_ms: [0, 100, 700, 60_000][random.usize(0..4)] },
            7..=8 => End::Postpone {
                until: self.model.now
                    + [-5_000, 0, 700, 60_000, 60_001, 3_600_000][random.usize(0..6)],
                why,
                keep_lane: [None, Some(true), Some(false)][random.usize(0..3)],
                counted: random.bool(),
            },
            9 => End::Unknown,
            _ => End::HandBack { started: random.bool() },
        }
    }

    fn some_ask(&mut self) -> Ask {
        let random = &mut self.random;
        let no = random.i64(1..=6);
        let without = if random.u32(0..4) == 0 { no } else { 0 };
        let kinds = (1..=6).filter(|kind| *kind != without);
        Ask {
            process: self.processes[random.usize(0..self.processes.len())],
            kinds: kinds.map(|kind| Handled { kind: KindNo(kind), short: random.bool() }).collect(),
            idle: random.usize(0..=3),
            ahead: [0, 0, 1, 4][random.usize(0..4)],
            lease_ms: LEASE_MS,
            suspect_wait_ms: 30_000,
        }
    }

    pub(super) fn some_job(&mut self) -> Option<i64> {
        let newest = i64::try_from(self.model.jobs.len()).expect("few");
        (newest > 0).then(|| self.random.i64((newest - 30).max(1)..=newest))
    }
}

/// Longer than a channel's patience.
const PATIENCE_STEP_MS: i64 = 901_000;
