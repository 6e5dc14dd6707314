//! A producer: says facts, keeps a log of what was acknowledged, and after a death says again what
//! it does not know to be accepted. One call in five repeats an earlier fact.

use std::path::{Path, PathBuf};

use lanebox::{Enqueued, Lanebox, Published};
use rusqlite::Connection;

use super::facts::{Fact, ORG, Way, hash, insist, open};
use crate::clock::rest;
use crate::dice::{falls, roll};
use crate::lines::{Log, read};
use crate::part::{Order, hear, is_set, say, told_to_stop};

/// No more than so many jobs wait: then it waits too.
const BACKLOG: i64 = 30;

/// Writes that fill the log of the file until SQLite moves it: each of a hundred pages.
const SWELL: u64 = 45;

/// `ack WAY KEY HASH ID`: this is in the file, the file said. `again KEY ID NEWS`: what a repeat
/// heard.
pub fn log(dir: &Path, line: u32) -> PathBuf {
    dir.join(format!("producer-{line}.log"))
}

struct Producer<'o> {
    order: &'o Order,
    lanebox: Lanebox,
    log: Log,
}

/// Part: produces until SIGTERM.
pub fn produce(order: &Order) {
    let (told, orders) = (told_to_stop(), hear());
    say("opening");
    let lanebox = open(order);
    let look = Connection::open(order.db()).expect("the file opens");
    let path = log(&order.dir, order.line);
    let mut next = read(&path).iter().filter(|line| line[0] == "ack").count();
    let producer = Producer { order, lanebox, log: Log::open(&path) };
    say("open");
    while !is_set(&told) {
        if orders.try_iter().any(|word| word == "swell") {
            producer.swell();
            say("swollen");
        }
        if backlog(&look).is_none_or(|waiting| waiting > BACKLOG) {
            rest();
            continue;
        }
        producer.say(next);
        if falls(order.seed, format_args!("again {} {next}", order.line), 20) {
            let which = roll(order.seed, format_args!("which {} {next}", order.line));
            producer.repeat(usize::try_from(which).expect("64 bits") % (next + 1));
        }
        next += 1;
    }
    say("stopping");
    drop(producer);
    say("stopped");
}

impl Producer<'_> {
    fn fact(&self, n: usize) -> Fact {
        Fact::new(self.order.seed, &format!("{}-{n}", self.order.line))
    }

    fn say(&self, n: usize) {
        let fact = self.fact(n);
        let way = fact.way(self.order.seed);
        let (id, _) = self.tell(&fact, way);
        self.log.keep(&["ack", &format!("{way:?}"), &fact.key, &hash(&fact.payload()), &id]);
    }

    fn repeat(&self, n: usize) {
        let fact = self.fact(n);
        let (id, new) = self.tell(&fact, fact.way(self.order.seed));
        self.log.keep(&["again", &fact.key, &id, if new { "new" } else { "known" }]);
    }

    /// The id of it, and whether the file says that it is new.
    fn tell(&self, fact: &Fact, way: Way) -> (String, bool) {
        let of_event =
            |answer: Published| (answer.id().to_string(), matches!(answer, Published::New(_)));
        let lanebox = &self.lanebox;
        match way {
            Way::Event => of_event(insist(|| lanebox.publish(fact.event()))),
            Way::Job => {
                let answer = insist(|| lanebox.enqueue(fact.job().dedupe(&fact.key)));
                (answer.id().to_string(), matches!(answer, Enqueued::New(_)))
            }
            Way::Together => of_event(insist(|| {
                lanebox.transaction(|tx| {
                    let answer = tx.publish(fact.event())?;
                    if matches!(answer, Published::New(_)) {
                        tx.execute("INSERT INTO torture_host VALUES (?1)", [&fact.key])?;
                    }
                    Ok::<_, lanebox::BoxError>(answer)
                })
            })),
        }
    }

    fn swell(&self) {
        let sql = "INSERT INTO torture_bulk VALUES (?1, zeroblob(409600))
                   ON CONFLICT (n) DO UPDATE SET body = excluded.body";
        for n in 0..SWELL {
            let row = i64::try_from(n).expect("few");
            insist(|| self.lanebox.transaction(|tx| tx.execute(sql, [row])));
        }
    }
}

fn backlog(look: &Connection) -> Option<i64> {
    let sql = "SELECT count(*) FROM lanebox_job j JOIN lanebox_org o ON o.id = j.org
               WHERE o.name = ?1 AND NOT EXISTS (SELECT 1 FROM lanebox_finished WHERE id = j.id)";
    // Busy while somebody recovers the log.
    look.query_row(sql, [ORG], |row| row.get(0)).ok()
}
