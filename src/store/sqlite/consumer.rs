//! Registers a consumer: new, known, or taken over with another definition.

use std::collections::BTreeSet;

use rusqlite::params;
use serde::{Deserialize, Serialize};

use super::notify::{Notice, notify};
use super::tx::Tx;
use crate::error::{Error, Result};
use crate::model::consumer::{Registration, Start};
use crate::model::id::{ConsumerNo, EventSeq, OrgNo};
use crate::model::job::millis;
use crate::store::bus::Registered;

const HOUR_MS: i64 = 3_600_000;
/// Consumers belong to no tenant.
const PLATFORM: OrgNo = OrgNo(1);

const CONSUMER_FIND: &str =
    "SELECT id, version, definition, generation, state FROM lanebox_consumer WHERE key = ?1";
const CONSUMER_NEW: &str = "INSERT INTO lanebox_consumer(key, form, version, definition, generation, started, position) \
     VALUES (?1, ?2, ?3, ?4, 1, ?5, ?5)";
const CONSUMER_CHANGE: &str = "UPDATE lanebox_consumer SET form = ?2, version = ?3, definition = ?4, generation = generation + 1, \
     routing = NULL, alone = NULL, holder = NULL WHERE id = ?1";
const MARKS_CLEAR: &str = "UPDATE lanebox_delivery INDEXED BY lanebox_delivery_retry SET marks = 0, holder = NULL \
     WHERE consumer = ?1 AND state = 'retry' AND marks > 0";
const PATTERNS_OF: &str = "SELECT name FROM lanebox_pattern WHERE consumer = ?1";
const PATTERN_NEW: &str = "INSERT INTO lanebox_pattern(name, consumer) VALUES (?1, ?2)";
const PATTERN_DEL: &str = "DELETE FROM lanebox_pattern WHERE name = ?1 AND consumer = ?2";
const GENERATION_NEXT: &str = "UPDATE lanebox_front SET generation = generation + 1 WHERE one = 1";
const FRONT: &str = "SELECT seq FROM lanebox_front WHERE one = 1";
const EVENT_LAST: &str = "SELECT max(seq) FROM lanebox_event";
const EVENT_FIRST: &str = "SELECT min(seq) FROM lanebox_event";
const HOUR_FROM: &str = "SELECT min(seq) FROM lanebox_hour WHERE hour >= ?1";
const EVENT_SINCE: &str =
    "SELECT seq FROM lanebox_event WHERE seq >= ?1 AND recorded_at >= ?2 ORDER BY seq LIMIT 1";

/// What two registrations are compared by, beside their version.
#[derive(Debug, Serialize, Deserialize)]
struct Definition {
    form: String,
    lane: String,
    patterns: BTreeSet<String>,
    changed_at: i64,
}

impl Definition {
    fn of(registration: &Registration, now: i64) -> Definition {
        Definition {
            form: registration.form.as_str().to_owned(),
            lane: registration.lane.as_str().to_owned(),
            patterns: registration.patterns.iter().map(ToString::to_string).collect(),
            changed_at: now,
        }
    }

    fn says_the_same(&self, other: &Definition) -> bool {
        (&self.form, &self.lane, &self.patterns) == (&other.form, &other.lane, &other.patterns)
    }

    fn json(&self) -> String {
        serde_json::to_string(self).expect("strings and numbers serialize")
    }
}

struct Known {
    consumer: ConsumerNo,
    version: u32,
    definition: String,
    generation: i64,
    retired: bool,
}

/// Registers a checked consumer. The higher version wins; at equal versions the last registration
/// does.
pub(super) fn subscribe(tx: &Tx<'_>, registration: &Registration) -> Result<Registered> {
    let known = tx.one(CONSUMER_FIND, [&registration.key], |row| {
        Ok(Known {
            consumer: row.get(0)?,
            version: row.get(1)?,
            definition: row.get(2)?,
            generation: row.get(3)?,
            retired: row.get_ref(4)?.as_str()? == "retired",
        })
    })?;
    let now = Definition::of(registration, tx.now);
    let Some(known) = known else {
        return create(tx, registration, &now);
    };
    if known.retired {
        return Ok(Registered::Retired);
    }
    if registration.version < known.version {
        return Ok(Registered::Older { version: known.version });
    }
    // What a later program wrote there is another definition.
    let before = serde_json::from_str::<Definition>(&known.definition).ok();
    let same_version = registration.version == known.version;
    if same_version && before.as_ref().is_some_and(|before| before.says_the_same(&now)) {
        let Known { consumer, generation, .. } = known;
        return Ok(Registered::Same { consumer, generation });
    }
    let lately = before.is_some_and(|before| tx.now - before.changed_at < HOUR_MS);
    if same_version && lately && known.generation > 1 {
        tell_of_contest(tx, registration, known.consumer)?;
    }
    change(tx, registration, &known, &now)
}

