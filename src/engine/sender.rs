//! The sends of one run: intend, call with no transaction open, record the answer.

use std::cell::RefCell;
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use serde_json::json;
use time::OffsetDateTime;

use crate::engine::channel::{Channel, Channels, Delivery, Letter};
use crate::engine::signal::{Signal, Stop};
use crate::env::Env;
use crate::error::{Error, Result};
use crate::model::id::{Held, SendKey};
use crate::model::job::duration_ms;
use crate::model::send::class::Refusal;
use crate::model::send::error::SendError;
use crate::model::send::numbering::Numbering;
use crate::model::send::receipt::Receipt;
use crate::model::send::{Slot, Witness};
use crate::model::text::scrub;
use crate::store::Store;
use crate::store::ledger::{Accepted, Begun, Fact, Intent, NotSent, Rejected, Rejection, UnderWay};

/// How long a send by a channel that has no code here waits before it looks again.
const NO_CODE_WAIT_MS: i64 = 60_000;

/// How often an answer of the provider is written before it is given up: each write has the busy
/// deadline of its own.
const WRITES: usize = 3;

/// The sends of one run. It lives as long as the run, on its thread: numbers are counted in it.
pub(crate) struct Sender<'e> {
    store: &'e dyn Store,
    env: &'e Env,
    channels: &'e Channels,
    held: Held,
    org: &'e str,
    signal: &'e Signal,
    run: RefCell<Numbering>,
    /// What went out in this run by which name.
    named: RefCell<HashMap<String, [String; 3]>>,
}

/// What a handler asks to send.
#[derive(Clone, Copy)]
struct Message<'a> {
    channel: &'a str,
    recipient: &'a str,
    body: &'a str,
}

impl Message<'_> {
    /// One line for people in which nothing of the message can be read, whether its body is a text
    /// or JSON, and whether or not a provider repeats the plus of a number.
    fn scrub(&self, reason: &str) -> String {
        let fields: Option<serde_json::Value> = serde_json::from_str(self.body).ok();
        let number = self.recipient.trim_start_matches('+');
        scrub(reason, &json!([self.recipient, number, self.body, fields]).to_string())
    }
}

