//! The outbox of a run: facts that are recorded in the transaction that makes its job done, or
//! never.

use super::publish::publish;
use super::tx::Tx;
use crate::error::Result;
use crate::model::event::NewEvent;
use crate::model::id::{EventSeq, JobNo};

const CAUSE_OF_JOB: &str = "SELECT j.source_event, e.depth FROM lanebox_job j LEFT JOIN lanebox_event e ON e.seq = j.source_event WHERE j.id = ?1";

/// Records the facts as caused by this job and by the event that it was born of.
pub(super) fn record(tx: &Tx<'_>, job: JobNo, events: &[NewEvent]) -> Result<()> {
    let cause = tx.one(CAUSE_OF_JOB, [job], |row| {
        Ok((row.get::<_, Option<EventSeq>>(0)?, row.get::<_, Option<u32>>(1)?))
    })?;
    let (source, depth) = cause.expect("a running job has its row (trigger)");
    for event in events {
        let mut event = event.clone();
        event.cause_job = Some(job);
        event.cause_event = event.cause_event.or(source);
        event.depth = event.depth.max(depth.unwrap_or(0) + 1);
        event.check_depth()?;
        // A fact that is known already is kept as well.
        let _known_or_new = publish(tx, &event)?;
    }
    Ok(())
}
