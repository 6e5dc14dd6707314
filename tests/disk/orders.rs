//! What people say and order, for trouble to meet, in a file with a row in every state.

use lanebox::people::Requeued;
use lanebox::sends::{Accepted, Ordered, Resolved, Word};
use lanebox::{ChannelState, Error, Evidence, JobId, Lanebox, SendKey};
use rusqlite::Connection;
use uuid::Uuid;

use crate::place;
use crate::shop::FILE;

const LIVED_IN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/schema/sqlite/fixtures/0002.db");

/// A dead job that nothing keeps from being requeued.
const DEAD: &str = "SELECT min(f.id) || '' FROM lanebox_finished f WHERE f.state = 'dead' \
                    AND NOT EXISTS (SELECT 1 FROM lanebox_job_unique u WHERE u.job = f.id)";

/// A send whose job waits for its fate, and one that went out and whose job is dead.
const UNKNOWN: &str = "SELECT min(hex(t.key)) FROM lanebox_send_try t JOIN lanebox_tried w ON w.waits_send = t.send \
                       WHERE t.state = 'unknown'";
const SENT: &str = "SELECT min(hex(t.key)) FROM lanebox_send_try t JOIN lanebox_finished f ON f.id = t.job \
                    WHERE t.state = 'accepted' AND f.state = 'dead'";

const NOTICE: &str =
    "SELECT min(id) || '' FROM lanebox_notice WHERE state = 'open' AND kind = 'fixture'";

/// Whom the orders are about.
struct About {
    dead: String,
    job: JobId,
    unknown: SendKey,
    channel: String,
    sent: SendKey,
    notice: String,
}

impl About {
    fn found_in(conn: &Connection) -> About {
        let text = |sql: &str| -> String {
            conn.query_row(sql, [], |row| row.get(0)).unwrap_or_else(|why| panic!("{sql}: {why}"))
        };
        let uuid = |sql: &str| Uuid::parse_str(&text(sql)).expect("an id");
        let (dead, unknown) = (text(DEAD), SendKey(uuid(UNKNOWN)));
        let channel = format!(
            "SELECT c.name FROM lanebox_send_try t JOIN lanebox_channel c ON c.id = t.channel WHERE {}",
            is(unknown)
        );
        About {
            job: JobId(uuid(&format!("SELECT hex(uuid) FROM lanebox_job WHERE id = {dead}"))),
            dead,
            unknown,
            channel: text(&channel),
            sent: SendKey(uuid(SENT)),
            notice: text(NOTICE),
        }
    }
}

fn is(key: SendKey) -> String {
    format!("hex(key) = '{:X}'", key.0.as_simple())
}

/// What is said.
pub type Run = Box<dyn Fn(&Lanebox) -> Result<(), Error>>;

/// Its name, what is there once it is done and not before, by SQL, and how it is said.
type Named = (&'static str, String, Run);

/// A file, and every order that can be given in it.
pub fn all() -> (Vec<u8>, Vec<Named>) {
    let dir = place();
    let path = dir.path().join(FILE);
    std::fs::copy(LIVED_IN, &path).expect("a copy");
    let conn = Connection::open(&path).expect("opened");
    // So that it can be given.
    conn.execute_batch("UPDATE lanebox_send SET order_by = NULL").expect("taken back");
    let about = About::found_in(&conn);
    conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).expect("a checkpoint");
    drop(conn);
    let orders = of_sends(&about).into_iter().chain(of_jobs(&about)).chain(of_ways());
    (std::fs::read(path).expect("read"), orders.collect())
}

fn of_sends(about: &About) -> Vec<Named> {
    let About { unknown, sent, ref channel, .. } = *about;
    let settled = |state: &str| {
        let sql = "SELECT count(*) = 1 FROM lanebox_send_try WHERE state =";
        format!("{sql} '{state}' AND {}", is(unknown))
    };
    let resolve = move |word: Word| -> Run {
        Box::new(move |lanebox| match lanebox.resolve_send(unknown, word, "ada")? {
            Resolved::Now | Resolved::NotUnknown => Ok(()),
            other => panic!("{other:?}"),
        })
    };
    let (channel, ordered) = (channel.clone(), is(sent));
    vec![
        ("resolve_send: it went out", settled("accepted"), resolve(Word::Sent)),
        ("resolve_send: give it up", settled("abandoned"), resolve(Word::GiveUp)),
        (
            "evidence",
            settled("accepted"),
            Box::new(move |lanebox| {
                match lanebox.evidence(&channel, unknown, Some("r"), Evidence::Status)? {
                    Accepted::Now | Accepted::Already => Ok(()),
                    other => panic!("{other:?}"),
                }
            }),
        ),
        (
            "order_again",
            format!(
                "SELECT count(*) = 1 FROM lanebox_send WHERE order_by = 'ada' AND id = \
                 (SELECT send FROM lanebox_send_try WHERE {ordered})"
            ),
            Box::new(move |lanebox| match lanebox.order_again(sent, "ada")? {
                Ordered::Now | Ordered::Pending => Ok(()),
                other => panic!("{other:?}"),
            }),
        ),
    ]
}

fn of_jobs(about: &About) -> Vec<Named> {
    let (job, dead, notice) = (about.job, &about.dead, &about.notice);
    let (acknowledged, resolved) = (notice.clone(), notice.clone());
    let state =
        |state: &str| format!("SELECT state = '{state}' FROM lanebox_notice WHERE id = {notice}");
    vec![
        (
            "requeue",
            format!("SELECT count(*) = 0 FROM lanebox_finished WHERE id = {dead}"),
            Box::new(move |lanebox| match lanebox.requeue(job, "ada")? {
                Requeued::Again { .. } | Requeued::NotDead => Ok(()),
                other => panic!("{other:?}"),
            }),
        ),
        (
            "acknowledge",
            state("acknowledged"),
            Box::new(move |lanebox| lanebox.acknowledge(&acknowledged, "ada").map(drop)),
        ),
        (
            "resolve_notice",
            state("resolved"),
            Box::new(move |lanebox| lanebox.resolve_notice(&resolved, "ada").map(drop)),
        ),
    ]
}

fn of_ways() -> Vec<Named> {
    vec![
        (
            "set_channel",
            "SELECT count(*) = 1 FROM lanebox_channel WHERE name = 'sms'".to_owned(),
            Box::new(|lanebox| {
                lanebox.set_channel("acme", "sms", ChannelState::Down, Some("a bill"), "ada")
            }),
        ),
        (
            "hold_sends",
            "SELECT count(*) = 1 FROM lanebox_meta WHERE hold = 'an alarm'".to_owned(),
            Box::new(|lanebox| lanebox.hold_sends(Some("an alarm"), "ada")),
        ),
        (
            "withdraw_consent",
            "SELECT count(*) = 1 FROM lanebox_consent WHERE evidence = 'a form'".to_owned(),
            Box::new(|lanebox| lanebox.withdraw_consent("acme", "+4917", "sms", "a form")),
        ),
    ]
}
