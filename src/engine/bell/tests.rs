//! Nobody misses a ring: not who waits, and not who was looking meanwhile.

use std::sync::Arc;
use std::time::Duration;

use super::Bell;

const LONG: Duration = Duration::from_secs(600);

// E48
// fault: bell-is-not-heard
#[test]
fn a_ring_between_hearing_and_waiting_is_not_missed() {
    let bell = Bell::default();
    let heard = bell.heard();
    bell.ring();
    bell.wait(heard, LONG);
    assert_eq!(bell.heard(), heard + 1);
}

#[test]
fn a_ring_that_was_heard_before_does_not_wake_again() {
    let bell = Bell::default();
    bell.ring();
    let heard = bell.heard();
    bell.wait(heard, Duration::ZERO);
    assert_eq!(bell.heard(), heard);
}

#[test]
fn one_ring_wakes_everybody() {
    let bell = Arc::new(Bell::default());
    let heard = bell.heard();
    let waiters: Vec<_> = (0..4)
        .map(|_| {
            let bell = bell.clone();
            std::thread::spawn(move || bell.wait(heard, LONG))
        })
        .collect();
    bell.ring();
    for waiter in waiters {
        waiter.join().expect("no panic");
    }
}
