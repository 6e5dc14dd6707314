//! `lanebox demo`: plays the main job with real processes, treats them badly, and has it judged.

mod act;
mod cast;
mod child;
mod control;
pub mod leash;
mod plan;
mod stage;
mod strike;
mod summary;
#[cfg(test)]
mod tests;
mod watch;

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::ValueEnum;
use clap::builder::RangedU64ValueParser;

use super::feeder;
use super::input::InputArgs;
use super::judge::Survivor;
use super::provider::Mode;
use super::settings;
use act::Outcome;
use cast::{Script, WORKERS};
use plan::Planned;
use stage::Stage;
use summary::Summary;

/// About how long a blow takes from its moment on: traffic is spread over that time. It stands
/// still during a freeze.
const BLOW_MS: usize = 400;

/// More would take hours.
const MOST_KILLS: u64 = 1_000;

fn kills() -> RangedU64ValueParser<usize> {
    RangedU64ValueParser::new().range(..=MOST_KILLS)
}

/// Options of `demo` itself.
#[derive(Debug, clap::Args)]
pub struct PlayArgs {
    #[command(flatten)]
    input: InputArgs,
    /// How often workers are killed, dealt over the modes; with that come three freezes, and kills
    /// of the receiver
    #[arg(long, value_name = "N", default_value_t = 6, value_parser = kills())]
    kills: usize,
    /// Play this provider only, instead of all three in turn
    #[arg(long, value_enum)]
    mode: Option<Mode>,
    /// Keep all files in this directory, which must be new or empty
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
    /// Plant a fault that the judge must see
    #[cfg(feature = "sabotage")]
    #[arg(long, value_enum)]
    sabotage: Option<Sabotage>,
}

impl PlayArgs {
    // Runs of one contact overlap for sure only if its messages come in at once.
    fn hurries(&self) -> bool {
        #[cfg(feature = "sabotage")]
        return self.sabotage == Some(Sabotage::NoLane);
        #[cfg(not(feature = "sabotage"))]
        false
    }
}

/// Faults that can be planted.
#[cfg(feature = "sabotage")]
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Sabotage {
    BlindRetry,
    AckEarly,
    NoLane,
    NoToken,
    StepLess,
}

#[cfg(feature = "sabotage")]
impl Sabotage {
    fn name(self) -> String {
        name_of(&self)
    }
}

fn mode_name(mode: Mode) -> String {
    name_of(&mode)
}

fn name_of(value: &impl ValueEnum) -> String {
    let named = value.to_possible_value();
    named.map(|value| value.get_name().to_owned()).unwrap_or_default()
}

/// Plays, judges and tells.
///
/// # Errors
///
/// A process that failed, or a demo that did not keep its word. The files are kept then, and named.
pub fn run(args: &PlayArgs) -> anyhow::Result<()> {
    // Bad input is told before anything is started.
    let webhooks = args.input.load()?;
    let longest = feeder::streams(&webhooks).iter().map(Vec::len).max().unwrap_or(1);
    let modes = args.mode.map_or_else(|| Mode::value_variants().to_vec(), |mode| vec![mode]);
    let plan = plan::deal(args.kills, modes.len(), args.input.seed);
    let stage = Stage::set(args.dir.as_deref())?;
    let dir = stage.dir().to_owned();
    tell_settings(args, webhooks.len(), &dir);

    let mut acts = Vec::new();
    for (&mode, blows) in modes.iter().zip(&plan) {
        let name = mode_name(mode);
        let script = Script {
            dir: stage.act(&name)?,
            mode,
            input: args.input.clone(),
            pace_ms: if args.hurries() { 0 } else { pace_ms(blows, longest) },
            #[cfg(feature = "sabotage")]
            sabotage: args.sabotage,
        };
        let played = act::play(script, blows, &|line| eprintln!("{name:>8}: {line}"));
        acts.push(played.with_context(|| format!("mode {name}; files are in {}", dir.display()))?);
    }
    finish(args, stage, &acts)
}

fn finish(args: &PlayArgs, stage: Stage, acts: &[Outcome]) -> anyhow::Result<()> {
    let dir = stage.dir().to_owned();
    if !args.json {
        println!("{}", story(acts, &dir)?);
    }
    let guilty = Summary { acts, kept: None }.guilty();
    let cleared = guilty.is_empty() && stage.clear()?;
    let summary = Summary { acts, kept: (!cleared).then_some(dir.as_path()) };
    if args.json {
        println!("{}", summary.json());
    } else {
        println!("{}\n", summary.table().trim_fmt());
        if guilty.is_empty() {
            println!("Nothing lost, nothing duplicated, nothing unexpected, no lane overlapped.\n");
        }
        println!("{}", next_steps(summary.kept));
    }
    if !guilty.is_empty() {
        let guilty = guilty.join("; ");
        bail!("the demo did not keep its word: {guilty}; its files are in {}", dir.display());
    }
    Ok(())
}

fn tell_settings(args: &PlayArgs, webhooks: usize, dir: &Path) {
    eprintln!(
        "{webhooks} webhooks, seed {}, {} kills, {WORKERS} workers; {}; files in {}{}",
        args.input.seed,
        args.kills,
        settings::told(),
        dir.display(),
        if args.dir.is_none() { ", deleted if all goes well" } else { "" }
    );
}

/// Spreads each stream of webhooks over the time that the blows of an act take.
fn pace_ms(blows: &[Planned], longest: usize) -> u64 {
    (blows.len() * BLOW_MS / longest.max(1)) as u64
}

/// The lanes of the act in which most was survived, all faults, and one message's way.
fn story(acts: &[Outcome], dir: &Path) -> anyhow::Result<String> {
    let mut story = String::new();
    let Some(act) = acts.iter().max_by_key(|act| act.report.survived) else {
        return Ok(story);
    };
    let name = mode_name(act.mode);
    story += &format!("lanes over time, mode {name}\n{}\n", act.report.picture());
    for act in acts {
        for fault in &act.report.faults {
            story += &format!("{}: {fault}\n", mode_name(act.mode));
        }
    }
    if let Some(survivor) = &act.report.survivor {
        let Survivor { message, job, losses } = survivor;
        story += &format!(
            "\nmessage {message} was answered once, though {losses} of its runs were lost\n"
        );
        story += &trace(job, &dir.join(&name).join("demo.db"))?;
    }
    Ok(story)
}

/// What `lanebox trace` tells of a job.
fn trace(job: &str, db: &Path) -> anyhow::Result<String> {
    let traced = std::process::Command::new(std::env::current_exe()?)
        .args(["trace", job, "--db"])
        .arg(db)
        .output()?;
    let told = if traced.status.success() { traced.stdout } else { traced.stderr };
    Ok(format!("{}\n", String::from_utf8_lossy(&told).trim_end()))
}

fn next_steps(kept: Option<&Path>) -> String {
    let look = match kept {
        None => "look into the files: lanebox demo --dir ./demo".to_owned(),
        Some(dir) => format!("look into the files: ls {}/*", dir.display()),
    };
    format!(
        "What to try next\n  {look}\n  more of it: lanebox demo --kills 8 --contacts 40 --messages 4\
         \n  your own traffic: lanebox demo webhooks > mine.jsonl; lanebox demo --input mine.jsonl"
    )
}
