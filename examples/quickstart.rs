//! A job queue in one file: accept work, do it in order for each contact, and store what came of
//! it in the same commit that makes the job done.
//!
//! `cargo run --example quickstart`

use std::convert::Infallible;
use std::error::Error;
use std::sync::mpsc;
use std::time::Duration;

use lanebox::{Job, Lane, Lanebox, NewJob, Outcome, Reactions};
use serde::{Deserialize, Serialize};

#[derive(Clone, Serialize, Deserialize)]
struct Greet {
    contact: String,
    name: String,
}

impl Job for Greet {
    const KIND: &'static str = "greet";

    // One at a time and in order for one contact; contacts run beside each other.
    fn lane(&self) -> Lane {
        Lane::of(&self.contact)
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let lanebox = Lanebox::open(folder.path().join("crm.db"))?;
    // Your own tables may live in the same file.
    lanebox.transaction(|tx| tx.execute_batch("CREATE TABLE greeting(contact TEXT, text TEXT)"))?;

    // What is accepted is on the disk. The same key again is the same job.
    for (contact, name) in [("+4930111", "Ada"), ("+4930222", "Grace"), ("+4930111", "Ada")] {
        let greet = Greet { contact: contact.to_owned(), name: name.to_owned() };
        let job = NewJob::new(&greet).org("acme").dedupe(format!("greet {contact}"));
        println!("{name}: {:?}", lanebox.enqueue(job)?);
    }

    let (done, wait) = mpsc::channel();
    let running = lanebox.start(Reactions::new().on(move |ctx, greet: Greet| {
        // A finished step is not run again: a retry says the same words.
        let text = ctx.step("compose", || Ok::<_, Infallible>(format!("Hello {}!", greet.name)))?;
        // Commits with the job's completion, or not at all.
        let contact = greet.contact;
        ctx.finish_in(move |tx| {
            tx.execute("INSERT INTO greeting VALUES (?1, ?2)", [contact, text]).map(drop)
        });
        done.send(())?;
        Ok::<_, Box<dyn Error + Send + Sync>>(Outcome::Done)
    }))?;
    for _ in 0..2 {
        wait.recv_timeout(Duration::from_secs(10))?;
    }
    // Waits for what still runs; afterwards everything that finished is in the file.
    let report = running.stop(Duration::from_secs(10));
    assert_eq!(report.still_running, 0);

    let greetings: i64 = lanebox
        .transaction(|tx| tx.query_row("SELECT count(*) FROM greeting", [], |row| row.get(0)))?;
    println!("{greetings} greetings, one for each contact");
    assert_eq!(greetings, 2);
    Ok(())
}
