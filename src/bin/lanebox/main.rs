//! The `lanebox` binary.

#[cfg(feature = "demo")]
mod demo;

use std::process::ExitCode;

use clap::Parser;

#[derive(Parser)]
#[command(name = "lanebox", version, about)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// The main job, with real processes: a message comes in, exactly one reply goes out
    #[cfg(feature = "demo")]
    #[command(subcommand)]
    Demo(demo::DemoCommand),
}

fn main() -> ExitCode {
    let done: anyhow::Result<()> = match Cli::parse().command {
        #[cfg(feature = "demo")]
        Command::Demo(command) => demo::run(&command),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("lanebox: {error:#}");
            ExitCode::FAILURE
        }
    }
}
