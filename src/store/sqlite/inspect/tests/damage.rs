//! A damaged file is called damaged, by the doctor and by whatever stumbles over it.

use crate::error::Error;
use crate::model::job::NewJob;
use crate::model::lane::Lane;
use crate::store::jobs::Jobs;
use crate::store::people::{Filter, People};
use crate::store::sqlite::scratch::Scratch;

#[test]
fn the_doctor_calls_a_row_damaged_that_its_index_does_not_know() {
    let scratch = Scratch::new();
    let insert = "INSERT INTO lanebox_event(org, name, dedupe_key) VALUES ('acme', 'a.b', 'once')";
    let hidden = "PRAGMA writable_schema = ON; \
         CREATE TEMP TABLE hidden AS SELECT * FROM sqlite_schema WHERE name = 'lanebox_event_dedupe'; \
         DELETE FROM sqlite_schema WHERE name = 'lanebox_event_dedupe'; PRAGMA writable_schema = RESET";
    let back = "PRAGMA writable_schema = ON; INSERT INTO sqlite_schema SELECT * FROM hidden; \
                PRAGMA writable_schema = RESET";
    let raw = scratch.raw();
    [hidden, insert, back].iter().for_each(|sql| raw.execute_batch(sql).expect(sql));
    let found = scratch.store().doctor().expect("a diagnosis");
    let wrong: Vec<_> = found.facts.iter().filter(|fact| fact.wrong.is_some()).collect();
    assert!(!found.sound && wrong.len() == 1, "{wrong:?}");
    assert_eq!(wrong[0].name, "integrity_check");
    assert!(wrong[0].value.contains("missing from index lanebox_event_dedupe"), "{wrong:?}");
}

#[test]
fn a_value_that_the_schema_does_not_allow_is_damage() {
    let scratch = Scratch::new();
    let store = scratch.store();
    let job = NewJob::raw("turn", "{}", Lane::NONE).org("acme");
    let _accepted = store.enqueue(vec![job]).expect("accepted");
    let lax = "PRAGMA writable_schema = ON; PRAGMA ignore_check_constraints = ON; \
         UPDATE sqlite_schema SET sql = replace(sql, 'STRICT', '') WHERE name = 'lanebox_kind'; \
         PRAGMA writable_schema = RESET; UPDATE lanebox_kind SET name = x'00'; \
         PRAGMA writable_schema = ON; \
         UPDATE sqlite_schema SET sql = sql || ' STRICT' WHERE name = 'lanebox_kind'; \
         PRAGMA writable_schema = RESET";
    scratch.raw().execute_batch(lax).expect(lax);
    let why = store.jobs(&Filter::new()).expect_err("no text");
    assert!(matches!(why, Error::Damaged(_)), "{why:?}");
    assert!(why.to_string().contains("restore a backup"), "{why}");
}
