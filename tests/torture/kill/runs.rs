//! What the handlers wrote down of their runs: no two of one lane at once, and tokens that grow.

use std::collections::HashMap;

use super::facts::LEASE;
use super::stage::{Pause, Stage};
use super::worker;
use crate::lines::read;

/// One run of a handler.
pub struct Run {
    pub token: i64,
    pub lane: String,
    pub job: String,
    pub begin: u64,
    /// When it ended, by its own word or with its process.
    pub end: u64,
    pub life: u32,
}

impl Run {
    fn told(&self) -> String {
        let Run { token, life, begin, end, .. } = self;
        format!("token {token} of life {life} from {begin} to {end}")
    }
}

/// Every run, by its beginning; what stood still is added to the stage's own pauses.
pub fn all(stage: &mut Stage) -> Vec<Run> {
    let (mut runs, mut ends) = (Vec::new(), HashMap::new());
    for line in read(&worker::log(&stage.dir())) {
        let field = |n: usize| number(&line[n]);
        match line[0].as_str() {
            "begin" => runs.push(Run {
                token: i64::try_from(field(1)).expect("a token"),
                lane: line[2].clone(),
                job: line[3].clone(),
                begin: field(4),
                end: u64::MAX,
                life: u32::try_from(field(5)).expect("a life"),
            }),
            "end" => drop(ends.insert(field(1), field(2))),
            "stall" => {
                let life = u32::try_from(field(1)).expect("a life");
                stage.pauses.push(Pause { life, from: field(2), to: field(3) });
            }
            other => panic!("no line of runs begins with {other}"),
        }
    }
    for run in &mut runs {
        let by_itself = ends.get(&run.token.unsigned_abs()).copied();
        let death = stage.deaths.get(&run.life).copied();
        run.end = by_itself.or(death).unwrap_or(u64::MAX);
    }
    runs.sort_by_key(|run| run.begin);
    runs
}

/// No two runs of a lane at once, but for one whose process stood still until its lease was over.
pub fn lanes(stage: &mut Stage, runs: &[Run]) {
    let mut lanes: HashMap<&str, Vec<&Run>> = HashMap::new();
    for run in runs {
        let earlier = lanes.entry(&run.lane).or_default();
        for other in earlier.iter().filter(|other| other.end > run.begin) {
            if stood_still(&stage.pauses, other.life, other.begin, run.begin) {
                stage.tally.overlapped += 1;
            } else {
                let (lane, first, second) = (&run.lane, other.told(), run.told());
                stage.wrong.push(format!("two runs of lane {lane} at once: {first}, {second}"));
            }
        }
        earlier.push(run);
        stage.tally.checked += 1;
    }
}

/// Whether this process stood still after `begin`, long enough to lose a lease, and this was before
/// it could know of it.
pub fn stood_still(pauses: &[Pause], life: u32, begin: u64, at: u64) -> bool {
    let lease = u64::try_from(LEASE.as_nanos()).expect("short");
    pauses.iter().filter(|pause| pause.life == life).any(|pause| {
        let long = pause.to - pause.from > lease / 2;
        long && pause.to > begin && pause.from < at && at < pause.to + lease
    })
}

/// No token twice, and those of one job grow with its runs.
pub fn tokens(stage: &mut Stage, runs: &[Run]) {
    let mut last: HashMap<&str, i64> = HashMap::new();
    let mut seen = std::collections::HashSet::new();
    for run in runs {
        if !seen.insert(run.token) {
            stage.wrong.push(format!("token {} was given twice", run.token));
        }
        if let Some(before) = last.insert(&run.job, run.token)
            && before >= run.token
        {
            let (job, token) = (&run.job, run.token);
            stage.wrong.push(format!("job {job} ran by token {before}, then by {token}"));
        }
    }
}

pub fn number(text: &str) -> u64 {
    text.parse().expect("a number")
}
