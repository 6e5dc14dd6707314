//! A file in numbers, and its health.

use serde::Serialize;

use super::view::ConsumerView;

/// How many, up to a bound: counting never walks more than 100,000 rows of one table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Count {
    /// How many were counted.
    pub n: u64,
    /// There are more.
    pub more: bool,
}

/// What waits and runs of one kind or org.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Census {
    /// The kind or org.
    pub name: String,
    /// Jobs that can be claimed now.
    pub ready: Count,
    /// Jobs that run now.
    pub running: u64,
    /// Dead jobs that are still remembered.
    pub dead: Count,
    /// No new claims.
    pub paused: bool,
}

/// A file in numbers.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Stats {
    /// Events ever recorded (the last sequence number).
    pub events: i64,
    /// Events that no dispatcher has come to yet.
    pub events_ahead: i64,
    /// Jobs ever accepted (the last row number). Those that are remembered stand in exactly one of
    /// the states and places that follow, by the words that a list of jobs is narrowed with.
    pub jobs: i64,
    /// Jobs that are not due yet.
    pub scheduled: Count,
    /// Jobs that are due and stand behind another in their lane, or in a lane that stands still.
    pub queued: Count,
    /// Jobs that can be claimed now.
    pub ready: Count,
    /// Jobs that failed and are not due again yet.
    pub backing_off: Count,
    /// Jobs that wait in their lane for the fate of a send.
    pub waiting_for_send: Count,
    /// Jobs that wait for the fate of a send and have given their lane back.
    pub parked: Count,
    /// Jobs that run now.
    pub running: u64,
    /// Done jobs, among the newest 100,000 that have ended.
    pub done: Count,
    /// Dead jobs that are still remembered.
    pub dead: Count,
    /// Cancelled jobs, among the newest 100,000 that have ended.
    pub cancelled: Count,
    /// When the job that can be claimed and waits longest was due.
    pub oldest_ready_at: Option<i64>,
    /// Sends whose fate is unknown.
    pub unknown_sends: Count,
    /// Notices that nobody has resolved.
    pub open_notices: Count,
    /// No new claims at all.
    pub paused: bool,
    /// Sends are held, and why.
    pub hold: Option<String>,
    /// By kind.
    pub kinds: Vec<Census>,
    /// By org, the first 50.
    pub orgs: Vec<Census>,
    /// Every consumer.
    pub consumers: Vec<ConsumerView>,
    /// Bytes of the database file.
    pub database_bytes: i64,
    /// Bytes of the write-ahead log beside it.
    pub wal_bytes: u64,
}

/// The health of a file.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Diagnosis {
    /// Whether nothing is wrong: every fact is as it should be and no audit found a row.
    pub sound: bool,
    /// Versions, settings and sizes.
    pub facts: Vec<Fact>,
    /// Every audit with what it found.
    pub audits: Vec<Finding>,
}

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Fact {
    /// Its name.
    pub name: String,
    /// What it is.
    pub value: String,
    /// What is wrong with it, and what to do.
    pub wrong: Option<String>,
}

/// What one audit found: nothing, on a sound file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Finding {
    /// Short name of the audit.
    pub name: &'static str,
    /// The rule that it looks after.
    pub sentence: &'static str,
    /// How many rows break it; 1000 means at least.
    pub count: u64,
    /// The first few of them, by their key.
    pub first: Vec<String>,
}
