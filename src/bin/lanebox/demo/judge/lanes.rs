//! Runs side by side: never two of one lane, and how many lanes at once.

use std::collections::{HashMap, HashSet};

use super::database::Run;
use super::fault::{Fault, Faults, Figure};

/// What must not run twice at once.
#[derive(PartialEq, Eq, Hash)]
enum LaneKey<'r> {
    OfDatabase(i64),
    OfContact(&'r str),
}

/// Judges the runs, which come in the order of their claims.
pub fn judge(runs: &[Run], faults: &mut Faults) {
    let mut latest: HashMap<LaneKey<'_>, &Run> = HashMap::new();
    for run in runs {
        let keys = [run.lane.map(LaneKey::OfDatabase), contact_key(run)];
        let mut overlapped = None;
        for key in keys.into_iter().flatten() {
            let earlier = latest.entry(key).or_insert(run);
            if earlier.token != run.token && run.started_at < end_of(earlier) {
                overlapped = Some(*earlier);
            }
            if end_of(earlier) <= end_of(run) {
                *earlier = run;
            }
        }
        if let Some(earlier) = overlapped {
            faults.add(Fault::new(Figure::Overlapped, why(run, earlier)).job(run.job));
        }
    }
}

fn contact_key(run: &Run) -> Option<LaneKey<'_>> {
    run.contact.as_deref().map(LaneKey::OfContact)
}

fn end_of(run: &Run) -> i64 {
    run.ended_at.unwrap_or(i64::MAX)
}

fn why(run: &Run, earlier: &Run) -> String {
    let beyond = match earlier.ended_at {
        Some(ended_at) => format!("ended {} ms later", ended_at - run.started_at),
        None => "has not ended".to_owned(),
    };
    let Run { token, job, .. } = earlier;
    format!("its token {} began while token {token} of job {job} ran, which {beyond}", run.token)
}

/// The contacts' lanes that had a run at the same time, at most.
pub fn most_at_once(runs: &[Run], last_ms: i64) -> usize {
    let mut steps = Vec::new();
    for run in runs {
        if let Some(contact) = run.contact.as_deref() {
            // A run is seen for the millisecond in which it began, at least.
            let end = run.ended_at.unwrap_or(last_ms).max(run.started_at + 1);
            steps.push((run.started_at, 1, contact));
            steps.push((end, -1, contact));
        }
    }
    // Ends before beginnings: what touches is not side by side.
    steps.sort_unstable();
    let mut open: HashMap<&str, i64> = HashMap::new();
    let (mut at_once, mut most) = (0_usize, 0);
    for (_, step, contact) in steps {
        let runs = open.entry(contact).or_default();
        let before = *runs;
        *runs += step;
        match (before, *runs) {
            (0, 1) => at_once += 1,
            (1, 0) => at_once = at_once.saturating_sub(1),
            _ => {}
        }
        most = most.max(at_once);
    }
    most
}

/// How many contacts had a run.
pub fn lanes(runs: &[Run]) -> usize {
    let contacts: HashSet<&str> = runs.iter().filter_map(|run| run.contact.as_deref()).collect();
    contacts.len()
}
