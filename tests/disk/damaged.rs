//! Damaged files: sound ones are damaged by a seed, then everything is done with them that a
//! program does. Nothing panics, hangs or ends the process, which is a child of the test for that
//! reason; an answer is right or an error that says what to do; the doctor calls damaged what
//! SQLite's own check finds damaged.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use lanebox::{BoxError, Error, Lane, Lanebox, NewEvent, NewJob, Outcome, Policy, Reactions};
use rusqlite::Connection;

use crate::damage::{DAMAGES, Damage, Files};
use crate::place;
use crate::say::Rig;
use crate::shop::FILE;
use crate::visit::Visit;

/// Files of a run that does not say.
const FILES: u64 = 204;

/// No visit takes as long as this, unless it hangs.
const HANGS: Duration = Duration::from_secs(60);

/// Tells a child which files are its: the first seed, the last, the step.
const MINE: &str = "LANEBOX_DAMAGED";

/// What panicked in this process.
static PANICS: Mutex<Vec<String>> = Mutex::new(Vec::new());

// fault: damage-is-any-error
#[test]
fn whatever_became_of_a_file_an_answer_is_right_or_says_what_to_do() {
    let mut rig = Rig::new("damaged", FILES);
    let seeds = rig.seed..rig.seed + rig.n;
    let mut met = BTreeMap::new();
    let halves = [seeds.start, seeds.start + 1].map(|first| Half::begin(first, seeds.end));
    for half in halves {
        half.hear(&mut rig, &mut met);
    }
    let figures: Vec<(&str, u64)> = met.iter().map(|(key, n)| (key.as_str(), *n)).collect();
    for damage in DAMAGES.map(|damage| format!("{damage:?}")) {
        rig.must_meet(&damage, met.contains_key(&damage));
    }
    rig.end(&figures);
}

/// Every second file, in children one after the other: one that dies is followed by the next.
struct Half {
    child: Child,
    said: Receiver<String>,
    at: u64,
    end: u64,
}

