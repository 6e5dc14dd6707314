//! The judge: what was acknowledged, what the provider took and what ran, held against the file as
//! any SQLite program reads it, and the file's own audits.

use std::collections::{BTreeMap, HashMap, HashSet};

use lanebox::Error;

use super::facts::{Fact, hash};
use super::runs::{self, Run, number, stood_still};
use super::stage::Stage;
use super::{producer, provider};
use crate::clock::rest;
use crate::lines::read;
use crate::part::Ability;

/// Each counts what must not be; `?1` is our org's number.
const NEVER: [(&str, &str); 10] = [
    ("jobs that are not in exactly one state",
     "SELECT j.id FROM lanebox_job j WHERE j.org = ?1 AND 1 <>
        (SELECT count(*) FROM lanebox_finished WHERE id = j.id) + (SELECT count(*) FROM lanebox_running WHERE id = j.id)
      + (SELECT count(*) FROM lanebox_tried WHERE id = j.id) + (SELECT count(*) FROM lanebox_scheduled WHERE id = j.id)
      + (EXISTS (SELECT 1 FROM lanebox_ready WHERE id = j.id) OR EXISTS (SELECT 1 FROM lanebox_open WHERE id = j.id AND lane = j.lane))"),
    ("jobs that are not done",
     "SELECT id FROM lanebox_job_state WHERE org = ?1 AND state <> 'done'"),
    ("jobs with more attempts than allowed",
     "SELECT f.id FROM lanebox_finished f JOIN lanebox_job j ON j.id = f.id WHERE j.org = ?1 AND f.attempts > j.max_attempts"),
    ("series with more failures than allowed",
     "SELECT a.job FROM lanebox_attempt a JOIN lanebox_job j ON j.id = a.job WHERE j.org = ?1 AND a.ended = 'failed'
      GROUP BY a.job, a.series HAVING count(*) > max(j.max_attempts)"),
    ("dead attempts without a notice",
     "SELECT 1 WHERE EXISTS (SELECT 1 FROM lanebox_attempt a JOIN lanebox_job j ON j.id = a.job WHERE j.org = ?1 AND a.ended = 'dead')
      AND NOT EXISTS (SELECT 1 FROM lanebox_notice WHERE org = ?1 AND kind = 'job.dead')"),
    ("completions of another token than the job's end",
     "SELECT d.n FROM torture_done d JOIN lanebox_job j ON j.uuid = d.job JOIN lanebox_finished f ON f.id = j.id
      WHERE j.org = ?1 AND f.token <> d.token"),
    ("jobs that were not completed exactly once",
     "SELECT j.id FROM lanebox_job j WHERE j.org = ?1 AND (SELECT count(*) FROM torture_done WHERE job = j.uuid) <> 1"),
    ("facts that do not have exactly one job of each consumer",
     "SELECT e.seq FROM lanebox_event e JOIN lanebox_org o ON o.name = e.org
      WHERE o.id = ?1 AND (SELECT count(*) FROM lanebox_job WHERE source_event = e.seq AND consumer IS NOT NULL) <> 1"),
    ("orders that were not told exactly once as shipped",
     "SELECT j.id FROM lanebox_job j JOIN lanebox_kind k ON k.id = j.kind WHERE j.org = ?1 AND k.name = 'ship'
      AND (SELECT count(*) FROM lanebox_event WHERE org = 'torture' AND name = 'order.shipped' AND entity_id = json_extract(j.payload, '$.key')) <> 1"),
    ("host rows without their fact",
     "SELECT key FROM torture_host WHERE NOT EXISTS (SELECT 1 FROM lanebox_event WHERE org = 'torture' AND dedupe_key = key) AND ?1 > 0"),
];

pub fn judge(stage: &mut Stage) {
    for (what, sql) in NEVER {
        let found = stage.count(sql);
        if found > 0 {
            stage.wrong.push(format!("{found} {what}"));
        }
        stage.tally.checked += 1;
    }
    let runs = runs::all(stage);
    runs::lanes(stage, &runs);
    runs::tokens(stage, &runs);
    completions(stage, &runs);
    facts(stage);
    letters(stage, &runs);
    own_word(stage);
}

/// Nobody completes a job after a later run of it has begun.
fn completions(stage: &mut Stage, runs: &[Run]) {
    let mut of_job: HashMap<&str, Vec<&Run>> = HashMap::new();
    for run in runs {
        of_job.entry(&run.job).or_default().push(run);
    }
    for done in rows(stage, "SELECT lower(hex(job)), token, at FROM torture_done") {
        let job = uuid::Uuid::parse_str(&done[0]).expect("an id").to_string();
        let (token, at) = (number(&done[1]).cast_signed(), number(&done[2]));
        let of_job = of_job.get(job.as_str()).map_or(&[][..], |runs| &runs[..]);
        let later = of_job.iter().find(|run| run.token > token && run.begin < at);
        if let Some(later) = later {
            let later = later.token;
            stage.wrong.push(format!("job {job} ended by token {token} while {later} ran"));
        }
        if of_job.len() > 1 {
            stage.tally.recovered += 1;
        }
        stage.tally.checked += 1;
    }
}

/// Everything acknowledged is there once, with what was said, and a repeat heard of the first.
fn facts(stage: &mut Stage) {
    let events = "SELECT dedupe_key, lower(hex(uuid)), payload FROM lanebox_event WHERE org = 'torture' AND dedupe_key IS NOT NULL";
    let jobs = "SELECT json_extract(payload, '$.key'), lower(hex(uuid)), payload FROM lanebox_job
                WHERE consumer IS NULL AND org = (SELECT id FROM lanebox_org WHERE name = 'torture')";
    let mut stored: HashMap<String, Vec<(String, String)>> = HashMap::new();
    for row in rows(stage, events).into_iter().chain(rows(stage, jobs)) {
        let [key, id, payload] = <[String; 3]>::try_from(row).expect("three columns");
        stored.entry(key).or_default().push((id, hash(&payload)));
    }
    let hosts: HashSet<String> =
        rows(stage, "SELECT key FROM torture_host").into_iter().flatten().collect();
    let dir = stage.dir();
    for line in (0..2).flat_map(|line| read(&producer::log(&dir, line))) {
        match line[0].as_str() {
            "ack" => {
                let (key, id) = (&line[2], line[4].replace('-', ""));
                let found = stored.get(key).map_or(&[][..], |found| &found[..]);
                let right = found.iter().filter(|(has, sum)| *has == id && *sum == line[3]).count();
                if found.is_empty() {
                    stage.tally.lost += 1;
                    stage.wrong.push(format!("{key} was acknowledged and is not there"));
                } else if found.len() > 1 {
                    stage.tally.duplicated += 1;
                    stage.wrong.push(format!("{key} is there {} times", found.len()));
                } else if right != 1 {
                    stage.wrong.push(format!("{key} is there with another id or payload"));
                }
                if line[1] == "Together" && !hosts.contains(key) {
                    stage.wrong.push(format!("{key} is there without its host row"));
                }
                stage.tally.acknowledged += 1;
            }
            _ => {
                let (key, id) = (&line[1], line[2].replace('-', ""));
                let same = stored.get(key).is_some_and(|found| found[0].0 == id);
                if line[3] == "new" || !same {
                    stage.wrong.push(format!("a repeat of {key} was {} as {id}", line[3]));
                }
            }
        }
        stage.tally.checked += 1;
    }
    if stage.tally.acknowledged == 0 {
        stage
            .wrong
            .push("nothing was acknowledged: a round without work proves nothing".to_owned());
    }
}

/// Every letter of every fact in the file went out once, and no other.
fn letters(stage: &mut Stage, runs: &[Run]) {
    let mut taken: BTreeMap<String, Vec<Vec<String>>> = BTreeMap::new();
    for line in read(&provider::log(&stage.dir())) {
        taken.entry(line[2].clone()).or_default().push(line);
    }
    let ship = "SELECT payload FROM lanebox_job WHERE kind = (SELECT id FROM lanebox_kind WHERE name = 'ship')
                AND org = (SELECT id FROM lanebox_org WHERE name = 'torture')";
    for row in rows(stage, ship) {
        let fact: Fact = serde_json::from_str(&row[0]).expect("a fact");
        for n in 0..fact.letters {
            let letter = fact.letter(n);
            match taken.remove(&letter).unwrap_or_default() {
                lines if lines.len() == 1 => known(stage, &lines[0]),
                lines if lines.is_empty() => {
                    stage.tally.lost += 1;
                    stage.wrong.push(format!("letter {letter} never went out"));
                }
                lines if may_be_twice(stage, &lines, runs) => stage.tally.excused += 1,
                lines => {
                    stage.tally.duplicated += 1;
                    stage.wrong.push(format!("letter {letter} went out twice: {lines:?}"));
                }
            }
            stage.tally.checked += 1;
        }
    }
    for letter in taken.keys() {
        stage.tally.unexpected += 1;
        stage.wrong.push(format!("letter {letter} of no order in the file went out"));
    }
}

/// What the provider took is accepted in the ledger, by the same receipt or by a person's word.
fn known(stage: &mut Stage, line: &[String]) {
    let sql =
        "SELECT state, coalesce(receipt, '') FROM lanebox_send_try WHERE lower(hex(key)) = ?1";
    let key = line[1].replace('-', "");
    let found = stage
        .sql()
        .query_row(sql, [key], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?)));
    match found {
        Ok((state, receipt))
            if state == "accepted" && (receipt.is_empty() || receipt == line[3]) => {}
        other => stage.wrong.push(format!("the provider took {line:?}, the ledger has {other:?}")),
    }
}

/// Where a provider can only be asked: a worker that was frozen after its last check called when
/// it woke. The file knows of both, and told a person, unless that worker died right then.
fn may_be_twice(stage: &Stage, lines: &[Vec<String>], runs: &[Run]) -> bool {
    if stage.ability != Ability::Lookup || lines.len() != 2 {
        return false;
    }
    lines.iter().any(|line| {
        let (at, life) = (number(&line[4]), u32::try_from(number(&line[5])).expect("a life"));
        let begun = runs.iter().filter(|run| run.life == life && run.begin < at);
        let begin = begun.map(|run| run.begin).max().unwrap_or(0);
        let sql = "SELECT n FROM lanebox_send_try WHERE state = 'duplicate' AND notice IS NOT NULL AND lower(hex(key)) = ?1";
        let told = lines.iter().any(|line| {
            let key = line[1].replace('-', "");
            !stage.column(sql, [key]).is_empty()
        });
        stood_still(&stage.pauses, life, begin, at) && (told || stage.deaths.contains_key(&life))
    })
}

/// What the file says of itself: its audits, and SQLite's own check.
fn own_word(stage: &mut Stage) {
    let check = rows(stage, "PRAGMA integrity_check").concat();
    if check != ["ok"] {
        stage.wrong.push(format!("integrity_check says {check:?}"));
    }
    audits(stage, "at the end");
}

/// Every audit of the file's own, at any time.
pub fn audits(stage: &mut Stage, when: &str) {
    let people = stage.people.as_ref().expect("they came");
    let found = loop {
        match people.lanebox().doctor() {
            Ok(found) => break found,
            // Somebody recovers the log.
            Err(Error::Busy { .. }) => rest(),
            Err(error) => return stage.wrong.push(format!("no diagnosis {when}: {error}")),
        }
    };
    for audit in found.audits {
        if audit.count > 0 {
            let (name, count, first) = (audit.name, audit.count, audit.first);
            stage.wrong.push(format!("audit {name} finds {count} {when}: {first:?}"));
        }
        stage.tally.checked += 1;
    }
}

/// All rows, as texts.
fn rows(stage: &Stage, sql: &str) -> Vec<Vec<String>> {
    let conn = stage.sql();
    let mut statement = conn.prepare(sql).expect("the tables");
    let columns = statement.column_count();
    let text = |row: &rusqlite::Row<'_>| {
        let cell = |n| match row.get_ref(n)? {
            rusqlite::types::ValueRef::Integer(number) => Ok(number.to_string()),
            other => Ok(other.as_str()?.to_owned()),
        };
        (0..columns).map(cell).collect::<rusqlite::Result<Vec<_>>>()
    };
    let rows = statement.query_map([], text).expect("rows");
    rows.collect::<Result<_, _>>().expect("texts")
}
