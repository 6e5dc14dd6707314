//! The bus on a real file: what is recorded, what other programs may write, what is refused, and
//! what statements cost.

mod foreign;
mod host;
mod outbox;
mod plans;
mod publish;
mod refusals;
mod subscribe;

use crate::model::event::{NewEvent, Published};
use crate::store::bus::Bus;
use crate::store::sqlite::SqliteStore;
use crate::store::sqlite::scratch::Scratch;
use crate::{Error, Result};

fn event(name: &str) -> NewEvent {
    NewEvent::new("acme", name)
}

fn publish(store: &SqliteStore, event: NewEvent) -> Result<Published> {
    Ok(store.publish(vec![event])?.remove(0))
}
