//! Power loss: a layer below SQLite writes down what is asked of the disk; then, for every moment
//! at which the power may fail, the disks that may be found afterwards are made and looked into.
//! Whatever was acknowledged by then is there, nothing is half there, and the file is sound; also
//! if the power fails again while that file is opened.
//!
//! `LANEBOX_SEED` and `LANEBOX_IMAGES` choose the first seed and how many disks are made; a failure
//! prints the line that repeats it. The shop's ids and times are new each run, so a repetition has
//! the same steps and losses, not the same bytes.

use std::io::Write as _;

use lanebox::Durability;

use crate::check::{self, Fault, Promised};
use crate::disk::{Disk, Flush, LOSSES, Loss};
use crate::shim::{self, Ack, Op};
use crate::{ONE_AT_A_TIME, place, setting, shop};

/// Disks of a run that does not say.
const IMAGES: usize = 20_000;

/// Of the disks found, one in so many is opened by the library and audited.
const AUDITED: usize = 16;

/// And one in so many is opened while the power fails again.
const AGAIN: usize = 800;

/// What a run came to.
#[derive(Default)]
struct Count {
    images: usize,
    lost: usize,
    corrupt: usize,
    first: Option<String>,
}

impl Count {
    fn note(&mut self, fault: Option<Fault>, at: impl FnOnce() -> String) {
        self.images += 1;
        let Some(fault) = fault else { return };
        let why = match fault {
            Fault::Lost(why) => {
                self.lost += 1;
                format!("lost: {why}")
            }
            Fault::Corrupt(why) => {
                self.corrupt += 1;
                format!("corrupt: {why}")
            }
        };
        self.first.get_or_insert_with(|| format!("{}: {why}", at()));
    }

    fn add(&mut self, other: Count) {
        self.images += other.images;
        self.lost += other.lost;
        self.corrupt += other.corrupt;
        self.first = self.first.take().or(other.first);
    }
}

/// A disk that was found sound, and what it had to hold.
struct Found {
    files: Vec<(String, Vec<u8>)>,
    promised: Promised,
}

/// Looks into the disks of every second moment of a log, beginning with `from`.
fn look(log: &shim::Log, seed: u64, from: usize, flush: Flush) -> (Count, Vec<Found>) {
    let (mut count, mut found) = (Count::default(), Vec::new());
    let (mut disk, mut promised) = (Disk::of(&log.base), Promised::default());
    for (cut, op) in log.ops.iter().enumerate() {
        match op {
            Op::Ack(ack) => promised.hear(ack),
            op => disk.hear(op, flush),
        }
        if cut % 2 != from {
            continue;
        }
        for loss in LOSSES.into_iter().filter(|&loss| loss == Loss::None || disk.has_unsynced()) {
            let mut random = fastrand::Rng::with_seed(seed ^ (cut as u64) << 8 ^ loss as u64);
            let files = disk.after(&log.names, loss, &mut random);
            let (dir, audited) = (put(&files), random.usize(0..AUDITED) == 0);
            let fault = check::check(&dir.path().join(shop::FILE), &promised, audited).err();
            let sound = fault.is_none();
            count.note(fault, || format!("seed {seed}, after operation {cut}, {loss:?}"));
            if sound && promised.opened && random.usize(0..AGAIN) == 0 {
                found.push(Found { files, promised: promised.clone() });
            }
        }
    }
    (count, found)
}

/// Files in a directory of their own: a connection of the file before may still be about to close.
fn put(files: &[(String, Vec<u8>)]) -> tempfile::TempDir {
    let dir = place();
    for (name, bytes) in files {
        std::fs::write(dir.path().join(name), bytes).expect("written");
    }
    dir
}

/// Every moment of a log, on two threads.
fn look_everywhere(log: &shim::Log, seed: u64, flush: Flush) -> (Count, Vec<Found>) {
    std::thread::scope(|scope| {
        let halves = [0, 1].map(|from| scope.spawn(move || look(log, seed, from, flush)));
        let (mut count, mut found) = (Count::default(), Vec::new());
        for half in halves {
            let (counted, kept) = half.join().expect("no panic");
            count.add(counted);
            found.extend(kept);
        }
        (count, found)
    })
}

/// The power fails again while a file is opened that was found after it had failed.
fn fails_again(found: &Found, seed: u64) -> Count {
    let dir = put(&found.files);
    let before = Op::Ack(Ack::All(found.promised.clone()));
    let mut log = shim::record(dir.path(), || shop::open_and_publish(dir.path()));
    log.ops.insert(0, before);
    look_everywhere(&log, seed, Flush::Honest).0
}

fn run(seed: u64, durability: Durability, flush: Flush) -> (Count, Vec<Found>) {
    let dir = place();
    let log = shim::record(dir.path(), || shop::work(dir.path(), seed, durability));
    look_everywhere(&log, seed, flush)
}

#[test]
fn whenever_the_power_fails_nothing_acknowledged_is_lost_and_the_file_is_sound() {
    let _alone = ONE_AT_A_TIME.lock();
    let wanted = setting("LANEBOX_IMAGES").map_or(IMAGES, |n| n as usize);
    let mut seed = setting("LANEBOX_SEED").unwrap_or(1);
    let (mut all, mut again) = (Count::default(), Count::default());
    while all.images < wanted {
        let (mut count, found) = run(seed, Durability::Full, Flush::Honest);
        found.iter().for_each(|found| again.add(fails_again(found, seed)));
        let replay = format!(
            "LANEBOX_SEED={seed} LANEBOX_IMAGES=1 cargo test --all-features --test disk whenever"
        );
        count.first = count.first.map(|why| format!("{why}\nreplay: {replay}"));
        all.add(count);
        seed += 1;
    }
    let twice = again.images;
    all.add(again);
    let failed = all.lost + all.corrupt;
    writeln!(
        std::io::stderr(),
        "{} disks, {twice} of them after a second loss of power: {} passed, {failed} failed",
        all.images,
        all.images - failed
    )
    .expect("a line");
    assert!(failed == 0, "{} lost, {} corrupt; {}", all.lost, all.corrupt, all.first.expect("one"));
    assert!(twice > 0 || wanted < IMAGES, "no second loss was tried");
}

// Controls: what cannot see a fault proves nothing.

#[test]
fn relaxed_durability_loses_acknowledged_facts_and_damages_nothing() {
    let _alone = ONE_AT_A_TIME.lock();
    let (count, _) = run(1, Durability::Relaxed, Flush::Honest);
    assert!(count.lost > 0, "the rig sees no loss");
    assert_eq!(count.corrupt, 0, "{:?}", count.first);
}

#[test]
fn a_disk_that_lies_about_its_flush_damages_the_file() {
    let _alone = ONE_AT_A_TIME.lock();
    let (count, _) = run(1, Durability::Full, Flush::Lied);
    assert!(count.lost > 0 && count.corrupt > 0, "{} lost, {} corrupt", count.lost, count.corrupt);
}
