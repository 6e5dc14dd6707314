//! Faults: how many of each figure, and the first few of each told one by one.

use std::fmt;

use serde::{Deserialize, Serialize};

/// How many faults of one figure are told; the rest are only counted.
const TOLD: u64 = 20;

/// The four figures that must be 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Figure {
    Lost,
    Duplicated,
    Unexpected,
    Overlapped,
}

impl Figure {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Lost => "lost",
            Self::Duplicated => "duplicated",
            Self::Unexpected => "unexpected",
            Self::Overlapped => "overlapped",
        }
    }
}

/// One thing that must not have happened. It names ids; never a contact or a text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    pub figure: Figure,
    /// The provider's id of the inbound message.
    pub message: Option<String>,
    /// Which text of the reply, from 1.
    pub bubble: Option<u32>,
    /// The job's number in the database.
    pub job: Option<String>,
    pub why: String,
}

impl Fault {
    pub fn new(figure: Figure, why: impl Into<String>) -> Self {
        Self { figure, message: None, bubble: None, job: None, why: why.into() }
    }

    pub fn message(self, message: &str) -> Self {
        Self { message: Some(message.to_owned()), ..self }
    }

    pub fn bubble(self, bubble: u32) -> Self {
        Self { bubble: Some(bubble), ..self }
    }

    pub fn job(self, job: i64) -> Self {
        Self { job: Some(job.to_string()), ..self }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.figure.as_str())?;
        if let Some(message) = &self.message {
            write!(f, " message {message}")?;
        }
        if let Some(bubble) = self.bubble {
            write!(f, " bubble {bubble}")?;
        }
        if let Some(job) = &self.job {
            write!(f, " job {job}")?;
        }
        write!(f, ": {}", self.why)
    }
}

/// All faults of one demo.
#[derive(Debug, Default)]
pub struct Faults {
    counts: [u64; 4],
    told: Vec<Fault>,
}

impl Faults {
    pub fn add(&mut self, fault: Fault) {
        let count = &mut self.counts[fault.figure as usize];
        *count += 1;
        if *count <= TOLD {
            self.told.push(fault);
        }
    }

    pub fn count(&self, figure: Figure) -> u64 {
        self.counts[figure as usize]
    }

    /// At most [`TOLD`] of each figure.
    pub fn into_told(self) -> Vec<Fault> {
        self.told
    }
}
