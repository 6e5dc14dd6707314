//! The verbs of the bus, each handed to the writer or to a reader.

use super::{SqliteStore, consumer, dispatch, look, publish};
use crate::error::{Error, Result};
use crate::model::consumer::Registration;
use crate::model::event::{NewEvent, Published};
use crate::model::id::ProcessNo;
use crate::store::bus::{Bus, InRoute, Look, Outlook, Registered, Wanted};

impl Bus for SqliteStore {
    fn publish(&self, events: Vec<NewEvent>) -> Result<Vec<Published>> {
        events.iter().try_for_each(NewEvent::check)?;
        self.disk.admit(&self.env)?;
        self.writer
            .write(move |tx| events.iter().map(|event| publish::publish(tx, event)).collect())
    }

    fn subscribe(&self, registration: Registration) -> Result<Registered> {
        self.writer.write(move |tx| consumer::subscribe(tx, &registration))
    }

    fn look(&self, ask: &Look<'_>) -> Result<Outlook> {
        self.read(|conn| look::look(conn, &self.env, &self.live, ask))
    }

    fn take(&self, process: ProcessNo, wanted: Wanted) -> Result<Wanted> {
        self.writer.write(move |tx| dispatch::take(tx, process, wanted))
    }

    fn note_route(&self, process: ProcessNo, at: Option<&InRoute>) -> Result<()> {
        match self.locks.lock().get(&process) {
            Some(lock) => lock.note(at),
            None => Err(Error::Refused {
                what: "running a route".to_owned(),
                why: "this process has given up its lock; start it again".to_owned(),
            }),
        }
    }
}

#[cfg(test)]
mod tests;
