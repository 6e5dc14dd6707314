//! Lanebox: an embedded, durable event bus, job queue and send ledger on one SQLite file.

#![forbid(unsafe_code)]

mod engine;
mod env;
mod error;
pub mod hook;
mod lanebox;
mod model;
pub mod people;
mod runtime;
pub mod sends;
mod store;
#[cfg(feature = "testing")]
pub mod testing;

pub use engine::channel::{Channel, Delivery, Letter, Lookup, UnknownSend};
pub use engine::ctx::{Ctx, StepError};
pub use engine::reactions::Reactions;
pub use error::{Error, Result};
pub use lanebox::{Builder, Lanebox, Preset, Transaction};
pub use model::backoff::Backoff;
pub use model::consumer::{Consumer, LaneRule, Skip, Start};
pub use model::event::{Event, MAX_PAYLOAD, NewEvent, Published};
pub use model::id::{EventId, JobId, SendKey};
pub use model::job::{Enqueued, Job, MAX_JOB_PAYLOAD, NewJob, Policy};
pub use model::lane::Lane;
pub use model::outcome::{BoxError, Outcome};
pub use model::send::ability::Abilities;
pub use model::send::class::{CallPhase, Class, Refusal};
pub use model::send::error::SendError;
pub use model::send::receipt::Receipt;
pub use model::send::{ChannelState, Evidence};
pub use runtime::{Health, LoopHealth, Running, StopReport};
pub use store::sqlite::Durability;

// Their types stand in signatures here.
pub use {rusqlite, serde_json, time, uuid};
