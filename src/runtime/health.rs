//! How each loop is: when it last did its work, and what stopped it from doing so; and how the disk
//! is.

use time::OffsetDateTime;

use crate::store::space::{LogHealth, RoomHealth};

/// The health of one loop.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LoopHealth {
    /// renew, pulse, dispatch, resolve …
    pub name: &'static str,
    /// When it last did its work without an error.
    pub last_good_at: Option<OffsetDateTime>,
    /// Errors and panics since then.
    pub failures_in_a_row: u32,
    /// Panics it survived.
    pub panics: u32,
    /// The last error, as one line.
    pub last_error: Option<String>,
}

/// The health of a started engine.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Health {
    /// Every loop.
    pub loops: Vec<LoopHealth>,
    /// Worker threads that take work.
    pub workers: usize,
    /// Threads lost to runs over their time (each was replaced).
    pub workers_lost: usize,
    /// The room of the disk.
    pub room: RoomHealth,
    /// The write-ahead log.
    pub log: LogHealth,
}

impl Health {
    /// Whether every loop did its work the last time it tried. A disk that fills up is not asked
    /// here: a program that is started anew would find it as full. See [`Health::room`].
    pub fn is_good(&self) -> bool {
        self.loops.iter().all(|one| one.failures_in_a_row == 0)
    }
}

impl LoopHealth {
    pub(super) fn new(name: &'static str) -> LoopHealth {
        LoopHealth { name, last_good_at: None, failures_in_a_row: 0, panics: 0, last_error: None }
    }

    pub(super) fn good(&mut self, now_ms: i64) {
        let at = OffsetDateTime::from_unix_timestamp_nanos(i128::from(now_ms) * 1_000_000);
        self.last_good_at = at.ok();
        self.failures_in_a_row = 0;
    }

    /// Its name, and how often in a row it has failed now.
    pub(super) fn bad(&mut self, error: &str, panicked: bool) -> (&'static str, u32) {
        self.failures_in_a_row = self.failures_in_a_row.saturating_add(1);
        self.panics = self.panics.saturating_add(u32::from(panicked));
        self.last_error = Some(crate::model::text::one_line(error));
        (self.name, self.failures_in_a_row)
    }
}