fn create(tx: &Tx<'_>, registration: &Registration, now: &Definition) -> Result<Registered> {
    let started = start(tx, registration.start)?;
    let form = registration.form.as_str();
    let row = params![registration.key, form, registration.version, now.json(), started];
    tx.run(CONSUMER_NEW, row)?;
    let consumer = ConsumerNo(tx.last_row());
    for pattern in &now.patterns {
        tx.run(PATTERN_NEW, params![pattern, consumer])?;
    }
    tx.run(GENERATION_NEXT, [])?;
    Ok(Registered::New { consumer, generation: 1 })
}

// Another definition is a fresh chance: whatever the old one was suspected of is forgotten.
fn change(
    tx: &Tx<'_>,
    registration: &Registration,
    known: &Known,
    now: &Definition,
) -> Result<Registered> {
    let consumer = known.consumer;
    let before: BTreeSet<String> =
        tx.all(PATTERNS_OF, [consumer], |row| row.get(0))?.into_iter().collect();
    let form = registration.form.as_str();
    tx.run(CONSUMER_CHANGE, params![consumer, form, registration.version, now.json()])?;
    tx.run(MARKS_CLEAR, [consumer])?;
    let added: Vec<String> = now.patterns.difference(&before).cloned().collect();
    let removed: Vec<String> = before.difference(&now.patterns).cloned().collect();
    for pattern in &added {
        tx.run(PATTERN_NEW, params![pattern, consumer])?;
    }
    for pattern in &removed {
        tx.run(PATTERN_DEL, params![pattern, consumer])?;
    }
    tx.run(GENERATION_NEXT, [])?;
    Ok(Registered::Changed { consumer, generation: known.generation + 1, added, removed })
}

/// The last event that a new consumer does not get. `Now` may lie beyond the front.
fn start(tx: &Tx<'_>, start: Start) -> Result<EventSeq> {
    let front = tx.one(FRONT, [], |row| row.get::<_, EventSeq>(0))?;
    let front = front.expect("the front row stays (trigger)");
    let last = tx.one(EVENT_LAST, [], |row| row.get::<_, Option<EventSeq>>(0))?.flatten();
    let now = last.map_or(front, |last| last.max(front));
    let first = match start {
        Start::Now => None,
        Start::Beginning => tx.one(EVENT_FIRST, [], |row| row.get::<_, Option<i64>>(0))?.flatten(),
        Start::At(at) => since(tx, millis(at), front)?,
    };
    Ok(first.map_or(now, |first| EventSeq(first - 1)))
}

// Hours know the first event of each that the front met; what lies beyond the front is looked
// through.
fn since(tx: &Tx<'_>, at: i64, front: EventSeq) -> Result<Option<i64>> {
    if at > tx.now {
        return Err(Error::invalid("start of a consumer", "it lies in the future"));
    }
    let met = tx.one(HOUR_FROM, [at.div_euclid(HOUR_MS)], |row| row.get::<_, Option<i64>>(0))?;
    let from = met.flatten().unwrap_or(front.0 + 1);
    tx.one(EVENT_SINCE, params![from, at], |row| row.get(0))
}

fn tell_of_contest(tx: &Tx<'_>, registration: &Registration, consumer: ConsumerNo) -> Result<()> {
    let key = &registration.key;
    let notice = Notice {
        org: PLATFORM,
        kind: "consumer.contested",
        cause: format!("consumer {key}"),
        severity: "warn",
        reason: format!(
            "the definition of consumer {key} changed twice within an hour at version {}",
            registration.version
        ),
        next_step:
            "two deployments may fight over it: give the one that shall win a higher version"
                .to_owned(),
        about: Some(("consumer", consumer.0)),
    };
    notify(tx, &notice)?;
    Ok(())
}
