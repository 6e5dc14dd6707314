//! A member that fails alone is taken back alone.

use super::*;
use crate::store::sqlite::writer::faults::{Fault, Point};

#[test]
fn a_group_is_one_commit() {
    let bench = Bench::new();
    let before = bench.store.commits();
    assert!(failed(&bench.eight()).is_empty());
    assert_eq!(bench.store.commits(), before + 1);
    assert_eq!(bench.notes(), all_but(-1));
}

// fault: no-savepoint
#[test]
fn a_member_that_fails_half_way_is_taken_back_alone() {
    for k in 0..8 {
        let bench = Bench::new();
        let mut operations: Vec<Operation> = (0..8).map(note).collect();
        operations[usize::try_from(k).expect("small")] = Box::new(move |tx| {
            note(k)(tx)?;
            note(50)(tx)?;
            Err(Error::invalid("it", "was half-way"))
        });
        let answers = bench.store.writer.group(operations);
        assert_eq!(failed(&answers), [k]);
        assert!(matches!(
            answers.into_iter().find_map(Result::err),
            Some(Error::Invalid { what: "it", .. })
        ));
        assert_eq!(bench.notes(), all_but(k));
    }
}

#[test]
fn a_member_that_panics_is_taken_back_alone() {
    for k in 0..8_u32 {
        let bench = Bench::new();
        bench.store.writer.faults.order(Point::Operation, k, Fault::Panic);
        let answers = bench.eight();
        assert_eq!(failed(&answers), [i64::from(k)]);
        let why = answers.into_iter().find_map(Result::err).expect("one").to_string();
        assert!(why.contains("a panic on order"), "{why}");
        assert_eq!(bench.notes(), all_but(k.into()));
        bench.works();
    }
}

#[test]
fn a_member_that_breaks_a_constraint_is_taken_back_alone() {
    let bench = Bench::new();
    let answers = bench.store.writer.group([1, 2, 2, 3].map(note).into());
    assert_eq!(failed(&answers), [2]);
    assert_eq!(bench.notes(), [1, 2, 3]);
}

#[test]
fn a_member_that_cannot_be_taken_back_takes_all_with_it() {
    let bench = Bench::new();
    let mut operations: Vec<Operation> = (0..8).map(note).collect();
    operations[5] = Box::new(|tx| {
        note(5)(tx)?;
        tx.run("RELEASE step", [])?;
        Err(Error::invalid("it", "has lost its savepoint"))
    });
    let answers = bench.store.writer.group(operations);
    assert_eq!(failed(&answers).len(), 8, "else half of it would be committed with the others");
    assert!(bench.notes().is_empty());
    bench.works();
}

#[test]
fn nothing_runs_outside_the_transaction() {
    let bench = Bench::new();
    let mut operations: Vec<Operation> = (0..4).map(note).collect();
    operations[0] = Box::new(|tx| {
        tx.run("ROLLBACK", [])?;
        assert!(matches!(note(0)(tx), Err(Error::RolledBack)), "it would be a commit of its own");
        Ok(())
    });
    operations[2] = Box::new(|tx| {
        tx.run("ROLLBACK", [])?;
        assert!(matches!(tx.savepoint(|| note(2)(tx)), Err(Error::RolledBack)));
        Ok(())
    });
    let answers = bench.store.writer.group(operations);
    assert_eq!(failed(&answers), [0, 1, 2, 3]);
    assert!(bench.notes().is_empty());
    bench.works();
}

#[test]
fn r5_a_statement_that_answers_rows_is_over_before_the_next_one() {
    const MOVE: &str = "UPDATE note SET n = n + 100 RETURNING n";
    let bench = Bench::new();
    assert!(failed(&bench.eight()).is_empty());
    let first = bench.store.writer.write(|tx| {
        let first: Option<i64> = tx.one(MOVE, [], |row| row.get(0))?;
        assert!(!tx.conn.is_busy(), "a half-read statement would hold the commit up");
        Ok(first)
    });
    assert_eq!(first.expect("stored"), Some(100));
    assert_eq!(bench.notes(), (100..108).collect::<Vec<_>>());
}
