//! Two processes share the work of one file.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::mpsc::channel;
use std::time::Duration;

use lanebox::{BoxError, Lane, Lanebox, NewJob, Outcome, Policy, Reactions};

use crate::child::{Child, say, wait};
use crate::number;

/// Part: runs what it can get and says each payload, until it is nudged.
pub fn drain(file: &Path) {
    let lanebox = Lanebox::open(file).expect("opened");
    let reactions = Reactions::new().on_kind("noop", Policy::default(), |ctx| {
        say(ctx.payload());
        Ok::<_, BoxError>(Outcome::Done)
    });
    let running = lanebox.start(reactions).expect("started");
    wait();
    running.stop(Duration::from_secs(10));
}

#[test]
fn r24_two_processes_run_each_of_10000_jobs_exactly_once() {
    const JOBS: usize = 10_000;
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("crm.db");
    let lanebox = Lanebox::open(&file).expect("opened");
    let job = |n: usize| {
        let lane = if n.is_multiple_of(2) { Lane::NONE } else { Lane::of(format!("c{}", n % 100)) };
        NewJob::raw("noop", n.to_string(), lane).org("acme")
    };
    let accepted = lanebox.enqueue_all((0..JOBS).map(job).collect()).expect("accepted");
    assert_eq!(accepted.len(), JOBS);

    let (ran, heard) = channel::<usize>();
    let mut all: Vec<usize> = Vec::new();
    std::thread::scope(|scope| {
        let stops: Vec<_> = (0..2)
            .map(|_| {
                let (ran, mut child) = (ran.clone(), Child::start("drain", &file));
                let stop = child.hang_up();
                scope.spawn(move || {
                    while let Some(payload) = child.hear() {
                        ran.send(payload.parse().expect("a number")).expect("counted");
                    }
                });
                stop
            })
            .collect();
        drop(ran);
        all.extend(heard.iter().take(JOBS));
        drop(stops);
        // Until both have ended: whatever ran twice would be heard now.
        all.extend(heard.iter());
    });
    assert_eq!(all.len(), JOBS);
    assert_eq!(all.into_iter().collect::<BTreeSet<_>>().len(), JOBS);
    let done = "SELECT count(*) FROM lanebox_finished WHERE state = 'done'";
    assert_eq!(number(&file, done), 10_000);
    let processes = "SELECT count(DISTINCT process) FROM lanebox_finished";
    assert_eq!(number(&file, processes), 2, "both worked");
}
