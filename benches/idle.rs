//! What Lanebox costs that has nothing to do: processor time and commits of an idle engine, alone
//! and beside a second process; memory after opening, starting and with a backlog; how long opening
//! takes; how large the program is.

mod workload;

use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Duration;

use lanebox::people::Filter;
use lanebox::{Lanebox, testing};
use workload::beside::{DURABILITIES, is_bench, size};
use workload::child::{self, Other};
use workload::times::{Times, cpu, mono_ns, resident};
use workload::{engine, history};

const IDLES: &str = "idles";
const REMEMBERS: &str = "remembers";

// The other process is not called by `cargo bench`: it rests as long as it is let.
fn idle_time() -> Duration {
    if is_bench() { Duration::from_secs(10) } else { Duration::from_millis(50) }
}

/// Percent of one processor, and commits, of this process while it rests.
fn rest(lanebox: &Lanebox, time: Duration) -> (f64, u64) {
    let (commits, used, from) = (testing::commits(lanebox), cpu(), mono_ns());
    std::thread::park_timeout(time);
    let wall = (mono_ns() - from) as f64 / 1e9;
    let percent = (cpu() - used).as_secs_f64() / wall * 100.0;
    (percent, testing::commits(lanebox) - commits)
}

fn idle() {
    let (dir, lanebox) = engine::file(DURABILITIES[0].1, 8);
    let (reactions, _done) = engine::noops();
    let running = lanebox.start(reactions).expect("started");
    // What a start does is not what resting costs.
    engine::pause(idle_time() / 10);
    let (percent, commits) = rest(&lanebox, idle_time());
    println!("{:<50} {percent:>9.3} % of a processor, {commits} commits", "idle engine, alone");
    let mut other = Other::start(IDLES, &dir.path().join("lanebox.db"));
    assert_eq!(other.line(), "ready");
    engine::pause(idle_time() / 10);
    let (percent, commits) = rest(&lanebox, idle_time());
    let what = "idle engine, beside another process";
    println!("{what:<50} {percent:>9.3} % of a processor, {commits} commits");
    println!("{:<50} {:>9} % of a processor", "  the other process", other.end());
    assert_eq!(running.stop(Duration::from_secs(5)).still_running, 0);
}

/// The second process: rests, and says what that cost.
fn idles(path: &Path) {
    let lanebox = Lanebox::builder(path).must_exist().open().expect("the file");
    let (reactions, _done) = engine::noops();
    let running = lanebox.start(reactions).expect("started");
    child::say("ready");
    engine::pause(idle_time() / 10);
    let (used, from) = (cpu(), mono_ns());
    child::wait_for_end();
    let wall = (mono_ns() - from) as f64 / 1e9;
    let percent = (cpu() - used).as_secs_f64() / wall * 100.0;
    assert_eq!(running.stop(Duration::from_secs(5)).still_running, 0);
    child::say(format!("{percent:.3}"));
}

/// A process of its own, since memory that was used once stays: says what each step left.
fn remembers(path: &Path) {
    child::say(format!("{:.1}", resident()));
    let lanebox = Lanebox::builder(path).must_exist().workers(8).open().expect("the file");
    child::say(format!("{:.1}", resident()));
    let (reactions, done) = engine::noops();
    let running = lanebox.start(reactions).expect("started");
    // All four readers at once.
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| lanebox.jobs(&Filter::new()).expect("a list"));
        }
    });
    child::say(format!("{:.1}", resident()));
    let some = size(50_000, 50);
    engine::wait(|| done.load(Ordering::Relaxed) >= some);
    child::say(format!("{:.1}", resident()));
    child::wait_for_end();
    assert_eq!(running.stop(Duration::from_secs(5)).still_running, 0);
    child::say("ended");
}

fn memory(what: &str, path: &Path) {
    let mut other = Other::start(REMEMBERS, path);
    let mut said = || other.line();
    let (before, opened, started, worked) = (said(), said(), said(), said());
    assert_eq!(other.end(), "ended");
    println!(
        "{:<50} {before} before, {opened} opened, {started} started and read, {worked} at work",
        format!("resident MiB, {what}")
    );
}

fn opening(path: &Path) {
    let (mut new, mut known) = (Times::default(), Times::default());
    for _ in 0..size(21, 1) {
        let dir = workload::place();
        let from = mono_ns();
        let made = Lanebox::open(dir.path().join("new.db")).expect("a new file");
        new.record(mono_ns() - from);
        drop(made);
        let from = mono_ns();
        let opened = Lanebox::builder(path).must_exist().open().expect("the file");
        known.record(mono_ns() - from);
        drop(opened);
    }
    println!("{:<50} {:>9.1} ms", "open a new file", new.us(0.5) / 1e3);
    let mib = std::fs::metadata(path).expect("the file").len() >> 20;
    println!("{:<50} {:>9.1} ms", format!("open a file of {mib} MiB"), known.us(0.5) / 1e3);
}

fn program() {
    let me = std::env::current_exe().expect("this executable");
    let built = me.parent().and_then(Path::parent).expect("it lies in deps");
    let Ok(bytes) = std::fs::read(built.join("lanebox")) else { return };
    let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    let (all, loaded) = (mib(bytes.len() as u64), mib(loaded(&bytes)));
    let what = "the program lanebox";
    println!("{what:<50} {loaded:>9.1} MiB, with debug information {all:.1} MiB");
}

/// Bytes of an ELF file that are loaded when it runs: what is left of it without debug information.
fn loaded(elf: &[u8]) -> u64 {
    const IS_LOADED: u64 = 2;
    const NO_BYTES: u64 = 8;
    let number = |at: usize, size: usize| {
        let mut bytes = [0; 8];
        bytes[..size].copy_from_slice(&elf[at..at + size]);
        u64::from_le_bytes(bytes)
    };
    assert_eq!(&elf[..5], b"\x7fELF\x02", "a program of 64 bits");
    let (first, size, count) = (number(0x28, 8), number(0x3a, 2), number(0x3c, 2));
    let sections = (0..count).map(|i| (first + i * size) as usize);
    let loaded = sections.filter(|at| number(at + 8, 8) & IS_LOADED != 0);
    loaded.filter(|at| number(at + 4, 4) != NO_BYTES).map(|at| number(at + 0x20, 8)).sum()
}

fn main() {
    if let Some(path) = child::role(IDLES) {
        return idles(&path);
    }
    if let Some(path) = child::role(REMEMBERS) {
        return remembers(&path);
    }
    idle();
    let dir = workload::place();
    let (small, large) = (dir.path().join("small.db"), dir.path().join("large.db"));
    history::fill(&small, size(60_000, 60), size(1_000, 20), 0);
    history::fill(&large, size(1_000_000, 400), size(1_000, 20), 0);
    opening(&large);
    memory(&format!("{} jobs wait", size(60_000, 60)), &small);
    memory(&format!("{} jobs wait", size(1_000_000, 400)), &large);
    program();
}
