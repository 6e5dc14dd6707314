//! A process of the demo's: started from this very program, on a leash, and never left behind.

use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{self, Command, ExitStatus, Stdio};
use std::time::Duration;

use anyhow::{Context, bail};
use crossbeam_channel::{Receiver, RecvTimeoutError};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// Set for every child: it ends when its stdin does, so that none outlives the demo.
pub const LEASH: &str = "LANEBOX_DEMO_LEASH";

/// How long a process may take to end by itself.
const GRACE: Duration = Duration::from_secs(8);

/// Killed and waited for when dropped.
pub struct Child {
    name: String,
    process: process::Child,
    /// The lines of its stdout; closed when it has ended.
    lines: Receiver<String>,
}

impl Child {
    /// Starts this program with other arguments; what it says on stderr goes to the file `told`.
    pub fn start(name: &str, args: &[OsString], told: &Path) -> anyhow::Result<Self> {
        let program = std::env::current_exe().context("where is this program?")?;
        Self::start_program(name, Command::new(program).args(args), told)
    }

    pub fn start_program(name: &str, command: &mut Command, told: &Path) -> anyhow::Result<Self> {
        let told = OpenOptions::new()
            .create(true)
            .append(true)
            .open(told)
            .with_context(|| format!("cannot open {}", told.display()))?;
        let started = command
            .env(LEASH, "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(told)
            .spawn();
        let mut process = started.with_context(|| format!("cannot start {name}"))?;
        let stdout = process.stdout.take().expect("it was asked for");
        let (tells, lines) = crossbeam_channel::unbounded();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                // Nobody reads any more: its end is near.
                if tells.send(line).is_err() {
                    break;
                }
            }
        });
        Ok(Self { name: name.to_owned(), process, lines })
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn pid(&self) -> u32 {
        self.process.id()
    }

    /// Its next line, or `None` if none comes in this time.
    ///
    /// # Errors
    ///
    /// It has ended, or its line is not JSON.
    pub fn line(&mut self, wait: Duration) -> anyhow::Result<Option<Value>> {
        match self.lines.recv_timeout(wait) {
            Ok(line) => {
                let value = serde_json::from_str(&line);
                value.map(Some).with_context(|| format!("{} said {line:?}", self.name))
            }
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => {
                let how = self.process.wait()?;
                bail!("{} has ended ({how}); what it said last is in {}.log", self.name, self.name)
            }
        }
    }

    /// Its next line, which must come in this time.
    pub fn must_say(&mut self, what: &str, wait: Duration) -> anyhow::Result<Value> {
        let line = self.line(wait)?;
        line.with_context(|| format!("{} did not say {what} within {wait:?}", self.name))
    }

    /// Writes a line to its stdin.
    pub fn tell<T: serde::Serialize>(&mut self, order: &T) -> anyhow::Result<()> {
        let mut line = serde_json::to_vec(order)?;
        line.push(b'\n');
        let name = &self.name;
        let stdin = self.process.stdin.as_mut().with_context(|| format!("{name} was let go"))?;
        stdin.write_all(&line).with_context(|| format!("{name} does not listen"))
    }

    /// How it ended, if it has.
    pub fn ended(&mut self) -> anyhow::Result<Option<ExitStatus>> {
        Ok(self.process.try_wait()?)
    }

    /// SIGSTOP or SIGCONT.
    pub fn signal(&self, signal: Signal) -> anyhow::Result<()> {
        let pid = i32::try_from(self.pid()).ok().and_then(Pid::from_raw);
        let pid = pid.context("a process has a number")?;
        kill_process(pid, signal)
            .with_context(|| format!("cannot send {signal:?} to {}", self.name))
    }

    /// SIGKILL, and waits until it is gone.
    pub fn kill(&mut self) -> anyhow::Result<()> {
        self.process.kill().with_context(|| format!("cannot kill {}", self.name))?;
        self.process.wait()?;
        Ok(())
    }

    /// Lets it end by itself, by the end of its stdin; kills it if it takes too long. Whether it
    /// ended by itself.
    pub fn stop(mut self) -> anyhow::Result<bool> {
        drop(self.process.stdin.take());
        // Its stdout ends when it does.
        let ended = loop {
            match self.lines.recv_timeout(GRACE) {
                Ok(_) => {}
                Err(end) => break end == RecvTimeoutError::Disconnected,
            }
        };
        if !ended {
            self.kill()?;
        }
        self.process.wait()?;
        Ok(ended)
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        // SIGKILL ends a frozen process as well. It fails if it has been waited for: all is well.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
