//! A person at the desk: starts dead jobs again, and says what became of a send that nobody else
//! could settle, as the provider's own log has it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use lanebox::sends::Word;
use lanebox::{Error, Evidence, JobId, Lanebox, SendKey};
use rusqlite::Connection;

use super::facts::ORG;
use super::post::POST;
use super::provider;
use super::tally::Tally;
use crate::clock::{now, since};
use crate::dice::falls;
use crate::lines::read;
use crate::part::db;

/// How often they look.
const ROUND: Duration = Duration::from_millis(300);

pub struct People {
    lanebox: Lanebox,
    dir: PathBuf,
    seed: u64,
    looked: u64,
}

impl People {
    pub fn new(dir: &Path, seed: u64) -> People {
        let lanebox = loop {
            match Lanebox::builder(db(dir)).open() {
                Ok(lanebox) => break lanebox,
                Err(Error::Busy { .. }) => {}
                Err(error) => panic!("people cannot open the file: {error}"),
            }
        };
        People { lanebox, dir: dir.to_owned(), seed, looked: 0 }
    }

    pub fn lanebox(&self) -> &Lanebox {
        &self.lanebox
    }

    /// Looks at the notices, if it is time again.
    pub fn look(&mut self, tally: &mut Tally) {
        if since(self.looked) < ROUND {
            return;
        }
        self.looked = now();
        let conn = Connection::open(db(&self.dir)).expect("the file opens");
        conn.busy_timeout(Duration::from_secs(30)).expect("a timeout");
        let dead = "SELECT s.uuid FROM lanebox_job_state s JOIN lanebox_org o ON o.id = s.org
                    WHERE o.name = ?1 AND s.state = 'dead'";
        for job in ids(&conn, dead) {
            let again = self.lanebox.requeue(JobId(job), "a person").map(drop);
            tally.words += u64::from(done(again));
        }
        let parked = "SELECT t.key FROM lanebox_send_try t JOIN lanebox_send s ON s.id = t.send
                      JOIN lanebox_org o ON o.id = s.org
                      WHERE o.name = ?1 AND t.state = 'unknown' AND t.notice IS NOT NULL";
        let taken = read(&provider::log(&self.dir));
        for key in ids(&conn, parked) {
            let receipt = taken.iter().find(|line| line[1] == key.to_string());
            let word = self.settle(SendKey(key), receipt.map(|line| line[3].as_str()));
            tally.words += u64::from(done(word));
        }
    }

    /// Half of what went out is proved by a late status, the rest by a person's word.
    fn settle(&self, key: SendKey, receipt: Option<&str>) -> lanebox::Result<()> {
        let status = falls(self.seed, format_args!("status {key}"), 50);
        match receipt {
            Some(_) if status => {
                self.lanebox.evidence(POST, key, receipt, Evidence::Status).map(drop)
            }
            Some(_) => self.lanebox.resolve_send(key, Word::Sent, "a person").map(drop),
            None => self.lanebox.resolve_send(key, Word::SendAgain, "a person").map(drop),
        }
    }
}

/// Whether it was done: a person who finds the file busy looks again later.
fn done(answer: lanebox::Result<()>) -> bool {
    match answer {
        Ok(()) => true,
        Err(Error::Busy { .. } | Error::RolledBack) => false,
        Err(error) => panic!("a person is refused: {error}"),
    }
}

fn ids(conn: &Connection, sql: &str) -> Vec<uuid::Uuid> {
    let mut rows = conn.prepare(sql).expect("the tables");
    let rows = rows.query_map([ORG], |row| row.get::<_, [u8; 16]>(0)).expect("rows");
    rows.map(|id| uuid::Uuid::from_bytes(id.expect("an id"))).collect()
}
