//! Lanebox: an embedded, durable event bus, job queue and send ledger on one SQLite file.

#![forbid(unsafe_code)]
#![allow(dead_code)] // until the engine below it is whole

mod env;
mod error;
pub mod hook;
mod model;
pub mod people;
mod store;
#[cfg(feature = "testing")]
pub mod testing;

pub use error::{Error, Result};
pub use model::backoff::Backoff;
pub use model::event::{MAX_PAYLOAD, NewEvent, Published};
pub use model::id::{EventId, JobId, SendKey};
pub use model::job::{Enqueued, Job, MAX_JOB_PAYLOAD, NewJob, Policy};
pub use model::lane::Lane;
pub use store::sqlite::Durability;
