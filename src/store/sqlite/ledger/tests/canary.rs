//! E78: no body and no recipient in the file, whatever happened to a send.

use crate::model::send::Slot;
use crate::model::verdict::End;
use crate::store::jobs::Ended;
use crate::store::ledger::tests::world::{DEDUPE, LOOKUP, NEITHER, PATIENCE, SETTLE, World};
use crate::store::ledger::{Accepted, Begun, Consent, Intent, Ledger, Rejected, Word};

const BODY: &str = "CANARYBODY";
const RECIPIENT: &str = "+49CANARYRECIPIENT89";

fn letter(w: &World, slot: Slot, abilities: crate::Abilities) -> Intent {
    let held = w.claim();
    Intent {
        slot,
        body: BODY.to_owned(),
        recipient: RECIPIENT.to_owned(),
        ..w.intent(held, 1, abilities)
    }
}

// fault: body-is-kept
#[test]
fn e78_neither_body_nor_recipient_is_anywhere_in_the_file() {
    let w = World::new();
    // Accepted, and asked for again with another body.
    w.job("ann");
    let first = letter(&w, Slot::Seq(1), NEITHER);
    let held = first.held;
    let Begun::Go { key, .. } = w.store.begin(first).expect("an answer") else { panic!("it goes") };
    assert_eq!(w.answered(key, "wamid.1"), Accepted::Now);
    let other = Intent {
        body: format!("{BODY} again"),
        recipient: RECIPIENT.to_owned(),
        ..w.intent(held, 1, NEITHER)
    };
    assert!(matches!(
        w.store.begin(other).expect("an answer"),
        Begun::Accepted { changed: true, .. }
    ));
    assert_eq!(w.done(held), Ended::Done);
    // Rejected, unknown, told, given up.
    w.job("bob");
    let named = letter(&w, Slot::named("welcome").expect("a name"), LOOKUP);
    let held = named.held;
    let Begun::Go { key, .. } = w.store.begin(named).expect("an answer") else { panic!("it goes") };
    assert_eq!(w.refused(held, key), Rejected::Now);
    let again = Intent {
        slot: Slot::Seq(1),
        body: BODY.to_owned(),
        recipient: RECIPIENT.to_owned(),
        ..w.intent(held, 1, DEDUPE)
    };
    let Begun::Go { key, .. } = w.store.begin(again).expect("an answer") else { panic!("it goes") };
    assert_eq!(w.end(held, End::Unknown), Ended::Holds);
    w.advance(PATIENCE + SETTLE);
    w.look(false);
    let _now = w.store.resolve(key, Word::GiveUp, "ann").expect("an answer");
    // Vetoed by consent.
    let consent = Consent {
        org: "acme".to_owned(),
        recipient: RECIPIENT.to_owned(),
        channel: "whatsapp".to_owned(),
        given: false,
        evidence: "message wamid.9".to_owned(),
    };
    w.store.set_consent(consent).expect("recorded");
    w.job("eve");
    let vetoed = letter(&w, Slot::Seq(1), NEITHER);
    assert!(matches!(w.store.begin(vetoed).expect("an answer"), Begun::Veto(_)));
    w.sound();

    let dump = dump(&w);
    assert!(dump.contains("wamid.1") && dump.contains("+49…89"), "the dump sees texts");
    for canary in ["CANARYBODY", "CANARYRECIPIENT"] {
        assert!(!dump.contains(canary), "{canary} is in a table");
    }
    w.raw.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").expect("a checkpoint");
    for file in [w.path.clone(), w.path.with_extension("db-wal")] {
        let bytes = std::fs::read(&file).unwrap_or_default();
        for canary in [&b"CANARYBODY"[..], b"CANARYRECIPIENT"] {
            assert!(!bytes.windows(canary.len()).any(|at| at == canary), "{}", file.display());
        }
    }
}

/// Every value of every table, as text.
fn dump(w: &World) -> String {
    let names = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name LIKE 'lanebox_%'";
    let mut tables = w.raw.prepare(names).expect("a statement");
    let tables: Vec<String> = tables
        .query_map([], |row| row.get(0))
        .expect("rows")
        .map(|name| name.expect("a name"))
        .collect();
    assert!(tables.len() > 20, "{tables:?}");
    let mut dump = String::new();
    for table in tables {
        let mut rows = w.raw.prepare(&format!("SELECT * FROM {table}")).expect("a table");
        let columns = rows.column_count();
        let mut rows = rows.query([]).expect("rows");
        while let Some(row) = rows.next().expect("a row") {
            for i in 0..columns {
                let value = row.get_ref(i).expect("a value");
                let bytes = value.as_bytes_or_null().ok().flatten().unwrap_or_default();
                dump += &String::from_utf8_lossy(bytes);
                dump.push('\n');
            }
        }
    }
    dump
}
