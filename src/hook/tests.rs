//! The bus by its scenarios, J1 to J15: the events and the ear that the files below share.

mod catalog;
mod failure;
mod interception;
mod log;
mod nesting;
mod order;
mod pattern;

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use serde::Serialize;

use super::*;

/// Published before a call is dialled.
#[derive(Debug, Serialize)]
struct Dial {
    number: String,
    agent: Option<String>,
}

impl HookEvent for Dial {
    const NAME: &'static str = "call.dial";

    fn org(&self) -> &str {
        "acme"
    }
}

impl BeforeEvent for Dial {}

fn dial() -> Before<Dial> {
    Before::new(Dial { number: "+49 30 111".to_owned(), agent: None })
}

/// Published after a call has ended.
#[derive(Debug, Serialize)]
struct Ended {
    seconds: u32,
}

impl HookEvent for Ended {
    const NAME: &'static str = "call.ended";

    fn org(&self) -> &str {
        "acme"
    }
}

impl AfterEvent for Ended {}

/// Who was heard, in order.
#[derive(Clone, Default)]
struct Heards(Arc<Mutex<Vec<String>>>);

impl Heards {
    fn note(&self, who: &str) {
        self.0.lock().push(who.to_owned());
    }

    /// A listener's function that only notes that it ran, whatever it listens to.
    fn noting<E: ?Sized>(&self, who: &str) -> impl Fn(&E) -> Heard + Send + Sync + use<E> {
        let (heards, who) = (self.clone(), who.to_owned());
        move |_| {
            heards.note(&who);
            Ok(())
        }
    }

    /// The same for a listener before an event.
    fn noting_before<E: ?Sized>(
        &self,
        who: &str,
    ) -> impl Fn(&mut Before<E>) -> Heard + Send + Sync + use<E> {
        let note = self.noting::<Before<E>>(who);
        move |event| note(event)
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock())
    }
}
