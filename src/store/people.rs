//! The seam of people: what they see of a file and what they order, as plain values.

use serde::Serialize;

use crate::error::Result;

/// Reads for people, and the verbs of a person. Reads take a connection of the pool, never the writer.
pub(crate) trait People {
    /// Asks the file for what must never be. Walks whole tables.
    fn audit(&self) -> Result<Vec<Finding>>;
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
