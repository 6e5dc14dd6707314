//! How answers look: aligned tables for people, one JSON document for programs.

pub mod table;
pub mod text;
pub mod tree;
pub mod words;

use std::io::{self, Write};

use serde::Serialize;

/// Where answers go, and in which form.
#[derive(Clone, Copy, Debug)]
pub struct Out {
    pub json: bool,
    /// Times are shown relative to this: milliseconds since 1970.
    pub now: i64,
}

impl Out {
    /// One JSON document.
    pub fn document(self, answer: &impl Serialize) -> anyhow::Result<()> {
        self.write(&text::plain_json(&serde_json::to_string(answer)?))
    }

    /// A line for people. What came from outside is shown, never obeyed.
    pub fn line(self, line: &str) -> anyhow::Result<()> {
        self.write(&text::shown(line))
    }

    /// The answer in the form that was asked for.
    pub fn answer(self, document: &impl Serialize, line: &str) -> anyhow::Result<()> {
        if self.json { self.document(document) } else { self.line(line) }
    }

    /// A table, or a sentence if it is empty.
    pub fn table(self, table: &table::Table, empty: &str) -> anyhow::Result<()> {
        if table.is_empty() { self.line(empty) } else { self.write(&table.to_string()) }
    }

    /// When that was or will be, seen from now.
    pub fn when(self, at: i64) -> String {
        text::relative(at, self.now)
    }

    /// When that was or will be, if it is known.
    pub fn maybe(self, at: Option<i64>) -> String {
        at.map(|at| self.when(at)).unwrap_or_default()
    }

    fn write(self, text: &str) -> anyhow::Result<()> {
        let mut out = io::stdout().lock();
        out.write_all(text.as_bytes())?;
        out.write_all(b"\n")?;
        Ok(out.flush()?)
    }
}

/// Whether the reader of this program's answer has gone.
pub fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let mut causes = error.chain().filter_map(|cause| cause.downcast_ref::<io::Error>());
    causes.any(|cause| cause.kind() == io::ErrorKind::BrokenPipe)
}
