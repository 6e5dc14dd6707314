//! The company outside: a process with a log of its own of what it took, that answers, loses its
//! answer, comes late, refuses, by the seed.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::clock::{now, pass, since};
use crate::dice::roll;
use crate::lines::{Log, read};
use crate::part::{Ability, Order, hear, say};

/// Where it listens.
pub fn socket(dir: &Path) -> PathBuf {
    dir.join("provider")
}

/// `accept KEY LETTER RECEIPT TIME LIFE`: from here on it has the message.
pub fn log(dir: &Path) -> PathBuf {
    dir.join("provider.log")
}

/// It takes nothing later than this after it was asked: what its lookup promises.
const LATEST: Duration = Duration::from_millis(400);

/// What becomes of one call.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    Answer,
    Refuse,
    /// It has it, and nobody hears.
    LoseTheAnswer,
    /// It does not have it, and nobody hears.
    LoseTheCall,
    /// So long before it takes it; so long before it answers.
    Wait(u64, u64),
}

struct Provider {
    seed: u64,
    ability: Ability,
    log: Log,
    /// Every key that it took, with its receipt, and how often each was asked for.
    taken: Mutex<(HashMap<String, String>, HashMap<String, u64>)>,
    calm: Mutex<bool>,
}

/// Part: serves until it is told nothing more.
pub fn serve(order: &Order) {
    let orders = hear();
    let listener = UnixListener::bind(socket(&order.dir)).expect("a socket");
    let taken = read(&log(&order.dir)).into_iter().map(|line| (line[1].clone(), line[3].clone()));
    let provider = Arc::new(Provider {
        seed: order.seed,
        ability: order.ability,
        log: Log::open(&log(&order.dir)),
        taken: Mutex::new((taken.collect(), HashMap::new())),
        calm: Mutex::default(),
    });
    let calmed = provider.clone();
    std::thread::spawn(move || {
        for _calm in orders {
            *calmed.calm.lock().expect("no panic") = true;
            say("calm");
        }
    });
    say("open");
    for stream in listener.incoming() {
        let (provider, stream) = (provider.clone(), stream.expect("a caller"));
        std::thread::spawn(move || provider.hear(&stream));
    }
}

impl Provider {
    fn hear(&self, stream: &UnixStream) {
        let mut line = String::new();
        // A caller that died has said nothing.
        if BufReader::new(stream).read_line(&mut line).is_err() || !line.ends_with('\n') {
            return;
        }
        let words: Vec<&str> = line.trim_end().split('\t').collect();
        let answer = match words[..] {
            ["send", key, letter, life] => self.take(key, letter, life),
            ["lookup", key] => Some(self.look_up(key)),
            _ => panic!("nobody says {line:?}"),
        };
        if let Some(answer) = answer {
            let mut stream = stream;
            // Whoever does not wait any more does not hear it.
            let _ = writeln!(stream, "{answer}");
        }
    }

    fn take(&self, key: &str, letter: &str, life: &str) -> Option<String> {
        let asked = now();
        let fate = self.fate(key);
        match fate {
            Fate::Refuse => return Some("no".to_owned()),
            Fate::LoseTheCall => return None,
            Fate::Wait(before, _) => pass(Duration::from_millis(before)),
            Fate::Answer | Fate::LoseTheAnswer => {}
        }
        let receipt = self.accept(key, letter, life, asked)?;
        match fate {
            Fate::LoseTheAnswer => return None,
            Fate::Wait(_, after) => pass(Duration::from_millis(after)),
            _ => {}
        }
        Some(format!("ok\t{receipt}"))
    }

    fn accept(&self, key: &str, letter: &str, life: &str, asked: u64) -> Option<String> {
        let mut taken = self.taken.lock().expect("no panic");
        if since(asked) > LATEST {
            return None;
        }
        let known = taken.0.get(key).filter(|_| self.ability == Ability::Dedupe);
        if let Some(receipt) = known {
            return Some(receipt.clone());
        }
        let receipt = format!("r{}", now());
        self.log.keep(&["accept", key, letter, &receipt, &now().to_string(), life]);
        taken.0.insert(key.to_owned(), receipt.clone());
        Some(receipt)
    }

    fn look_up(&self, key: &str) -> String {
        let taken = self.taken.lock().expect("no panic");
        taken.0.get(key).map_or_else(|| "none".to_owned(), |receipt| format!("found\t{receipt}"))
    }

    fn fate(&self, key: &str) -> Fate {
        if *self.calm.lock().expect("no panic") {
            return Fate::Answer;
        }
        let mut taken = self.taken.lock().expect("no panic");
        let calls = taken.1.entry(key.to_owned()).or_default();
        *calls += 1;
        match roll(self.seed, format_args!("fate {key} {calls}")) % 100 {
            0..64 => Fate::Answer,
            64..74 => Fate::LoseTheAnswer,
            74..80 => Fate::LoseTheCall,
            80..88 => Fate::Refuse,
            88..92 => Fate::Wait(60, 0),
            92..96 => Fate::Wait(0, 300),
            _ => Fate::Wait(220, 0),
        }
    }
}
