//! The measurements, the same for each peer. Every answer is checked: as many jobs as were added
//! are in the file or were run, none twice.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use crate::{Ask, NewJob, Peer, Question, Result, payload};

/// Jobs by one call.
const BULK: usize = 1_000;
const JOBS_OF_A_LANE: usize = 20;
/// A wait between single jobs, so that each finds its workers asleep.
const PACE: Duration = Duration::from_millis(5);

/// What runs on every job: it counts, and tells when it began if somebody asks.
pub struct Handler {
    ran: AtomicUsize,
    began: Option<Sender<Instant>>,
}

impl Handler {
    /// The whole work of a job.
    pub fn run(&self) {
        if let Some(began) = &self.began {
            // Nobody listens any more once all are measured.
            let _ = began.send(now());
        }
        self.ran.fetch_add(1, Ordering::Relaxed);
    }

    fn ran(&self) -> usize {
        self.ran.load(Ordering::Relaxed)
    }
}

/// The answer, as a line of JSON.
pub fn measure<P: Peer>(ask: &Ask) -> Result<String> {
    if let Some(why) = P::cannot(ask) {
        return Ok(format!("{{\"cannot\":\"{why}\"}}"));
    }
    let peer = P::open(&ask.folder, ask)?;
    match ask.question {
        Question::Enqueue => enqueue(&peer, ask),
        Question::Bulk => bulk(&peer, ask),
        Question::Drain | Question::Lanes => drain(&peer, ask),
        Question::Latency => latency(&peer, ask),
    }
}

fn enqueue<P: Peer>(peer: &P, ask: &Ask) -> Result<String> {
    let each = ask.count / ask.workers;
    let from = now();
    let added = if ask.workers == 1 {
        (0..each).take_while(|_| from.elapsed() < ask.budget).try_fold(0, |added, _| {
            peer.add(&payload())?;
            Ok::<_, crate::Error>(added + 1)
        })?
    } else {
        peer.add_from_many(ask.workers, each)?;
        each * ask.workers
    };
    let took = from.elapsed();
    expect("jobs in the file", peer.unfinished()?, added)?;
    Ok(rate(added, took, added < each))
}

fn bulk<P: Peer>(peer: &P, ask: &Ask) -> Result<String> {
    let mut took = Duration::ZERO;
    let mut added = 0;
    while added < ask.count && took < ask.budget {
        let jobs = jobs(BULK.min(ask.count - added), |_| None);
        let from = now();
        added += jobs.len();
        peer.add_all(jobs)?;
        took += from.elapsed();
    }
    expect("jobs in the file", peer.unfinished()?, added)?;
    Ok(rate(added, took, added < ask.count))
}

fn drain<P: Peer>(peer: &P, ask: &Ask) -> Result<String> {
    let lanes = ask.count / JOBS_OF_A_LANE;
    let lane = |i: usize| match ask.question {
        Question::Lanes => Some(format!("+49{:09}", i % lanes)),
        _ => None,
    };
    let mut left = jobs(ask.count, lane);
    while !left.is_empty() {
        let rest = left.split_off(BULK.min(left.len()));
        peer.add_all(std::mem::replace(&mut left, rest))?;
    }
    expect("jobs in the file", peer.unfinished()?, ask.count)?;
    let handler = Arc::new(Handler { ran: AtomicUsize::new(0), began: None });
    let from = now();
    let workers = peer.start(ask.workers, handler.clone())?;
    while handler.ran() < ask.count && from.elapsed() < ask.budget {
        std::thread::park_timeout(Duration::from_micros(500));
    }
    let in_time = handler.ran() >= ask.count;
    // Run is not done: it is done when its commit is there to see.
    while in_time && peer.unfinished()? > 0 && from.elapsed() < 2 * ask.budget {
        std::thread::park_timeout(Duration::from_micros(500));
    }
    let whole = from.elapsed();
    peer.stop(workers)?;
    let (took, left) = (if in_time { whole } else { from.elapsed() }, peer.unfinished()?);
    if in_time {
        expect("jobs run", handler.ran(), ask.count)?;
        expect("jobs left", left, 0)?;
    } else if handler.ran() + left < ask.count {
        // Some of the last may have run without being recorded, but none is recorded unrun.
        return Err(format!("{} jobs run and {left} left of {}", handler.ran(), ask.count).into());
    }
    Ok(rate(ask.count - left, took, !in_time))
}

fn latency<P: Peer>(peer: &P, ask: &Ask) -> Result<String> {
    let (began, heard): (Sender<Instant>, Receiver<Instant>) = channel();
    let handler = Arc::new(Handler { ran: AtomicUsize::new(0), began: Some(began) });
    let workers = peer.start(ask.workers, handler.clone())?;
    let (mut waits, mut added) = (Vec::new(), 0);
    let from = now();
    // The first ones find cold caches.
    let warm = ask.count / 10;
    while added < ask.count + warm && from.elapsed() < ask.budget {
        std::thread::park_timeout(PACE);
        peer.add(&payload())?;
        let committed = now();
        added += 1;
        let began = heard.recv_timeout(Duration::from_secs(20))?;
        if added > warm {
            waits.push(began.saturating_duration_since(committed).as_secs_f64() * 1_000.0);
        }
    }
    peer.stop(workers)?;
    expect("jobs run", handler.ran(), added)?;
    expect("jobs left", peer.unfinished()?, 0)?;
    waits.sort_by(f64::total_cmp);
    let at = |share: f64| waits.get(((waits.len() - 1) as f64 * share).round() as usize);
    match (at(0.5), at(0.99)) {
        (Some(p50), Some(p99)) => Ok(format!("{{\"p50\":{p50:.4},\"p99\":{p99:.4}}}")),
        _ => Err("no job was measured within the time".into()),
    }
}

fn jobs(count: usize, lane: impl Fn(usize) -> Option<String>) -> Vec<NewJob> {
    (0..count).map(|i| NewJob { payload: payload(), lane: lane(i) }).collect()
}

fn expect(what: &str, is: usize, should: usize) -> Result<()> {
    if is == should { Ok(()) } else { Err(format!("{what}: {is} instead of {should}").into()) }
}

fn rate(jobs: usize, took: Duration, partial: bool) -> String {
    let rate = jobs as f64 / took.as_secs_f64();
    format!("{{\"rate\":{rate:.1},\"jobs\":{jobs},\"partial\":{partial}}}")
}

#[expect(clippy::disallowed_methods, reason = "benches measure time")]
fn now() -> Instant {
    Instant::now()
}
