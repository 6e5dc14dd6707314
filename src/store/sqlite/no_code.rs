//! Channels that jobs ask for and that the processes which run them have no code for.

use rusqlite::{Connection, params};

use super::handles::{DEPLOY_MS, PLATFORM};
use super::notify::{Notice, notify};
use super::tx::Tx;
use crate::error::Result;
use crate::model::id::Held;
use crate::model::text::one_line;

// A job that was postponed before a deploy's time and asks again now.
const WAITS_LONG: &str = "SELECT 1 FROM lanebox_running r CROSS JOIN lanebox_attempt a ON a.job = r.id \
     WHERE r.id = ?1 AND r.token = ?2 AND a.ended = 'postponed' AND a.ended_at <= ?3 \
     AND NOT EXISTS (SELECT 1 FROM lanebox_notice WHERE org = 1 AND kind = 'channel.unhandled' AND cause = ?4 AND state <> 'resolved') LIMIT 1";
const OFFERED_AGAIN: &str = "UPDATE lanebox_notice SET state = 'resolved', resolved_at = ?2, resolved_by = 'lanebox' \
     WHERE org = 1 AND kind = 'channel.unhandled' AND cause = ?1 AND state <> 'resolved'";

/// Whether a person should be told: this job has waited for the channel for longer than a deploy.
pub(super) fn waits_long(conn: &Connection, held: Held, channel: &str, now: i64) -> Result<bool> {
    let asked = params![held.job, held.token, now - DEPLOY_MS, channel];
    Ok(conn.prepare_cached(WAITS_LONG)?.exists(asked)?)
}

/// Tells a person; once, until that is mended.
pub(super) fn tell(tx: &Tx<'_>, held: Held, channel: &str) -> Result<()> {
    if !waits_long(tx.conn, held, channel, tx.now)? {
        return Ok(());
    }
    let name = one_line(channel);
    let notice = Notice {
        // Code belongs to no single org.
        org: PLATFORM,
        kind: "channel.unhandled",
        cause: channel.to_owned(),
        severity: "warn",
        reason: format!(
            "no process that ran this job had code for channel {name}; what it should send waits"
        ),
        next_step: "start a process whose reactions have that channel and stop those without it, or cancel the job"
            .to_owned(),
        about: Some(("job", held.job.0)),
    };
    notify(tx, &notice).map(|_| ())
}

/// A process has code for these channels: what was told of their lack is resolved.
pub(super) fn offers(tx: &Tx<'_>, channels: &[String]) -> Result<()> {
    channels.iter().try_for_each(|name| tx.run(OFFERED_AGAIN, params![name, tx.now]).map(|_| ()))
}
