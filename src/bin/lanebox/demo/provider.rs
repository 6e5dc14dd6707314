//! Plays the WhatsApp Cloud API: takes messages, writes each to a log on disk before it answers,
//! and can be told to hold an answer, so that a worker can be killed at the worst moment.

mod graph;
mod holds;
mod intake;
mod statuses;
#[cfg(test)]
mod tests;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, header::USER_AGENT};
use axum::routing::{get, post};
use axum::{Json, Router};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::log::{ProviderRecord, Taken};
use super::post::Poster;
use super::{clock, serve};
use graph::GraphError;
pub use graph::recipient;
use holds::Holds;
pub use holds::{Held, Point};
use intake::Intake;

/// What the provider does for a sender that does not know whether it has sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// A repeated key gets the first answer and no second message.
    Dedupe,
    /// `GET /lanebox/lookup?key=` tells whether a key was taken.
    Lookup,
    /// Only delivery statuses tell, and some of them are lost.
    Neither,
}

/// Options of the hidden `demo provider`.
#[derive(Debug, clap::Args)]
pub struct ProviderArgs {
    /// Where to listen; port 0 takes a free one, told on stdout
    #[arg(long, default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// The log of what was accepted: JSON lines, each on disk before its answer leaves
    #[arg(long, value_name = "FILE")]
    log: PathBuf,
    #[arg(long, value_enum)]
    mode: Mode,
    /// Repeats the same faults
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// Where mode `neither` posts delivery statuses
    #[arg(long, value_name = "URL")]
    callback: Option<String>,
    /// One message in N never gets a status (0: none is lost)
    #[arg(long, value_name = "N", default_value_t = 10)]
    lose_in: u32,
    /// One request in N gets 503 before anything is accepted (0: none)
    #[arg(long, value_name = "N", default_value_t = 40)]
    turn_away_in: u32,
}

/// Serves until the process ends.
pub fn run(args: &ProviderArgs) -> anyhow::Result<()> {
    let listener = serve::bind(args.listen)?;
    let router = router(args, clock::pause)?;
    serve::announce(&listener)?;
    serve::run(listener, router)
}

struct Provider {
    mode: Mode,
    intake: Mutex<Intake>,
    holds: Holds,
}

fn router(args: &ProviderArgs, pause: fn(Duration)) -> anyhow::Result<Router> {
    let callback = args.callback.as_ref().filter(|_| args.mode == Mode::Neither);
    let statuses = callback.map(|url| statuses::start(Poster::new(url, pause)));
    let provider = Arc::new(Provider {
        mode: args.mode,
        intake: Mutex::new(Intake::open(args, statuses)?),
        holds: Holds::default(),
    });
    Ok(Router::new()
        .route("/{version}/{phone_number_id}/messages", post(send))
        .route("/lanebox/lookup", get(lookup))
        .route("/control/hold", post(hold))
        .route("/control/held", get(held))
        .route("/control/release", post(release))
        .with_state(provider))
}

/// The Cloud API's send endpoint.
async fn send(
    State(provider): State<Arc<Provider>>,
    Path((version, phone_number_id)): Path<(String, String)>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Json<Value>, GraphError> {
    graph::check_path(&version, &phone_number_id)?;
    let message = graph::read(&body)?;
    let client = headers.get(USER_AGENT).and_then(|name| name.to_str().ok()).map(str::to_owned);
    let mut held = Held {
        at: Point::BeforeAccept,
        key: message.key.clone(),
        to: message.to.clone(),
        wamid: None,
        client: client.clone(),
    };
    provider.holds.pass(held.clone()).await;
    // Runs to its end even if the caller hangs up: it was taken, whoever hears of it.
    let taking = Arc::clone(&provider);
    let record =
        off_the_server_thread(move || taking.intake.lock().take(message, client)).await??;
    if record.what == Taken::Accepted {
        held.at = Point::AfterAccept;
        held.wamid = Some(record.wamid.clone());
        provider.holds.pass(held).await;
    }
    Ok(Json(graph::answer(&record)))
}

/// The intake's lock is held while its disk is waited for.
async fn off_the_server_thread<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, GraphError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|error| GraphError::broken(error.to_string()))
}

#[derive(Deserialize)]
struct LookupQuery {
    key: String,
}

/// Not part of the Cloud API: the question that some other providers answer.
async fn lookup(
    State(provider): State<Arc<Provider>>,
    Query(query): Query<LookupQuery>,
) -> Result<Json<ProviderRecord>, GraphError> {
    if provider.mode != Mode::Lookup {
        return Err(GraphError::no_lookup());
    }
    let looking = Arc::clone(&provider);
    let found = off_the_server_thread(move || looking.intake.lock().find(&query.key)).await?;
    found.map(Json).ok_or_else(GraphError::not_found)
}

#[derive(Deserialize)]
struct HoldQuery {
    #[serde(default)]
    at: Point,
}

/// The next request that reaches the point waits there until it is released.
async fn hold(
    State(provider): State<Arc<Provider>>,
    Query(query): Query<HoldQuery>,
) -> Json<Value> {
    Json(json!({"armed": provider.holds.arm(query.at)}))
}

#[derive(Deserialize)]
struct HeldQuery {
    /// Waits this long for a first held request.
    #[serde(default)]
    wait_ms: u64,
}

async fn held(
    State(provider): State<Arc<Provider>>,
    Query(query): Query<HeldQuery>,
) -> Json<Value> {
    Json(json!({"held": provider.holds.held(query.wait_ms).await}))
}

/// Lets all held requests go on and disarms what was armed.
async fn release(State(provider): State<Arc<Provider>>) -> Json<Value> {
    Json(json!({"released": provider.holds.release()}))
}
