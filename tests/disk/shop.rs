//! A small shop at work, which writes down what it was told was accepted.

use std::path::Path;

use lanebox::testing::Bare;
use lanebox::{BoxError, Durability, Lane, Lanebox, NewEvent, NewJob};
use rusqlite::Connection;

use crate::shim::{self, Ack};

pub const FILE: &str = "crm.db";

const STEPS: usize = 40;

struct Shop<'p> {
    path: &'p Path,
    lanebox: Lanebox,
    bare: Bare,
    random: fastrand::Rng,
    /// Of its own rows and of what it enqueued, finished and holds.
    pairs: i64,
    jobs: i64,
    finished: i64,
    held: i64,
}

/// Opens a new file and works on it.
pub fn work(dir: &Path, seed: u64, durability: Durability) {
    let path = dir.join(FILE);
    let lanebox = Lanebox::builder(&path).durability(durability).open().expect("a new file");
    let table = "CREATE TABLE own (n INTEGER PRIMARY KEY)";
    let made = lanebox.transaction(|tx| tx.execute_batch(table).map_err(BoxError::from));
    made.expect("a table");
    let mut bare = Bare::create(&path, durability).expect("opened");
    bare.handle("noop").expect("announced");
    shim::ack(Ack::Opened);
    let random = fastrand::Rng::with_seed(seed);
    let (pairs, jobs, finished, held) = (0, 0, 0, 0);
    let mut shop = Shop { path: &path, lanebox, bare, random, pairs, jobs, finished, held };
    (0..STEPS).for_each(|_| shop.step());
}

/// After the power has failed: the file opens, and takes one more fact.
pub fn open_and_publish(dir: &Path) {
    let lanebox = Lanebox::open(dir.join(FILE)).expect("the file opens");
    publish(&lanebox, "again");
}

fn publish(lanebox: &Lanebox, key: &str) {
    let event = NewEvent::new("acme", "message.received").subject("ann").dedupe(key);
    let text = "x".repeat(key.len() * 97 % 3_000);
    let event = event.payload(&serde_json::json!({ "text": text }));
    let published = lanebox.publish(event).expect("published");
    shim::ack(Ack::Event(published.id().0));
}

impl Shop<'_> {
    fn step(&mut self) {
        match self.random.u8(0..12) {
            0..=2 => {
                let key = format!("m{}", self.random.u8(0..60));
                publish(&self.lanebox, &key);
            }
            3 | 4 => self.pair(),
            5 | 6 => {
                let n = self.random.usize(1..6);
                let lane =
                    |i: usize| if i.is_multiple_of(2) { Lane::of("ann") } else { Lane::NONE };
                self.bare.enqueue(n, "noop", lane).expect("accepted");
                self.jobs += n as i64;
                shim::ack(Ack::Jobs(self.jobs));
            }
            7..=9 => {
                let held = self.bare.pass(self.random.usize(1..5)).expect("a pass");
                self.finished += std::mem::replace(&mut self.held, held as i64);
                shim::ack(Ack::Finished(self.finished));
            }
            _ => self.checkpoint(),
        }
    }

    // A row of the shop's own and a fact and a job about it: all or none.
    fn pair(&mut self) {
        let n = self.pairs + 1;
        let both = self.lanebox.transaction(|tx| -> Result<(), BoxError> {
            tx.execute("INSERT INTO own VALUES (?1)", [n])?;
            let event = NewEvent::new("acme", "own.made").entity("own", n);
            let _new = tx.publish(event)?;
            let job = NewJob::raw("other", n.to_string(), Lane::of(format!("own {n}"))).org("acme");
            let _new = tx.enqueue(job)?;
            Ok(())
        });
        both.expect("committed");
        self.pairs = n;
        self.jobs += 1;
        shim::ack(Ack::Pair(n));
        shim::ack(Ack::Jobs(self.jobs));
    }

    // As a checkpoint may come at any time.
    fn checkpoint(&mut self) {
        let how = self.random.choice(["PASSIVE", "FULL", "RESTART", "TRUNCATE"]).expect("one");
        let conn = Connection::open(self.path).expect("opened");
        conn.execute_batch("PRAGMA synchronous = FULL").expect("set");
        let done = conn.query_row(&format!("PRAGMA wal_checkpoint({how})"), [], |_| Ok(()));
        done.expect("a checkpoint");
    }
}
