//! The resolver's looks at unknown tries: which are due, and what each makes of its try.

use rusqlite::{Connection, Row, params};

use super::await_evidence::park;
use super::channel::{ChannelRow, State};
use super::gate::{self, AtGate, Gate};
use super::row::{self, Phase};
use super::settle::{free, waiter};
use super::tx::Tx;
use super::undecided::{close_notice, notice_send};
use crate::error::Result;
use crate::model::id::{ChannelNo, JobNo, NoticeNo, OrgNo, SendNo};
use crate::model::send::Slot;
use crate::model::send::ability::Abilities;
use crate::model::send::look::{Looked, Step, step};
use crate::store::ledger::{Look, LookPlace, LookedAnswer, LookedAt, Looks};

const LOOKS_DUE: &str = "SELECT t.next_look, t.send, t.n, t.calls, t.unknown_at, t.wait_until, t.key, o.name, c.name, j.uuid, s.seq, s.name, t.recipient_mask, t.intended_at \
     FROM lanebox_send_try t CROSS JOIN lanebox_send s ON s.id = t.send CROSS JOIN lanebox_channel c ON c.id = t.channel \
     CROSS JOIN lanebox_org o ON o.id = s.org LEFT JOIN lanebox_job j ON j.id = t.job \
     WHERE t.next_look <= ?1 AND (t.next_look, t.send, t.n) > (?2, ?3, ?4) ORDER BY t.next_look, t.send, t.n LIMIT ?5";
const LOOK_NEXT: &str =
    "SELECT next_look FROM lanebox_send_try WHERE next_look > ?1 ORDER BY next_look LIMIT 1";
const UNKNOWN_GET: &str = "SELECT t.calls, t.unknown_at, t.wait_until, t.intended_at, t.notice, t.recipient_hmac, s.org, c.name, c.id, c.state, c.until, c.timeout_ms, c.patience_ms, c.lookup_settle_ms, c.dedupe_ms, \
     (s.order_by IS NOT NULL OR NOT EXISTS (SELECT 1 FROM lanebox_send_try a WHERE a.send = t.send AND a.state = 'accepted')), t.job, CASE WHEN t.unknown_boot = ?3 THEN t.unknown_mono END, CASE WHEN t.intended_boot = ?3 THEN t.intended_mono END \
     FROM lanebox_send_try t CROSS JOIN lanebox_send s ON s.id = t.send CROSS JOIN lanebox_channel c ON c.id = t.channel \
     WHERE t.send = ?1 AND t.n = ?2 AND t.state = 'unknown'";
const CANCEL_ASKED: &str = "SELECT 1 FROM lanebox_running WHERE id = ?1 AND cancel_asked = 1";
const TRY_NOT_FOUND: &str = "UPDATE lanebox_send_try SET state = 'abandoned', how = 'not_found', settled_by = 'lookup', ended_at = ?3, next_look = NULL, resend = 0, notice = NULL \
     WHERE send = ?1 AND n = ?2 AND state = 'unknown' AND calls = ?4 AND unknown_at = ?5";
const TRY_LOOK: &str = "UPDATE lanebox_send_try SET next_look = ?3, resend = ?4 WHERE send = ?1 AND n = ?2 AND state = 'unknown'";

/// An unknown try with what decides about it.
struct Unknown {
    calls: i64,
    unknown_at: i64,
    wait_until: i64,
    intended_at: i64,
    /// The same by the monotonic clock, if it was in this boot.
    unknown_mono: Option<i64>,
    intended_mono: Option<i64>,
    notice: Option<NoticeNo>,
    recipient_hmac: [u8; 32],
    org: OrgNo,
    channel: ChannelRow,
    channel_name: String,
    /// It has no accept yet, or an order is pending.
    needed: bool,
    job: JobNo,
}

/// One page of due looks, oldest first.
pub(super) fn due(
    conn: &Connection,
    (now, mono): (i64, i64),
    after: Option<LookPlace>,
    most: usize,
) -> Result<Looks> {
    let (next_look, send, n) = after.map_or((i64::MIN, 0, 0), |at| (at.next_look, at.send.0, at.n));
    let mut page = conn.prepare_cached(LOOKS_DUE)?;
    let due = page.query_map(params![now, next_look, send, n, most], read_look)?;
    let due = due.collect::<rusqlite::Result<Vec<Look>>>()?;
    let mut next = conn.prepare_cached(LOOK_NEXT)?;
    let mut next = next.query_map([now], |row| row.get(0))?;
    let next = next.next().transpose()?;
    Ok(Looks { asked_at: now, asked_mono: mono, due, next })
}

fn read_look(row: &Row<'_>) -> rusqlite::Result<Look> {
    let slot = match row.get(10)? {
        Some(seq) => Slot::Seq(seq),
        None => Slot::Name(row.get(11)?),
    };
    Ok(Look {
        place: LookPlace { next_look: row.get(0)?, send: row.get(1)?, n: row.get(2)? },
        calls: row.get(3)?,
        unknown_at: row.get(4)?,
        wait_until: row.get(5)?,
        key: row.get(6)?,
        org: row.get(7)?,
        channel: row.get(8)?,
        job: row.get(9)?,
        slot,
        recipient_mask: row.get(12)?,
        intended_at: row.get(13)?,
    })
}

