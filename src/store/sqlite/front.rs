//! The front: every event up to it is adopted and was counted once, by whichever process came
//! first.

use std::collections::{BTreeMap, HashSet};

use rusqlite::params;

use super::adopt::{Adopted, adopt};
use super::tx::Tx;
use crate::error::Result;
use crate::model::id::EventSeq;
use crate::model::pattern::Pattern;
use crate::store::bus::{Range, Sighting};

const HOUR_MS: i64 = 3_600_000;
/// Names of unhandled events that are counted apart, per org; foreign SQL can invent more, which
/// are counted as one.
const MOST_NAMES: i64 = 1_000;
const OTHER_NAMES: &str = "*";

const FRONT_GET: &str = "SELECT seq, generation FROM lanebox_front WHERE one = 1";
const FRONT_SET: &str = "UPDATE lanebox_front SET seq = ?1 WHERE one = 1";
const HOUR_NEW: &str =
    "INSERT INTO lanebox_hour(hour, seq) VALUES (?1, ?2) ON CONFLICT(hour) DO NOTHING";
const UNHANDLED_ADD: &str =
    "UPDATE lanebox_unhandled SET count = count + ?3, last = ?4 WHERE org = ?1 AND name = ?2";
const UNHANDLED_NAMES: &str = "SELECT count(*) FROM lanebox_unhandled WHERE org = ?1";
const UNHANDLED_NEW: &str =
    "INSERT INTO lanebox_unhandled(org, name, count, first, last) VALUES (?1, ?2, ?3, ?4, ?5)";
pub(super) const LIVE_PATTERNS: &str = "SELECT p.name FROM lanebox_pattern p JOIN lanebox_consumer c ON c.id = p.consumer WHERE c.state <> 'retired'";

/// How far a range can be delivered, and what in it has no deliveries.
#[derive(Debug)]
pub(super) struct Reached {
    pub(super) to: EventSeq,
    pub(super) duplicates: HashSet<EventSeq>,
}

/// Adopts what the range met first, counts what nobody did before, and moves the front if the range
/// begins at or before it. The range ends early where an event turned out to have another id than
/// its routes were told.
pub(super) fn advance(tx: &Tx<'_>, range: &Range, generation: i64) -> Result<Reached> {
    let mut reached = Reached { to: range.to, duplicates: HashSet::new() };
    for event in &range.events {
        if event.duplicate {
            reached.duplicates.insert(event.seq);
        } else if !event.adopted {
            match adopt(tx, event.seq, event.id)? {
                Adopted::Duplicate => {
                    reached.duplicates.insert(event.seq);
                }
                Adopted::Fact(id) if id != event.id && event.body.is_some() => {
                    reached.to = EventSeq(event.seq.0 - 1);
                    break;
                }
                Adopted::Fact(_) => {}
            }
        }
    }
    let (front, now) = get(tx)?;
    if range.from <= front && front < reached.to {
        let fresh: Vec<&Sighting> = range
            .events
            .iter()
            .filter(|event| front < event.seq && event.seq <= reached.to)
            .collect();
        mark_hours(tx, &fresh)?;
        let live = if now == generation { None } else { Some(live_patterns(tx)?) };
        let unhandled = fresh.into_iter().filter(|event| {
            let handled = match &live {
                None => event.handled,
                Some(live) => live.iter().any(|pattern| pattern.matches(&event.name)),
            };
            !handled && !reached.duplicates.contains(&event.seq)
        });
        count_unhandled(tx, unhandled)?;
        tx.run(FRONT_SET, [reached.to])?;
    }
    Ok(reached)
}

fn get(tx: &Tx<'_>) -> Result<(EventSeq, i64)> {
    let front = tx.one(FRONT_GET, [], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(front.expect("the front row stays (trigger)"))
}

// Somebody's definition changed since the look.
fn live_patterns(tx: &Tx<'_>) -> Result<Vec<Pattern>> {
    let names: Vec<String> = tx.all(LIVE_PATTERNS, [], |row| row.get(0))?;
    Ok(names.iter().filter_map(|name| Pattern::parse(name)).collect())
}

// One row an hour is what a start at a time costs, instead of an index entry an event.
fn mark_hours(tx: &Tx<'_>, events: &[&Sighting]) -> Result<()> {
    let mut last = None;
    for event in events {
        let hour = event.recorded_at.div_euclid(HOUR_MS);
        if last != Some(hour) {
            tx.run(HOUR_NEW, params![hour, event.seq])?;
            last = Some(hour);
        }
    }
    Ok(())
}

// Added up in memory: one statement a name, not one an event.
fn count_unhandled<'e>(tx: &Tx<'_>, events: impl Iterator<Item = &'e Sighting>) -> Result<()> {
    let mut names: BTreeMap<(&str, &str), (i64, EventSeq, EventSeq)> = BTreeMap::new();
    for event in events {
        let counted = names.entry((&event.org, &event.name)).or_insert((0, event.seq, event.seq));
        counted.0 += 1;
        counted.2 = event.seq;
    }
    for ((org, name), (count, first, last)) in names {
        if tx.run(UNHANDLED_ADD, params![org, name, count, last])? > 0 {
            continue;
        }
        let known: Option<i64> = tx.one(UNHANDLED_NAMES, [org], |row| row.get(0))?;
        let room = known.unwrap_or(0) < MOST_NAMES;
        let name = if room { name } else { OTHER_NAMES };
        if room || tx.run(UNHANDLED_ADD, params![org, name, count, last])? == 0 {
            tx.run(UNHANDLED_NEW, params![org, name, count, first, last])?;
        }
    }
    Ok(())
}
