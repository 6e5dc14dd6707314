//! `lanebox demo`: the main job, with real processes. Here is its outside world: the webhooks that
//! come in, the feeder that posts them, the provider that takes the replies, and their logs.

mod clock;
mod feeder;
mod input;
mod judge;
mod log;
mod post;
mod provider;
mod serve;
mod webhook;

use std::io::{self, Write};

use serde_json::json;

/// The parts of the demo, each a process of its own.
#[derive(Debug, clap::Subcommand)]
pub enum DemoCommand {
    /// Show the webhooks that the demo plays, one a line: a start for a file of your own
    #[command(after_help = "Example:\n  lanebox demo webhooks --contacts 3 > mine.jsonl")]
    Webhooks(WebhooksArgs),
    /// Judge a demo that has run, from its two logs and its database alone
    #[command(after_help = "Example:\n  lanebox demo judge --provider-log provider.jsonl \\\n    \
        --feeder-log feeder.jsonl --db demo.db")]
    Judge(judge::JudgeArgs),
    /// Plays the provider (started by the demo itself)
    #[command(hide = true)]
    Provider(provider::ProviderArgs),
    /// Plays the inbound traffic (started by the demo itself)
    #[command(hide = true)]
    Feed(feeder::FeedArgs),
}

#[derive(Debug, clap::Args)]
pub struct WebhooksArgs {
    #[command(flatten)]
    input: input::InputArgs,
    /// Show what each webhook is taken for, instead of its body
    #[arg(long)]
    explain: bool,
}

/// Runs one part.
pub fn run(command: &DemoCommand) -> anyhow::Result<()> {
    match command {
        DemoCommand::Webhooks(args) => show(args),
        DemoCommand::Judge(args) => judge::run(args),
        DemoCommand::Provider(args) => provider::run(args),
        DemoCommand::Feed(args) => feeder::run(args),
    }
}

fn show(args: &WebhooksArgs) -> anyhow::Result<()> {
    let webhooks = args.input.load()?;
    let mut stdout = io::stdout().lock();
    if !args.explain {
        stdout.write_all(input::to_lines(&webhooks).as_bytes())?;
        return Ok(());
    }
    for webhook in webhooks {
        let line = match webhook::parse(webhook.body.as_bytes()) {
            Ok(happenings) => json!({"line": webhook.line, "happenings": happenings}),
            Err(refusal) => json!({"line": webhook.line, "refused": refusal.to_string()}),
        };
        writeln!(stdout, "{line}")?;
    }
    Ok(())
}