impl Half {
    fn begin(first: u64, end: u64) -> Half {
        let own = std::env::current_exe().expect("this binary");
        let mut child = Command::new(own)
            .args(["damaged::visits_its_files", "--exact", "--nocapture", "--quiet"])
            .env(MINE, format!("{first} {end}"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("a child");
        let (say, said) = channel();
        let lines = BufReader::new(child.stdout.take().expect("piped")).lines();
        std::thread::spawn(move || lines.map_while(Result::ok).try_for_each(|line| say.send(line)));
        Half { child, said, at: first, end }
    }

    fn hear(mut self, rig: &mut Rig, met: &mut BTreeMap<String, u64>) {
        loop {
            let line = match self.said.recv_timeout(HANGS) {
                Ok(line) => line,
                Err(error) => {
                    let hangs = error == RecvTimeoutError::Timeout;
                    let _ = self.child.kill();
                    let end = self.child.wait().expect("a child of ours");
                    if self.at >= self.end && end.success() {
                        return;
                    }
                    let why = if hangs { "it hangs".to_owned() } else { format!("it died: {end}") };
                    rig.fail(&why, self.at, 1);
                    self = Half::begin(self.at + 2, self.end);
                    continue;
                }
            };
            // The harness may have begun the line.
            let Some((_, said)) = line.split_once("damaged> ") else { continue };
            match said.split_once(' ').expect("two words") {
                ("met", what) => *met.entry(what.to_owned()).or_default() += 1,
                ("wrong", why) => rig.fail(why, self.at, 1),
                (_, seed) => {
                    self.at = seed.parse::<u64>().expect("a seed") + 2;
                    rig.pass(1);
                }
            }
        }
    }
}

/// A child's part.
#[test]
fn visits_its_files() {
    let Ok(mine) = std::env::var(MINE) else { return };
    let (first, end) = mine.split_once(' ').expect("two numbers");
    let (first, end) = (first.parse::<u64>().expect("one"), end.parse::<u64>().expect("one"));
    std::panic::set_hook(Box::new(|panic| {
        PANICS.lock().expect("no panic").push(panic.to_string());
    }));
    let sound = [fixture(), lived_in()];
    let healthy = sound.each_ref().map(|files| seen(files, Damage::None).0);
    for seed in (first..end).step_by(2) {
        let mut random = fastrand::Rng::with_seed(seed);
        let damage = DAMAGES[usize::try_from(seed).expect("small") % DAMAGES.len()];
        let which = usize::from(damage == Damage::Log || random.bool());
        let mut files = sound[which].clone();
        damage.strike(&mut files, &sound[1 - which], &mut random);
        say("met", &format!("{damage:?}"));
        let what = format!("{damage:?} of {}", files.name);
        let (visit, damaged) = seen(&files, damage);
        judge(&visit, damaged, damage, &healthy[which], &what);
        say("seen", &seed.to_string());
    }
}

fn say(word: &str, what: &str) {
    let what = what.replace('\n', " ");
    writeln!(std::io::stdout(), "damaged> {word} {what}").expect("somebody listens");
}

/// What a visit to these files came to, and whether SQLite's own check finds a copy damaged.
fn seen(files: &Files, damage: Damage) -> (Visit, bool) {
    let (dir, copy) = (place(), place());
    files.put(dir.path());
    files.put(copy.path());
    let damaged = !damage.spares_the_database() && is_damaged(&copy.path().join(FILE));
    (Visit::of(&dir.path().join(FILE)), damaged)
}

fn is_damaged(path: &Path) -> bool {
    let check = |conn: Connection| {
        conn.query_row("PRAGMA integrity_check(1)", [], |row| row.get::<_, String>(0))
    };
    Connection::open(path).and_then(check).map_or(true, |said| said != "ok")
}

fn judge(visit: &Visit, damaged: bool, damage: Damage, healthy: &Visit, what: &str) {
    let wrong = |why: &str| say("wrong", &format!("{what}: {why}"));
    visit.wrong.iter().for_each(|why| wrong(why));
    for panic in std::mem::take(&mut *PANICS.lock().expect("no panic")) {
        wrong(&panic);
    }
    for error in &visit.errors {
        if !says_what_to_do(error, visit.ill) {
            wrong(&format!("it does not say what to do: {error} ({error:?})"));
        }
    }
    if damaged && visit.opened && !visit.ill {
        wrong("the doctor calls it sound");
    }
    let as_before = visit.seen == healthy.seen || damage == Damage::Log;
    if damage.spares_the_database() && (!visit.opened || visit.ill || !as_before) {
        wrong(&format!("the database was not damaged: {:?} {:?}", visit.ill, visit.errors));
    }
    say("met", if visit.opened { "opened" } else { "refused" });
    if visit.ill {
        say("met", "ill");
    }
}

// Where the doctor has called the file damaged, rules that its rows break are no news.
fn says_what_to_do(error: &Error, ill: bool) -> bool {
    let text = error.to_string();
    let typed = match error {
        Error::Sqlite(error) => {
            ill && error.sqlite_error_code() == Some(rusqlite::ErrorCode::ConstraintViolation)
        }
        Error::Defect { .. } => false,
        _ => true,
    };
    typed && text.len() > 20 && !text.contains("unwrap")
}

/// The file of the first release, with a row in every state.
fn fixture() -> Files {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/schema/sqlite/fixtures/0002.db");
    let database = std::fs::read(path).expect("it is part of the package");
    Files { name: "the fixture", database, log: Vec::new(), beside: Vec::new() }
}

/// The same after the library of today has worked on it, as it lies there while it is open.
fn lived_in() -> Files {
    let dir = place();
    fixture().put(dir.path());
    let path = dir.path().join(FILE);
    let lanebox = Lanebox::open(&path).expect("the fixture opens");
    let done = |_: &lanebox::Ctx<'_>| Ok::<_, BoxError>(Outcome::Done);
    let running = lanebox.start(Reactions::new().on_kind("turn", Policy::default(), done));
    for n in 0..40 {
        let event = NewEvent::new("acme", "message.received").subject("+49151").entity("deal", n);
        let _new = lanebox.publish(event.dedupe(n.to_string())).expect("published");
        let job = NewJob::raw("turn", "{}", Lane::of(format!("lane {}", n % 7))).org("acme");
        let _new = lanebox.enqueue(job).expect("accepted");
    }
    let _ = running.expect("started").stop(Duration::from_secs(10));
    let read = |end: &str| std::fs::read(dir.path().join(format!("{FILE}{end}"))).expect("read");
    let (database, log) = (read(""), read("-wal"));
    assert!(log.len() > 40_000, "its log is {} bytes", log.len());
    Files { name: "a file in use", database, log, beside: Vec::new() }
}
