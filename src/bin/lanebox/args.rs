//! What the command line takes.

mod body;
pub mod id;
mod lane;
mod when;

use std::path::PathBuf;

use lanebox::people::{Filter, MAX_LIMIT};

pub use body::{Body, read};
pub use lane::LaneArg;
pub use when::{Later, Since};

use crate::command::Command;

const CONTRACT: &str = "Times in JSON are milliseconds since 1970 UTC. What is refused or fails is a line on stderr, with
--json too. Exit codes: 0 done, 1 refused or failed, 2 used wrongly.";

/// See what a Lanebox file holds, put something in, and decide what only a person can decide.
#[derive(Debug, clap::Parser)]
#[command(name = "lanebox", version, max_term_width = 100)]
#[command(after_help = CONTRACT)]
pub struct Cli {
    /// The file
    #[arg(long, global = true, env = "LANEBOX_DB", value_name = "FILE", display_order = 900)]
    pub db: Option<PathBuf>,
    /// Answer with one JSON document
    #[arg(long, global = true, display_order = 901)]
    pub json: bool,
    #[command(subcommand)]
    pub command: Command,
}

/// Who orders something: it goes into the audit.
#[derive(Debug, clap::Args)]
pub struct Who {
    /// Who orders this, for the audit [default: your user name]
    #[arg(long, value_name = "WHO")]
    by: Option<String>,
}

impl Who {
    /// As they said, else as the system calls them.
    pub fn name(&self) -> String {
        let asked = ["USER", "LOGNAME", "USERNAME"].into_iter();
        let system = || asked.filter_map(|name| std::env::var(name).ok()).find(|n| !n.is_empty());
        self.by.clone().or_else(system).unwrap_or_else(|| "command line".to_owned())
    }
}

/// Which org, since when, and which page: what every list can be narrowed by.
#[derive(Debug, clap::Args)]
pub struct Narrow {
    /// Only this org
    #[arg(long)]
    org: Option<String>,
    #[command(flatten)]
    pub page: Paging,
}

/// Which page.
#[derive(Debug, clap::Args)]
pub struct Paging {
    /// Rows of a page, at most 200
    #[arg(long, value_name = "ROWS", default_value_t = 50, value_parser = rows)]
    limit: usize,
    /// Go on where a page ended: as its last line says, or `next` in its JSON
    #[arg(long, value_name = "NEXT")]
    after: Option<String>,
}

fn rows(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(rows) if (1..=MAX_LIMIT).contains(&rows) => Ok(rows),
        _ => Err(format!("a page has 1 to {MAX_LIMIT} rows")),
    }
}

impl Narrow {
    /// The org, if one is asked for.
    pub fn org(&self) -> Option<&str> {
        self.org.as_deref()
    }

    /// The filter that these make, with what a list adds.
    pub fn filter(&self, state: Option<&String>) -> Filter {
        let filter = Filter::new().limit(self.page.limit);
        let filter = set(filter, state, Filter::state);
        let filter = set(filter, self.org.as_ref(), Filter::org);
        set(filter, self.page.after.as_ref(), Filter::after)
    }
}

/// Sets one field of a filter, if there is a value for it.
pub fn set(filter: Filter, value: Option<&String>, by: fn(Filter, String) -> Filter) -> Filter {
    match value {
        Some(value) => by(filter, value.clone()),
        None => filter,
    }
}

impl Cli {
    /// The file that this is about.
    pub fn db(&self) -> Result<&PathBuf, clap::Error> {
        let missing = "name the file: --db FILE, or LANEBOX_DB in the environment";
        let kind = clap::error::ErrorKind::MissingRequiredArgument;
        self.db
            .as_ref()
            .ok_or_else(|| <Cli as clap::CommandFactory>::command().error(kind, missing))
    }
}
