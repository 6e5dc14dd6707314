//! Your rows, the fact that they state and the work that follows, in one transaction: all or none.
//!
//! `cargo run --example host_transaction`

use std::error::Error;

use lanebox::people::Filter;
use lanebox::{BoxError, Enqueued, Job, Lane, Lanebox, NewEvent, NewJob, Transaction};
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
fn win(tx: &Transaction<'_>, deal: i64) -> Result<Enqueued, BoxError> {
    let fact = tx.publish(NewEvent::new("acme", "deal.won").entity("deal", deal))?;
    let work = NewJob::new(&SendContract { deal }).org("acme").once_for(fact.id());
    let accepted = tx.enqueue(work)?;
    if tx.execute("UPDATE deal SET stage = 'won' WHERE id = ?1", [deal])? == 0 {
        // An error takes back all that was done in the transaction, the fact and the job too.
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

    let events = lanebox.events(&Filter::new())?.rows;
    let jobs = lanebox.jobs(&Filter::new())?.rows;
    println!("{} fact, {} contract to send", events.len(), jobs.len());
    assert_eq!((events.len(), jobs.len()), (1, 1));
    Ok(())
}
