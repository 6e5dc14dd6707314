//! Whoever looks, then waits for a ring, misses none.

use std::sync::Arc;
use std::time::Duration;

use shuttle::sync::atomic::{AtomicU64, Ordering};
use shuttle::thread;

use crate::engine::bell::Bell;
use crate::engine::signal::{Signal, Stop};

const LONG: Duration = Duration::from_secs(600);

/// As loops do: hear, look, wait. Each ends when it has seen all that was committed.
pub(super) fn everybody_hears_the_last_ring(seed: u64) {
    let mut random = fastrand::Rng::with_seed(seed);
    let (loops, rings) = (random.u64(1..4), random.u64(1..4));
    let (bell, committed) = (Arc::<Bell>::default(), Arc::new(AtomicU64::new(0)));
    let mut threads = Vec::new();
    for _ in 0..loops {
        let (bell, committed) = (bell.clone(), committed.clone());
        threads.push(thread::spawn(move || {
            loop {
                let heard = bell.heard();
                if committed.load(Ordering::SeqCst) == rings {
                    return;
                }
                bell.wait(heard, LONG);
            }
        }));
    }
    for _ in 0..rings {
        let (bell, committed) = (bell.clone(), committed.clone());
        threads.push(thread::spawn(move || {
            committed.fetch_add(1, Ordering::SeqCst);
            bell.ring();
        }));
    }
    threads.into_iter().for_each(|thread| thread.join().expect("no panic"));
}

/// Of several reasons the one that weighs most stays, and everybody who waits hears one.
pub(super) fn whoever_waits_hears_the_signal(_: u64) {
    let signal = Arc::<Signal>::default();
    let mut threads = Vec::new();
    for _ in 0..2 {
        let signal = signal.clone();
        threads.push(thread::spawn(move || {
            assert!(signal.wait(LONG));
            assert!(signal.why().is_some());
        }));
    }
    for why in [Stop::LeaseLost, Stop::Leaving] {
        let signal = signal.clone();
        threads.push(thread::spawn(move || signal.raise(why)));
    }
    threads.into_iter().for_each(|thread| thread.join().expect("no panic"));
    assert_eq!(signal.why(), Some(Stop::LeaseLost));
}
