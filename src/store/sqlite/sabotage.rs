//! A planted fault, for the judges that must see it: the end of a run that is not its job's any
//! more. Compiled only with the feature `sabotage`.

use std::sync::atomic::{AtomicBool, Ordering};

use super::cancel::remove;
use super::finished::finish_done;
use super::tx::Tx;
use crate::error::Result;
use crate::store::jobs::{Ended, Finish};

/// Whether this process ends jobs that it does not hold.
pub(crate) static IGNORE_TOKENS: AtomicBool = AtomicBool::new(false);

const RUNNING_DEL: &str = "DELETE FROM lanebox_running WHERE id = ?1";
const FINISHED_DEL: &str = "DELETE FROM lanebox_finished WHERE id = ?1";

/// Ends the job as if the report's token were the job's, wherever the job is.
pub(super) fn end_late(tx: &Tx<'_>, report: &Finish) -> Result<Ended> {
    let job = report.held.job;
    if !IGNORE_TOKENS.load(Ordering::SeqCst) {
        return Ok(Ended::LeaseLost);
    }
    tx.run(RUNNING_DEL, [job])?;
    tx.run(FINISHED_DEL, [job])?;
    remove(tx, job)?;
    finish_done(tx, &report.held)?;
    Ok(Ended::Done)
}
