//! Real processes on one file: killed at any moment, frozen past their leases and in the middle of
//! a write, and six at once on one lock. Judged by what outsiders wrote down, and by plain SQL.
#![cfg(target_os = "linux")]

mod child;
mod clock;
mod contention;
mod dice;
mod eye;
mod kill;
mod lines;
mod part;
#[path = "../rig/say.rs"]
mod say;

use std::sync::Mutex;

/// Two rigs at once would measure one another.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
