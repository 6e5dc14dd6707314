//! Consent of a recipient for a channel: given or withdrawn, with its evidence. Nothing known means
//! allowed.

use rusqlite::params;

use super::names;
use super::tx::Tx;
use crate::error::Result;
use crate::model::id::OrgNo;
use crate::model::text::{check_key, check_name};
use crate::store::ledger::Consent;

const CONSENT_SET: &str = "INSERT INTO lanebox_consent(org, recipient_hmac, channel, given, at, evidence) VALUES (?1, ?2, ?3, ?4, ?5, ?6) \
     ON CONFLICT(org, recipient_hmac, channel) DO UPDATE SET given = excluded.given, at = excluded.at, evidence = excluded.evidence";
const CONSENT_WITHDRAWN: &str = "SELECT evidence FROM lanebox_consent WHERE org = ?1 AND recipient_hmac = ?2 AND channel = ?3 AND given = 0";

/// How the file names a recipient: no table has the recipient itself.
pub(super) fn recipient_hmac(tx: &Tx<'_>, recipient: &str) -> [u8; 32] {
    tx.secret.hmac("recipient", &[recipient.trim().as_bytes()])
}

/// Records what a recipient said last.
pub(super) fn set_consent(tx: &Tx<'_>, consent: &Consent) -> Result<()> {
    check_key("evidence of a consent", &consent.evidence, 300)?;
    check_key("recipient", consent.recipient.trim(), 512)?;
    check_name("channel", &consent.channel, 128)?;
    check_name("org", &consent.org, 128)?;
    let org = names::org(tx, &consent.org)?;
    let recipient = recipient_hmac(tx, &consent.recipient);
    let Consent { channel, given, evidence, .. } = consent;
    tx.run(CONSENT_SET, params![org, recipient, channel, given, tx.now, evidence])?;
    Ok(())
}

/// The evidence that a recipient withdrew consent for a channel, if that was the last word.
pub(super) fn withdrawn(
    tx: &Tx<'_>,
    org: OrgNo,
    recipient_hmac: &[u8; 32],
    channel: &str,
) -> Result<Option<String>> {
    tx.one(CONSENT_WITHDRAWN, params![org, recipient_hmac, channel], |row| row.get(0))
}
