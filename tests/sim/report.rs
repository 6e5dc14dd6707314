//! What a run leaves behind: a hash of all that happened, the last of it as text, what was met, and
//! the first thing that was wrong.

use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, VecDeque};
use std::hash::{Hash, Hasher};

/// Lines that a failure shows.
const LINES: usize = 60;

#[derive(Clone, Default)]
pub(super) struct Report {
    trace: DefaultHasher,
    last: VecDeque<String>,
    pub(super) seen: BTreeMap<String, u64>,
    failed: Option<String>,
}

impl Report {
    pub(super) fn note(&mut self, at_ms: i64, line: &str) {
        (at_ms, line).hash(&mut self.trace);
        self.last.push_back(format!("{at_ms} {line}"));
        if self.last.len() > LINES {
            self.last.pop_front();
        }
    }

    /// What is left to say of a world that panicked.
    pub(super) fn broken_off() -> Report {
        let mut report = Report::default();
        report.fail("the world broke off, see the panic above".to_owned());
        report
    }

    pub(super) fn see(&mut self, what: &str) {
        *self.seen.entry(what.to_owned()).or_default() += 1;
    }

    /// The first failure is the one that counts; what follows it may be its consequence.
    pub(super) fn fail(&mut self, why: String) {
        if self.failed.is_none() {
            let last: Vec<&str> = self.last.iter().map(String::as_str).collect();
            self.failed = Some(format!("{}\n{why}", last.join("\n")));
        }
    }

    pub(super) fn has_failed(&self) -> bool {
        self.failed.is_some()
    }

    pub(super) fn failure(&self) -> Option<&str> {
        self.failed.as_deref()
    }

    pub(super) fn trace(&self) -> u64 {
        self.trace.finish()
    }
}
