//! Storage errors on order: a test says where the next one happens, and the writer meets it there,
//! on its only path.

use rusqlite::Connection;

/// Where a turn can fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Point {
    /// Opening the connection anew.
    Open,
    Begin,
    /// Behind an operation's own statements.
    Operation,
    /// Before COMMIT: nothing will be stored.
    Commit,
    /// Behind COMMIT: everything was stored, and an error is reported all the same.
    Committed,
}

/// What happens at a point.
#[cfg(test)]
#[derive(Clone, Copy, Debug)]
pub(crate) enum Fault {
    /// An error with this extended code of SQLite; the transaction goes on.
    Error(i32),
    /// The same, and SQLite ends the transaction, as it may after FULL and IOERR.
    Ended(i32),
    Panic,
}

/// Faults on order, each met once. Outside of tests nothing can be ordered.
#[derive(Default)]
pub(crate) struct Faults {
    #[cfg(test)]
    ordered: parking_lot::Mutex<Vec<Ordered>>,
}

#[cfg(test)]
struct Ordered {
    at: Point,
    /// How many pass before it.
    after: u32,
    fault: Fault,
}

#[cfg(not(test))]
impl Faults {
    pub(super) fn meet(&self, _: Point, _: &Connection) -> rusqlite::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
impl Faults {
    /// The `k`-th time (from 0) that `at` is passed, `fault` happens.
    pub(crate) fn order(&self, at: Point, k: u32, fault: Fault) {
        self.ordered.lock().push(Ordered { at, after: k, fault });
    }

    /// Whether everything that was ordered has happened.
    pub(crate) fn all_met(&self) -> bool {
        self.ordered.lock().is_empty()
    }

    /// Takes back what has not happened yet.
    pub(crate) fn clear(&self) {
        self.ordered.lock().clear();
    }

    pub(super) fn meet(&self, at: Point, conn: &Connection) -> rusqlite::Result<()> {
        let Some(fault) = self.next(at) else { return Ok(()) };
        let code = match fault {
            // Without the hook, which would print it.
            Fault::Panic => {
                std::panic::resume_unwind(Box::new(format!("a panic on order at {at:?}")))
            }
            Fault::Error(code) => code,
            Fault::Ended(code) => {
                if !conn.is_autocommit() {
                    conn.execute_batch("ROLLBACK")?;
                }
                code
            }
        };
        let text = Some(format!("on order at {at:?}"));
        Err(rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(code), text))
    }

    fn next(&self, at: Point) -> Option<Fault> {
        let mut ordered = self.ordered.lock();
        let due = ordered.iter().position(|one| one.at == at && one.after == 0);
        for one in ordered.iter_mut().filter(|one| one.at == at && one.after > 0) {
            one.after -= 1;
        }
        due.map(|i| ordered.remove(i).fault)
    }
}
