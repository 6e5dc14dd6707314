//! What all acts together come to: one JSON document, or a table with a column for each.

use std::path::Path;

use comfy_table::{CellAlignment, Table, presets};
use serde_json::{Value, json};

use super::super::judge::Report;
use super::act::Outcome;
use super::mode_name;

/// A figure of the report, and how those of several acts become one.
type Figure = (&'static str, &'static str, fn(&Report) -> i64, fn(i64, i64) -> i64);

const FIGURES: &[Figure] = &[
    ("events", "events", |r| count(r.events), add),
    ("replies_expected", "replies expected", |r| count(r.replies_expected), add),
    ("replied", "replied in full", |r| count(r.replied), add),
    ("provider_accepts", "accepts", |r| count(r.provider_accepts), add),
    ("vetoed", "texts kept back by a STOP", |r| count(r.vetoed), add),
    ("noticed", "texts told to a person", |r| count(r.noticed), add),
    ("lost", "lost", |r| count(r.lost), add),
    ("duplicated", "duplicated", |r| count(r.duplicated), add),
    ("unexpected", "unexpected", |r| count(r.unexpected), add),
    ("overlapped", "overlapped", |r| count(r.overlapped), add),
    ("unknown_open", "unknown", |r| count(r.unknown_open), add),
    ("jobs_dead", "jobs dead", |r| count(r.jobs_dead), add),
    ("notices_open", "notices open", |r| count(r.notices_open), add),
    ("kills", "workers killed", |r| count(r.kills), add),
    ("receiver_kills", "receiver killed", |r| count(r.receiver_kills), add),
    ("freezes", "freezes", |r| count(r.freezes), add),
    ("survived", "survived a crash", |r| count(r.survived), add),
    ("lanes", "lanes", |r| count(r.lanes), add),
    ("lanes_in_parallel", "at once", |r| count(r.lanes_in_parallel), i64::max),
    ("elapsed_ms", "milliseconds", |r| r.elapsed_ms, add),
];

fn count(figure: u64) -> i64 {
    i64::try_from(figure).unwrap_or(i64::MAX)
}

fn add(one: i64, other: i64) -> i64 {
    one + other
}

/// The acts of one demo.
pub struct Summary<'a> {
    pub acts: &'a [Outcome],
    /// Where the files are, if they are kept.
    pub kept: Option<&'a Path>,
}

impl Summary<'_> {
    fn total(&self, (_, _, figure, join): &Figure) -> i64 {
        self.acts.iter().map(|act| figure(&act.report)).reduce(*join).unwrap_or_default()
    }

    /// Accepts in a second, over the time of all acts.
    fn accepts_per_s(&self) -> f64 {
        let accepts: u64 = self.acts.iter().map(|act| act.report.provider_accepts).sum();
        let elapsed_ms: i64 = self.acts.iter().map(|act| act.report.elapsed_ms).sum();
        if elapsed_ms <= 0 {
            0.0
        } else {
            (accepts as f64 * 10_000.0 / elapsed_ms as f64).round() / 10.0
        }
    }

    /// What is wrong, act by act; nothing if all is well.
    pub fn guilty(&self) -> Vec<String> {
        let guilty = |act: &Outcome| {
            let mut wrong = act.report.guilty();
            if !act.settled {
                wrong.push("something stood still before all was done".to_owned());
            }
            (!wrong.is_empty()).then(|| format!("{}: {}", mode_name(act.mode), wrong.join(", ")))
        };
        self.acts.iter().filter_map(guilty).collect()
    }

    /// The totals, and the judge's own document for each act.
    pub fn json(&self) -> Value {
        let mut document = serde_json::Map::new();
        for figure in FIGURES {
            document.insert(figure.0.to_owned(), self.total(figure).into());
        }
        document.insert("accepts_per_s".to_owned(), json!(self.accepts_per_s()));
        let missed: u64 = self.acts.iter().map(|act| act.missed).sum();
        document.insert("blows_missed".to_owned(), json!(missed));
        document.insert("dir".to_owned(), json!(self.kept));
        let acts = self.acts.iter().map(|act| {
            json!({"mode": act.mode, "settled": act.settled, "blows_missed": act.missed,
                "report": act.report})
        });
        document.insert("modes".to_owned(), acts.collect());
        Value::Object(document)
    }

    pub fn table(&self) -> Table {
        let mut table = Table::new();
        table.load_preset(presets::NOTHING);
        let modes = self.acts.iter().map(|act| mode_name(act.mode));
        table.set_header(["".to_owned()].into_iter().chain(modes).chain(["all".to_owned()]));
        for figure in FIGURES {
            let each = self.acts.iter().map(|act| (figure.2)(&act.report));
            let cells = each.chain([self.total(figure)]).map(|figure| figure.to_string());
            table.add_row([figure.1.to_owned()].into_iter().chain(cells));
        }
        for column in table.column_iter_mut().skip(1) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        table
    }
}
