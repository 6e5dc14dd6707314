//! `lanebox bench`: what this disk and SQLite can do for the same durable work, what Lanebox
//! reaches of it, and one sentence of advice. It works on files of its own, in a directory that is
//! gone when it ends.

mod advice;
mod clock;
mod commits;
mod engine;
mod facts;
mod figures;
mod floor;
mod place;
mod report;
mod rounds;
mod watch;

use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::args::Cli;
use crate::output::Out;
use place::Place;
use report::Report;
use watch::Watch;

/// Below this nothing is told from noise; above it nothing is learnt.
const SECONDS: std::ops::RangeInclusive<u64> = 5..=600;

const HELP: &str = "Floor: the minimal SQL of the same durable rows. Engine: Lanebox itself. Ratios of one run count;
figures of a busy machine do not.

Example:
  lanebox bench --dir /var/lib/crm";

/// Options of `bench`.
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub struct BenchArgs {
    /// Measure the disk that this directory is on [default: where the file is that --db names, else
    /// the current directory]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// About how long it may take, 5 to 600: longer is steadier
    #[arg(long, value_name = "N", default_value_t = 30, value_parser = seconds)]
    seconds: u64,
}

fn seconds(text: &str) -> Result<u64, String> {
    match text.parse() {
        Ok(seconds) if SECONDS.contains(&seconds) => Ok(seconds),
        _ => Err(format!("{} to {} seconds", SECONDS.start(), SECONDS.end())),
    }
}

/// Measures and tells.
///
/// # Errors
/// A directory that cannot be measured in, work that was not done, or a person who has seen enough.
/// Nothing is left behind then either.
pub fn run(args: &BenchArgs, cli: &Cli) -> anyhow::Result<()> {
    let base = base(args.dir.as_deref(), cli.db.as_deref());
    let watch = Watch::begin();
    let place = Place::make(&base)?;
    let facts = facts::of(place.dir(), &base)?;
    let measured = rounds::measure(&place, args.seconds, &watch);
    watch.clear();
    drop(place);
    let early = || format!("the measurement in {} ended early, nothing is left of it", facts.dir);
    let (figures, took) = measured.with_context(early)?;
    let report = Report { facts, figures, took };
    let out = Out { json: cli.json, now: 0 };
    if out.json { out.document(&report.document()) } else { report.show(out) }
}

/// Where the files go.
fn base(dir: Option<&Path>, db: Option<&Path>) -> PathBuf {
    let beside = |db: &Path| db.parent().unwrap_or(Path::new("")).to_owned();
    let base = dir.map_or_else(|| db.map(beside).unwrap_or_default(), Path::to_owned);
    if base.as_os_str().is_empty() { PathBuf::from(".") } else { base }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_takes_five_seconds_to_ten_minutes() {
        assert_eq!((seconds("5"), seconds("600")), (Ok(5), Ok(600)));
        for text in ["4", "601", "", "-5", "5.5", "1e2", "18446744073709551616"] {
            assert_eq!(seconds(text), Err("5 to 600 seconds".to_owned()), "{text:?}");
        }
    }

    #[test]
    fn it_measures_where_it_is_told_else_beside_the_file_else_here() {
        let of = |dir: Option<&str>, db: Option<&str>| base(dir.map(Path::new), db.map(Path::new));
        assert_eq!(of(Some("/a"), Some("/b/crm.db")), Path::new("/a"));
        assert_eq!(of(None, Some("/b/crm.db")), Path::new("/b"));
        for (dir, db) in [(None, Some("crm.db")), (None, None), (Some(""), None), (None, Some("/"))]
        {
            assert_eq!(of(dir, db), Path::new("."));
        }
    }
}
