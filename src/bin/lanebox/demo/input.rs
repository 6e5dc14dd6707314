//! The webhooks that the demo plays: a sample, a generator, or a file of the user's.

mod generate;
mod say;
#[cfg(test)]
mod tests;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use serde_json::value::RawValue;

use super::webhook;
pub use generate::generate;

const SAMPLE: &str = include_str!("input/whatsapp_webhooks.jsonl");

/// One webhook body, as it will be posted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Webhook {
    /// Where it stands: the line of a file, or its number in generated traffic. From 1.
    pub line: usize,
    pub body: String,
}

/// Which webhooks to play.
#[derive(Debug, Clone, clap::Args)]
pub struct InputArgs {
    /// Webhook bodies of the WhatsApp Cloud API: one JSON object a line, or one JSON array
    #[arg(long, value_name = "FILE", conflicts_with_all = ["contacts", "messages"])]
    pub input: Option<PathBuf>,
    /// Generate traffic of this many contacts instead of playing the sample
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub contacts: Option<u32>,
    /// Messages of each generated contact
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub messages: Option<u32>,
    /// Repeats the same generated traffic and the same faults
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub seed: u64,
}

impl InputArgs {
    /// The same options for another process of the demo.
    pub fn to_args(&self) -> Vec<OsString> {
        let mut args = vec!["--seed".into(), self.seed.to_string().into()];
        if let Some(path) = &self.input {
            args.extend(["--input".into(), path.into()]);
        }
        for (option, value) in [("--contacts", self.contacts), ("--messages", self.messages)] {
            if let Some(value) = value {
                args.extend([option.into(), value.to_string().into()]);
            }
        }
        args
    }

    /// The webhooks that these options ask for.
    pub fn load(&self) -> anyhow::Result<Vec<Webhook>> {
        match (&self.input, self.contacts, self.messages) {
            (Some(path), _, _) => read(path),
            (None, None, None) => parse(SAMPLE.as_bytes()).context("the sample"),
            (None, contacts, messages) => {
                Ok(generate(contacts.unwrap_or(10), messages.unwrap_or(4), self.seed))
            }
        }
    }
}

/// Reads a file of webhooks.
///
/// # Errors
///
/// Text that is not JSON (with its line), no webhook at all, or none that is of the WhatsApp
/// Cloud API. A file with a few refused bodies is played: the receiver refuses them again.
pub fn read(path: &Path) -> anyhow::Result<Vec<Webhook>> {
    let text = std::fs::read(path)
        .with_context(|| format!("cannot read the webhooks in {}", path.display()))?;
    parse(&text).with_context(|| path.display().to_string())
}

fn parse(text: &[u8]) -> anyhow::Result<Vec<Webhook>> {
    let text = match std::str::from_utf8(text) {
        Ok(text) => text.strip_prefix('\u{feff}').unwrap_or(text),
        Err(error) => bail!("line {}: not UTF-8", 1 + line_ends(&text[..error.valid_up_to()])),
    };
    let webhooks = split(text)?;
    let Some(first) = webhooks.first() else {
        bail!("it holds no webhook; expected one JSON object a line, or one JSON array");
    };
    let mut refusals = webhooks.iter().map(|webhook| webhook::parse(webhook.body.as_bytes()).err());
    if let Some(Some(refusal)) = refusals.next()
        && refusals.all(|refusal| refusal.is_some())
    {
        let line = first.line;
        bail!("not one webhook of the WhatsApp Cloud API in it; line {line}: {refusal}");
    }
    Ok(webhooks)
}

/// Pairs each body with its line. JSON objects stand one after another and may span lines.
fn split(text: &str) -> anyhow::Result<Vec<Webhook>> {
    let bodies: Result<Vec<&RawValue>, _> = match text.trim_start().starts_with('[') {
        true => serde_json::from_str(text),
        false => serde_json::Deserializer::from_str(text).into_iter().collect(),
    };
    let mut webhooks = Vec::new();
    let (mut line, mut counted) = (1, 0);
    for body in bodies.map_err(|error| anyhow::anyhow!("not JSON: {error}"))? {
        // A raw value is a part of the text that it was read from.
        let offset = body.get().as_ptr() as usize - text.as_ptr() as usize;
        line += line_ends(&text.as_bytes()[counted..offset]);
        counted = offset;
        ensure!(body.get().starts_with('{'), "line {line}: expected a JSON object");
        // No string holds a bare line end, so only the blanks between tokens change.
        webhooks.push(Webhook { line, body: body.get().replace(['\n', '\r'], " ") });
    }
    Ok(webhooks)
}

fn line_ends(text: &[u8]) -> usize {
    text.iter().filter(|&&byte| byte == b'\n').count()
}

/// The webhooks as a file that [`read`] takes: one a line.
pub fn to_lines(webhooks: &[Webhook]) -> String {
    webhooks.iter().map(|webhook| format!("{}\n", webhook.body)).collect()
}
