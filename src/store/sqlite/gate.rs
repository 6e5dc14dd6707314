//! The gate before a send: emergency hold, cancel, channel state, consent. Each part allows, waits
//! or refuses.

use super::channel::{ChannelRow, State};
use super::tx::Tx;
use super::{consent, hold};
use crate::error::Result;
use crate::model::id::OrgNo;

/// How long an open-ended wait lasts before the gate is asked again.
const ASK_AGAIN_MS: i64 = 60_000;

/// The longest wait before the gate is asked again: somebody may open a channel before its pause is
/// over.
const LONGEST_WAIT_MS: i64 = 600_000;

/// What the gate says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Gate {
    Open,
    /// Not now; asked again at `until`.
    Wait {
        until: i64,
        why: String,
    },
    /// Never, by somebody's decision.
    Veto(String),
    /// A person asked to cancel the job.
    Cancelled,
    /// It cannot be sent by this channel.
    Refused(String),
}

/// A message at the gate.
#[derive(Clone, Copy, Debug)]
pub(super) struct AtGate<'a> {
    pub(super) org: OrgNo,
    pub(super) channel: &'a ChannelRow,
    pub(super) name: &'a str,
    pub(super) recipient_hmac: &'a [u8; 32],
    pub(super) cancel_asked: bool,
}

/// Asks every part in turn, in this transaction: the answer is as fresh as the intent.
pub(super) fn ask(tx: &Tx<'_>, at: &AtGate<'_>) -> Result<Gate> {
    if let Some(why) = hold::held(tx)? {
        return Ok(wait(tx, None, format!("all sends are held: {why}")));
    }
    if at.cancel_asked {
        return Ok(Gate::Cancelled);
    }
    let name = at.name;
    let because = at.channel.reason.as_ref().map_or_else(String::new, |why| format!(" ({why})"));
    match at.channel.state {
        State::Archived => {
            return Ok(Gate::Refused(format!("channel {name} is archived{because}")));
        }
        State::Down => {
            return Ok(wait(tx, None, format!("channel {name} is down{because}")));
        }
        State::Paused { until } if until.is_none_or(|until| tx.now < until) => {
            return Ok(wait(tx, until, format!("channel {name} is paused{because}")));
        }
        State::Paused { .. } | State::Open => {}
    }
    if let Some(evidence) = consent::withdrawn(tx, at.org, at.recipient_hmac, name)? {
        return Ok(Gate::Veto(format!("consent for {name} was withdrawn: {evidence}")));
    }
    Ok(Gate::Open)
}

fn wait(tx: &Tx<'_>, until: Option<i64>, why: String) -> Gate {
    let latest = tx.now + LONGEST_WAIT_MS;
    Gate::Wait { until: until.unwrap_or(tx.now + ASK_AGAIN_MS).min(latest), why }
}
