//! The candidates that a claim has passed and that still stand in `ready`. Those of one bucket are
//! side by side there, so they leave together: one statement instead of one each.

use rusqlite::params;

use crate::error::{Error, Result};
use crate::store::sqlite::place::{Place, unready};
use crate::store::sqlite::tx::Tx;

const READY_PASSED: &str = "DELETE FROM lanebox_ready WHERE alone = ?1 AND kind = ?2 AND org = ?3 AND (priority, run_at, id) <= (?4, ?5, ?6)";

/// The last of them, and how many they are.
#[derive(Default)]
pub(super) struct Passed(Option<(Place, usize)>);

impl Passed {
    /// The best of its bucket was passed. Nobody reads `ready`, nor makes anything claimable,
    /// before [`Passed::leave`].
    pub(super) fn pass(&mut self, tx: &Tx<'_>, next: &Place) -> Result<()> {
        let same =
            |last: &Place| (last.alone, last.kind, last.org) == (next.alone, next.kind, next.org);
        match &mut self.0 {
            Some((last, count)) if same(last) => {
                *last = *next;
                *count += 1;
            }
            _ => {
                self.leave(tx)?;
                self.0 = Some((*next, 1));
            }
        }
        Ok(())
    }

    /// They leave `ready`.
    pub(super) fn leave(&mut self, tx: &Tx<'_>) -> Result<()> {
        let Some((last, count)) = self.0.take() else {
            return Ok(());
        };
        if count == 1 {
            unready(tx, &last)?;
            return Ok(());
        }
        let Place { id, org, kind, priority, run_at, alone, .. } = last;
        let left = tx.run(READY_PASSED, params![alone, kind, org, priority, run_at, id])?;
        if left > count {
            // Else a job that nobody took would never be found again.
            let what = format!("a claim passed {count} jobs, and {left} stood there");
            return Err(Error::Defect { what });
        }
        Ok(())
    }
}
