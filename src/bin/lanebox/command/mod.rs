//! The commands, a file each.

mod cancel;
mod doctor;
mod enqueue;
mod events;
mod init;
mod jobs;
mod lanes;
mod notices;
mod publish;
mod requeue;
mod resolve;
mod sends;
mod stats;
mod trace;

use lanebox::Lanebox;
use lanebox::people::{Filter, Page};

use crate::args::{Cli, Narrow};
use crate::output::Out;
use crate::output::table::Table;

#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// Make a file, or bring an older one forward
    Init(init::Init),
    /// Record a fact
    Publish(publish::Publish),
    /// Accept a job
    Enqueue(enqueue::Enqueue),
    /// List events, or show one
    Events(events::Events),
    /// List jobs, or show one and why it waits
    Jobs(jobs::Jobs),
    /// List the lanes in use
    Lanes(lanes::Lanes),
    /// List sends, or show one with its tries
    Sends(sends::Sends),
    /// List what a person should look at, or deal with one of them
    Notices(notices::Notices),
    /// Show what came of an event, job, send or entity
    Trace(trace::Trace),
    /// Start a dead job again
    Requeue(requeue::Requeue),
    /// Cancel a job
    Cancel(cancel::Cancel),
    /// Decide about a send whose fate is unknown
    Resolve(resolve::Resolve),
    /// Show the file in numbers
    Stats(stats::Stats),
    /// Check versions, settings and everything that must never be
    Doctor(doctor::Doctor),
    /// Measure what this disk and SQLite can do, and what Lanebox reaches of it
    Bench(crate::bench::BenchArgs),
    /// The main job, with real processes: a message comes in, exactly one reply goes out
    #[cfg(feature = "demo")]
    Demo(crate::demo::DemoArgs),
}

/// An open file, and where answers go.
pub struct Session {
    pub lanebox: Lanebox,
    pub out: Out,
}

impl Session {
    fn open(cli: &Cli) -> anyhow::Result<Session> {
        let lanebox = Lanebox::builder(cli.db()?).must_exist().open()?;
        let now = i64::try_from(lanebox.now().unix_timestamp_nanos() / 1_000_000)?;
        Ok(Session { lanebox, out: Out { json: cli.json, now } })
    }

    /// A page that shows something: a narrow filter on a long history may need several calls, each
    /// of them short.
    fn page<T>(
        &self,
        mut filter: Filter,
        list: impl Fn(&Lanebox, &Filter) -> lanebox::Result<Page<T>>,
    ) -> anyhow::Result<Page<T>> {
        loop {
            let page = list(&self.lanebox, &filter)?;
            match page.next {
                Some(next) if page.rows.is_empty() => filter = filter.after(next),
                _ => return Ok(page),
            }
        }
    }

    /// A list as a table. One that is empty because nothing is of the org says so: it may be
    /// misspelt.
    fn list(&self, table: &Table, empty: &str, narrow: &Narrow) -> anyhow::Result<()> {
        match narrow.org() {
            Some(org) if table.is_empty() && !self.lanebox.has_org(org)? => {
                let why = "nothing in this file is of an org of that name";
                self.out.line(&format!(
                    "{empty} of {org}: {why}; without --org the list shows which there are"
                ))
            }
            _ => self.out.table(table, empty),
        }
    }

    /// How to see the next page of a table.
    fn more(&self, next: Option<&str>) -> anyhow::Result<()> {
        match next {
            Some(next) => self.out.line(&format!("there is more: --after {next}")),
            None => Ok(()),
        }
    }
}

pub fn run(cli: &Cli) -> anyhow::Result<()> {
    match &cli.command {
        #[cfg(feature = "demo")]
        Command::Demo(args) => crate::demo::run(args),
        Command::Init(init) => init.run(cli),
        Command::Bench(args) => crate::bench::run(args, cli),
        command => on_a_file(command, &Session::open(cli)?).map_err(where_to_look),
    }
}

// Whoever asks for what is not there may have another id of it at hand.
fn where_to_look(error: anyhow::Error) -> anyhow::Error {
    match error.downcast_ref() {
        Some(lanebox::Error::NotFound {
            what: what @ ("event" | "job" | "send" | "notice"),
            ..
        }) => {
            anyhow::anyhow!("{error}: `lanebox {what}s` lists what is there")
        }
        _ => error,
    }
}

fn on_a_file(command: &Command, session: &Session) -> anyhow::Result<()> {
    match command {
        Command::Publish(command) => command.run(session),
        Command::Enqueue(command) => command.run(session),
        Command::Events(command) => command.run(session),
        Command::Jobs(command) => command.run(session),
        Command::Lanes(command) => command.run(session),
        Command::Sends(command) => command.run(session),
        Command::Notices(command) => command.run(session),
        Command::Trace(command) => command.run(session),
        Command::Requeue(command) => command.run(session),
        Command::Cancel(command) => command.run(session),
        Command::Resolve(command) => command.run(session),
        Command::Stats(command) => command.run(session),
        Command::Doctor(command) => command.run(session),
        Command::Init(_) => unreachable!("it opens its file by itself"),
        Command::Bench(_) => unreachable!("it has files of its own"),
        #[cfg(feature = "demo")]
        Command::Demo(_) => unreachable!("it has files of its own"),
    }
}
