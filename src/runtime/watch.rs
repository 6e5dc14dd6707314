//! The loop that looks for what others committed. A write to the log wakes it; without such hints
//! it looks often.

#[cfg(test)]
mod tests;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use super::{Next, Shared};
use crate::env::Hint;
use crate::error::Result;

/// How often it looks without hints. Nor does it look more often for long while hints never end:
/// mostly this process itself writes then.
const OFTEN: Duration = Duration::from_millis(20);

/// The first wait after a hint. What was written can be seen once it is flushed.
const FIRST: Duration = Duration::from_micros(100);

/// The longest wait: what a lost hint costs.
const FLOOR: Duration = Duration::from_secs(1);

/// What one loop remembers between two looks.
pub(super) struct Watch {
    hint: Option<Arc<Hint>>,
    waits: Waits,
    /// Of what it has seen.
    generation: u64,
}

impl Watch {
    pub(super) fn new(hint: Option<Arc<Hint>>) -> Watch {
        Watch { hint, waits: Waits::default(), generation: 0 }
    }

    /// Looks, then waits as long as it should.
    pub(super) fn step(&mut self, shared: &Shared) -> Result<Next> {
        // Before the look: what is written meanwhile is hinted at again.
        let hinted = self.hear(|hint| hint.taken());
        shared.engine.look_elsewhere(&mut self.generation)?;
        self.waits.after(hinted.unwrap_or_default());
        let Waits { deaf, listening } = self.waits;
        Ok(match self.hear(|hint| hint.rest(deaf).and_then(|()| hint.wait(listening))) {
            Some(()) => Next::Now,
            None => Next::Rest(OFTEN),
        })
    }

    // Whoever hears nothing any more looks often from now on.
    fn hear<T>(&mut self, ask: impl FnOnce(&Hint) -> io::Result<T>) -> Option<T> {
        match ask(self.hint.as_deref()?) {
            Ok(heard) => Some(heard),
            Err(error) => {
                tracing::warn!(%error, "writes of others are not heard any more: it looks often");
                self.hint = None;
                None
            }
        }
    }
}

/// How long it waits until the next look: first whatever happens, then until a hint.
#[derive(Clone, Copy, Debug)]
struct Waits {
    deaf: Duration,
    listening: Duration,
}

impl Default for Waits {
    fn default() -> Waits {
        Waits { deaf: FIRST, listening: FIRST }
    }
}

impl Waits {
    // A hint comes before the commit that it is for can be seen, who knows how long: so the looks
    // after it become rare in the measure of the time that has passed.
    fn after(&mut self, hinted: bool) {
        *self = match hinted {
            true => Waits { deaf: (self.deaf * 2).min(OFTEN), listening: FIRST },
            false => Waits { deaf: FIRST, listening: (self.listening * 2).min(FLOOR) },
        };
    }
}
