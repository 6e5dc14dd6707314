//! A try is intended before its call: what was accepted or is undecided is answered from the
//! ledger, then the gate is asked, then the intent is written.

use rusqlite::params;

use super::channel::{self, ChannelRow};
use super::consent::recipient_hmac;
use super::gate::{self, AtGate, Gate};
use super::notify::{Notice, notify};
use super::row;
use super::sends::{self, SendRow};
use super::tx::Tx;
use super::undecided::close_notice;
use crate::error::Result;
use crate::model::id::{Held, NoticeNo, SendKey, SendNo};
use crate::model::send::ability::MARGIN_MS;
use crate::model::send::mask::mask;
use crate::model::send::tries::{After, Next, Try, Want, next};
use crate::model::text::one_line;
use crate::store::ledger::{Begun, Intent};

/// The gate's answer is this fresh at most when the call begins.
const FRESH_MS: i64 = 5_000;

const HOLDER: &str = "SELECT lease_until, cancel_asked, sent FROM lanebox_running WHERE id = ?1 AND token = ?2 AND lease_until > ?3";
const RUNNING_SENT: &str = "UPDATE lanebox_running SET sent = 1 WHERE id = ?1 AND token = ?2";
const SEND_CHANGED: &str = "UPDATE lanebox_send SET changed_hash = ?2 WHERE id = ?1";
const TRY_NEW: &str = "INSERT INTO lanebox_send_try(send, n, key, channel, recipient_hmac, recipient_mask, hash, state, job, token, after, ordered_by, order_no, intended_at, intended_mono, intended_boot) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 'intended', ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)";
const TRY_RESEND: &str = "UPDATE lanebox_send_try SET state = 'intended', token = ?3, calls = calls + 1, resend = 0, next_look = NULL, notice = NULL, reason = NULL \
     WHERE send = ?1 AND n = ?2 AND state = 'unknown' AND resend = 1 AND job = ?4";
const TRY_NOTICE: &str = "SELECT notice FROM lanebox_send_try WHERE send = ?1 AND n = ?2";
const TRY_REFUSED: &str = "UPDATE lanebox_send_try SET state = 'rejected', class = 'good', reason = ?3, ended_at = ?4 WHERE send = ?1 AND n = ?2";

/// The run that asks, while its lease holds.
struct Holder {
    lease_until: i64,
    cancel_asked: bool,
    sent: bool,
}

/// The wish with everything that the ledger stores of it.
struct Sealed<'a> {
    intent: &'a Intent,
    origin: String,
    channel: ChannelRow,
    recipient_hmac: [u8; 32],
    hash: [u8; 32],
}

/// Answers a wish to send. The order matters: an accept is answered before any gate, and a gate
/// that is not open writes nothing.
pub(super) fn begin(tx: &Tx<'_>, intent: &Intent) -> Result<Begun> {
    let held = intent.held;
    let Some(holder) = holder(tx, held)? else {
        return Ok(Begun::LeaseLost);
    };
    let wish = seal(tx, intent)?;
    let send = sends::find(tx, &wish.origin, &intent.slot)?;
    let tries = match &send {
        Some(send) => sends::tries(tx, send.id)?,
        None => Vec::new(),
    };
    if send.is_some() {
        // Also for a job whose predecessor of the same origin sent: its end must look at the
        // ledger.
        sends_something(tx, &holder, held)?;
    }
    let ordered = send.as_ref().is_some_and(|send| send.order_by.is_some());
    let abilities = wish.channel.abilities;
    let want = Want {
        now: tx.now,
        mono: tx.mono,
        hash: &wish.hash,
        channel: wish.channel.id,
        timeout_ms: abilities.timeout_ms,
        dedupe_ms: abilities.dedupe_ms,
    };
    match (next(&tries, ordered, &want), send) {
        (Next::Receipt(accepted), Some(send)) => remembered(tx, &wish, &send, accepted),
        (Next::Resend(unknown), Some(send)) => resend(tx, &wish, &holder, &send, unknown),
        (Next::Try { n, after }, send) => first_call(tx, &wish, &holder, send, n, after),
        (Next::GivenUp, _) => Ok(Begun::GivenUp),
        (Next::Exhausted, _) => {
            Ok(Begun::Refused("it was tried a thousand times already".to_owned()))
        }
        // A receipt or a resend without a send cannot be: to wait is what harms nobody.
        (Next::Unknown | Next::Receipt(_) | Next::Resend(_), _) => Ok(Begun::Unknown),
    }
}

fn holder(tx: &Tx<'_>, held: Held) -> Result<Option<Holder>> {
    tx.one(HOLDER, params![held.job, held.token, tx.mono], |row| {
        Ok(Holder { lease_until: row.get(0)?, cancel_asked: row.get(1)?, sent: row.get(2)? })
    })
}

fn seal<'a>(tx: &Tx<'_>, intent: &'a Intent) -> Result<Sealed<'a>> {
    let job = row::job(tx, intent.held.job)?.expect("a running job has its row (trigger)");
    let channel = channel::with_abilities(tx, job.org, &intent.channel, intent.abilities)?;
    let parts = [&intent.channel, &intent.recipient, &intent.body].map(|part| part.as_bytes());
    Ok(Sealed {
        intent,
        origin: job.origin(),
        channel,
        recipient_hmac: recipient_hmac(tx, &intent.recipient),
        hash: tx.secret.hmac("send", &parts),
    })
}

