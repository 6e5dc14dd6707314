//! Your rows and the work that follows from them, in one transaction: both or neither.
//!
//! `cargo run --example host_transaction`

use std::error::Error;

use lanebox::{Enqueued, Job, Lane, Lanebox, NewJob, Transaction};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct SendContract {
    deal: i64,
}

impl Job for SendContract {
    const KIND: &'static str = "send_contract";

    fn lane(&self) -> Lane {
        Lane::of(format!("deal {}", self.deal))
    }
}

/// Wins a deal; its contract goes out if, and only if, the deal is won.
fn win(tx: &Transaction<'_>, deal: i64) -> Result<Enqueued, Box<dyn Error + Send + Sync>> {
    let job = NewJob::new(&SendContract { deal }).org("acme").dedupe(format!("contract {deal}"));
    let accepted = tx.enqueue(job)?;
    let won = tx.execute("UPDATE deal SET stage = 'won' WHERE id = ?1", [deal])?;
    if won == 0 {
        // An error takes back everything that was done in the transaction, the job too.
        return Err(format!("there is no deal {deal}").into());
    }
    Ok(accepted)
}

fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let lanebox = Lanebox::open(folder.path().join("crm.db"))?;
    lanebox.transaction(|tx| {
        tx.execute_batch(
            "CREATE TABLE deal(id INTEGER PRIMARY KEY, stage TEXT NOT NULL);
             INSERT INTO deal VALUES (1, 'open');",
        )
    })?;

    println!("deal 1: {:?}", lanebox.transaction(|tx| win(tx, 1))?);
    match lanebox.transaction(|tx| win(tx, 2)) {
        Ok(accepted) => return Err(format!("{accepted:?} for a deal that is not there").into()),
        Err(error) => println!("deal 2: {error}"),
    }

    let jobs: i64 = lanebox
        .transaction(|tx| tx.query_row("SELECT count(*) FROM lanebox_job", [], |row| row.get(0)))?;
    println!("{jobs} contract to send");
    assert_eq!(jobs, 1);
    Ok(())
}
