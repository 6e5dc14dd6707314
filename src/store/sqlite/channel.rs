//! Channels of an org: made when they are first named, open until somebody says otherwise.

use rusqlite::params;

use super::audit_log::{self, record};
use super::names;
use super::tx::Tx;
use crate::error::Result;
use crate::model::id::{ChannelNo, OrgNo, SendKey};
use crate::model::job::millis;
use crate::model::send::ChannelState;
use crate::model::send::ability::Abilities;
use crate::model::text::{check_name, one_line};
use crate::store::ledger::ChannelChange;

const CHANNEL_FIND: &str = "SELECT id, state, until, reason, timeout_ms, patience_ms, lookup_settle_ms, dedupe_ms FROM lanebox_channel WHERE org = ?1 AND name = ?2";
const CHANNEL_NEW: &str = "INSERT INTO lanebox_channel(org, name, timeout_ms, patience_ms, lookup_settle_ms, dedupe_ms) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
const CHANNEL_ABILITIES: &str = "UPDATE lanebox_channel SET timeout_ms = ?2, patience_ms = ?3, lookup_settle_ms = ?4, dedupe_ms = ?5 WHERE id = ?1";
const CHANNEL_STATE: &str =
    "UPDATE lanebox_channel SET state = ?2, until = ?3, reason = ?4 WHERE id = ?1";
// A pause of the provider's own: it never shortens a pause, and never reopens what a person closed.
const CHANNEL_RETRY_AFTER: &str = "UPDATE lanebox_channel SET state = 'paused', until = ?2, reason = 'the provider asked for a pause' \
     WHERE id = (SELECT channel FROM lanebox_send_try WHERE key = ?1) AND (state = 'open' OR (state = 'paused' AND until < ?2))";

/// The longest pause that a provider can ask for.
const LONGEST_PAUSE_MS: i64 = 86_400_000;

/// A channel as the gate and the resolver see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ChannelRow {
    pub(super) id: ChannelNo,
    pub(super) state: State,
    pub(super) reason: Option<String>,
    pub(super) abilities: Abilities,
}

/// A channel's state as it is stored. A pause whose time is over is as good as open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Open,
    Paused { until: Option<i64> },
    Down,
    Archived,
}

impl State {
    pub(super) fn read(state: &str, until: Option<i64>) -> State {
        match state {
            "open" => State::Open,
            "paused" => State::Paused { until },
            "archived" => State::Archived,
            // What this program does not know is not a reason to call.
            _ => State::Down,
        }
    }
}

pub(super) fn find(tx: &Tx<'_>, org: OrgNo, name: &str) -> Result<Option<ChannelRow>> {
    tx.one(CHANNEL_FIND, params![org, name], |row| {
        Ok(ChannelRow {
            id: row.get(0)?,
            state: State::read(row.get_ref(1)?.as_str()?, row.get(2)?),
            reason: row.get(3)?,
            abilities: Abilities {
                timeout_ms: row.get(4)?,
                patience_ms: row.get(5)?,
                lookup_settle_ms: row.get(6)?,
                dedupe_ms: row.get(7)?,
            },
        })
    })
}

/// The channel with these abilities: the ones of the code that runs now are what counts.
pub(super) fn with_abilities(
    tx: &Tx<'_>,
    org: OrgNo,
    name: &str,
    abilities: Abilities,
) -> Result<ChannelRow> {
    let Some(found) = find(tx, org, name)? else {
        return make(tx, org, name, abilities);
    };
    if found.abilities != abilities {
        let Abilities { timeout_ms, patience_ms, lookup_settle_ms, dedupe_ms } = abilities;
        let row = params![found.id, timeout_ms, patience_ms, lookup_settle_ms, dedupe_ms];
        tx.run(CHANNEL_ABILITIES, row)?;
    }
    Ok(ChannelRow { abilities, ..found })
}

fn make(tx: &Tx<'_>, org: OrgNo, name: &str, abilities: Abilities) -> Result<ChannelRow> {
    let Abilities { timeout_ms, patience_ms, lookup_settle_ms, dedupe_ms } = abilities;
    tx.run(CHANNEL_NEW, params![org, name, timeout_ms, patience_ms, lookup_settle_ms, dedupe_ms])?;
    let id = ChannelNo(tx.last_row());
    Ok(ChannelRow { id, state: State::Open, reason: None, abilities })
}

/// Somebody opens, pauses, downs or archives a channel. One that was never used is made, with the
/// default abilities.
pub(super) fn set_state(tx: &Tx<'_>, change: &ChannelChange) -> Result<()> {
    check_name("org", &change.org, 128)?;
    check_name("channel", &change.channel, 128)?;
    let who = audit_log::who(&change.who)?;
    let org = names::org(tx, &change.org)?;
    let channel = match find(tx, org, &change.channel)? {
        Some(channel) => channel,
        None => make(tx, org, &change.channel, Abilities::default())?,
    };
    let (state, until, verb) = match change.state {
        ChannelState::Open => ("open", None, "channel.open"),
        ChannelState::Paused { until } => ("paused", until.map(millis), "channel.pause"),
        ChannelState::Down => ("down", None, "channel.down"),
        ChannelState::Archived => ("archived", None, "channel.archive"),
    };
    let reason = change.reason.as_deref().map(one_line);
    tx.run(CHANNEL_STATE, params![channel.id, state, until, reason])?;
    record(tx, &who, verb, ("channel", channel.id.0), reason.as_deref())
}

/// The provider wants no call for so long.
pub(super) fn retry_after(tx: &Tx<'_>, key: SendKey, pause_ms: i64) -> Result<()> {
    let until = tx.now + pause_ms.clamp(0, LONGEST_PAUSE_MS);
    tx.run(CHANNEL_RETRY_AFTER, params![key, until])?;
    Ok(())
}