// Nothing is sent: another body than the accepted one is recorded, and a person hears of it once.
fn remembered(tx: &Tx<'_>, wish: &Sealed<'_>, send: &SendRow, accepted: &Try) -> Result<Begun> {
    let changed = accepted.hash != wish.hash;
    if changed && send.changed_hash != Some(wish.hash) {
        tx.run(SEND_CHANGED, params![send.id, wish.hash])?;
        let name = &wish.intent.channel;
        let notice = Notice {
            org: wish.intent.held.org,
            kind: "send.changed",
            cause: format!("channel {name}"),
            severity: "info",
            reason: format!(
                "a later run asked for another message by {name} than the one that had gone out; nothing was sent"
            ),
            next_step:
                "make the handler's text the same in every run (ctx.step), or order it once more"
                    .to_owned(),
            about: Some(("send", send.id.0)),
        };
        notify(tx, &notice)?;
    }
    let (key, receipt) = (accepted.key, accepted.receipt.clone());
    Ok(Begun::Accepted { key, receipt, changed })
}

// The same try is called once more: a gate that is not open leaves it as it is.
fn resend(
    tx: &Tx<'_>,
    wish: &Sealed<'_>,
    holder: &Holder,
    send: &SendRow,
    unknown: &Try,
) -> Result<Begun> {
    if ask(tx, wish, holder)? != Gate::Open {
        return Ok(Begun::Unknown);
    }
    if is_short(tx, wish, holder) {
        return Ok(Begun::Short);
    }
    let held = wish.intent.held;
    let notice: Option<NoticeNo> =
        tx.one(TRY_NOTICE, params![send.id, unknown.n], |row| row.get(0))?.flatten();
    if tx.run(TRY_RESEND, params![send.id, unknown.n, held.token, held.job])? == 0 {
        return Ok(Begun::Unknown);
    }
    // It is being sent: nobody needs to look at it now.
    close_notice(tx, notice, "lanebox")?;
    let memory = wish.channel.abilities.dedupe_ms.unwrap_or(0);
    let forgotten = tx.mono + (unknown.intended_at + memory - tx.now);
    let forgotten = unknown.intended_mono.map_or(forgotten, |at| forgotten.min(at + memory));
    let timeout = wish.channel.abilities.timeout_ms;
    let call_by = call_by(tx, wish, holder).min(forgotten - timeout);
    Ok(Begun::Go { key: unknown.key, call_by })
}

fn first_call(
    tx: &Tx<'_>,
    wish: &Sealed<'_>,
    holder: &Holder,
    send: Option<SendRow>,
    n: u32,
    after: Option<After>,
) -> Result<Begun> {
    let refused = match ask(tx, wish, holder)? {
        Gate::Open if is_short(tx, wish, holder) => return Ok(Begun::Short),
        Gate::Open => None,
        Gate::Wait { until, why } => return Ok(Begun::Wait { until, why }),
        Gate::Veto(why) => return Ok(Begun::Veto(why)),
        Gate::Cancelled => return Ok(Begun::Cancelled),
        Gate::Refused(why) => Some(why),
    };
    let held = wish.intent.held;
    let send = match send {
        Some(send) => send,
        None => sends::make(tx, held.org, &wish.origin, &wish.intent.slot)?,
    };
    sends_something(tx, holder, held)?;
    let key = write(tx, wish, &send, n, after)?;
    match refused {
        Some(why) => refuse(tx, send.id, n, why),
        None => Ok(Begun::Go { key, call_by: call_by(tx, wish, holder) }),
    }
}

fn write(
    tx: &Tx<'_>,
    wish: &Sealed<'_>,
    send: &SendRow,
    n: u32,
    after: Option<After>,
) -> Result<SendKey> {
    let key = SendKey(tx.env.uuid());
    let held = wish.intent.held;
    let order_no = if send.order_by.is_some() { send.orders } else { 0 };
    let row = params![
        send.id,
        n,
        key,
        wish.channel.id,
        wish.recipient_hmac,
        mask(&wish.intent.recipient),
        wish.hash,
        held.job,
        held.token,
        after.map(After::as_str),
        send.order_by,
        order_no,
        tx.now,
        tx.mono,
        tx.env.boot()
    ];
    tx.run(TRY_NEW, row)?;
    Ok(key)
}

// Refused before any call, and written down: its number is used, so that the next send of the run
// keeps its own.
fn refuse(tx: &Tx<'_>, send: SendNo, n: u32, why: String) -> Result<Begun> {
    tx.run(TRY_REFUSED, params![send, n, one_line(&why), tx.now])?;
    Ok(Begun::Refused(why))
}

// The end of the run must look at the ledger.
fn sends_something(tx: &Tx<'_>, holder: &Holder, held: Held) -> Result<()> {
    if !holder.sent {
        tx.run(RUNNING_SENT, params![held.job, held.token])?;
    }
    Ok(())
}

fn ask(tx: &Tx<'_>, wish: &Sealed<'_>, holder: &Holder) -> Result<Gate> {
    let at = AtGate {
        org: wish.intent.held.org,
        channel: &wish.channel,
        name: &wish.intent.channel,
        recipient_hmac: &wish.recipient_hmac,
        cancel_asked: holder.cancel_asked,
    };
    match gate::ask(tx, &at)? {
        Gate::Open if wish.intent.recipient.trim().is_empty() => {
            Ok(Gate::Refused("it has no address".to_owned()))
        }
        answer => Ok(answer),
    }
}

fn is_short(tx: &Tx<'_>, wish: &Sealed<'_>, holder: &Holder) -> bool {
    holder.lease_until < tx.mono + wish.channel.abilities.timeout_ms + MARGIN_MS
}

fn call_by(tx: &Tx<'_>, wish: &Sealed<'_>, holder: &Holder) -> i64 {
    (holder.lease_until - wish.channel.abilities.timeout_ms).min(tx.mono + FRESH_MS)
}
