//! The business bus: synchronous hooks, for reacting now and for vetoing before a commit.
//!
//! A hook is a closure that runs inside the call that publishes, on the same thread, before
//! `publish` returns. Nothing is stored: what no listener hears is gone, and so is what a crash
//! interrupts. That is the point of a hook, and the reason why most things should not be one.
//!
//! # Hook, event, job or send?
//!
//! | You want to | Use |
//! | --- | --- |
//! | look at, change or forbid something before it happens | a **hook** on a before-event |
//! | refresh or count something in this process, right now | a **hook** on an after-event |
//! | keep a fact, and have every consequence carried out whatever crashes | an **event** |
//! | have one piece of work done later, in order for its contact | a **job** |
//! | reach a customer, and never twice | a **send**, from within a job |
//!
//! Keep a hook short, and let it have no effect that must survive: a before-event may still be
//! vetoed by the next listener.
//!
//! # Events
//!
//! An event is a type of yours. It is published *before* something happens (then listeners may
//! change and veto it), or *after* it happened (then they may only hear of it), as its marker says.
//!
//! ```
//! use lanebox::hook::{AfterEvent, Answer, Before, BeforeEvent, HookEvent, Hooks, Priority};
//! use serde::Serialize;
//!
//! #[derive(Serialize)]
//! struct CallDial { org: String, number: String, caller_id: Option<String> }
//! impl HookEvent for CallDial {
//!     const NAME: &'static str = "call.dial";
//!     fn org(&self) -> &str { &self.org }
//! }
//! impl BeforeEvent for CallDial {}
//!
//! #[derive(Serialize)]
//! struct CallEnded { org: String, seconds: u32 }
//! impl HookEvent for CallEnded {
//!     const NAME: &'static str = "call.ended";
//!     fn org(&self) -> &str { &self.org }
//! }
//! impl AfterEvent for CallEnded {}
//!
//! let hooks = Hooks::default();
//!
//! // Change it, veto it, or fail. This one must work: if it fails, there is no call.
//! hooks.before::<CallDial>(Priority(100).named("compliance.blocklist").mandatory(), |dial| {
//!     let digits: u64 = dial.number.trim_start_matches('+').parse()?;
//!     if digits == 49_30_111 {
//!         dial.cancel("the number is blocked");
//!     }
//!     Ok(())
//! });
//! hooks.before::<CallDial>(Priority(0), |dial| {
//!     dial.caller_id.get_or_insert("+49 30 222".to_owned());
//!     Ok(())
//! });
//!
//! let mut dial = Before::new(CallDial {
//!     org: "acme".to_owned(), number: "+4930111".to_owned(), caller_id: None,
//! });
//! match hooks.publish(&mut dial)? {
//!     Answer::Proceed => unreachable!("this number is blocked"),
//!     Answer::Vetoed(veto) => assert_eq!(veto.reason, "the number is blocked"),
//! }
//!
//! // One listener for a family of names; it sees the event as data.
//! hooks.after_matching("call.*", Priority(0), |event| {
//!     println!("{} of {}: {}", event.name(), event.org(), event.payload()?);
//!     Ok(())
//! })?;
//! hooks.publish(&CallEnded { org: "acme".to_owned(), seconds: 95 })?;
//! # Ok::<(), lanebox::hook::HookError>(())
//! ```
//!
//! # The rules
//!
//! - **Order.** Listeners of one type, of a name pattern (`call.dial`, `call.*`) and of everything
//!   (`*`) stand in one line: higher [`Priority`] first, ties in the order of registration. (The
//!   priority of a job goes the other way round.) The same closure registered twice runs twice.
//! - **Snapshot.** A publish runs the listeners that were there when it began. Adding or removing
//!   one meanwhile, from a listener or from another thread, holds for the next publish.
//! - **Veto.** [`Before::cancel`] does not end the round: the others still run and can see it. The
//!   publisher looks at the [`Answer`] and must abort, so that a vetoed operation leaves no fact,
//!   job or webhook. [`Before::stop_propagation`] ends the round and vetoes nothing.
//! - **Failure.** A listener that returns an error or panics is logged with its name, and the
//!   others still run. If it was registered as [mandatory](Priority::mandatory), the publish
//!   ends in [`HookError::Refused`] when all have run. A mandatory listener that a higher one kept
//!   from running by `stop_propagation` has not failed: give it the higher priority.
//!   (A program built with `panic = "abort"` ends at a panic, here as anywhere.)
//! - **Cancellation.** [`Hooks::publish_unless`] takes a question that is asked before each
//!   listener: `|| token.is_cancelled()`, `|| ctx.cancelled()`.
//! - **Nesting.** A listener may publish. The inner publish ends before the outer goes on, up to
//!   [`MAX_DEPTH`] deep; beyond that it is [`HookError::TooDeep`], never an overflow of the stack.
//! - **Catalog.** [`Hooks::describe`] registers what events exist; an event that nobody described
//!   is counted, or refused, as [`Unregistered`] says.

mod before;
mod bus;
mod catalog;
mod descriptor;
mod dispatch;
mod error;
mod event;
mod fields;
mod listen;
mod pattern;
mod snapshot;
#[cfg(test)]
mod tests;

pub use before::{Answer, Before, Veto};
pub use bus::Hooks;
pub use catalog::{Catalog, ProviderFailure, Unregistered};
pub use descriptor::Descriptor;
pub use dispatch::{MAX_DEPTH, Publish};
pub use error::{BoxError, HookError};
pub use event::{AfterEvent, AnyEvent, BeforeEvent, HookEvent, PLATFORM};
pub use listen::{Guard, Heard, Listen, ListenerId, Priority};
