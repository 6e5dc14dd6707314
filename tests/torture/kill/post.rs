//! The way out of the workers: one call, one connection, and an honest answer about it.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

use lanebox::{Abilities, Channel, Delivery, Letter, Lookup, SendKey};

use super::provider::socket;
use crate::part::{Ability, Order};

/// Its name for handlers.
pub const POST: &str = "post";

const TIMEOUT: Duration = Duration::from_millis(150);
/// With the timeout, longer than the provider's latest.
const SETTLE: Duration = Duration::from_millis(450);
const PATIENCE: Duration = Duration::from_secs(2);

pub struct Post {
    socket: PathBuf,
    ability: Ability,
    life: String,
}

impl Post {
    pub fn new(order: &Order) -> Post {
        Post { socket: socket(&order.dir), ability: order.ability, life: order.life.to_string() }
    }

    /// What was answered, or none if nothing was heard; an error if nothing left this process.
    fn ask(&self, question: &[&str]) -> std::io::Result<Option<String>> {
        let mut stream = UnixStream::connect(&self.socket)?;
        stream.set_read_timeout(Some(TIMEOUT))?;
        let line = question.join("\t") + "\n";
        if stream.write_all(line.as_bytes()).is_err() {
            return Ok(None);
        }
        let mut answer = String::new();
        let heard = BufReader::new(stream).read_line(&mut answer);
        Ok(heard.ok().filter(|_| answer.ends_with('\n')).map(|_| answer.trim_end().to_owned()))
    }
}

impl Channel for Post {
    fn abilities(&self) -> Abilities {
        let abilities = Abilities::new(TIMEOUT).patience(PATIENCE);
        match self.ability {
            Ability::Dedupe => abilities.dedupes_for(Duration::from_secs(3_600)),
            Ability::Lookup => abilities.lookup_after(SETTLE),
            Ability::Neither => abilities,
        }
    }

    fn deliver(&self, letter: &Letter<'_>) -> Delivery {
        let answer = self.ask(&["send", &letter.key.to_string(), letter.body, &self.life]);
        match answer.as_ref().map(|answer| answer.as_deref()) {
            Err(error) => Delivery::NotCalled { reason: error.to_string() },
            Ok(None) => Delivery::Unknown { reason: "no answer".to_owned() },
            Ok(Some("no")) => Delivery::rejected_for_now("not now"),
            Ok(Some(taken)) => match taken.strip_prefix("ok\t") {
                Some(receipt) => Delivery::accepted(receipt),
                None => Delivery::Unknown { reason: "half an answer".to_owned() },
            },
        }
    }

    fn lookup(&self, key: SendKey) -> Lookup {
        match self.ask(&["lookup", &key.to_string()]) {
            Ok(Some(answer)) if answer == "none" => Lookup::NotFound,
            Ok(Some(answer)) => match answer.strip_prefix("found\t") {
                Some(receipt) => Lookup::Found { receipt: receipt.to_owned() },
                None => Lookup::CannotTell,
            },
            _ => Lookup::CannotTell,
        }
    }
}
