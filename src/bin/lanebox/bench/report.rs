//! What was found: a table and a sentence for people, one document for programs.

use std::time::Duration;

use serde::Serialize;
use serde_json::{Map, Value};

use super::advice::{self, Seen, Verdict};
use super::facts::Facts;
use super::figures::{Column, Figures, QUESTIONS, Question, share};
use crate::output::Out;
use crate::output::table::Table;

#[derive(Serialize)]
struct Document {
    #[serde(flatten)]
    facts: Facts,
    took_ms: u128,
    #[serde(flatten)]
    figures: Map<String, Value>,
    advice: Advice,
}

#[derive(Serialize)]
struct Advice {
    verdict: &'static str,
    sentence: String,
}

/// All of it.
pub struct Report {
    pub facts: Facts,
    pub figures: Figures,
    pub took: Duration,
}

impl Report {
    fn seen(&self) -> Seen {
        let Figures { append, full, relaxed, .. } = &self.figures;
        let gain = |question| {
            share(relaxed.pair(question).engine.median(), full.pair(question).engine.median())
        };
        // Not of many threads: their floor is one thread's, which says little of them on a disk
        // that flushes fast.
        let alike = [Question::Enqueue, Question::Bulk, Question::Drain(8)];
        let ratios = alike.map(|question| full.pair(question).ratio()).into_iter();
        Seen {
            in_memory: self.facts.in_memory,
            flushes: append.median(),
            least_ratio: ratios.fold(f64::INFINITY, f64::min),
            enqueue_gain: gain(Question::Enqueue),
            drain_gain: gain(Question::Drain(8)),
        }
    }

    /// The document for programs.
    pub fn document(&self) -> impl Serialize {
        let seen = self.seen();
        Document {
            facts: self.facts.clone(),
            took_ms: self.took.as_millis(),
            figures: self.figures.json(),
            advice: Advice { verdict: Verdict::of(&seen).key(), sentence: advice::sentence(&seen) },
        }
    }

    pub fn show(&self, out: Out) -> anyhow::Result<()> {
        let (facts, figures) = (&self.facts, &self.figures);
        let mut about = Table::plain();
        about.fact("directory", &facts.dir);
        about.fact("lanebox", facts.lanebox);
        about.fact("sqlite", self.sqlite());
        let (append, overwrite) = (figures.append.median(), figures.overwrite.median());
        let flushes =
            format!("{} appends, {} overwrites a second, 4 KiB each", n(append), n(overwrite));
        about.fact("flush", flushes);
        about.fact("rounds", format!("{} in {:.0} s", figures.rounds, self.took.as_secs_f64()));
        out.table(&about, "")?;
        out.line("")?;
        out.table(&self.table(), "")?;
        out.line("")?;
        out.line(&advice::sentence(&self.seen()))
    }

    fn sqlite(&self) -> String {
        let facts = &self.facts;
        let memory = if facts.sqlite_memory_management { "with" } else { "without" };
        let flush = match facts.sqlite_flushes_by {
            "unknown" => "fdatasync or fsync, it does not tell",
            known => known,
        };
        format!("{}, flushes by {flush}, {memory} ENABLE_MEMORY_MANAGEMENT", facts.sqlite)
    }

    /// Jobs per second, and how long one waits for its handler.
    fn table(&self) -> Table {
        let columns = [
            "jobs/s",
            "full: floor",
            "engine",
            "ratio",
            "batch",
            "relaxed: floor",
            "engine",
            "ratio",
            "batch",
        ];
        let mut table = Table::of(&columns);
        for question in QUESTIONS {
            let [a, b, c, d] = cells(&self.figures.full, question);
            let [e, f, g, h] = cells(&self.figures.relaxed, question);
            table.row([question.words(), a, b, c, d, e, f, g, h]);
        }
        for percent in [50, 99] {
            let ms = |column: &Column| format!("{:.2} ms", column.latency_us(percent) / 1e3);
            let (full, relaxed) = (ms(&self.figures.full), ms(&self.figures.relaxed));
            let none = String::new;
            let words = format!("commit to handler, p{percent}");
            table.row([words, none(), full, none(), none(), none(), relaxed, none(), none()]);
        }
        table.right();
        table
    }
}

fn cells(column: &Column, question: Question) -> [String; 4] {
    let pair = column.pair(question);
    [
        n(pair.floor.median()),
        n(pair.engine.median()),
        format!("{:.2}", pair.ratio()),
        format!("{:.0}", pair.batch.median()),
    ]
}

/// A whole number in groups of three.
fn n(figure: f64) -> String {
    let digits = format!("{figure:.0}");
    let mut grouped = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped() {
        for (figure, shown) in
            [(0.0, "0"), (999.4, "999"), (1_000.0, "1,000"), (1_234_567.0, "1,234,567")]
        {
            assert_eq!(n(figure), shown);
        }
    }

    #[test]
    fn the_document_says_what_was_measured_and_one_sentence() {
        let facts = super::super::facts::of(std::path::Path::new("."), std::path::Path::new("."));
        let facts = facts.expect("facts");
        let report = Report { facts, figures: Figures::default(), took: Duration::from_millis(5) };
        let json = serde_json::to_value(report.document()).expect("JSON");
        for key in [
            "lanebox",
            "sqlite",
            "sqlite_flushes_by",
            "sqlite_memory_management",
            "dir",
            "in_memory",
            "took_ms",
            "rounds",
            "flush_append_per_s",
            "full",
            "relaxed",
        ] {
            assert!(!json[key].is_null(), "{key}");
        }
        assert!(json["advice"]["verdict"].is_string() && json["advice"]["sentence"].is_string());
        let table = report.table().to_string();
        assert_eq!(table.lines().count(), 1 + QUESTIONS.len() + 2, "{table}");
    }
}
