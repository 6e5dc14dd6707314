//! What the ledger holds of one send, and what that means for a run that asks to send it.

use super::ability::is_remembered;
use crate::model::id::{ChannelNo, SendKey};

/// One try as far as the next run cares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Try {
    pub(crate) n: u32,
    pub(crate) key: SendKey,
    pub(crate) state: TryState,
    pub(crate) hash: [u8; 32],
    pub(crate) channel: ChannelNo,
    pub(crate) receipt: Option<String>,
    pub(crate) resend: bool,
    pub(crate) intended_at: i64,
    /// The same by the monotonic clock, if it was in this boot.
    pub(crate) intended_mono: Option<i64>,
    pub(crate) wait_until: Option<i64>,
}

/// The state of a try.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TryState {
    Intended,
    Accepted,
    Rejected,
    Unknown,
    NotFound,
    SendAgain,
    GivenUp,
    Duplicate,
}

impl TryState {
    /// From the columns `state` and `how`.
    pub(crate) fn read(state: &str, how: Option<&str>) -> TryState {
        match (state, how) {
            ("intended", _) => TryState::Intended,
            ("accepted", _) => TryState::Accepted,
            ("rejected", _) => TryState::Rejected,
            ("duplicate", _) => TryState::Duplicate,
            ("abandoned", Some("given_up")) => TryState::GivenUp,
            ("abandoned", Some("send_again")) => TryState::SendAgain,
            ("abandoned", _) => TryState::NotFound,
            // Whatever this program does not know is not settled.
            _ => TryState::Unknown,
        }
    }
}

/// What a run asks to send.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Want<'a> {
    pub(crate) now: i64,
    pub(crate) mono: i64,
    pub(crate) hash: &'a [u8; 32],
    pub(crate) channel: ChannelNo,
    pub(crate) timeout_ms: i64,
    pub(crate) dedupe_ms: Option<i64>,
}

/// Why a later try may be born.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum After {
    Rejected,
    Abandoned,
    Order,
}

impl After {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            After::Rejected => "rejected",
            After::Abandoned => "abandoned",
            After::Order => "order",
        }
    }
}

/// What becomes of the wish to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next<'a> {
    /// It was accepted: the receipt, before any gate is asked.
    Receipt(&'a Try),
    /// An earlier try is undecided.
    Unknown,
    /// A person gave up, and nobody ordered otherwise.
    GivenUp,
    /// The same try is called again with the same key, if the gate allows it.
    Resend(&'a Try),
    /// A new try, if the gate allows it.
    Try { n: u32, after: Option<After> },
    /// It was tried as often as the ledger can count.
    Exhausted,
}

const MOST_TRIES: u32 = 1_000;

/// Decides, from the tries of a send, newest first; `ordered` if a person's order is pending.
pub(crate) fn next<'a>(tries: &'a [Try], ordered: bool, want: &Want<'_>) -> Next<'a> {
    let found = |state| tries.iter().find(|t| t.state == state);
    if let (Some(accepted), false) = (found(TryState::Accepted), ordered) {
        return Next::Receipt(accepted);
    }
    if found(TryState::Intended).is_some() {
        return Next::Unknown;
    }
    if let Some(unknown) = found(TryState::Unknown) {
        return if may_resend(unknown, want) { Next::Resend(unknown) } else { Next::Unknown };
    }
    let Some(last) = tries.first() else {
        return Next::Try { n: 1, after: None };
    };
    let after = match last.state {
        TryState::Rejected => After::Rejected,
        TryState::NotFound => After::Abandoned,
        TryState::GivenUp if !ordered => return Next::GivenUp,
        _ if ordered => After::Order,
        // Nothing but an order follows these; the schema's audit says the same.
        _ => return Next::Unknown,
    };
    match last.n {
        MOST_TRIES.. => Next::Exhausted,
        n => Next::Try { n: n + 1, after: Some(after) },
    }
}

// The permission is the resolver's; that its call still falls inside the provider's memory and the
// patience is looked at again here.
fn may_resend(unknown: &Try, want: &Want<'_>) -> bool {
    let ends = (want.now + want.timeout_ms, want.mono + want.timeout_ms);
    let intended = (unknown.intended_at, unknown.intended_mono);
    unknown.resend
        && unknown.hash == *want.hash
        && unknown.channel == want.channel
        && want.dedupe_ms.is_some_and(|memory| is_remembered(memory, intended, ends))
        && unknown.wait_until.is_none_or(|until| want.now < until)
}

#[cfg(test)]
mod tests;
