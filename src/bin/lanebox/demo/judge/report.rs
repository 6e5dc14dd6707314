//! The report: figures for programs, a table and a picture for people.

use std::fmt;

use comfy_table::{CellAlignment, Table, presets};
use serde::{Deserialize, Serialize};

use super::super::log::Blow;
use super::database::StaleEnd;
use super::evidence::Evidence;
use super::fault::{Fault, Faults, Figure};
use super::index::Index;
use super::lost::{self, Survivor};
use super::{accepts, lanes, picture};

/// All that `demo judge` says.
#[derive(Debug, Serialize, Deserialize)]
pub struct Report {
    /// Events in the database, duplicates left out.
    pub events: u64,
    /// Acknowledged messages; not statuses, duplicates or STOPs.
    pub replies_expected: u64,
    /// Of these, the ones of which every bubble was accepted.
    pub replied: u64,
    /// Messages that went out; a reply has one or two.
    pub provider_accepts: u64,
    pub lost: u64,
    pub duplicated: u64,
    pub unexpected: u64,
    pub overlapped: u64,
    /// Sends of which nobody knows yet whether they went out.
    pub unknown_open: u64,
    /// Bubbles without an accept that an open notice tells of.
    pub noticed: u64,
    /// Bubbles without an accept because their contact said STOP.
    pub vetoed: u64,
    /// Of the lost ones, those whose job still waits or runs.
    pub still_waiting: u64,
    /// Workers killed, by the demo's own log.
    pub kills: u64,
    /// Times that the receiver was killed, by the same.
    pub receiver_kills: u64,
    /// Workers frozen, by the same.
    pub freezes: u64,
    pub jobs_dead: u64,
    pub notices_open: u64,
    /// From the first to the last moment in the three files.
    pub elapsed_ms: i64,
    /// Accepts in a second of that time.
    pub accepts_per_s: f64,
    /// Contacts whose lane had a run.
    pub lanes: u64,
    /// The most of them that ran at the same time.
    pub lanes_in_parallel: u64,
    /// Replied messages whose worker vanished on the way.
    pub survived: u64,
    /// One of them.
    pub survivor: Option<Survivor>,
    /// The first faults of each figure.
    pub faults: Vec<Fault>,
    pub lanes_over_time: Vec<String>,
}

impl Report {
    /// Judges.
    pub fn of(evidence: &Evidence) -> Self {
        let index = Index::of(evidence);
        let mut faults = Faults::default();
        let delivered = accepts::judge(&index, &mut faults);
        let outcome = lost::judge(&index, &delivered, &mut faults);
        sent_again(evidence, &mut faults);
        stale_ends(evidence, &mut faults);
        let runs = &evidence.database.runs;
        lanes::judge(runs, &mut faults);

        let counts = evidence.database.counts;
        let elapsed_ms = evidence.elapsed_ms();
        let blows = |what, who: &str| {
            let all = evidence.blows.iter();
            all.filter(|blow| blow.what == what && blow.who.starts_with(who)).count() as u64
        };
        let accepts = evidence.accepts.len();
        Self {
            events: counts.events,
            replies_expected: evidence.fed.expecting.len() as u64,
            replied: outcome.replied,
            provider_accepts: accepts as u64,
            lost: faults.count(Figure::Lost),
            duplicated: faults.count(Figure::Duplicated),
            unexpected: faults.count(Figure::Unexpected),
            overlapped: faults.count(Figure::Overlapped),
            unknown_open: counts.unknown_open,
            noticed: outcome.noticed,
            vetoed: outcome.vetoed,
            still_waiting: outcome.still_waiting,
            kills: blows(Blow::Kill, "worker"),
            receiver_kills: blows(Blow::Kill, "receiver"),
            freezes: blows(Blow::Freeze, "worker"),
            jobs_dead: counts.jobs_dead,
            notices_open: counts.notices_open,
            elapsed_ms,
            accepts_per_s: per_second(accepts, elapsed_ms),
            lanes: lanes::lanes(runs) as u64,
            lanes_in_parallel: lanes::most_at_once(runs, evidence.last_ms()) as u64,
            survived: outcome.survived,
            survivor: outcome.survivor,
            faults: faults.into_told(),
            lanes_over_time: picture::draw(runs, evidence.last_ms()),
        }
    }

