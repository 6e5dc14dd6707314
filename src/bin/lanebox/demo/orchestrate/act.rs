//! One act: one provider mode from the first process to the judgement.

use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, ensure};

use super::super::clock;
use super::super::judge::Report;
use super::super::log::{Blow, Log};
use super::super::provider::Mode;
use super::cast::{Cast, Script};
use super::plan::Planned;
use super::strike::{Struck, strike};
use super::watch::{Standstill, Watch};

const GLANCE: Duration = Duration::from_millis(100);
/// Looks in a row that must find nothing left to do.
const QUIET_LOOKS: u32 = 3;
const PROGRESS_MS: i64 = 1_000;

/// How an act went.
pub struct Outcome {
    pub mode: Mode,
    pub report: Report,
    /// Blows that found no work to fall on.
    pub missed: u64,
    /// Everything that was to be done was done before the end.
    pub settled: bool,
}

/// Plays it. `say` is given a line for people whenever something happened.
pub fn play(script: Script, blows: &[Planned], say: &dyn Fn(&str)) -> anyhow::Result<Outcome> {
    let mode = script.mode;
    let files = Files::of(&script);
    let mut kills_log = Log::open(&files.kills)?;
    let mut cast = Cast::start(script)?;
    let watch = Watch::open(&files.db)?;
    say("receiver, provider, two workers and the feeder are up");
    let mut missed = 0;
    for (turn, &blow) in blows.iter().enumerate() {
        let struck = strike(&mut cast, &watch, &mut kills_log, blow, turn)?;
        say(&told(blow, &struck));
        missed += u64::from(struck == Struck::Missed);
    }
    let settled = settle(&mut cast, &watch, say)?;
    if !settled {
        say("something stands still; it is judged as it is");
    }
    for name in cast.stop()? {
        say(&format!("{name} did not end in time and was killed"));
    }
    Ok(Outcome { mode, report: files.judge()?, missed, settled })
}

fn told(blow: Planned, struck: &Struck) -> String {
    let moment = blow.moment.words();
    match (blow.what, struck) {
        (_, Struck::Missed) => format!("no work came by to strike {moment}"),
        (Blow::Kill, Struck::Hit { who } | Struck::NoLoss { who }) => {
            format!("{who} killed {moment}; a new one is up")
        }
        (_, Struck::Hit { who }) => format!("{who} frozen {moment}, past its lease; thawed"),
        (_, Struck::NoLoss { who }) => format!("{who} frozen {moment}, but nobody took its job"),
    }
}

/// Waits until all webhooks are acknowledged and nothing is left to do. `false` if it stands still.
fn settle(cast: &mut Cast, watch: &Watch, say: &dyn Fn(&str)) -> anyhow::Result<bool> {
    let mut quiet = 0;
    let mut standstill = Standstill::default();
    let mut spoke_at = clock::now_ms();
    loop {
        cast.is_well()?;
        let fed = match cast.feeder.ended()? {
            Some(how) => {
                ensure!(how.success(), "the feeder has failed ({how}); see feeder.log");
                true
            }
            None => false,
        };
        let (unsettled, traces, now) = (watch.unsettled()?, watch.traces()?, clock::now_ms());
        quiet = if fed && unsettled.is_nothing() { quiet + 1 } else { 0 };
        if quiet == QUIET_LOOKS {
            return Ok(true);
        }
        if standstill.is_seen(traces) {
            return Ok(false);
        }
        if now - spoke_at >= PROGRESS_MS {
            let [events, jobs, ..] = traces;
            say(&format!("{events} events, {jobs} jobs ended, {} left", unsettled.jobs));
            spoke_at = now;
        }
        clock::pause(GLANCE);
    }
}

/// What the judge is given, and the demo's own log.
struct Files {
    db: std::path::PathBuf,
    feeder: std::path::PathBuf,
    provider: std::path::PathBuf,
    kills: std::path::PathBuf,
}

impl Files {
    fn of(script: &Script) -> Self {
        Self {
            db: script.file("demo.db"),
            feeder: script.file("feeder.jsonl"),
            provider: script.file("provider.jsonl"),
            kills: script.file("kills.jsonl"),
        }
    }

    /// A command of its own, that has these files and nothing else.
    fn judge(&self) -> anyhow::Result<Report> {
        let judging = Command::new(std::env::current_exe()?)
            .args(["demo", "judge", "--json", "--db"])
            .arg(&self.db)
            .arg("--feeder-log")
            .arg(&self.feeder)
            .arg("--provider-log")
            .arg(&self.provider)
            .arg("--kills-log")
            .arg(&self.kills)
            .stdin(Stdio::null())
            .output()
            .context("cannot start the judge")?;
        // It fails if it finds a fault, and says which on stdout all the same.
        serde_json::from_slice(&judging.stdout).with_context(|| {
            format!("the judge failed: {}", String::from_utf8_lossy(&judging.stderr).trim())
        })
    }
}
