//! Lanes over time, in characters: a line for each contact, from its runs in the database.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::database::{Run, RunEnd};

const WIDTH: usize = 64;
const LINES: usize = 16;

/// The last line of the picture.
pub const LEGEND: &str = "= runs   x its worker vanished   ? does not know whether it has sent   \
                          ! two runs at once";

/// At most [`LINES`] lanes, those in which most happened, in the order of their first runs.
pub fn draw(runs: &[Run], last_ms: i64) -> Vec<String> {
    let mut lanes: BTreeMap<&str, Vec<&Run>> = BTreeMap::new();
    for run in runs {
        if let Some(contact) = run.contact.as_deref() {
            lanes.entry(contact).or_default().push(run);
        }
    }
    let Some(first) = lanes.values().flatten().map(|run| run.started_at).min() else {
        return Vec::new();
    };
    let scale = Scale { first, length: (last_ms - first).max(1) };
    let all = lanes.len();
    let mut lanes: Vec<_> = lanes.into_iter().collect();
    lanes.sort_by_key(|(_, runs)| Reverse((troubles(runs), runs.len())));
    lanes.truncate(LINES);
    lanes.sort_by_key(|(_, runs)| runs.iter().map(|run| run.started_at).min());
    let mut picture: Vec<String> = lanes
        .iter()
        .map(|(contact, runs)| format!("{:>6} {}", masked(contact), line(runs, scale, last_ms)))
        .collect();
    if all > lanes.len() {
        picture.push(format!("       ({} more lanes)", all - lanes.len()));
    }
    picture
}

fn troubles(runs: &[&Run]) -> usize {
    runs.iter().filter(|run| run.ended != RunEnd::Other).count()
}

/// The end of a contact's name is enough to tell lanes apart, and not enough to call.
fn masked(contact: &str) -> String {
    let length = contact.chars().count();
    let shown: String = contact.chars().skip(length.saturating_sub(4).max(length / 2)).collect();
    format!("..{shown}")
}

/// How moments become columns.
#[derive(Clone, Copy)]
struct Scale {
    first: i64,
    length: i64,
}

impl Scale {
    fn column(self, moment: i64) -> usize {
        let passed = (moment - self.first).clamp(0, self.length);
        let column = i128::from(passed) * WIDTH as i128 / i128::from(self.length);
        usize::try_from(column).unwrap_or(0).min(WIDTH - 1)
    }
}

fn line(runs: &[&Run], scale: Scale, last_ms: i64) -> String {
    let mut cells = vec!['.'; WIDTH];
    let mut clashes = Vec::new();
    let mut latest = i64::MIN;
    for run in runs {
        let ended_at = run.ended_at.unwrap_or(last_ms);
        let (from, to) = (scale.column(run.started_at), scale.column(ended_at));
        for cell in &mut cells[from..=to.max(from)] {
            if *cell == '.' {
                *cell = '=';
            }
        }
        match run.ended {
            RunEnd::Lost => cells[to] = 'x',
            RunEnd::Unknown => cells[to] = '?',
            RunEnd::Other => {}
        }
        if run.started_at < latest {
            clashes.push((from, scale.column(latest.min(ended_at))));
        }
        latest = latest.max(ended_at);
    }
    for (from, to) in clashes {
        cells[from..=to.max(from)].fill('!');
    }
    cells.into_iter().collect()
}