impl<'e> Sender<'e> {
    pub(crate) fn new(
        store: &'e dyn Store,
        env: &'e Env,
        channels: &'e Channels,
        held: Held,
        org: &'e str,
        signal: &'e Signal,
    ) -> Sender<'e> {
        Sender {
            store,
            env,
            channels,
            held,
            org,
            signal,
            run: RefCell::default(),
            named: RefCell::default(),
        }
    }

    /// The next send of the run, known by its number.
    pub(crate) fn send(
        &self,
        channel: &str,
        recipient: &str,
        body: &str,
    ) -> Result<Receipt, SendError> {
        let slot = self.run.borrow_mut().next()?;
        self.answer(slot, Message { channel, recipient, body })
    }

    /// A send known by its name, wherever in the run it happens.
    pub(crate) fn send_named(
        &self,
        name: &str,
        channel: &str,
        recipient: &str,
        body: &str,
    ) -> Result<Receipt, SendError> {
        self.run.borrow().go_on()?;
        let slot = Slot::named(name).map_err(SendError::Store)?;
        let said = [channel, recipient, body].map(str::to_owned);
        // Else the second would be taken for the first, and never go out.
        if self.named.borrow().get(name).is_some_and(|before| *before != said) {
            let why =
                "this run sent something else by this name: each message needs one of its own";
            return Err(SendError::Store(Error::invalid("send name", why)));
        }
        let receipt = self.answer(slot, Message { channel, recipient, body })?;
        self.named.borrow_mut().insert(name.to_owned(), said);
        Ok(receipt)
    }

    fn answer(&self, slot: Slot, message: Message<'_>) -> Result<Receipt, SendError> {
        let answer = self.go(slot, message);
        match &answer {
            Ok(_) => self.run.borrow_mut().accepted(),
            Err(answer) => self.run.borrow_mut().heard(answer),
        }
        answer
    }

    fn go(&self, slot: Slot, message: Message<'_>) -> Result<Receipt, SendError> {
        let Message { channel, recipient, body } = message;
        self.may_call()?;
        let Some(code) = self.channels.channel(channel) else {
            return Err(self.without_code(channel));
        };
        let intent = Intent {
            held: self.held,
            slot,
            channel: channel.to_owned(),
            abilities: code.abilities(),
            recipient: recipient.to_owned(),
            body: body.to_owned(),
        };
        match self.store.begin(intent).map_err(SendError::Store)? {
            Begun::Go { key, call_by } => self.call(code, message, key, call_by),
            Begun::Accepted { key, receipt, changed } => {
                Ok(Receipt { key, id: receipt, changed, fresh: false })
            }
            Begun::Unknown => Err(SendError::Unknown),
            Begun::GivenUp => Err(SendError::GivenUp),
            Begun::Wait { until, why } => Err(SendError::Postponed { until: instant(until), why }),
            Begun::Veto(why) => Err(SendError::Vetoed { why }),
            Begun::Cancelled => Err(SendError::Cancelled),
            Begun::Refused(reason) => {
                let refusal = Refusal::ForGood;
                Err(SendError::Rejected { refusal, reason, retry_at: None })
            }
            Begun::Short => Err(SendError::LeaseShort { until: self.at(0) }),
            Begun::LeaseLost => Err(SendError::LeaseLost),
        }
    }

    // Another process may have the code; a name that none can have is the handler's mistake.
    fn without_code(&self, channel: &str) -> SendError {
        match self.store.no_code(self.held, channel) {
            Err(error @ Error::Invalid { .. }) => return SendError::Store(error),
            Err(error) => {
                tracing::warn!(%error, channel, "nobody could be told of a channel without code")
            }
            Ok(()) => {}
        }
        let why = format!("the process that ran it has no code for channel {channel}");
        SendError::Postponed { until: self.at(NO_CODE_WAIT_MS), why }
    }

    fn call(
        &self,
        code: &dyn Channel,
        message: Message<'_>,
        key: SendKey,
        call_by: i64,
    ) -> Result<Receipt, SendError> {
        // Until an answer is known, every later send hears Unknown: also if the channel panics and
        // the handler goes on.
        self.run.borrow_mut().calls();
        let Message { channel, recipient, body } = message;
        let letter = Letter::new(self.org, recipient, body, key);
        // The last look before the call: a thread that was frozen since the intent must not call
        // any more.
        if self.env.mono_ms() > call_by {
            let late = NotSent::NotCalled;
            self.rejected(key, late, "the call was not begun in time", None)?;
            return Err(SendError::LeaseShort { until: self.at(0) });
        }
        if let Err(told) = self.may_call() {
            self.rejected(key, NotSent::NotCalled, "its run was told to stop", None)?;
            return Err(told);
        }
        let timeout_ms = code.abilities().timeout_ms;
        let until = (self.env.now_ms() + timeout_ms, self.env.mono_ms() + timeout_ms);
        let delivery = catch_unwind(AssertUnwindSafe(|| code.deliver(&letter)));
        match delivery.unwrap_or_else(|panic| {
            self.under_way(key, until, "the channel's code panicked".to_owned());
            resume_unwind(panic)
        }) {
            Delivery::Accepted { receipt } => self.accepted(key, receipt),
            Delivery::Rejected { refusal, reason, retry_after } => {
                let (reason, pause_ms) = (message.scrub(&reason), retry_after.map(duration_ms));
                self.rejected(key, NotSent::Refused(refusal), &reason, pause_ms)?;
                let retry_at = pause_ms.map(|pause| self.at(pause.clamp(0, LONGEST_PAUSE_MS)));
                Err(SendError::Rejected { refusal, reason, retry_at })
            }
            Delivery::NotCalled { reason } => {
                let reason = message.scrub(&reason);
                self.rejected(key, NotSent::NotCalled, &reason, None)?;
                Err(SendError::NotCalled { reason })
            }
            Delivery::Unknown { reason } => {
                let reason = message.scrub(&reason);
                tracing::warn!(%key, channel, reason, "it is not known whether a message went out");
                // The end of the run makes it unknown, as a crash would.
                self.under_way(key, until, reason);
                Err(SendError::Unknown)
            }
        }
    }

    // A connection that broke early says nothing of the request: it may arrive as late as one whose
    // caller waited to the end. If this cannot be written but the run's end can, a lookup may be
    // believed too early: the log says so.
    fn under_way(&self, key: SendKey, (until, until_mono): (i64, i64), reason: String) {
        let call = UnderWay { key, held: self.held, until, until_mono, reason };
        if let Err(error) = insist(|| self.store.under_way(call.clone())) {
            tracing::error!(%error, %key, "until when a call is under way could not be recorded");
        }
    }

    // A handler may not have listened to its signal; its retry may be under way. A stopping process
    // lets its runs come to their end.
    fn may_call(&self) -> Result<(), SendError> {
        match self.signal.why() {
            None | Some(Stop::Leaving) => Ok(()),
            Some(Stop::Cancelled) => Err(SendError::Cancelled),
            Some(Stop::Overrun) => Err(SendError::OverTime),
            Some(Stop::LeaseLost) => Err(SendError::LeaseLost),
        }
    }

    // A fact is recorded whatever became of the lease. If the store cannot, it stays unknown: never
    // "not sent".
    fn accepted(&self, key: SendKey, receipt: String) -> Result<Receipt, SendError> {
        let id = crate::model::send::receipt::bounded(&receipt);
        let fact =
            || Fact { key, channel: None, receipt: Some(id.clone()), witness: Witness::Call };
        match insist(|| self.store.accept(fact())) {
            Ok(Accepted::Now | Accepted::Already | Accepted::Duplicate) => {
                Ok(Receipt { key, id: Some(id), changed: false, fresh: true })
            }
            Ok(Accepted::UnknownKey | Accepted::OtherChannel) => {
                tracing::error!(%key, receipt = id, "the ledger does not know this key");
                Err(SendError::Unknown)
            }
            Err(error) => {
                tracing::error!(%error, %key, receipt = id, "an accept could not be recorded");
                Err(SendError::Unknown)
            }
        }
    }

    // Ok only if the rejection settled the try: after a second call with the same key it says
    // nothing of the first.
    fn rejected(
        &self,
        key: SendKey,
        why: NotSent,
        reason: &str,
        pause_ms: Option<i64>,
    ) -> Result<(), SendError> {
        let rejection =
            Rejection { key, held: self.held, why, reason: reason.to_owned(), pause_ms };
        match insist(|| self.store.reject(rejection.clone())) {
            Ok(Rejected::Now) => Ok(()),
            Ok(Rejected::NothingLearned) => Err(SendError::Unknown),
            Err(error) => {
                tracing::error!(%error, %key, "a rejection could not be recorded");
                Err(SendError::Unknown)
            }
        }
    }

    fn at(&self, wait_ms: i64) -> OffsetDateTime {
        instant(self.env.now_ms() + wait_ms)
    }
}

/// As the channel's row: longer pauses are cut.
const LONGEST_PAUSE_MS: i64 = 86_400_000;

fn instant(ms: i64) -> OffsetDateTime {
    let nanos = i128::from(ms) * 1_000_000;
    OffsetDateTime::from_unix_timestamp_nanos(nanos).unwrap_or(OffsetDateTime::UNIX_EPOCH)
}

// Both writes may be repeated: the second finds the first.
fn insist<T>(write: impl Fn() -> Result<T>) -> Result<T> {
    let mut answer = write();
    for _ in 1..WRITES {
        match answer {
            // A disk that was full has the room of the ballast by now.
            Err(
                Error::Busy { .. }
                | Error::RolledBack
                | Error::CommitUnknown(_)
                | Error::DiskFull(_),
            ) => {
                answer = write();
            }
            _ => break,
        }
    }
    answer
}

#[cfg(test)]
mod tests;
