//! A person orders a send once more. The order lasts until a try of it is accepted, or somebody
//! gives up; if its job ends before, a person is told.

use rusqlite::params;

use super::audit_log::record;
use super::finished;
use super::notify::{Notice, notify};
use super::row;
use super::sends;
use super::tx::Tx;
use crate::error::Result;
use crate::model::id::{JobNo, OrgNo, SendKey, SendNo};
use crate::model::send::tries::TryState;
use crate::store::ledger::Ordered;

const ORDER_NEW: &str =
    "UPDATE lanebox_send SET order_by = ?2, orders = orders + 1 WHERE id = ?1 AND order_by IS NULL";

const UNFULFILLED: &str = "SELECT s.id, s.org, c.name FROM lanebox_send s \
     CROSS JOIN lanebox_send_try t ON t.send = s.id AND t.n = (SELECT max(n) FROM lanebox_send_try WHERE send = s.id) \
     CROSS JOIN lanebox_channel c ON c.id = t.channel WHERE s.origin = ?1 AND s.order_by IS NOT NULL";

/// Orders the send of this key, its newest try's, once more.
pub(super) fn order(tx: &Tx<'_>, key: SendKey, who: &str) -> Result<Ordered> {
    let Some(found) = sends::of_key(tx, key)? else {
        return Ok(Ordered::UnknownKey);
    };
    let tries = sends::tries(tx, found.send)?;
    let newest = tries.first().expect("the key is of one of them");
    if newest.key != key {
        return Ok(Ordered::Superseded { newest: newest.key });
    }
    let any = |states: &[TryState]| tries.iter().any(|t| states.contains(&t.state));
    if any(&[TryState::Intended, TryState::Unknown]) {
        return Ok(Ordered::Undecided);
    }
    if finished::for_good(tx, found.job)? {
        return Ok(Ordered::JobEnded);
    }
    if !any(&[TryState::Accepted, TryState::GivenUp]) {
        return Ok(Ordered::NotNeeded);
    }
    if tx.run(ORDER_NEW, params![found.send, who])? == 0 {
        return Ok(Ordered::Pending);
    }
    record(tx, who, "send.order", ("send", found.send.0), None)?;
    Ok(Ordered::Now)
}

/// The job of these sends has ended for good: a person is told of each order that is left. An order
/// may come when the run has passed its send.
pub(super) fn tell_unfulfilled(tx: &Tx<'_>, job: JobNo) -> Result<()> {
    let job = row::job(tx, job)?.expect("a job that ends has its row (trigger)");
    let left: Vec<(SendNo, OrgNo, String)> =
        tx.all(UNFULFILLED, [job.origin()], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    for (send, org, channel) in left {
        let notice = Notice {
            org,
            kind: "send.unfulfilled",
            cause: format!("channel {channel}"),
            severity: "warn",
            reason: format!(
                "a message by {channel} was ordered once more, and its job ended before that"
            ),
            next_step: "look at `lanebox sends SEND`, and enqueue a new job for what must go out"
                .to_owned(),
            about: Some(("send", send.0)),
        };
        notify(tx, &notice)?;
    }
    Ok(())
}
