//! A part that a process plays: this very test binary, told by its environment what to be.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};

use serde::{Deserialize, Serialize};

use crate::{contention, kill};

/// Before what a part says, so that what the test harness says is not taken for it.
pub const MARK: &str = "part> ";

/// What an order is told by.
pub const ORDER: &str = "LANEBOX_ORDER";

/// What a process is to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Part {
    Provider,
    Worker,
    Producer,
    Writer,
    Reader,
    Backup,
}

/// What a provider can do about a send whose answer was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ability {
    Dedupe,
    Lookup,
    Neither,
}

/// All that a process is told.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Order {
    pub part: Part,
    pub dir: PathBuf,
    pub seed: u64,
    pub ability: Ability,
    /// Which one of its part: it goes on where the last one of this number ended.
    pub line: u32,
    /// No two processes of a run have the same.
    pub life: u32,
}

impl Order {
    pub fn db(&self) -> PathBuf {
        db(&self.dir)
    }
}

/// The one file.
pub fn db(dir: &Path) -> PathBuf {
    dir.join("crm.db")
}

/// Says a line to the rig.
pub fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    // Nobody may be listening any more.
    let _ = writeln!(out, "{MARK}{line}").and_then(|()| out.flush());
}

/// It cannot go on: the rig hears why.
pub fn fail(why: &str) -> ! {
    say(&format!("failed {why}"));
    std::process::exit(1);
}

/// Set by SIGTERM.
pub fn told_to_stop() -> Arc<AtomicBool> {
    let told = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(signal_hook::consts::SIGTERM, told.clone()).expect("a handler");
    told
}

/// What the rig tells it meanwhile. A process does not outlive its rig.
pub fn hear() -> Receiver<String> {
    let (tell, hear) = channel();
    std::thread::spawn(move || {
        for line in std::io::stdin().lines() {
            let Ok(line) = line else { break };
            // It may not care.
            let _ = tell.send(line);
        }
        std::process::exit(0);
    });
    hear
}

pub fn is_set(flag: &AtomicBool) -> bool {
    flag.load(Ordering::SeqCst)
}

/// Run by children only: in the test run itself there is no order, and nothing to do.
#[test]
fn plays_its_part() {
    let Ok(order) = std::env::var(ORDER) else { return };
    let order: Order = serde_json::from_str(&order).expect("an order");
    match order.part {
        Part::Provider => kill::provider::serve(&order),
        Part::Worker => kill::worker::work(&order),
        Part::Producer => kill::producer::produce(&order),
        Part::Writer => contention::writer::write(&order),
        Part::Reader => contention::beside::read(&order),
        Part::Backup => contention::beside::back_up(&order),
    }
}
