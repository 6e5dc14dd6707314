//! Power loss: a layer below SQLite writes down what is asked of the disk; then, for every moment
//! at which the power may fail, the disks that may be found afterwards are made and looked into.
//! Whatever was acknowledged by then is there, nothing is half there, and the file is sound; also
//! if the power fails again while that file is opened.
//!
//! `cargo rig power --n DISKS`. The shop's ids and times are new each run, so a repetition has the
//! same steps and losses, not the same bytes.

use std::path::Path;

use lanebox::{Durability, Lanebox};

use crate::check::{self, Fault, Promised};
use crate::disk::{Disk, Flush, LOSSES, Loss};
use crate::say::Rig;
use crate::shim::{self, Ack, Op};
use crate::{OLD, ONE_AT_A_TIME, letters, place, shop};

/// Disks of a run that does not say.
const IMAGES: u64 = 20_000;

/// Of the disks found, one in so many is opened by the library and audited.
const AUDITED: usize = 16;

/// Of those found before anything was acknowledged, one in so many.
const HALF_MADE: usize = 3;

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

/// How a disk is looked into.
type Check = fn(&Path, &Promised, bool) -> Result<(), Fault>;

/// A disk that was found sound, and what it had to hold.
struct Found {
    files: Vec<(String, Vec<u8>)>,
    promised: Promised,
}

/// Looks into the disks of every second moment of a log, beginning with `from`.
fn look(
    log: &shim::Log,
    seed: u64,
    from: usize,
    flush: Flush,
    check: Check,
) -> (Count, Vec<Found>) {
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
            let one_in = if promised.opened { AUDITED } else { HALF_MADE };
            let (dir, audited) = (put(&files), random.usize(0..one_in) == 0);
            let fault = check(&dir.path().join(shop::FILE), &promised, audited).err();
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
fn look_everywhere(log: &shim::Log, seed: u64, flush: Flush, check: Check) -> (Count, Vec<Found>) {
    std::thread::scope(|scope| {
        let halves = [0, 1].map(|from| scope.spawn(move || look(log, seed, from, flush, check)));
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
    look_everywhere(&log, seed, Flush::Honest, check::check).0
}

fn run(seed: u64, durability: Durability, flush: Flush) -> (Count, Vec<Found>) {
    let dir = place();
    let log = shim::record(dir.path(), || shop::work(dir.path(), seed, durability));
    look_everywhere(&log, seed, flush, check::check)
}

/// The power fails while a file of an older schema is brought forward.
fn brought_forward(seed: u64) -> Count {
    let dir = place();
    let path = dir.path().join(shop::FILE);
    std::fs::copy(OLD, &path).expect("a copy");
    let promised = Promised::of_old(check::held(&path));
    let before = Op::Ack(Ack::All(promised));
    let mut log = shim::record(dir.path(), || drop(Lanebox::open(&path).expect("it opens")));
    log.ops.insert(0, before);
    look_everywhere(&log, seed, Flush::Honest, check::check).0
}

// fault: normal-on-the-writer, commit-is-forgotten
#[test]
fn whenever_the_power_fails_nothing_acknowledged_is_lost_and_the_file_is_sound() {
    let _alone = ONE_AT_A_TIME.lock();
    let mut rig = Rig::new("power", IMAGES);
    let (mut all, mut again) = (Count::default(), Count::default());
    for seed in rig.seed.. {
        let (mut count, found) = run(seed, Durability::Full, Flush::Honest);
        for found in found {
            let second = fails_again(&found, seed);
            count.first = count.first.take().or(second.first.clone());
            again.add(second);
        }
        if let Some(why) = count.first.take() {
            rig.fail(&why, seed, 1);
        }
        all.add(count);
        if all.images as u64 >= rig.n {
            break;
        }
    }
    let mut old = brought_forward(rig.seed);
    if let Some(why) = old.first.take() {
        rig.fail(&format!("an old file: {why}"), rig.seed, 1);
    }
    let (twice, migrating) = (again.images as u64, old.images as u64);
    all.add(again);
    all.add(old);
    rig.pass((all.images - all.lost - all.corrupt) as u64);
    rig.must_meet("a second loss", twice > 0);
    rig.end(&[
        ("disks", all.images as u64),
        ("after a second loss", twice),
        ("of an old file", migrating),
        ("lost", all.lost as u64),
        ("corrupt", all.corrupt as u64),
    ]);
}

// In a relaxed file: what the ledger depends on is flushed even so.
// fault: normal-on-the-writer
#[test]
fn e118_r13_after_a_power_loss_no_letter_goes_out_again_whose_call_was_begun() {
    let _alone = ONE_AT_A_TIME.lock();
    let dir = place();
    let log = shim::record(dir.path(), || letters::send(dir.path()));
    let (count, _) = look_everywhere(&log, 1, Flush::Honest, letters::check);
    assert_eq!((count.lost, count.corrupt), (0, 0), "{:?}", count.first);
    assert!(count.images > 100, "only {} disks", count.images);
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
