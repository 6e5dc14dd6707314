//! The `lanebox` binary: a command line for people, and the demo. It is a client of the public API.

#![forbid(unsafe_code)]

mod args;
mod bench;
mod command;
#[cfg(feature = "demo")]
mod demo;
mod output;
mod private;

use std::process::ExitCode;

use clap::Parser;

// A file that reached its size limit is an error of the write, as a full disk is, and not the end
// of the process. Caught and not ignored, because what is ignored stays so in programs started from
// here. Where it cannot be caught the system's rule stays.
#[cfg(unix)]
fn outlive_full_files() {
    const FILE_TOO_LARGE: i32 = rustix::process::Signal::XFSZ.as_raw();
    let _ = signal_hook::flag::register(FILE_TOO_LARGE, std::sync::Arc::default());
}

/// 0: done. 1: refused or failed, with a sentence on stderr. 2: used wrongly (clap says how).
fn main() -> ExitCode {
    // Whatever this program makes is its owner's alone.
    #[cfg(unix)]
    rustix::process::umask(rustix::fs::Mode::RWXG | rustix::fs::Mode::RWXO);
    #[cfg(unix)]
    outlive_full_files();
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
