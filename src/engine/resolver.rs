//! Settles unknown sends, in this order: the host itself, the provider's lookup, a resend with the
//! same key, evidence that arrives, a person. Each pass asks outside with no transaction open, and
//! never sleeps.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::engine::Engine;
use crate::engine::channel::{Channel, Channels, Lookup, UnknownSend};
use crate::error::Result;
use crate::model::id::SendKey;
use crate::model::send::Witness;
use crate::store::Store;
use crate::store::ledger::{Fact, HostRead, Look, LookPlace, LookedAnswer, LookedAt, Looks};

/// Looks of one pass.
const PASS: usize = 64;

/// Looks read at once.
const PAGE: usize = 64;

/// When the resolver wants to be called again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Again {
    /// There is more to do now.
    Now,
    /// At this wall time, or when something was committed.
    At(i64),
    /// When something was committed.
    OnBell,
}

impl Engine {
    /// One pass, after which whoever it woke is rung for; how many those are.
    ///
    /// # Errors
    /// As the store's own verbs.
    pub(crate) fn resolve_step(&self) -> Result<(Again, usize)> {
        let (again, woken) = tick(&*self.store, &self.channels)?;
        if woken > 0 {
            self.ring_all();
        }
        Ok((again, woken))
    }
}

/// One pass: looks at what is due. `Again` and how many jobs were woken, so that a caller rings for
/// them.
pub(crate) fn tick(store: &dyn Store, channels: &Channels) -> Result<(Again, usize)> {
    let (mut handled, mut woken) = (0, 0);
    let mut next: Option<i64> = None;
    let mut after: Option<LookPlace> = None;
    loop {
        let Looks { asked_at, asked_mono, due, next: later } = store.due_looks(after, PAGE)?;
        next = earliest(next, later);
        let is_last = due.len() < PAGE;
        for look in due {
            after = Some(look.place);
            if handled == PASS {
                return Ok((Again::Now, woken));
            }
            // Another process has its code, and looks; only that a person is told is everybody's.
            if asked_at < look.wait_until && !knows(channels, &look.channel) {
                next = earliest(next, Some(look.wait_until));
                continue;
            }
            handled += 1;
            let (then, wakes) = look_at(store, channels, &look, (asked_at, asked_mono))?;
            next = earliest(next, then);
            woken += usize::from(wakes);
        }
        if is_last {
            return Ok((next.map_or(Again::OnBell, Again::At), woken));
        }
    }
}

fn knows(channels: &Channels, name: &str) -> bool {
    channels.channel(name).is_some() || channels.recogniser(name).is_some()
}

fn earliest(a: Option<i64>, b: Option<i64>) -> Option<i64> {
    a.into_iter().chain(b).min()
}

/// What asking outside found out.
enum Learned {
    Found { receipt: String, witness: Witness },
    NotFound,
    Nothing,
}

// When to look again, and whether a job was woken.
fn look_at(
    store: &dyn Store,
    channels: &Channels,
    look: &Look,
    (asked_at, asked_mono): (i64, i64),
) -> Result<(Option<i64>, bool)> {
    let learned = match recognise(store, channels, look)? {
        Learned::Nothing => lookup(channels, look),
        learned => learned,
    };
    let not_found = match learned {
        Learned::Found { receipt, witness } => {
            let channel = Some(look.channel.clone());
            let fact = Fact { key: look.key, channel, receipt: Some(receipt), witness };
            let recorded = store.accept(fact)?;
            tracing::info!(key = %look.key, channel = look.channel, ?recorded, "an unknown send is settled");
            return Ok((None, true));
        }
        Learned::NotFound => true,
        Learned::Nothing => false,
    };
    let Look { place, calls, unknown_at, .. } = *look;
    let at = LookedAt { place, calls, unknown_at, asked_at, asked_mono, not_found };
    let answer = store.looked(at)?;
    tracing::debug!(key = %look.key, channel = look.channel, ?answer, "looked at an unknown send");
    Ok(match answer {
        LookedAnswer::Later { next_look } => (Some(next_look), false),
        // The lane goes on without the job.
        LookedAnswer::Told { next_look } => (next_look, true),
        LookedAnswer::NotFound | LookedAnswer::Permitted => (None, true),
        LookedAnswer::Stale => (None, false),
    })
}

// The host's code may fail or panic: then nothing is learned from it.
fn recognise(store: &dyn Store, channels: &Channels, look: &Look) -> Result<Learned> {
    let Some(recognise) = channels.recogniser(&look.channel) else {
        return Ok(Learned::Nothing);
    };
    let send = UnknownSend {
        key: look.key,
        org: look.org.clone(),
        channel: look.channel.clone(),
        job: look.job,
        slot: look.slot.clone(),
        intended_at: look.intended_at,
    };
    let mut answer = Ok(Ok(None));
    store.host_read(HostRead::Sqlite(&mut |conn| {
        answer = catch_unwind(AssertUnwindSafe(|| recognise(&send, conn)));
    }))?;
    Ok(match answer {
        Ok(Ok(Some(receipt))) => Learned::Found { receipt, witness: Witness::Recognised },
        Ok(Ok(None)) => Learned::Nothing,
        Ok(Err(error)) => {
            tracing::warn!(%error, key = %look.key, "recognise failed; nothing is learned from it");
            Learned::Nothing
        }
        Err(_) => {
            tracing::error!(key = %look.key, "recognise panicked; nothing is learned from it");
            Learned::Nothing
        }
    })
}

fn lookup(channels: &Channels, look: &Look) -> Learned {
    let Some(code) = channels.channel(&look.channel) else {
        return Learned::Nothing;
    };
    match catch_unwind(AssertUnwindSafe(|| ask(code, look.key))) {
        Ok(Lookup::Found { receipt }) => Learned::Found { receipt, witness: Witness::Lookup },
        Ok(Lookup::NotFound) => Learned::NotFound,
        Ok(Lookup::CannotTell) => Learned::Nothing,
        Err(_) => {
            tracing::error!(key = %look.key, channel = look.channel, "a lookup panicked");
            Learned::Nothing
        }
    }
}

fn ask(code: &dyn Channel, key: SendKey) -> Lookup {
    match code.abilities().lookup_settle_ms {
        Some(_) => code.lookup(key),
        None => Lookup::CannotTell,
    }
}

#[cfg(test)]
mod tests;
