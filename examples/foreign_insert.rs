//! A program in another language emits an event with plain SQL, through a trigger on its own table.
//! It needs no library of ours: a connection of its own stands here for PHP, Python or a SQL shell.
//!
//! `cargo run --example foreign_insert`

use std::error::Error;

use lanebox::Lanebox;
use lanebox::rusqlite::Connection;

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

    let foreign = Connection::open(&path)?;
    foreign.execute_batch(SHOP)?;
    foreign.execute("UPDATE lead SET stage = 'won' WHERE id = 7", [])?;

    // The file itself refuses what is no event, whoever writes it.
    let nameless = "INSERT INTO lanebox_event(org, name) VALUES ('acme', 'Lead Won')";
    match foreign.execute(nameless, []) {
        Ok(_) => return Err("an event with an illegal name was taken".into()),
        Err(refusal) => println!("refused: {refusal}"),
    }

    let events = "SELECT name || ' ' || payload FROM lanebox_event ORDER BY seq";
    let recorded: String = lanebox.transaction(|tx| tx.query_row(events, [], |row| row.get(0)))?;
    println!("recorded: {recorded}");
    assert_eq!(recorded, r#"lead.stage_changed {"from":"new","to":"won"}"#);
    Ok(())
}
