//! `lanebox init`: the only command that makes or changes tables.

use lanebox::{Durability, Lanebox};
use serde_json::json;

use crate::args::Cli;
use crate::output::Out;

#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  lanebox init --db crm.db")]
pub struct Init {
    /// Give up the last commits on a power cut for fewer flushes, for as long as this file lives
    #[arg(long)]
    relaxed: bool,
}

impl Init {
    pub fn run(&self, cli: &Cli) -> anyhow::Result<()> {
        let path = cli.db()?;
        let was_there = path.try_exists().unwrap_or(false);
        let durability = if self.relaxed { Durability::Relaxed } else { Durability::Full };
        let lanebox = Lanebox::builder(path).durability(durability).open()?;
        drop(lanebox);
        let out = Out { json: cli.json, now: 0 };
        let said = if was_there { "is ready" } else { "is made" };
        let document = json!({ "db": path.to_string_lossy(), "made": !was_there });
        out.answer(&document, &format!("{} {said}", path.display()))
    }
}
