//! Lanebox: an embedded, durable event bus, job queue and send ledger on one SQLite file.
//!
//! An accepted fact is never lost. Work for one contact never runs twice at once. An old worker
//! never commits late. A message that went out is never blindly sent again. Whatever is stuck or
//! dead is visible to a person, with its reason.
//!
//! # A tour
//!
//! 1. [`Lanebox::open`] opens (or makes) the file. [`Lanebox::builder`] is for what differs.
//! 2. Facts and work come in: [`Lanebox::publish`], [`Lanebox::enqueue`], and both inside a
//!    transaction of the host's by [`Lanebox::transaction`] or [`Lanebox::publish_in`]. Each is on
//!    the disk when it returns; answers are values ([`Published`], [`Enqueued`]).
//! 3. [`Reactions`] says what this process has code for: [handlers](Reactions::on) of typed
//!    [`Job`]s, [consumers](Reactions::consume) and [routes](Reactions::route) of events,
//!    [`Channel`]s. [`Lanebox::start`] runs them on threads; [`Running::stop`] ends in order.
//! 4. A handler works through its [`Ctx`]: [`step`](Ctx::step), [`send`](Ctx::send),
//!    [`publish`](Ctx::publish), [`finish_in`](Ctx::finish_in). It answers an [`Outcome`], and it
//!    **may run more than once**.
//! 5. People look and decide: [`people`], [`sends`], the command line.
//! 6. [`hook`] is the business bus: synchronous, in this process, able to veto.
//!
//! # The disk
//!
//! A started engine lays a ballast file beside the database (`crm.db-ballast`) and looks at the
//! free room. Below the low-water mark ([`RoomMode::Low`]) no job is claimed and no event
//! dispatched; what runs goes on, and facts are still accepted. When a write finds no room
//! ([`RoomMode::Full`]) the ballast is removed, so that ends of runs and answers of providers can
//! still be recorded, and new facts are refused with [`Error::NoRoom`]. When there is room again,
//! all goes on by itself. [`Health::room`], `lanebox doctor` and the notice `disk.room` tell.
//!
//! The engine also takes the write-ahead log over into the file, beside the commits and without
//! waiting for readers; of several processes on one file one does it. A reader that stays keeps the
//! log from being emptied, so reads of this handle end after 30 s with [`Error::ReadTooLong`]. What
//! another program does can only be told: [`Health::log`], `doctor` and the notice `disk.log`, once
//! the log is beyond 128 MiB. [`Builder::checkpoint`] leaves it to a program such as Litestream.
//!
//! # The walk of a message
//!
//! The host publishes (one commit). The dispatcher makes it a delivery, a job and, in the same
//! commit, a claim. The handler's `send` is intended (a commit), the provider is called with no
//! transaction open, the answer is recorded (a commit). `Done` completes the job with its outbox
//! and the next claim (a commit). If the process dies between any two of these, the next run knows
//! from the file what has happened, and what nobody can know is settled by evidence, not by trying
//! again.
//!
//! # How the code is laid out
//!
//! `model` (nouns, pure decisions), `store` (verbs: one savepoint's worth each), `engine` (steps
//! that never sleep), `runtime` (threads), and this handle on top; `env` is the one door of time,
//! chance and the room of the disk. Arrows point at what is depended upon, and a test keeps them
//! so.

#![forbid(unsafe_code)]

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod engine;
mod env;
mod error;
pub mod hook;
#[cfg(test)]
#[path = "../tests/interleave/mod.rs"]
mod interleave;
mod lanebox;
mod model;
pub mod people;
mod runtime;
#[cfg(test)]
#[path = "../tests/rig/say.rs"]
mod say;
pub mod sends;
#[cfg(test)]
#[path = "../tests/sim/mod.rs"]
mod sim;
mod store;
mod sync;
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
pub use model::room::RoomMode;
pub use model::send::ability::Abilities;
pub use model::send::class::{CallPhase, Class, Refusal};
pub use model::send::error::SendError;
pub use model::send::receipt::Receipt;
pub use model::send::{ChannelState, Evidence};
pub use runtime::{Health, LoopHealth, Running, StopReport};
pub use store::space::{LogHealth, RoomHealth};
pub use store::sqlite::{Checkpoint, Durability};

// Their types stand in signatures here.
pub use {rusqlite, serde_json, time, uuid};
