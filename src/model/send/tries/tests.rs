//! What a run hears of a send that the ledger knows: every state of the last try, with and without
//! an order.

use uuid::Uuid;

use super::{After, Next, Try, TryState, Want, next};
use crate::model::id::{ChannelNo, SendKey};

const HASH: [u8; 32] = [7; 32];
const WANT: Want<'static> = Want {
    now: 1_000,
    mono: 1_000,
    hash: &HASH,
    channel: ChannelNo(3),
    timeout_ms: 100,
    dedupe_ms: Some(10_000),
};

fn one(n: u32, state: TryState) -> Try {
    Try {
        n,
        key: SendKey(Uuid::from_u128(u128::from(n))),
        state,
        hash: HASH,
        channel: ChannelNo(3),
        receipt: None,
        resend: false,
        intended_at: 0,
        intended_mono: None,
        wait_until: Some(5_000),
    }
}

fn after(n: u32, after: After) -> Next<'static> {
    Next::Try { n, after: Some(after) }
}

// fault: give-up-is-tried, receipt-is-forgotten, blind-resend
#[test]
fn e77_the_state_of_the_last_try_decides() {
    use TryState::{
        Accepted, Duplicate, GivenUp, Intended, NotFound, Rejected, SendAgain, Unknown,
    };
    assert_eq!(next(&[], false, &WANT), Next::Try { n: 1, after: None });
    let accepted = [one(1, Accepted)];
    assert_eq!(next(&accepted, false, &WANT), Next::Receipt(&accepted[0]));
    let without_order = [
        (Intended, Next::Unknown),
        (Unknown, Next::Unknown),
        (Rejected, after(2, After::Rejected)),
        (NotFound, after(2, After::Abandoned)),
        (GivenUp, Next::GivenUp),
    ];
    for (state, expected) in without_order {
        assert_eq!(next(&[one(1, state)], false, &WANT), expected, "{state:?}");
    }
    let with_order = [
        (Accepted, after(2, After::Order)),
        (Intended, Next::Unknown),
        (Unknown, Next::Unknown),
        (Rejected, after(2, After::Rejected)),
        (NotFound, after(2, After::Abandoned)),
        (GivenUp, after(2, After::Order)),
        (SendAgain, after(2, After::Order)),
        (Duplicate, after(2, After::Order)),
    ];
    for (state, expected) in with_order {
        assert_eq!(next(&[one(1, state)], true, &WANT), expected, "{state:?} with an order");
    }
}

// Trap 19: an accept on an older try while a newer one is open.
#[test]
fn an_accept_counts_whatever_came_after_it() {
    for newer in [TryState::Unknown, TryState::Rejected, TryState::Intended, TryState::Duplicate] {
        let tries = [one(2, newer), one(1, TryState::Accepted)];
        assert_eq!(next(&tries, false, &WANT), Next::Receipt(&tries[1]), "{newer:?}");
    }
}

#[test]
fn the_newest_accept_is_the_receipt() {
    let tries = [one(2, TryState::Accepted), one(1, TryState::Accepted)];
    assert_eq!(next(&tries, false, &WANT), Next::Receipt(&tries[0]));
}

#[test]
fn a_resend_needs_permission_the_same_message_the_memory_and_the_patience() {
    let allowed = Try { resend: true, ..one(1, TryState::Unknown) };
    let tries = [allowed.clone()];
    assert_eq!(next(&tries, false, &WANT), Next::Resend(&tries[0]));
    let refused = [
        ("no permission", Try { resend: false, ..allowed.clone() }, WANT),
        ("another body", Try { hash: [8; 32], ..allowed.clone() }, WANT),
        ("another channel", Try { channel: ChannelNo(4), ..allowed.clone() }, WANT),
        ("no memory", allowed.clone(), Want { dedupe_ms: None, ..WANT }),
        ("the call outlives the memory", allowed.clone(), Want { now: 9_901, ..WANT }),
        (
            "the wall clock has stepped back",
            Try { intended_mono: Some(0), ..allowed.clone() },
            Want { mono: 9_901, ..WANT },
        ),
        ("the patience is over", allowed.clone(), Want { now: 5_000, ..WANT }),
    ];
    for (why, stored, want) in refused {
        assert_eq!(next(&[stored], false, &want), Next::Unknown, "{why}");
    }
}

#[test]
fn a_thousand_tries_are_the_last() {
    assert_eq!(next(&[one(1_000, TryState::Rejected)], false, &WANT), Next::Exhausted);
}

#[test]
fn what_a_later_version_stores_is_not_settled_for_this_one() {
    assert_eq!(TryState::read("paused", None), TryState::Unknown);
}
