//! The files, read in the one order in which a running demo can be judged without a false alarm.

use super::super::log::{self, BlowRecord, FeederRecord, ProviderRecord, Taken};
use super::JudgeArgs;
use super::database::Database;
use super::fed::Fed;

/// All that is judged from.
pub struct Evidence {
    pub fed: Fed,
    /// The messages that went out; repeats that the provider caught are left out.
    pub accepts: Vec<ProviderRecord>,
    pub blows: Vec<BlowRecord>,
    pub database: Database,
}

impl Evidence {
    /// The logs first: what they hold had been committed before it was logged, so a database that
    /// is read later knows it.
    pub fn read(args: &JudgeArgs) -> anyhow::Result<Self> {
        let fed = Fed::of(&log::read::<FeederRecord>(&args.feeder_log)?);
        let mut accepts = log::read::<ProviderRecord>(&args.provider_log)?;
        accepts.retain(|record| record.what == Taken::Accepted);
        let blows = match &args.kills_log {
            Some(path) => log::read::<BlowRecord>(path)?,
            None => Vec::new(),
        };
        Ok(Self { fed, accepts, blows, database: Database::read(&args.db)? })
    }

    /// From the first to the last moment on record, in milliseconds; 0 if nothing is.
    pub fn elapsed_ms(&self) -> i64 {
        let first = self.moments().min();
        first.map_or(0, |first| self.last_ms() - first)
    }

    /// The last moment on record; 0 if nothing is.
    pub fn last_ms(&self) -> i64 {
        self.moments().max().unwrap_or(0)
    }

    fn moments(&self) -> impl Iterator<Item = i64> {
        let runs = self.database.runs.iter();
        let runs = runs.flat_map(|run| [run.started_at, run.ended_at.unwrap_or(run.started_at)]);
        let accepts = self.accepts.iter().map(|record| record.at_ms);
        let received = self.database.received.values().copied();
        self.fed.moments.iter().copied().chain(accepts).chain(received).chain(runs)
    }
}
