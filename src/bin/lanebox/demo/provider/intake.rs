//! Takes messages: on disk first, then known by key, then told by a status.

use std::collections::HashMap;
use std::sync::mpsc::Sender;

use fastrand::Rng;

use super::super::clock;
use super::super::log::{self, Log, ProviderRecord, Taken};
use super::graph::{GraphError, Message};
use super::{Mode, ProviderArgs};

/// Chance for lost statuses is a stream of its own, so that one knob does not move the other.
const LOSS: u64 = 0x10_55;

pub struct Intake {
    mode: Mode,
    seed: u64,
    log: Log,
    /// The first accept of each key, those of an earlier run on the same log included.
    by_key: HashMap<String, ProviderRecord>,
    accepted: usize,
    turn_away: Chance,
    lose: Chance,
    statuses: Option<Sender<ProviderRecord>>,
}

impl Intake {
    pub fn open(
        args: &ProviderArgs,
        statuses: Option<Sender<ProviderRecord>>,
    ) -> anyhow::Result<Self> {
        let log = Log::open(&args.log)?;
        let mut intake = Self {
            mode: args.mode,
            seed: args.seed,
            log,
            by_key: HashMap::new(),
            accepted: 0,
            turn_away: Chance::new(args.seed, args.turn_away_in),
            lose: Chance::new(args.seed ^ LOSS, args.lose_in),
            statuses,
        };
        for record in log::read::<ProviderRecord>(&args.log)? {
            intake.remember(&record);
        }
        Ok(intake)
    }

    /// Takes one message, or turns it away before anything is accepted.
    pub fn take(
        &mut self,
        message: Message,
        client: Option<String>,
    ) -> Result<ProviderRecord, GraphError> {
        if self.turn_away.strikes() {
            return Err(GraphError::unavailable());
        }
        let known = message.key.as_ref().and_then(|key| self.by_key.get(key));
        let (what, wamid) = match known {
            Some(first) if self.mode == Mode::Dedupe => (Taken::Repeat, first.wamid.clone()),
            _ => (Taken::Accepted, self.next_wamid()),
        };
        let record = ProviderRecord {
            at_ms: clock::now_ms(),
            what,
            mode: self.mode,
            key: message.key,
            to: message.to,
            text: message.text,
            wamid,
            client,
        };
        self.log.append(&record).map_err(|error| GraphError::broken(format!("{error:#}")))?;
        if what == Taken::Accepted {
            self.remember(&record);
            self.tell(&record);
        }
        Ok(record)
    }

    /// The first accept with this key.
    pub fn find(&self, key: &str) -> Option<ProviderRecord> {
        self.by_key.get(key).cloned()
    }

    fn remember(&mut self, record: &ProviderRecord) {
        if record.what == Taken::Repeat {
            return;
        }
        self.accepted += 1;
        if let Some(key) = &record.key {
            self.by_key.entry(key.clone()).or_insert_with(|| record.clone());
        }
    }

    fn tell(&mut self, record: &ProviderRecord) {
        let lost = self.lose.strikes();
        if let Some(statuses) = &self.statuses
            && !lost
        {
            // The thread behind it lives as long as this process.
            let _ = statuses.send(record.clone());
        }
    }

    fn next_wamid(&self) -> String {
        let mode = match self.mode {
            Mode::Dedupe => 'D',
            Mode::Lookup => 'L',
            Mode::Neither => 'N',
        };
        format!("wamid.P{mode}{:016X}{:08}", self.seed, self.accepted + 1)
    }
}

/// One in `n`, by the seed; never for 0.
struct Chance {
    rng: Rng,
    n: u32,
}

impl Chance {
    fn new(seed: u64, n: u32) -> Self {
        Self { rng: Rng::with_seed(seed), n }
    }

    fn strikes(&mut self) -> bool {
        self.n > 0 && self.rng.u32(..self.n) == 0
    }
}
