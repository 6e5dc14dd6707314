//! Every place of a job, and every verb: what the verb answers and where the job is then, as the
//! table in `matrix/table.txt` says (R23). Beside it stand jobs of its lane, of another lane and of
//! another org: none of them may change.
//!
//! A difference prints the whole table as it is now: read it against product.md before it is kept.

mod places;
mod verbs;

use super::tables::{self, Row, Tables};
use super::world::World;
use crate::model::id::JobNo;
use places::PLACES;
use verbs::VERBS;

const TABLE: &str = include_str!("matrix/table.txt");

#[test]
fn r23_every_verb_has_one_result_in_every_place_and_bystanders_do_not_change() {
    let mut now = String::new();
    for (place, make) in PLACES {
        now.push_str(&format!("{place}\n"));
        let mut subject = make();
        for (verb, act) in VERBS {
            let (world, job) = (&subject.world, subject.job);
            let before = world.store.look(tables::read);
            let was = seen(world, job);
            let answer = act(&subject);
            let is = seen(world, job);
            let result = if was == is { "as it was" } else { &is };
            now.push_str(&format!("  {verb}: {answer}; {result}\n"));
            let after = world.store.look(tables::read);
            if after != before {
                world.is_sound();
                let others = [&before, &after].map(|tables| bystanders(tables, job));
                assert_eq!(others[1], others[0], "bystanders of {verb} of a job that is {place}");
                subject = make();
            }
        }
    }
    assert!(now == TABLE, "{now}");
}

/// Which column of a table names the job.
const NAMES_JOB: [(&str, usize); 9] = [
    ("job", 0),
    ("scheduled", 1),
    ("open", 3),
    ("running", 0),
    ("tried", 0),
    ("finished", 0),
    ("attempt", 0),
    ("expiry", 1),
    ("result", 0),
];

/// Every row of other jobs. Whether one of the same lane is claimable follows from the subject, so
/// that is left to the audits.
fn bystanders(tables: &Tables, job: JobNo) -> Vec<(&'static str, Vec<Row>)> {
    let of_others = |(name, rows): &(&'static str, Vec<Row>)| {
        let (_, column) = NAMES_JOB.iter().find(|(table, _)| table == name)?;
        let other = |row: &&Row| row[*column] != job.0.into();
        Some((*name, rows.iter().filter(other).cloned().collect()))
    };
    tables.iter().filter_map(of_others).collect()
}

/// Where a job is, for a reader.
fn seen(world: &World, job: JobNo) -> String {
    let sql = format!(
        "SELECT concat_ws(', ', \
           (SELECT 'scheduled' FROM lanebox_scheduled WHERE id = {job}), \
           (SELECT 'in line' FROM lanebox_open WHERE id = {job}), \
           (SELECT iif(alone, 'ready alone', 'ready') FROM lanebox_ready WHERE id = {job}), \
           (SELECT concat_ws(', ', 'running', iif(cancel_asked, 'asked to stop', NULL)) FROM lanebox_running WHERE id = {job}), \
           (SELECT concat_ws(', ', phase, iif(lane, 'keeps its lane', NULL), 'attempts ' || attempts, 'lost ' || lost, 'postponed ' || postponed, \
              'series ' || series) FROM lanebox_tried WHERE id = {job}), \
           (SELECT concat_ws(', ', state, reason) FROM lanebox_finished WHERE id = {job}))"
    );
    world.one(&sql)
}
