//! Logs that survive a crash: one JSON object a line, on disk before the next step is taken. The
//! provider, the feeder and the demo itself each keep one; `demo judge` reads them.

#[cfg(test)]
mod tests;

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::provider::Mode;

/// What the provider took: written before its answer leaves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProviderRecord {
    /// Unix milliseconds, just before the line was written.
    pub at_ms: i64,
    pub what: Taken,
    pub mode: Mode,
    /// `biz_opaque_callback_data` of the request: Lanebox's key of the try.
    pub key: Option<String>,
    /// The recipient as it was asked for.
    pub to: String,
    pub text: String,
    /// The provider's id of the message; a repeat carries that of the first.
    pub wamid: String,
    /// The `User-Agent` of the request: which worker called.
    pub client: Option<String>,
}

/// Whether a request became a message to the contact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Taken {
    /// A message went out to the contact.
    Accepted,
    /// The key was known (mode `dedupe`): the first answer again, nothing went out.
    Repeat,
}

/// What the feeder knows of one webhook: written after its final answer came.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FeederRecord {
    /// Unix milliseconds, just after the answer came.
    pub at_ms: i64,
    pub what: Answer,
    /// The place in the input, counted from 1.
    pub line: usize,
    /// How often it was posted, the answered one included.
    pub posts: u32,
    /// HTTP status of the answer.
    pub http: u16,
    /// The messages in it. Duplicates are listed as often as they were posted.
    pub messages: Vec<FedMessage>,
}

/// The receiver's last word on a webhook.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// 200: from here on the receiver may not lose it.
    Acknowledged,
    /// The receiver will never take it (400 to 499, but 408, 425 and 429).
    Refused,
}

/// One message of a webhook.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FedMessage {
    pub wamid: String,
    pub from: String,
    /// It withdraws consent, and gets no reply.
    pub stop: bool,
}

/// What the demo did to one of its processes: written before it is done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlowRecord {
    /// Unix milliseconds.
    pub at_ms: i64,
    pub what: Blow,
    /// Which process, such as `worker-1`.
    pub who: String,
    pub pid: u32,
    /// The moment that was waited for, such as `after_intent`.
    pub point: String,
    /// The message that was being worked on, if the process told.
    pub message: Option<String>,
}

/// How a process is treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Blow {
    /// SIGKILL.
    Kill,
    /// SIGSTOP, past its lease.
    Freeze,
    /// SIGCONT: it goes on as if nothing had happened.
    Thaw,
}

/// A log that is open for appending.
pub struct Log {
    path: PathBuf,
    file: File,
    broken: bool,
}

impl Log {
    /// Opens or creates a log. A last line without its end is cut off: it was never on record.
    pub fn open(path: &Path) -> anyhow::Result<Self> {
        let opening = || format!("cannot open the log {}", path.display());
        let mut file = OpenOptions::new()
            .create(true)
            .read(true)
            .append(true)
            .open(path)
            .with_context(opening)?;
        let mut written = Vec::new();
        file.read_to_end(&mut written).with_context(opening)?;
        let whole = whole_lines(&written).len();
        if whole < written.len() {
            file.set_len(whole as u64).with_context(opening)?;
        }
        file.sync_all().with_context(opening)?;
        sync_directory_of(path).with_context(opening)?;
        Ok(Self { path: path.to_owned(), file, broken: false })
    }

    /// Writes one line and waits until it is on disk.
    ///
    /// # Errors
    ///
    /// After a failure the end of the file is unknown, so every later call fails as well.
    pub fn append<R: Serialize>(&mut self, record: &R) -> anyhow::Result<()> {
        if self.broken {
            bail!("the log {} failed before; nothing is written to it", self.path.display());
        }
        let mut line = serde_json::to_vec(record)?;
        line.push(b'\n');
        self.broken = true;
        self.write(&line)
            .with_context(|| format!("cannot write to the log {}", self.path.display()))?;
        self.broken = false;
        Ok(())
    }

    fn write(&mut self, line: &[u8]) -> io::Result<()> {
        self.file.write_all(line)?;
        self.file.sync_data()
    }
}

/// Reads a log. A last line without its end is left out.
///
/// # Errors
///
/// A file that cannot be read, or a whole line that is not a record (with its number).
pub fn read<R: DeserializeOwned>(path: &Path) -> anyhow::Result<Vec<R>> {
    let written =
        std::fs::read(path).with_context(|| format!("cannot read the log {}", path.display()))?;
    let lines = whole_lines(&written).split_inclusive(|&byte| byte == b'\n');
    let record = |(n, line)| {
        serde_json::from_slice(line)
            .with_context(|| format!("{}: line {} is not a record", path.display(), n + 1))
    };
    lines.enumerate().map(record).collect()
}

fn whole_lines(written: &[u8]) -> &[u8] {
    let end = written.iter().rposition(|&byte| byte == b'\n').map_or(0, |last| last + 1);
    &written[..end]
}

/// A new file's name is on disk only when its directory is.
fn sync_directory_of(path: &Path) -> io::Result<()> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    File::open(parent.unwrap_or(Path::new(".")))?.sync_all()
}
