//! A worker of the miniature CRM: the engine on the demo's file, with everything that reacts to a
//! message.

use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::Duration;

use lanebox::{
    BoxError, Consumer, Ctx, Error, Event, Job, Lane, Lanebox, NewEvent, NewJob, Outcome, Policy,
    Reactions, Start,
};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::agent;
use super::halts::{HaltPoint, Halts};
use super::provider::Mode;
use super::receiver::ORG;
use super::settings::{BUSY_DEADLINE, LEASE, SUSPECT_WAIT};
use super::whatsapp::{CHANNEL, WhatsApp};
use super::wrong::Wrong;

/// How long a worker that is told to end waits for its runs.
const GRACE: Duration = Duration::from_secs(3);

/// How often it looks whether its file is still open.
const LOOK: Duration = Duration::from_millis(500);

#[derive(Debug, clap::Args)]
pub struct WorkerArgs {
    /// The Lanebox file
    #[arg(long)]
    db: PathBuf,
    /// The provider's address
    #[arg(long)]
    provider: String,
    /// What the provider can do
    #[arg(long, value_enum)]
    mode: Mode,
    /// Tells the workers apart in the provider's log
    #[arg(long)]
    name: String,
    #[command(flatten)]
    wrong: Wrong,
}

/// One inbound message to be answered, in its contact's lane.
#[derive(Debug, Serialize, Deserialize)]
struct InboundTurn {
    contact: String,
    message: String,
    text: Option<String>,
}

impl Job for InboundTurn {
    const KIND: &'static str = "inbound_turn";

    fn lane(&self) -> Lane {
        Lane::of(&self.contact)
    }
}

/// Works until stdin ends, or its file is closed for good.
pub fn run(args: &WorkerArgs) -> anyhow::Result<()> {
    let (ended, end) = mpsc::channel();
    let halts = Halts::listen(move || {
        // The main thread may have ended before: then nobody is left to be told.
        let _ = ended.send(());
    });
    args.wrong.plant();
    let lanebox = Lanebox::builder(&args.db)
        .workers(8)
        .lease(LEASE)
        .busy_deadline(BUSY_DEADLINE)
        .suspect_wait(SUSPECT_WAIT)
        .open()?;
    // The deadline is short, and the other processes write: a busy file at the start is no reason
    // to end, each refusal has waited.
    let running = loop {
        match lanebox.start(reactions(args, halts.clone())) {
            Err(Error::Busy { .. }) => {}
            answer => break answer?,
        }
    };
    let mut stdout = io::stdout().lock();
    writeln!(stdout, "{}", json!({ "ready": true }))?;
    stdout.flush()?;
    drop(stdout);
    wait(&lanebox, &end)?;
    running.stop(GRACE);
    Ok(())
}

// After a failed flush only a process that opens the file anew can work on it.
fn wait(lanebox: &Lanebox, end: &Receiver<()>) -> anyhow::Result<()> {
    while end.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
        if let Err(closed @ Error::Closed { .. }) = lanebox.has_org(ORG) {
            return Err(closed.into());
        }
    }
    Ok(())
}

fn reactions(args: &WorkerArgs, halts: Arc<Halts>) -> Reactions {
    let wrong = args.wrong;
    let channel = WhatsApp::new(&args.provider, args.mode, &args.name, wrong);
    let hears = |key: &str, event: &str| Consumer::new(key, event).start(Start::Beginning);
    let often = Policy::default()
        .backoff(lanebox::Backoff::exponential(Duration::from_millis(200), Duration::from_secs(2)));
    Reactions::new()
        .channel(CHANNEL, channel)
        .consume(hears("sentiment", "message.received").policy(often), sentiment)
        .consume(hears("follow_up.cancel", "message.received"), cancel_follow_up)
        .consume(hears("agent.request", "message.received"), request_turn)
        .route(hears("agent.dispatch", "ai_agent.dispatch_requested"), move |event| {
            turn_of(event, wrong)
        })
        .on(move |ctx, turn: InboundTurn| answer(ctx, &turn, &halts, wrong))
}

// Fails often and retries: nobody else waits for it.
fn sentiment(ctx: &Ctx<'_>, _event: &Event) -> Result<Outcome, BoxError> {
    if ctx.attempt() < 3 && fastrand::bool() {
        return Ok(Outcome::retry("the model is overloaded"));
    }
    Ok(Outcome::done_with(json!({ "sentiment": "fine" })))
}

// Whoever answers needs no reminder. There is no row of a CRM to change here.
fn cancel_follow_up(_ctx: &Ctx<'_>, _event: &Event) -> Result<Outcome, BoxError> {
    Ok(Outcome::Done)
}

// A STOP asks for no answer.
fn request_turn(ctx: &Ctx<'_>, event: &Event) -> Result<Outcome, BoxError> {
    let payload = event.payload()?;
    if payload["stop"] == true {
        return Ok(Outcome::Done);
    }
    let message = payload["message"].as_str().unwrap_or_default();
    let request = NewEvent::new(ctx.org(), "ai_agent.dispatch_requested")
        .entity("message", message)
        .subject(event.subject().unwrap_or_default())
        .payload(payload)
        .dedupe(format!("dispatch {message}"));
    ctx.publish(request)?;
    Ok(Outcome::Done)
}

fn turn_of(event: &Event, wrong: Wrong) -> Result<Vec<NewJob>, BoxError> {
    let turn: InboundTurn = event.payload_as()?;
    let contact = turn.contact.clone();
    let job = if wrong.no_lane() {
        NewJob::raw(InboundTurn::KIND, serde_json::to_string(&turn)?, Lane::NONE)
    } else {
        NewJob::new(&turn)
    };
    Ok(vec![job.subject(contact)])
}

fn answer(
    ctx: &Ctx<'_>,
    turn: &InboundTurn,
    halts: &Halts,
    wrong: Wrong,
) -> Result<Outcome, BoxError> {
    let at = |point| halts.reach(point, &turn.message, Some(ctx.token()));
    at(HaltPoint::AfterClaim);
    let think = || {
        let bubbles = agent::think(turn.text.as_deref());
        at(HaltPoint::Thinking);
        Ok::<_, BoxError>(bubbles)
    };
    let bubbles = if wrong.step_less() { think()? } else { ctx.step("think", think)? };
    for bubble in &bubbles {
        ctx.send(CHANNEL, &turn.contact, bubble)?;
    }
    at(HaltPoint::AfterRecord);
    let sent = NewEvent::new(ctx.org(), "message.sent")
        .entity("message", &turn.message)
        .subject(&turn.contact)
        .payload(&json!({ "message": turn.message, "bubbles": bubbles.len() }));
    ctx.publish(sent)?;
    Ok(Outcome::Done)
}
