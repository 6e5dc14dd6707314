//! The main job: a message comes in, exactly one reply goes out, whatever crashes in between.
//!
//! `cargo run --example quickstart`

use std::convert::Infallible;
use std::error::Error;
use std::sync::mpsc;
use std::time::Duration;

use lanebox::{
    Abilities, BoxError, Channel, Consumer, Delivery, Job, Lane, Lanebox, Letter, NewEvent, NewJob,
    Outcome, Reactions,
};
use serde::{Deserialize, Serialize};

/// A message of a customer, and the work of answering it.
#[derive(Serialize, Deserialize)]
struct InboundTurn {
    contact: String,
    text: String,
}

impl Job for InboundTurn {
    const KIND: &'static str = "inbound_turn";

    // One at a time and in order for one contact; contacts run beside each other.
    fn lane(&self) -> Lane {
        Lane::of(&self.contact)
    }
}

/// A way out that prints. A real one calls its provider, and is honest about what it knows.
struct Printer;

impl Channel for Printer {
    fn abilities(&self) -> Abilities {
        Abilities::new(Duration::from_secs(10))
    }

    fn deliver(&self, letter: &Letter<'_>) -> Delivery {
        println!("to {}: {}", letter.recipient, letter.body);
        Delivery::accepted(letter.key.to_string())
    }
}

fn reactions(replied: mpsc::Sender<()>) -> Reactions {
    Reactions::new()
        .channel("printer", Printer)
        // A fact becomes work.
        .route(Consumer::new("agent", "message.received"), |event| {
            Ok(vec![NewJob::new(&event.payload_as::<InboundTurn>()?)])
        })
        .on(|ctx, turn: InboundTurn| {
            // A finished step is not run again: a retry says the same words.
            let reply = ctx.step("think", || Ok::<_, Infallible>(turn.text.to_uppercase()))?;
            // Intended before the call, remembered after it, never blindly sent a second time.
            let receipt = ctx.send("printer", &turn.contact, &reply)?;
            // Both commit with the job's completion, or not at all.
            ctx.publish(NewEvent::new(ctx.org(), "message.sent").payload(&receipt))?;
            ctx.finish_in(move |tx| {
                tx.execute("INSERT INTO reply VALUES (?1, ?2)", [turn.contact, reply]).map(drop)
            });
            Ok::<_, BoxError>(Outcome::Done)
        })
        .consume(Consumer::new("watch", "message.sent"), move |_ctx, _event| {
            replied.send(()).map(|()| Outcome::Done)
        })
}

fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let lanebox = Lanebox::open(folder.path().join("crm.db"))?;
    // Tables of your own may live in the same file.
    lanebox.transaction(|tx| tx.execute_batch("CREATE TABLE reply(contact TEXT, text TEXT)"))?;
    let (replied, reply) = mpsc::channel();
    let running = lanebox.start(reactions(replied))?;

    // A webhook that repeats itself: what was accepted is on the disk, and counts once.
    for (id, contact, text) in [
        ("wamid.1", "+4930111", "hello"),
        ("wamid.1", "+4930111", "hello"),
        ("wamid.2", "+4930222", "anybody there?"),
    ] {
        let message = InboundTurn { contact: contact.to_owned(), text: text.to_owned() };
        let event = NewEvent::new("acme", "message.received").subject(contact).payload(&message);
        println!("{id}: {:?}", lanebox.publish(event.dedupe(id))?);
    }
    for _ in 0..2 {
        reply.recv_timeout(Duration::from_secs(20))?;
    }
    let report = running.stop(Duration::from_secs(10));
    assert_eq!(report.still_running, 0);

    let count = "SELECT count(*) FROM reply";
    let replies: i64 = lanebox.transaction(|tx| tx.query_row(count, [], |row| row.get(0)))?;
    println!("{replies} replies");
    assert_eq!(replies, 2);
    Ok(())
}
