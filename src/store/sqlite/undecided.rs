//! What the end of a run means for the sends that it began: whatever is undecided becomes unknown,
//! and may hold the job.

use rusqlite::params;

use super::notify::{Notice, notify};
use super::row::{self, RunningRow};
use super::tx::Tx;
use crate::error::Result;
use crate::model::id::{JobNo, NoticeNo, OrgNo, SendNo};
use crate::model::text::one_line;
use crate::model::verdict::End;
use crate::store::ledger::UnderWay;

// CROSS JOIN: SQLite would begin with the tries and walk them all.
const INTENDED_OF_TOKEN: &str = "SELECT t.send, t.n, c.timeout_ms, c.patience_ms, c.lookup_settle_ms, t.unknown_at, CASE WHEN t.unknown_boot = ?3 THEN t.unknown_mono END FROM lanebox_send s \
     CROSS JOIN lanebox_send_try t ON t.send = s.id AND t.state IN ('intended', 'unknown') AND t.state = 'intended' \
     CROSS JOIN lanebox_channel c ON c.id = t.channel WHERE s.origin = ?1 AND t.token = ?2";
const TRY_UNDER_WAY: &str = "UPDATE lanebox_send_try SET unknown_at = ?2, reason = ?4, unknown_mono = ?5, unknown_boot = ?6 WHERE key = ?1 AND state = 'intended' AND token = ?3";
const TRY_UNKNOWN: &str = "UPDATE lanebox_send_try SET state = 'unknown', unknown_at = ?3, wait_until = coalesce(wait_until, ?4), next_look = min(?5, max(?6, coalesce(wait_until, ?4))), unknown_mono = ?7, unknown_boot = ?8 \
     WHERE send = ?1 AND n = ?2 AND state = 'intended'";
const BLOCKING: &str = "SELECT s.id FROM lanebox_send s CROSS JOIN lanebox_send_try t ON t.send = s.id AND t.state IN ('intended', 'unknown') \
     WHERE s.origin = ?1 AND (s.order_by IS NOT NULL OR NOT EXISTS (SELECT 1 FROM lanebox_send_try a WHERE a.send = s.id AND a.state = 'accepted')) \
     ORDER BY s.seq LIMIT 1";
const UNDECIDED_OF_ORIGIN: &str = "SELECT s.id FROM lanebox_send s CROSS JOIN lanebox_send_try t ON t.send = s.id AND t.state IN ('intended', 'unknown') \
     WHERE s.origin = ?1";
const UNDECIDED: &str = "SELECT t.n, t.notice, t.wait_until, s.org, c.name FROM lanebox_send_try t \
     CROSS JOIN lanebox_send s ON s.id = t.send CROSS JOIN lanebox_channel c ON c.id = t.channel \
     WHERE t.send = ?1 AND t.state IN ('intended', 'unknown')";
const TRY_NOTICE: &str =
    "UPDATE lanebox_send_try SET notice = ?3 WHERE send = ?1 AND n = ?2 AND state = 'unknown'";
const NOTICE_CLOSE: &str = "UPDATE lanebox_notice SET state = 'resolved', resolved_at = ?2, resolved_by = ?3 WHERE id = ?1 AND kind = 'send.unknown' AND state <> 'resolved' \
     AND NOT EXISTS (SELECT 1 FROM lanebox_send_try WHERE notice = ?1 AND state = 'unknown')";

