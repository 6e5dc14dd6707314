//! The `lanebox` binary: a command line for people, and the demo. It is a client of the public API.

#![forbid(unsafe_code)]

mod args;
mod command;
#[cfg(feature = "demo")]
mod demo;
mod output;

use std::process::ExitCode;

use clap::Parser;

/// 0: done. 1: refused or failed, with a sentence on stderr. 2: used wrongly (clap says how).
fn main() -> ExitCode {
    // Whatever this program makes is its owner's alone.
    #[cfg(unix)]
    rustix::process::umask(rustix::fs::Mode::RWXG | rustix::fs::Mode::RWXO);
    match command::run(&args::Cli::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        // Who reads has read enough: `lanebox jobs | head`.
        Err(error) if output::is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => match error.downcast::<clap::Error>() {
            Ok(usage) => usage.exit(),
            Err(error) => {
                eprintln!("lanebox: {}", output::text::shown(&format!("{error:#}")));
                ExitCode::FAILURE
            }
        },
    }
}