/// Takes the next step about an unknown try. An answer about other calls than were asked for
/// changes nothing.
pub(super) fn looked(tx: &Tx<'_>, at: &LookedAt) -> Result<LookedAnswer> {
    let LookPlace { send, n, .. } = at.place;
    let Some(unknown) = unknown(tx, send, n)? else {
        return Ok(LookedAnswer::Stale);
    };
    if (unknown.calls, unknown.unknown_at) != (at.calls, at.unknown_at) {
        return Ok(LookedAnswer::Stale);
    }
    match step(&seen(tx, at, &unknown)?) {
        Step::NotFound => not_found(tx, at, &unknown),
        Step::Permit { next_look } => {
            tx.run(TRY_LOOK, params![send, n, next_look, true])?;
            free(tx, send)?;
            Ok(LookedAnswer::Permitted)
        }
        Step::LookAgain { next_look } => {
            tx.run(TRY_LOOK, params![send, n, next_look, false])?;
            Ok(LookedAnswer::Later { next_look })
        }
        Step::Tell { next_look } => tell(tx, send, n, next_look),
    }
}

fn unknown(tx: &Tx<'_>, send: SendNo, n: u32) -> Result<Option<Unknown>> {
    tx.one(UNKNOWN_GET, params![send, n, tx.env.boot()], |row| {
        Ok(Unknown {
            calls: row.get(0)?,
            unknown_at: row.get(1)?,
            wait_until: row.get(2)?,
            intended_at: row.get(3)?,
            notice: row.get(4)?,
            recipient_hmac: row.get(5)?,
            org: row.get(6)?,
            channel_name: row.get(7)?,
            channel: ChannelRow {
                id: row.get::<_, ChannelNo>(8)?,
                state: State::read(row.get_ref(9)?.as_str()?, row.get(10)?),
                reason: None,
                abilities: Abilities {
                    timeout_ms: row.get(11)?,
                    patience_ms: row.get(12)?,
                    lookup_settle_ms: row.get(13)?,
                    dedupe_ms: row.get(14)?,
                },
            },
            needed: row.get(15)?,
            job: row.get(16)?,
            unknown_mono: row.get(17)?,
            intended_mono: row.get(18)?,
        })
    })
}

fn seen(tx: &Tx<'_>, at: &LookedAt, unknown: &Unknown) -> Result<Looked> {
    let gate = gate::ask(
        tx,
        &AtGate {
            org: unknown.org,
            channel: &unknown.channel,
            name: &unknown.channel_name,
            recipient_hmac: &unknown.recipient_hmac,
            cancel_asked: tx.has(CANCEL_ASKED, [unknown.job])?,
        },
    )?;
    let Abilities { timeout_ms, patience_ms, lookup_settle_ms, dedupe_ms } =
        unknown.channel.abilities;
    Ok(Looked {
        now: tx.now,
        mono: tx.mono,
        asked_at: at.asked_at,
        asked_mono: at.asked_mono,
        not_found: at.not_found,
        intended_at: unknown.intended_at,
        intended_mono: unknown.intended_mono,
        unknown_at: unknown.unknown_at,
        unknown_mono: unknown.unknown_mono,
        wait_until: unknown.wait_until,
        calls: unknown.calls,
        timeout_ms,
        patience_ms,
        settle_ms: lookup_settle_ms,
        dedupe_ms,
        // A job that would only hear the gate's answer is not woken for it.
        may_call: unknown.needed && gate == Gate::Open,
    })
}

fn not_found(tx: &Tx<'_>, at: &LookedAt, unknown: &Unknown) -> Result<LookedAnswer> {
    let LookPlace { send, n, .. } = at.place;
    let guard = params![send, n, tx.now, at.calls, at.unknown_at];
    if tx.run(TRY_NOT_FOUND, guard)? == 0 {
        return Ok(LookedAnswer::Stale);
    }
    close_notice(tx, unknown.notice, "lookup")?;
    free(tx, send)?;
    Ok(LookedAnswer::NotFound)
}

// The lane goes on, a permission that nobody used is void, and a person decides from here.
fn tell(tx: &Tx<'_>, send: SendNo, n: u32, next_look: Option<i64>) -> Result<LookedAnswer> {
    notice_send(tx, send)?;
    tx.run(TRY_LOOK, params![send, n, next_look, false])?;
    if let Some(id) = waiter(tx, send)?
        && let (Some(job), Some(tried)) = (row::job(tx, id)?, row::tried(tx, id)?)
        && tried.phase == Phase::Unknown
    {
        park(tx, &job, &tried)?;
    }
    Ok(LookedAnswer::Told { next_look })
}
