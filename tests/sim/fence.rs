//! Who holds a job before a verb, and whether the verb's answer agrees: what a run that was taken
//! back says about its job changes nothing. Nobody else writes between the look and the verb.

use super::world::World;
use crate::error::Result;
use crate::model::id::Held;
use crate::store::jobs::{Ended, Renewed, Round, Rounded, Stepped};
use crate::store::ledger::Begun;

const HELD_BY_THE_LIVING: &str = "SELECT r.token FROM lanebox_running r JOIN lanebox_process p ON p.id = r.process AND p.gone = 0";

/// Of each end and each renewal of a pass, whether its token was the job's.
pub(super) struct Holders {
    ends: Vec<(Held, bool)>,
    renewals: Vec<(Held, bool)>,
    /// What is held by processes that nobody thinks gone, if the pass reaps.
    living: Vec<i64>,
}

impl World {
    /// Whether this run holds its job.
    pub(super) fn holds(&self, held: Held) -> bool {
        let sql = "SELECT EXISTS (SELECT 1 FROM lanebox_running WHERE id = ?1 AND token = ?2)";
        let raw = self.raw.lock();
        let mut statement = raw.prepare_cached(sql).expect("a good query");
        statement.query_row((held.job, held.token), |row| row.get(0)).expect("an answer")
    }

    pub(super) fn holders(&self, round: &Round) -> Holders {
        let with = |held: Held| (held, self.holds(held));
        let ends = round.finish.iter().map(|finish| with(finish.held)).collect();
        let renewals = round.renew.iter().copied().map(with).collect();
        let living = round.reap.map(|_| self.rows(HELD_BY_THE_LIVING)).unwrap_or_default();
        Holders { ends, renewals, living }
    }

    /// Whoever does not hold a job hears so; whoever holds it is not told otherwise.
    pub(super) fn agree(&self, before: &Holders, answer: &Result<Rounded>) {
        let Ok(done) = answer else { return };
        if done.reaped.iter().any(|lost| before.living.contains(&lost.held.token.0)) {
            self.see("a lease ran out");
        }
        for ((held, holds), ended) in before.ends.iter().zip(&done.finished) {
            self.fenced("an end", *held, *holds, *ended == Ended::LeaseLost);
        }
        for ((held, holds), renewed) in before.renewals.iter().zip(&done.renewed) {
            // It may have ended in the same pass.
            let ends = before.ends.iter().any(|(ended, _)| ended.token == held.token);
            self.fenced("a renewal", *held, *holds && !ends, *renewed == Renewed::LeaseLost);
        }
    }

    pub(super) fn end_agrees(&self, held: Held, holds: bool, answer: &Result<Ended>) {
        if let Ok(ended) = answer {
            self.fenced("an end with rows", held, holds, *ended == Ended::LeaseLost);
        }
    }

    pub(super) fn step_agrees(&self, held: Held, holds: bool, answer: &Result<Stepped>) {
        if let Ok(kept) = answer {
            self.fenced("a step", held, holds, *kept == Stepped::LeaseLost);
        }
    }

    // A lease may be over before anybody has taken it back.
    pub(super) fn intent_agrees(&self, held: Held, holds: bool, answer: &Result<Begun>) {
        match answer {
            Ok(Begun::LeaseLost) => self.see("an intent came too late"),
            Ok(_) => self.fenced("an intent", held, holds, false),
            Err(_) => {}
        }
    }

    fn fenced(&self, what: &str, held: Held, holds: bool, refused: bool) {
        if refused {
            self.see(&format!("{what} came too late"));
        }
        if holds == refused {
            let (job, token) = (held.job, held.token);
            self.fail(format!("{what} of {job} as {token}: held it {holds}, refused {refused}"));
        }
    }
}
