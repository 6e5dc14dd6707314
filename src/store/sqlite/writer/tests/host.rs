//! The host's own code in our transactions: E134, and whatever else it may do there.

use super::*;

impl Bench {
    /// Runs `body` while three operations wait; the host's answer and theirs.
    fn host_beside_three<T: Send>(
        &self,
        body: impl FnOnce(&Tx<'_>) -> Result<T> + Send,
    ) -> (std::thread::Result<Result<T>>, Vec<Result<()>>) {
        let writer = &self.store.writer;
        std::thread::scope(|scope| {
            let (entered, go) = std::sync::mpsc::channel();
            let host = scope.spawn(move || {
                writer.host(|tx| {
                    entered.send(()).expect("heard");
                    while writer.queue.lock().waiting.len() < 3 {
                        std::thread::yield_now();
                    }
                    body(tx)
                })
            });
            go.recv().expect("the host leads");
            let riders: Vec<_> =
                (1..=3).map(|n| scope.spawn(move || writer.write(move |tx| note(n)(tx)))).collect();
            let riders = riders.into_iter().map(|one| one.join().expect("no panic")).collect();
            (host.join(), riders)
        })
    }
}

#[test]
fn the_host_and_who_waited_share_a_commit() {
    let bench = Bench::new();
    let before = bench.store.commits();
    let (host, riders) = bench.host_beside_three(|tx| note(9)(tx));
    host.expect("no panic").expect("stored");
    assert!(failed(&riders).is_empty());
    assert_eq!(bench.store.commits(), before + 1);
    assert_eq!(bench.notes(), [1, 2, 3, 9]);
}

// fault: host-commit-is-not-seen
#[test]
fn e134_a_host_that_ends_the_transaction_harms_nobody_else() {
    // What it runs, and what of its own stands.
    let cases: [(&str, &[i64]); 5] = [
        ("INSERT INTO note VALUES (9); COMMIT", &[9]),
        ("INSERT INTO note VALUES (9); ROLLBACK", &[]),
        ("INSERT INTO note VALUES (9); COMMIT; BEGIN; INSERT INTO note VALUES (10)", &[9]),
        ("INSERT INTO note VALUES (9); ROLLBACK; BEGIN; INSERT INTO note VALUES (10)", &[]),
        (
            "INSERT INTO note VALUES (9); COMMIT; BEGIN IMMEDIATE; INSERT INTO note VALUES (10)",
            &[9],
        ),
    ];
    for (sql, stands) in cases {
        let bench = Bench::new();
        let (host, riders) = bench.host_beside_three(|tx| Ok(tx.conn.execute_batch(sql)?));
        let told = host.expect("no panic").expect_err(sql);
        assert!(matches!(told, Error::TransactionEnded), "{told}");
        assert!(failed(&riders).is_empty(), "they had not begun: {riders:?}");
        assert_eq!(bench.notes(), [&[1, 2, 3], stands].concat(), "{sql}");
        bench.works();
    }
}

#[test]
fn e134_a_conflict_that_rolls_back_is_told_by_its_cause() {
    let bench = Bench::new();
    let sql = "INSERT INTO note VALUES (9); INSERT OR ROLLBACK INTO note VALUES (9)";
    let (host, riders) = bench.host_beside_three(|tx| Ok(tx.conn.execute_batch(sql)?));
    let told = host.expect("no panic").expect_err("a conflict").to_string();
    assert!(told.contains("UNIQUE constraint failed: note.n"), "{told}");
    assert!(failed(&riders).is_empty());
    assert_eq!(bench.notes(), [1, 2, 3]);
}

#[test]
fn e134_a_conflict_that_the_host_swallows_is_told_all_the_same() {
    let bench = Bench::new();
    let (host, riders) = bench.host_beside_three(|tx| {
        let sql = "INSERT INTO note VALUES (9); INSERT OR ROLLBACK INTO note VALUES (9)";
        assert!(tx.conn.execute_batch(sql).is_err());
        assert!(matches!(note(10)(tx), Err(Error::RolledBack)), "verbs of ours refuse");
        Ok(())
    });
    assert!(matches!(host.expect("no panic"), Err(Error::TransactionEnded)));
    assert!(failed(&riders).is_empty());
    assert_eq!(bench.notes(), [1, 2, 3]);
}

// fault: host-error-is-committed
#[test]
fn a_host_that_fails_or_panics_is_rolled_back_alone() {
    let bench = Bench::new();
    let (host, riders) = bench.host_beside_three(|tx| {
        note(9)(tx)?;
        Err::<(), _>(Error::Host("its own reason".into()))
    });
    assert!(matches!(host.expect("no panic"), Err(Error::Host(_))));
    assert!(failed(&riders).is_empty());
    let (host, riders) = bench.host_beside_three(|tx| {
        note(9)(tx)?;
        if tx.conn.is_autocommit() { Ok(()) } else { panic!("the host's own") }
    });
    assert!(host.is_err(), "the panic is its own");
    assert_eq!(failed(&riders).len(), 3, "their numbers are taken");
    assert_eq!(bench.notes(), [1, 2, 3]);
    bench.works();
}

#[test]
fn a_deferred_foreign_key_of_the_host_breaks_the_commit_and_is_named_to_the_host_alone() {
    let bench = Bench::new();
    bench
        .elsewhere()
        .execute_batch("CREATE TABLE child(n REFERENCES note(n) DEFERRABLE INITIALLY DEFERRED)")
        .expect("made");
    let sql = "INSERT INTO child VALUES (77)";
    let (host, riders) = bench.host_beside_three(|tx| Ok(tx.conn.execute_batch(sql)?));
    let told = host.expect("no panic").expect_err("no such note").to_string();
    assert!(told.contains("FOREIGN KEY"), "{told}");
    assert!(told.contains("nothing of it was stored"), "{told}");
    assert!(riders.iter().all(|rider| matches!(rider, Err(Error::RolledBack))), "{riders:?}");
    assert!(bench.notes().is_empty());
    bench.works();
}

// fault: waits-for-itself
#[test]
fn r6_a_write_from_inside_the_closure_is_refused_instead_of_waiting_for_itself() {
    let bench = Bench::new();
    let writer = &bench.store.writer;
    writer
        .host(|tx| {
            let inside = writer.write(|tx| note(1)(tx)).expect_err("it would wait for itself");
            assert!(inside.to_string().contains("use the transaction"), "{inside}");
            let inside = writer.host(|tx| note(1)(tx)).expect_err("it would wait for itself");
            assert!(matches!(inside, Error::Refused { .. }), "{inside}");
            note(2)(tx)
        })
        .expect("the closure itself is well");
    assert_eq!(bench.notes(), [2]);
}

#[test]
fn what_a_host_does_to_the_connection_does_not_outlive_its_transaction() {
    let refused = [
        "PRAGMA query_only = 1",
        "PRAGMA Ignore_Check_Constraints(1)",
        "PRAGMA wal_autocheckpoint = 0",
        "CREATE TEMP TABLE lanebox_event AS SELECT * FROM main.lanebox_event",
        "CREATE TEMP VIEW Lanebox_Job AS SELECT 1",
        "CREATE TEMP TABLE mine (a); ALTER TABLE temp.mine RENAME TO lanebox_job",
        "CREATE TEMP TRIGGER t BEFORE INSERT ON main.lanebox_event BEGIN SELECT RAISE(IGNORE); END",
    ];
    for sql in refused {
        let bench = Bench::new();
        let (host, riders) = bench.host_beside_three(|tx| Ok(tx.conn.execute_batch(sql)?));
        let told = host.expect("no panic").expect_err(sql).to_string();
        assert!(told.contains("not authorized") || told.contains("prohibited"), "{sql}: {told}");
        assert!(failed(&riders).len() == 3 || bench.notes() == [1, 2, 3], "{sql}");
        bench.store.writer.write(note(7)).expect(sql);
    }
    let allowed = "CREATE TEMP TABLE mine (a); PRAGMA table_info(lanebox_job); PRAGMA defer_foreign_keys = 1; \
                   CREATE TABLE shop (a); ALTER TABLE shop RENAME TO store";
    let bench = Bench::new();
    let (host, riders) = bench.host_beside_three(|tx| Ok(tx.conn.execute_batch(allowed)?));
    host.expect("no panic").expect("the host's own matter");
    assert!(failed(&riders).is_empty());
}