    /// The figures that are not 0, such as `2 lost`.
    pub fn guilty(&self) -> Vec<String> {
        let figures = [
            (self.lost, "lost"),
            (self.duplicated, "duplicated"),
            (self.unexpected, "unexpected"),
            (self.overlapped, "overlapped"),
        ];
        let guilty = figures.into_iter().filter(|(count, _)| *count > 0);
        guilty.map(|(count, name)| format!("{count} {name}")).collect()
    }

    /// The lanes over time with their legend; empty if nothing ran.
    pub fn picture(&self) -> String {
        if self.lanes_over_time.is_empty() {
            return String::new();
        }
        let lines = self.lanes_over_time.join("\n");
        format!("lanes over {} ms\n{lines}\n       {}\n", self.elapsed_ms, picture::LEGEND)
    }

    fn rows(&self) -> [[String; 3]; 16] {
        let row = |name: &str, figure: &dyn ToString, meaning: &str| {
            [name.to_owned(), figure.to_string(), meaning.to_owned()]
        };
        let pair = |a: u64, b: u64| format!("{a} / {b}");
        let speed = format!("ms, {:.1} texts a second", self.accepts_per_s);
        [
            row("events", &self.events, "facts in the database"),
            row("replies expected", &self.replies_expected, "acknowledged messages but STOPs"),
            row("replied", &self.replied, "of them, those whose reply went out whole"),
            row("accepts", &self.provider_accepts, "texts that the provider took"),
            row("vetoed", &self.vetoed, "texts kept back because of a STOP"),
            row("noticed", &self.noticed, "texts that a notice asks a person about"),
            row("lost", &self.lost, "must be 0"),
            row("duplicated", &self.duplicated, "must be 0"),
            row("unexpected", &self.unexpected, "must be 0"),
            row("overlapped", &self.overlapped, "must be 0"),
            row("unknown", &self.unknown_open, "sends whose fate nobody knows yet"),
            row("dead / notices", &pair(self.jobs_dead, self.notices_open), "jobs / not resolved"),
            row("kills / freezes", &pair(self.kills, self.freezes), "of workers"),
            row("survived", &self.survived, "replied although a worker vanished"),
            row("lanes / at once", &pair(self.lanes, self.lanes_in_parallel), "contacts"),
            row("took", &self.elapsed_ms, &speed),
        ]
    }

    fn table(&self) -> Table {
        let mut table = Table::new();
        table.load_preset(presets::NOTHING).add_rows(self.rows());
        if let Some(figures) = table.column_mut(1) {
            figures.set_cell_alignment(CellAlignment::Right);
        }
        table
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.lanes_over_time.is_empty() {
            writeln!(f, "{}", self.picture())?;
        }
        write!(f, "{}", self.table().trim_fmt())?;
        if let Some(Survivor { message, job, losses }) = &self.survivor {
            write!(f, "\n\nsurvived {losses} vanished worker(s): {message}, job {job}")?;
        }
        for fault in &self.faults {
            write!(f, "\n{fault}")?;
        }
        let untold = self.lost + self.duplicated + self.unexpected + self.overlapped
            - self.faults.len() as u64;
        match untold {
            0 => Ok(()),
            untold => write!(f, "\nand {untold} more faults"),
        }
    }
}

fn per_second(count: usize, elapsed_ms: i64) -> f64 {
    if elapsed_ms <= 0 {
        return 0.0;
    }
    let tenths = count as f64 * 10_000.0 / elapsed_ms as f64;
    tenths.round() / 10.0
}

fn sent_again(evidence: &Evidence, faults: &mut Faults) {
    for (message, times) in &evidence.database.sent_again {
        for nth in 2..=*times {
            let why = format!("`message.sent` number {nth} of one message");
            faults.add(Fault::new(Figure::Unexpected, why).message(message));
        }
    }
}

fn stale_ends(evidence: &Evidence, faults: &mut Faults) {
    for stale in &evidence.database.stale_ends {
        let StaleEnd { job, state, token, last } = stale;
        let token = token.map_or("no token".to_owned(), |token| format!("token {token}"));
        let last = last.map_or(String::new(), |last| format!("; its last known one is {last}"));
        let why = format!("the job became {state} by {token}, which had lost it{last}");
        faults.add(Fault::new(Figure::Unexpected, why).job(*job));
    }
}
