//! Plays the provider's side of inbound traffic: posts the webhooks in order, repeats each until
//! it is acknowledged, and keeps a log of what was.

mod streams;
#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::time::Duration;

use anyhow::anyhow;
use parking_lot::Mutex;
use serde_json::json;

use super::clock;
use super::input::{InputArgs, Webhook};
use super::log::{Answer, FedMessage, FeederRecord, Log};
use super::post::Poster;
use super::webhook::{self, Happening};
pub use streams::streams;

/// Options of the hidden `demo feed`.
#[derive(Debug, clap::Args)]
pub struct FeedArgs {
    #[command(flatten)]
    input: InputArgs,
    /// Where the receiver takes webhooks
    #[arg(long)]
    url: String,
    /// The log of what was acknowledged: JSON lines, each on disk before the next post
    #[arg(long, value_name = "FILE")]
    log: PathBuf,
    /// Wait so long before each post but the first of its stream
    #[arg(long, value_name = "MS", default_value_t = 0)]
    pace_ms: u64,
}

/// Feeds all webhooks, then prints how many were acknowledged and refused.
pub fn run(args: &FeedArgs) -> anyhow::Result<()> {
    let webhooks = args.input.load()?;
    let log = Mutex::new(Log::open(&args.log)?);
    let tally =
        feed(&webhooks, &args.url, &log, Duration::from_millis(args.pace_ms), clock::pause)?;
    println!("{}", json!({"acknowledged": tally.acknowledged, "refused": tally.refused}));
    Ok(())
}

/// How the webhooks ended.
#[derive(Debug, Default, PartialEq, Eq)]
struct Tally {
    acknowledged: usize,
    refused: usize,
}

/// Streams run beside one another; within a stream, and so for each contact, the order holds: a
/// webhook is on record before the next one is posted.
fn feed(
    webhooks: &[Webhook],
    url: &str,
    log: &Mutex<Log>,
    pace: Duration,
    pause: fn(Duration),
) -> anyhow::Result<Tally> {
    std::thread::scope(|scope| {
        let feeding: Vec<_> = streams(webhooks)
            .into_iter()
            .map(|stream| scope.spawn(move || feed_stream(&stream, url, log, pace, pause)))
            .collect();
        let mut sum = Tally::default();
        for stream in feeding {
            let tally = stream.join().map_err(|_| anyhow!("a feeding thread panicked"))??;
            sum.acknowledged += tally.acknowledged;
            sum.refused += tally.refused;
        }
        Ok(sum)
    })
}

fn feed_stream(
    stream: &[&Webhook],
    url: &str,
    log: &Mutex<Log>,
    pace: Duration,
    pause: fn(Duration),
) -> anyhow::Result<Tally> {
    let poster = Poster::new(url, pause);
    let mut tally = Tally::default();
    for (nth, webhook) in stream.iter().enumerate() {
        if nth > 0 && !pace.is_zero() {
            pause(pace);
        }
        let delivery = poster.post(&webhook.body);
        let at_ms = clock::now_ms();
        let what = if delivery.is_acknowledged() {
            tally.acknowledged += 1;
            Answer::Acknowledged
        } else {
            tally.refused += 1;
            Answer::Refused
        };
        log.lock().append(&FeederRecord {
            at_ms,
            what,
            line: webhook.line,
            posts: delivery.posts,
            http: delivery.http,
            messages: messages_of(&webhook.body),
        })?;
    }
    Ok(tally)
}

fn messages_of(body: &str) -> Vec<FedMessage> {
    let happenings = webhook::parse(body.as_bytes()).unwrap_or_default();
    let message = |happening| match happening {
        Happening::Inbound(inbound) => {
            Some(FedMessage { wamid: inbound.wamid, from: inbound.from, stop: inbound.is_stop })
        }
        Happening::Status(_) | Happening::Ignored { .. } => None,
    };
    happenings.into_iter().filter_map(message).collect()
}
