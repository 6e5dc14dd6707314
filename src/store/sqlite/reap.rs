//! Takes back what vanished holders held: the only way to a second claim of a running job.

use rusqlite::{Connection, params};

use super::end::apply;
use super::round::Care;
use super::row;
use super::tx::Tx;
use crate::env::Env;
use crate::error::Result;
use crate::model::id::{JobNo, ProcessNo, Token};
use crate::model::verdict::End;
use crate::store::jobs::{Lost, Reap};
use crate::store::processes::Watch;

/// Leases taken back by one pass; `running` seldom holds more.
const BATCH: i64 = 256;
/// No limit, in SQLite's words.
const ALL: i64 = -1;

const REAP_FIND: &str = "SELECT r.id, r.token, p.boot <> ?2 FROM lanebox_running r JOIN lanebox_process p ON p.id = r.process \
     WHERE (?4 AND r.lease_until < ?1 AND p.boot = ?2) OR (p.gone = 1 AND r.holder = 'thread') OR p.boot <> ?2 LIMIT ?3";

const OTHERS_HOLD: &str = "SELECT EXISTS (SELECT 1 FROM lanebox_running WHERE process <> ?1)";
const TO_TAKE_BACK: &str = "SELECT EXISTS (SELECT 1 FROM lanebox_pause WHERE cancel_upto IS NOT NULL) \
     OR EXISTS (SELECT 1 FROM lanebox_running r JOIN lanebox_process p ON p.id = r.process \
     WHERE (r.lease_until < ?1 AND p.boot = ?2) OR (p.gone = 1 AND r.holder = 'thread') OR p.boot <> ?2)";

/// Whether a reaper has anything to do, and whom it must let write first.
pub(super) fn watch(conn: &Connection, me: ProcessNo, env: &Env) -> Result<Watch> {
    let others_hold = conn.prepare_cached(OTHERS_HOLD)?.query_row([me], |row| row.get(0))?;
    let now = params![env.mono_ms(), env.boot()];
    let to_take_back = conn.prepare_cached(TO_TAKE_BACK)?.query_row(now, |row| row.get(0))?;
    Ok(Watch { others_hold, to_take_back })
}

/// Counts a loss for each run whose lease is over, whose process is gone or whose boot has ended.
pub(super) fn reap(tx: &Tx<'_>, whose: Reap, care: Care) -> Result<Vec<Lost>> {
    let expired = whose == Reap::Expired;
    let most = match care {
        Care::Together => BATCH,
        // A batch of what cannot be written would hide all behind it, at every pass.
        Care::Apart => ALL,
    };
    let found: Vec<(JobNo, Token, bool)> =
        tx.all(REAP_FIND, params![tx.mono, tx.env.boot(), most, expired], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?))
        })?;
    let mut lost = Vec::with_capacity(found.len());
    for (job, token, reboot) in found {
        match care {
            Care::Together => lost.extend(lose(tx, job, token, reboot)?),
            Care::Apart => match tx.savepoint(|| lose(tx, job, token, reboot)) {
                Ok(one) => lost.extend(one),
                Err(error) => tracing::error!(%error, %job, "a lost run could not be ended"),
            },
        }
    }
    Ok(lost)
}

fn lose(tx: &Tx<'_>, job: JobNo, token: Token, reboot: bool) -> Result<Option<Lost>> {
    let Some(run) = row::take_running(tx, job, token)? else {
        return Ok(None);
    };
    let ended = apply(tx, &run, &End::Lost { reboot })?;
    Ok(Some(Lost { held: run.held, kind: run.kind, ended }))
}
