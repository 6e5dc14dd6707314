//! What the desk has learned of how long runs and commits take.

use std::collections::HashMap;

use crate::model::id::KindNo;

/// Before the first commit was measured.
const COMMIT_US: i64 = 500;

/// Moving means: each new figure counts an eighth. Kept in eighths, so that small ones count too.
#[derive(Debug)]
pub(super) struct Pace {
    runs: HashMap<KindNo, i64>,
    commit: i64,
}

impl Default for Pace {
    fn default() -> Pace {
        Pace { runs: HashMap::new(), commit: 8 * COMMIT_US }
    }
}

impl Pace {
    pub(super) fn ran(&mut self, kind: KindNo, took_us: i64) {
        let mean = self.runs.entry(kind).or_insert(8 * took_us);
        // A run whose thread had to wait for a processor says little: it at most doubles the mean.
        *mean += took_us.min((*mean).max(8)) - *mean / 8;
    }

    pub(super) fn committed(&mut self, took_us: i64) {
        self.commit += took_us - self.commit / 8;
    }

    /// Whether runs of a kind are short beside a commit.
    pub(super) fn is_short(&self, kind: KindNo) -> bool {
        self.runs.get(&kind).is_some_and(|&mean| mean < 2 * self.commit)
    }

    /// How many runs of the shortest kind a worker ends during one commit; 0 if none is short.
    pub(super) fn runs_in_a_commit(&self) -> usize {
        match self.runs.values().min() {
            Some(&shortest) if shortest < 2 * self.commit => {
                usize::try_from(self.commit / shortest.max(8)).unwrap_or(0) + 1
            }
            _ => 0,
        }
    }

    /// Whether runs of these kinds, one after another, take longer than this. What was never
    /// measured does.
    pub(super) fn takes_longer(&self, mut kinds: impl Iterator<Item = KindNo>, us: i64) -> bool {
        let mut left = 8 * us;
        kinds.any(|kind| {
            left -= self.runs.get(&kind).copied().unwrap_or(left + 1);
            left < 0
        })
    }
}
