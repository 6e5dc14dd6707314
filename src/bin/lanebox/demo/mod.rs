//! `lanebox demo`: the main job, with real processes. Its outside world is here (the webhooks that
//! come in, the feeder that posts them, the provider that takes the replies, and their logs), who
//! plays it and treats it badly, and who judges it from its files alone.

mod agent;
mod clock;
mod feeder;
mod halts;
mod input;
mod judge;
mod log;
mod orchestrate;
mod post;
mod provider;
mod receiver;
mod serve;
mod settings;
mod webhook;
mod whatsapp;
mod worker;
mod wrong;

use std::io::{self, Write};

use serde_json::json;

use orchestrate::{PlayArgs, leash};

/// The demo itself, or one of its parts.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
#[command(after_help = "Example:\n  lanebox demo --kills 8 --contacts 40 --messages 4 --json")]
pub struct DemoArgs {
    #[command(flatten)]
    play: PlayArgs,
    #[command(subcommand)]
    part: Option<Part>,
}

/// The parts of the demo, each a process of its own.
#[derive(Debug, clap::Subcommand)]
enum Part {
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
    /// Plays the receiver of webhooks (started by the demo itself)
    #[command(hide = true)]
    Receiver(receiver::ReceiverArgs),
    /// Plays a worker (started by the demo itself)
    #[command(hide = true)]
    Worker(worker::WorkerArgs),
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

/// Runs the demo, or one part of it.
pub fn run(args: &DemoArgs) -> anyhow::Result<()> {
    match &args.part {
        None => orchestrate::run(&args.play),
        Some(Part::Webhooks(args)) => show(args),
        Some(Part::Judge(args)) => judge::run(args),
        Some(Part::Provider(args)) => {
            leash::wear();
            provider::run(args)
        }
        Some(Part::Receiver(args)) => receiver::run(args),
        Some(Part::Worker(args)) => worker::run(args),
        Some(Part::Feed(args)) => {
            leash::wear();
            feeder::run(args)
        }
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
