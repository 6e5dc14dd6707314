//! The receiver: takes a webhook, records what it tells in one transaction, and answers 200 after
//! the commit.

#[cfg(test)]
mod tests;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::StatusCode;
use axum::routing::post;
use lanebox::{BoxError, Error, Evidence, Lanebox, NewEvent, SendKey, Transaction};
use serde_json::json;

use super::clock;
use super::halts::{HaltPoint, Halts};
use super::serve;
use super::webhook::{self, Happening, Inbound, Status};
use super::whatsapp::CHANNEL;
use super::wrong::Wrong;

/// With the planted fault: how long after the 200 the commit comes.
const BELATED: Duration = Duration::from_millis(200);

/// The one org of the demo.
pub const ORG: &str = "acme";

#[derive(Debug, clap::Args)]
pub struct ReceiverArgs {
    /// The Lanebox file
    #[arg(long)]
    db: PathBuf,
    /// Where to listen
    #[arg(long)]
    listen: SocketAddr,
    #[command(flatten)]
    wrong: Wrong,
}

/// What a request works with.
struct Desk {
    lanebox: Lanebox,
    halts: Arc<Halts>,
    wrong: Wrong,
}

pub fn run(args: &ReceiverArgs) -> anyhow::Result<()> {
    let halts = Halts::listen(|| std::process::exit(0));
    let lanebox = Lanebox::builder(&args.db).busy_deadline(Duration::from_secs(5)).open()?;
    let listener = serve::bind(args.listen)?;
    serve::announce(&listener)?;
    let router = Router::new()
        .route("/webhook", post(take))
        .layer(DefaultBodyLimit::max(webhook::MAX_BODY))
        .with_state(Arc::new(Desk { lanebox, halts, wrong: args.wrong }));
    serve::run(listener, router)
}

async fn take(State(desk): State<Arc<Desk>>, body: Bytes) -> (StatusCode, String) {
    let early = desk.wrong.ack_early();
    let taken = tokio::task::spawn_blocking(move || record(&desk, &body));
    if early {
        return (StatusCode::OK, String::new());
    }
    taken.await.unwrap_or_else(|panic| (StatusCode::INTERNAL_SERVER_ERROR, panic.to_string()))
}

fn record(desk: &Desk, body: &[u8]) -> (StatusCode, String) {
    let happenings = match webhook::parse(body) {
        Ok(happenings) => happenings,
        Err(refusal) => return (StatusCode::BAD_REQUEST, refusal.to_string()),
    };
    let halfway = || {
        // A body of statuses alone has nothing that could be lost.
        if let Some(message) = first_message(&happenings) {
            desk.halts.reach(HaltPoint::Halfway, message, None);
        }
    };
    if desk.wrong.ack_early() {
        clock::pause(BELATED);
        halfway();
    }
    let recorded =
        desk.lanebox.transaction(|tx| happenings.iter().try_for_each(|one| note(tx, one)));
    if !desk.wrong.ack_early() {
        halfway();
    }
    match recorded {
        // After a failed flush only a process that opens the file anew can take anything.
        Err(closed @ Error::Closed { .. }) => {
            eprintln!("lanebox: {closed}");
            std::process::exit(1)
        }
        Ok(()) => (StatusCode::OK, String::new()),
        Err(error) => (refusal(&error), error.to_string()),
    }
}

// What can never be taken is refused for good, so that it does not hold up what comes after it. All
// else is posted again.
fn refusal(error: &Error) -> StatusCode {
    match error {
        Error::Invalid { .. } => StatusCode::UNPROCESSABLE_ENTITY,
        Error::Conflict { .. } => StatusCode::CONFLICT,
        _ => StatusCode::SERVICE_UNAVAILABLE,
    }
}

fn first_message(happenings: &[Happening]) -> Option<&str> {
    happenings.iter().find_map(|one| match one {
        Happening::Inbound(inbound) => Some(inbound.wamid.as_str()),
        _ => None,
    })
}

fn note(tx: &Transaction<'_>, happening: &Happening) -> Result<(), BoxError> {
    match happening {
        Happening::Inbound(inbound) => message(tx, inbound),
        Happening::Status(status) => status_of(tx, status),
        Happening::Ignored { .. } => Ok(()),
    }
}

// A STOP withdraws consent in the transaction that records its message, before the 200.
fn message(tx: &Transaction<'_>, inbound: &Inbound) -> Result<(), BoxError> {
    let event = NewEvent::new(ORG, "message.received")
        .entity("message", &inbound.wamid)
        .subject(&inbound.from)
        .payload(&json!({
            "contact": inbound.from,
            "message": inbound.wamid,
            "text": inbound.text,
            "stop": inbound.is_stop,
        }))
        .dedupe(&inbound.wamid);
    let _recorded = tx.publish(event)?;
    if inbound.is_stop {
        tx.withdraw_consent(ORG, &inbound.from, CHANNEL, &format!("message {}", inbound.wamid))?;
    }
    Ok(())
}

// A status that carries our key is evidence that the provider accepted the send.
fn status_of(tx: &Transaction<'_>, status: &Status) -> Result<(), BoxError> {
    let key = status.biz_opaque_callback_data.as_deref().and_then(|key| key.parse().ok());
    if let Some(key) = key.map(SendKey) {
        let _settled = tx.evidence(CHANNEL, key, Some(&status.wamid), Evidence::Status)?;
    }
    Ok(())
}
