//! The figures of a run: samples of several rounds, and their medians.

use serde_json::{Map, Value, json};

use super::floor::Sync;

/// What is asked of both the floor and the engine, in jobs per second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    /// One client, one job a commit.
    Enqueue,
    /// 32 threads, one job a call.
    Crowd,
    /// 1,000 jobs a commit.
    Bulk,
    /// Workers that drain a backlog.
    Drain(usize),
}

/// Threads of [`Question::Crowd`].
pub const THREADS: usize = 32;

pub const QUESTIONS: [Question; 5] =
    [Question::Enqueue, Question::Crowd, Question::Bulk, Question::Drain(1), Question::Drain(8)];

impl Question {
    /// Its part of a key in JSON.
    pub fn key(self) -> String {
        match self {
            Question::Enqueue => "enqueue".to_owned(),
            Question::Crowd => format!("enqueue_{THREADS}_threads"),
            Question::Bulk => "bulk".to_owned(),
            Question::Drain(workers) => format!("drain_{workers}"),
        }
    }

    pub fn words(self) -> String {
        match self {
            Question::Enqueue => "enqueue, 1 client".to_owned(),
            Question::Crowd => format!("enqueue, {THREADS} threads"),
            Question::Bulk => "enqueue, 1,000 a call".to_owned(),
            Question::Drain(1) => "drain, 1 worker".to_owned(),
            Question::Drain(workers) => format!("drain, {workers} workers"),
        }
    }
}

/// Samples, the warm-up first: it says how much the next round can do, and counts no further.
#[derive(Clone, Debug, Default)]
pub struct Samples(Vec<f64>);

impl Samples {
    pub fn push(&mut self, sample: f64) {
        self.0.push(sample);
    }

    /// Without the warm-up; zero if that was all.
    pub fn median(&self) -> f64 {
        median(self.0.get(1..).unwrap_or_default())
    }

    pub fn last(&self) -> Option<f64> {
        self.0.last().copied()
    }
}

/// The middle one; of an even number, the mean of the two in the middle.
fn median(of: &[f64]) -> f64 {
    let mut of = of.to_vec();
    of.sort_by(f64::total_cmp);
    let half = of.len() / 2;
    match of.len() {
        0 => 0.0,
        n if n % 2 == 1 => of[half],
        _ => f64::midpoint(of[half - 1], of[half]),
    }
}

/// The value that so many of a hundred do not pass; zero of none.
fn percentile(of: &[f64], percent: usize) -> f64 {
    let mut of = of.to_vec();
    of.sort_by(f64::total_cmp);
    let rank = (of.len() * percent).div_ceil(100).max(1);
    of.get(rank - 1).copied().unwrap_or_default()
}

/// The answers to one question at one durability.
#[derive(Clone, Debug, Default)]
pub struct Pair {
    pub floor: Samples,
    pub engine: Samples,
    /// Jobs of a commit that the engine reached, which the floor was measured at.
    pub batch: Samples,
}

impl Pair {
    /// What part of its floor the engine reaches; zero before anything is measured.
    pub fn ratio(&self) -> f64 {
        share(self.engine.median(), self.floor.median())
    }
}

/// One divided by another, zero if that is nothing.
pub fn share(of: f64, whole: f64) -> f64 {
    if whole > 0.0 { of / whole } else { 0.0 }
}

/// All of one durability.
#[derive(Clone, Debug, Default)]
pub struct Column {
    pairs: [Pair; QUESTIONS.len()],
    /// From the return of an enqueue to the start of its handler, in microseconds.
    pub latencies: Vec<f64>,
}

impl Column {
    pub fn pair(&self, question: Question) -> &Pair {
        &self.pairs[place(question)]
    }

    pub fn pair_mut(&mut self, question: Question) -> &mut Pair {
        &mut self.pairs[place(question)]
    }

    pub fn latency_us(&self, percent: usize) -> f64 {
        percentile(&self.latencies, percent)
    }

    fn json(&self) -> Value {
        let mut map = Map::new();
        for question in QUESTIONS {
            let (pair, key) = (self.pair(question), question.key());
            map.insert(format!("floor_{key}_per_s"), json!(pair.floor.median().round()));
            map.insert(format!("engine_{key}_per_s"), json!(pair.engine.median().round()));
            map.insert(format!("engine_{key}_batch"), json!(rounded(pair.batch.median())));
            map.insert(format!("ratio_{key}"), json!(rounded(pair.ratio())));
        }
        for percent in [50, 99] {
            let key = format!("engine_start_latency_p{percent}_us");
            map.insert(key, json!(self.latency_us(percent).round()));
        }
        Value::Object(map)
    }
}

fn place(question: Question) -> usize {
    QUESTIONS.iter().position(|one| *one == question).unwrap_or_default()
}

fn rounded(figure: f64) -> f64 {
    (figure * 100.0).round() / 100.0
}

/// All of a run.
#[derive(Clone, Debug, Default)]
pub struct Figures {
    pub append: Samples,
    pub overwrite: Samples,
    pub full: Column,
    pub relaxed: Column,
    /// Without the warm-up.
    pub rounds: usize,
}

impl Figures {
    pub fn column(&mut self, sync: Sync) -> &mut Column {
        match sync {
            Sync::Full => &mut self.full,
            Sync::Normal => &mut self.relaxed,
        }
    }

    /// The document, without what is true before anything is measured.
    pub fn json(&self) -> Map<String, Value> {
        let mut map = Map::new();
        map.insert("rounds".to_owned(), json!(self.rounds));
        map.insert("flush_append_per_s".to_owned(), json!(self.append.median().round()));
        map.insert("flush_overwrite_per_s".to_owned(), json!(self.overwrite.median().round()));
        map.insert("full".to_owned(), self.full.json());
        map.insert("relaxed".to_owned(), self.relaxed.json());
        map
    }
}

#[cfg(test)]
mod tests;