/// Turns what this token intended and nobody decided into unknown. The send that the job must wait
/// for, if there is one.
pub(super) fn end_of_token(tx: &Tx<'_>, run: &RunningRow, end: &End) -> Result<Option<SendNo>> {
    let job = row::job(tx, run.held.job)?.expect("a running job has its row (foreign key)");
    let origin = job.origin();
    let vanished = matches!(end, End::Lost { .. });
    let intended =
        tx.all(INTENDED_OF_TOKEN, params![origin, run.held.token, tx.env.boot()], |row| {
            let (send, n): (SendNo, i64) = (row.get(0)?, row.get(1)?);
            let times =
                (row.get::<_, i64>(2)?, row.get::<_, i64>(3)?, row.get::<_, Option<i64>>(4)?);
            Ok((send, n, times, (row.get::<_, Option<i64>>(5)?, row.get::<_, Option<i64>>(6)?)))
        })?;
    for (send, n, (timeout_ms, patience_ms, settle_ms), under_way) in intended {
        // Who vanished may still have a request on the wire; so may one that was cut off early.
        let on_the_wire = if vanished { timeout_ms } else { 0 };
        let (ended, ended_mono) = (tx.now + on_the_wire, tx.mono + on_the_wire);
        let unknown_at = under_way.0.map_or(ended, |until| until.max(ended));
        let unknown_mono = under_way.1.map_or(ended_mono, |until| until.max(ended_mono));
        // Where the provider cannot be asked there is nothing to wait for: the host may know now.
        let next_look = settle_ms.map_or(ended, |settle| unknown_at + settle);
        let until = tx.now + patience_ms;
        let (now, boot) = (tx.now, tx.env.boot());
        let row = params![send, n, unknown_at, until, next_look, now, unknown_mono, boot];
        tx.run(TRY_UNKNOWN, row)?;
    }
    tx.one(BLOCKING, [origin], |row| row.get(0))
}

/// The call of this token may arrive until then, whatever its caller heard.
pub(super) fn under_way(tx: &Tx<'_>, call: &UnderWay) -> Result<()> {
    let reason = one_line(&call.reason);
    let (token, boot) = (call.held.token, tx.env.boot());
    let row = params![call.key, call.until, token, reason, call.until_mono, boot];
    tx.run(TRY_UNDER_WAY, row).map(|_| ())
}

/// The undecided send that a job must wait for, if there is one.
pub(super) fn blocking(tx: &Tx<'_>, job: JobNo) -> Result<Option<SendNo>> {
    let job = row::job(tx, job)?.expect("a running job has its row (trigger)");
    tx.one(BLOCKING, [job.origin()], |row| row.get(0))
}

/// Until when a job may wait for this send inside its lane; `None` once a person was told.
pub(super) fn patience_until(tx: &Tx<'_>, send: SendNo) -> Result<Option<i64>> {
    let undecided = undecided(tx, send)?;
    Ok(undecided.and_then(|u| if u.notice.is_none() { u.wait_until } else { None }))
}

/// The job of these sends has ended: a person is told of each that nobody decided.
pub(super) fn notice_undecided(tx: &Tx<'_>, job: JobNo) -> Result<()> {
    let job = row::job(tx, job)?.expect("a job that ends has its row (trigger)");
    let sends: Vec<SendNo> = tx.all(UNDECIDED_OF_ORIGIN, [job.origin()], |row| row.get(0))?;
    sends.into_iter().try_for_each(|send| notice_send(tx, send))
}

/// Opens (or joins) the channel's notice about unknown sends, once per try.
pub(super) fn notice_send(tx: &Tx<'_>, send: SendNo) -> Result<()> {
    let Some(Undecided { n, notice: None, org, channel, .. }) = undecided(tx, send)? else {
        return Ok(());
    };
    let notice = notify(
        tx,
        &Notice {
            org,
            kind: "send.unknown",
            cause: format!("channel {channel}"),
            severity: "warn",
            reason: format!("it is not known whether a message by {channel} went out"),
            next_step: "look at the provider, then `lanebox resolve SEND --sent`, `--resend` or `--give-up`"
                .to_owned(),
            about: Some(("send", send.0)),
        },
    )?;
    tx.run(TRY_NOTICE, params![send, n, notice])?;
    Ok(())
}

/// A try is not unknown any more: its notice is closed with the last one that it was about.
pub(super) fn close_notice(tx: &Tx<'_>, notice: Option<NoticeNo>, by: &str) -> Result<()> {
    if let Some(notice) = notice {
        tx.run(NOTICE_CLOSE, params![notice, tx.now, by])?;
    }
    Ok(())
}

/// The one try of a send that nobody has decided.
#[derive(Debug)]
struct Undecided {
    n: i64,
    notice: Option<NoticeNo>,
    wait_until: Option<i64>,
    org: OrgNo,
    channel: String,
}

fn undecided(tx: &Tx<'_>, send: SendNo) -> Result<Option<Undecided>> {
    tx.one(UNDECIDED, [send], |row| {
        Ok(Undecided {
            n: row.get(0)?,
            notice: row.get(1)?,
            wait_until: row.get(2)?,
            org: row.get(3)?,
            channel: row.get(4)?,
        })
    })
}
