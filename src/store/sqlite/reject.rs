//! The only call of a try was refused, or never reached the provider: the one thing that proves
//! that it did not go out.

use rusqlite::params;

use super::channel;
use super::sends;
use super::settle::free;
use super::tx::Tx;
use super::undecided::close_notice;
use crate::error::Result;
use crate::model::send::class::Refusal;
use crate::model::text::one_line;
use crate::store::ledger::{NotSent, Rejected, Rejection};

// Late is fine, but only from the run that made the only call: after a second one a refusal says
// nothing of the first.
const TRY_REJECTED: &str = "UPDATE lanebox_send_try SET state = 'rejected', class = ?3, reason = ?4, ended_at = ?5, next_look = NULL, resend = 0, notice = NULL \
     WHERE key = ?1 AND token = ?2 AND calls = 1 AND state IN ('intended', 'unknown')";

/// Records a rejection. Not fenced by the job's token: a frozen but honest worker leaves no
/// needless unknown.
pub(super) fn reject(tx: &Tx<'_>, rejection: &Rejection) -> Result<Rejected> {
    let Rejection { key, held, why, .. } = *rejection;
    if let Some(pause_ms) = rejection.pause_ms {
        channel::retry_after(tx, key, pause_ms)?;
    }
    let Some(found) = sends::of_key(tx, key)? else {
        return Ok(Rejected::NothingLearned);
    };
    let class = match why {
        NotSent::Refused(Refusal::Transient) => "transient",
        NotSent::Refused(Refusal::ForGood) => "good",
        NotSent::NotCalled => "not_called",
    };
    let reason = one_line(&rejection.reason);
    if tx.run(TRY_REJECTED, params![key, held.token, class, reason, tx.now])? == 0 {
        return Ok(Rejected::NothingLearned);
    }
    close_notice(tx, found.notice, "lanebox")?;
    free(tx, found.send)?;
    Ok(Rejected::Now)
}
