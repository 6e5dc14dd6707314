//! What an enqueue costs: alone, many in one call, with a row of the host's, from many threads at
//! once. Beside it the raw rows in as many commits; for threads the raw rows in shared commits.

mod workload;

use std::cell::Cell;

use lanebox::{Durability, Lane, Lanebox, NewJob, testing};
use rusqlite::Connection;
use workload::beside::{Beside, DURABILITIES, size, sync, whole};
use workload::engine;
use workload::raw::{self, group};

/// Runs `work` with so many jobs on a new file, which must then hold them; jobs per second. They
/// are made before: the floor has its payload at hand too.
fn rate(
    durability: Durability,
    jobs: usize,
    work: impl FnOnce(&Lanebox, &Connection, Vec<NewJob>),
) -> f64 {
    let (dir, lanebox) = engine::file(durability, 8);
    let host = Connection::open(dir.path().join("lanebox.db")).expect("the same file");
    host.execute_batch("CREATE TABLE host (text TEXT)").expect("a table of the host's");
    let made = (0..jobs).map(|_| engine::noop(Lane::NONE)).collect();
    let from = workload::now();
    work(&lanebox, &host, made);
    let took = from.elapsed().as_secs_f64();
    assert_eq!(raw::count(&host, "lanebox_ready"), jobs);
    jobs as f64 / took
}

fn floor(durability: Durability, jobs: usize, a_commit: usize) -> f64 {
    let dir = workload::place();
    let path = dir.path().join("raw.db");
    workload::floor::enqueue(&path, sync(durability), jobs, a_commit).expect("the floor")
}

fn floor_with_host_rows(durability: Durability, jobs: usize) -> f64 {
    let dir = workload::place();
    let path = dir.path().join("raw.db");
    group::with_host_rows(&path, durability, jobs).expect("the floor")
}

fn by_one(name: &str, durability: Durability) {
    let alone = size(if durability == Durability::Full { 1_000 } else { 15_000 }, 20);
    let one_by_one = |lanebox: &Lanebox, _: &Connection, jobs: Vec<NewJob>| {
        for job in jobs {
            let _new = lanebox.enqueue(job).expect("accepted");
        }
    };
    let value = || rate(durability, alone, one_by_one);
    Beside::measure(7, value, || floor(durability, alone, 1)).say(
        &format!("enqueue, {name}, one a call"),
        "jobs/s",
        "floor",
    );

    let many = size(60_000, 2_000);
    let bulk = |lanebox: &Lanebox, _: &Connection, mut jobs: Vec<NewJob>| {
        while !jobs.is_empty() {
            let some = jobs.split_off(jobs.len().saturating_sub(1_000));
            assert_eq!(lanebox.enqueue_all(some).expect("accepted").len(), 1_000);
        }
    };
    Beside::measure(7, || rate(durability, many, bulk), || floor(durability, many, 1_000)).say(
        &format!("enqueue, {name}, 1,000 a call"),
        "jobs/s",
        "floor",
    );
}

fn with_host_rows(name: &str, durability: Durability) {
    let jobs = size(if durability == Durability::Full { 1_000 } else { 15_000 }, 20);
    let level = if durability == Durability::Full { "FULL" } else { "NORMAL" };
    let own_connection = |lanebox: &Lanebox, host: &Connection, jobs: Vec<NewJob>| {
        host.pragma_update(None, "synchronous", level).expect("a level");
        host.pragma_update(None, "wal_autocheckpoint", 4_000).expect("a number of pages");
        let sql = |sql: &str| host.prepare_cached(sql).and_then(|mut s| s.execute([]));
        for job in jobs {
            sql("BEGIN IMMEDIATE").expect("begun");
            sql("INSERT INTO host VALUES ('hello')").expect("a row");
            let _new = lanebox.enqueue_in(host, job).expect("accepted");
            sql("COMMIT").expect("committed");
            lanebox.bell();
        }
    };
    let value = || rate(durability, jobs, own_connection);
    Beside::measure(7, value, || floor_with_host_rows(durability, jobs)).say(
        &format!("enqueue_in, {name}, with a host row"),
        "jobs/s",
        "floor",
    );

    let closure = |lanebox: &Lanebox, _: &Connection, jobs: Vec<NewJob>| {
        for job in jobs {
            let both = lanebox.transaction(|tx| {
                tx.prepare_cached("INSERT INTO host VALUES ('hello')")?.execute([])?;
                tx.enqueue(job).map(drop)
            });
            both.expect("committed");
        }
    };
    Beside::measure(
        7,
        || rate(durability, jobs, closure),
        || floor_with_host_rows(durability, jobs),
    )
    .say(&format!("transaction, {name}, with a host row"), "jobs/s", "floor");
}

fn by_threads(name: &str, durability: Durability, threads: usize) {
    let each = size(if threads == 8 { 3_000 } else { 1_500 }, 20);
    let jobs = threads * each;
    let (mut rates, mut alone) = (Vec::new(), Vec::new());
    let (ours, theirs) = (Cell::new(0.0), Cell::new(0.0));
    let value = || {
        let rate = rate(durability, jobs, |lanebox, _, mut made| {
            let before = testing::commits(lanebox);
            std::thread::scope(|scope| {
                for _ in 0..threads {
                    let mine = made.split_off(made.len() - each);
                    scope.spawn(|| {
                        for job in mine {
                            let _new = lanebox.enqueue(job).expect("accepted");
                        }
                    });
                }
            });
            ours.set(jobs as f64 / (testing::commits(lanebox) - before) as f64);
        });
        rates.push(rate);
        rate
    };
    let shared = || {
        // What the commits alone come to, without threads that wait and are woken.
        alone.push(floor(durability, jobs, whole(ours.get())));
        let dir = workload::place();
        let path = dir.path().join("raw.db");
        let (rate, group) = group::shared(&path, durability, threads, each).expect("the floor");
        theirs.set(group);
        rate
    };
    let what = format!("enqueue, {name}, {threads} threads");
    let beside = Beside::measure(7, value, shared);
    let (ours, theirs) = (ours.get(), theirs.get());
    beside.say(&what, "jobs/s", &format!("floor in groups of {theirs:.1}"));
    let against = format!("floor of one thread, {} a commit", whole(ours));
    Beside::of(&rates, &alone).say(&format!("  in groups of {ours:.1}"), "jobs/s", &against);
}

fn main() {
    for (name, durability) in DURABILITIES {
        by_one(name, durability);
        with_host_rows(name, durability);
        for threads in [8, 32] {
            by_threads(name, durability, threads);
        }
    }
}
