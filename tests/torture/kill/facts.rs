//! What the producers say and the workers do: each fact, its payload and its letters follow from
//! the seed and its key, so that a repeat says the same.

use std::time::Duration;

use lanebox::{Error, Lane, Lanebox, NewEvent, NewJob};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::clock::rest;
use crate::dice::roll;
use crate::part::{Order, fail};

/// All rows of this rig: an old file has others.
pub const ORG: &str = "torture";

pub const LEASE: Duration = Duration::from_millis(1_500);
pub const BUSY: Duration = Duration::from_millis(150);

/// The host's own tables: a row per completion, a row per fact of a transaction, and rows that
/// only make the log grow.
const TABLES: &str = "
    CREATE TABLE IF NOT EXISTS torture_done (n INTEGER PRIMARY KEY, job BLOB, token INTEGER, at INTEGER);
    CREATE TABLE IF NOT EXISTS torture_host (key TEXT PRIMARY KEY);
    CREATE TABLE IF NOT EXISTS torture_bulk (n INTEGER PRIMARY KEY, body BLOB)";

/// What a fact is about; also the payload of every job that comes of it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Fact {
    pub key: String,
    pub contact: String,
    /// How many letters its job sends.
    pub letters: u64,
    pub text: String,
}

/// How a fact is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    Event,
    Job,
    /// An event with a row of the host's, in one transaction.
    Together,
}

impl Fact {
    pub fn new(seed: u64, key: &str) -> Fact {
        let dice = roll(seed, format_args!("fact {key}"));
        let length = usize::try_from(dice % 3_000).expect("small");
        Fact {
            key: key.to_owned(),
            contact: format!("contact {}", dice / 3_000 % 12),
            letters: 1 + dice / 50_000 % 2,
            text: "x".repeat(length),
        }
    }

    pub fn payload(&self) -> String {
        serde_json::to_string(self).expect("JSON")
    }

    pub fn way(&self, seed: u64) -> Way {
        match roll(seed, format_args!("way {}", self.key)) % 10 {
            0..6 => Way::Event,
            6..8 => Way::Job,
            _ => Way::Together,
        }
    }

    pub fn event(&self) -> NewEvent {
        let event = NewEvent::new(ORG, "order.placed").entity("order", &self.key);
        event.subject(&self.contact).payload_json(self.payload()).dedupe(&self.key)
    }

    pub fn job(&self) -> NewJob {
        let job = NewJob::raw("ship", self.payload(), Lane::of(&self.contact));
        job.org(ORG).subject(&self.contact)
    }

    /// What the provider knows its n-th letter by.
    pub fn letter(&self, n: u64) -> String {
        format!("{} {n}", self.key)
    }
}

pub fn hash(text: &str) -> String {
    Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Opens the file as every process of this rig does.
pub fn open(order: &Order) -> Lanebox {
    let lanebox = loop {
        let builder = Lanebox::builder(order.db()).workers(3).lease(LEASE).busy_deadline(BUSY);
        match builder.suspect_wait(Duration::from_millis(300)).open() {
            Ok(lanebox) => break lanebox,
            Err(Error::Busy { .. }) => rest(),
            Err(error) => fail(&format!("to open: {error}")),
        }
    };
    insist(|| lanebox.transaction(|tx| tx.execute_batch(TABLES)));
    lanebox
}

/// Does it until it is acknowledged: an error means unknown, and the same again does it once.
pub fn insist<T>(mut call: impl FnMut() -> lanebox::Result<T>) -> T {
    loop {
        match call() {
            Ok(answer) => return answer,
            Err(Error::Busy { .. } | Error::RolledBack) => rest(),
            Err(error) => fail(&error.to_string()),
        }
    }
}
