//! A signal wakes, keeps the weightiest reason, and is never missed.

use std::sync::Arc;
use std::time::Duration;

use super::{Signal, Stop};

const LONG: Duration = Duration::from_secs(600);

#[test]
fn a_reason_that_weighs_more_replaces_one_that_weighs_less_and_never_the_other_way_round() {
    let all = [Stop::Leaving, Stop::Cancelled, Stop::Overrun, Stop::LeaseLost];
    for (i, &first) in all.iter().enumerate() {
        for (j, &second) in all.iter().enumerate() {
            let signal = Signal::default();
            signal.raise(first);
            signal.raise(second);
            assert_eq!(signal.why(), Some(all[i.max(j)]), "{first:?} then {second:?}");
        }
    }
}

#[test]
fn a_wait_ends_without_a_signal_and_says_so() {
    assert!(!Signal::default().wait(Duration::ZERO));
}

#[test]
fn a_signal_raised_before_the_wait_is_not_missed() {
    let signal = Signal::default();
    signal.raise(Stop::Leaving);
    assert!(signal.wait(LONG), "it would hang here");
}

#[test]
fn a_signal_wakes_every_waiter() {
    let signal = Arc::new(Signal::default());
    let waiters: Vec<_> = (0..4)
        .map(|_| {
            let signal = signal.clone();
            std::thread::spawn(move || signal.wait(LONG))
        })
        .collect();
    signal.raise(Stop::Cancelled);
    for waiter in waiters {
        assert!(waiter.join().expect("no panic"));
    }
}
