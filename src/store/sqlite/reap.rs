//! Takes back what vanished holders held: the only way to a second claim of a running job.

use rusqlite::params;

use super::end::apply;
use super::row;
use super::tx::Tx;
use crate::error::Result;
use crate::model::id::{JobNo, Token};
use crate::model::verdict::End;
use crate::store::jobs::{Lost, Reap};

/// Leases taken back by one pass; `running` never holds many more.
const BATCH: i64 = 256;

const REAP_FIND: &str = "SELECT r.id, r.token, p.boot <> ?2 FROM lanebox_running r JOIN lanebox_process p ON p.id = r.process \
     WHERE (?4 AND r.lease_until < ?1 AND p.boot = ?2) OR (p.gone = 1 AND r.holder = 'thread') OR p.boot <> ?2 LIMIT ?3";

/// Counts a loss for each run whose lease is over, whose process is gone or whose boot has ended.
pub(super) fn reap(tx: &Tx<'_>, whose: Reap) -> Result<Vec<Lost>> {
    let expired = whose == Reap::Expired;
    let found: Vec<(JobNo, Token, bool)> =
        tx.all(REAP_FIND, params![tx.mono, tx.env.boot(), BATCH, expired], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?))
        })?;
    let mut lost = Vec::with_capacity(found.len());
    for (job, token, reboot) in found {
        if let Some(run) = row::take_running(tx, job, token)? {
            let ended = apply(tx, &run, &End::Lost { reboot })?;
            lost.push(Lost { held: run.held, ended });
        }
    }
    Ok(lost)
}
