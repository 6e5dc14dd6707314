//! A program in another language emits an event with plain SQL, by a trigger on its own table, and
//! a consumer here reacts. It needs no library of ours: a connection of its own stands here for
//! PHP, Python or a SQL shell.
//!
//! `cargo run --example foreign_insert`

use std::error::Error;
use std::sync::mpsc;
use std::time::Duration;

use lanebox::rusqlite::Connection;
use lanebox::{BoxError, Consumer, Lanebox, Outcome, Reactions};

/// What the other program has: its table, and a trigger that turns a change into a fact.
const SHOP: &str = "
CREATE TABLE lead(id INTEGER PRIMARY KEY, contact TEXT NOT NULL, stage TEXT NOT NULL);
CREATE TRIGGER lead_moved AFTER UPDATE OF stage ON lead BEGIN
  INSERT INTO lanebox_event(org, name, entity_type, entity_id, subject, payload)
  VALUES ('acme', 'lead.stage_changed', 'lead', NEW.id, NEW.contact,
          json_object('from', OLD.stage, 'to', NEW.stage));
END;
INSERT INTO lead VALUES (7, '+4930111', 'new');";

fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("crm.db");
    let lanebox = Lanebox::open(&path)?;
    let (heard, hear) = mpsc::channel();
    let welcome = Consumer::new("welcome", "lead.*");
    let running = lanebox.start(Reactions::new().consume(welcome, move |_ctx, event| {
        heard.send(format!("{} {}", event.name(), event.payload_json()))?;
        Ok::<_, BoxError>(Outcome::Done)
    }))?;

    let foreign = Connection::open(&path)?;
    foreign.execute_batch(SHOP)?;
    foreign.execute("UPDATE lead SET stage = 'won' WHERE id = 7", [])?;

    // Seen within a moment, without a call from the other program.
    let fact = hear.recv_timeout(Duration::from_secs(20))?;
    println!("heard: {fact}");
    assert_eq!(fact, r#"lead.stage_changed {"from":"new","to":"won"}"#);

    // The file itself refuses what is no event, whoever writes it.
    let nameless = "INSERT INTO lanebox_event(org, name) VALUES ('acme', 'Lead Won')";
    match foreign.execute(nameless, []) {
        Ok(_) => return Err("an event with an illegal name was taken".into()),
        Err(refusal) => println!("refused: {refusal}"),
    }
    let report = running.stop(Duration::from_secs(10));
    assert_eq!(report.still_running, 0);
    Ok(())
}
