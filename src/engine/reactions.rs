//! What a host reacts with: handlers by kind, consumers and routes by key, channels by name.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::engine::channel::{Channel, Channels, UnknownSend};
use crate::engine::ctx::Ctx;
use crate::engine::dispatcher::Subscription;
use crate::error::{Error, Result};
use crate::model::consumer::{Consumer, KIND_PREFIX};
use crate::model::event::Event;
use crate::model::job::{Job, NewJob, Policy};
use crate::model::outcome::{BoxError, Outcome};
use crate::model::text::check_word;

type Run = dyn Fn(&Ctx<'_>) -> Result<Outcome, BoxError> + Send + Sync;

/// The code for one kind.
#[derive(Clone)]
pub(crate) struct Handler {
    pub(crate) policy: Policy,
    pub(crate) run: Arc<Run>,
}

/// Everything that a process has code for. Mistakes (a name twice, an illegal name) are errors of
/// [`Lanebox::start`](crate::Lanebox::start), not surprises at night.
///
/// **Handlers may run more than once.** Everything durable that a handler does is one of:
/// [`Ctx::finish_in`] (host rows, once), [`Ctx::step`] (once finished, not again), `Ctx::send` (the
/// ledger), or an effect of its own guarded by [`Ctx::effect_key`].
///
/// ```
/// use lanebox::{Job, Lane, Outcome, Reactions};
///
/// #[derive(serde::Serialize, serde::Deserialize)]
/// struct Welcome { contact: String }
///
/// impl Job for Welcome {
///     const KIND: &'static str = "welcome";
///     fn lane(&self) -> Lane { Lane::of(&self.contact) }
/// }
///
/// let reactions = Reactions::new().on(|_ctx, job: Welcome| {
///     println!("welcome, {}", job.contact);
///     Ok::<_, std::io::Error>(Outcome::Done)
/// });
/// ```
#[derive(Default)]
#[must_use]
pub struct Reactions {
    handlers: BTreeMap<String, Handler>,
    subscriptions: Vec<Subscription>,
    channels: Channels,
    mistakes: Vec<Error>,
}

impl Reactions {
    /// No code for anything yet.
    pub fn new() -> Reactions {
        Reactions::default()
    }

    /// Runs jobs of the type's kind. A payload that the type cannot read makes that job dead.
    pub fn on<J, E>(
        self,
        handler: impl Fn(&Ctx<'_>, J) -> Result<Outcome, E> + Send + Sync + 'static,
    ) -> Reactions
    where
        J: Job + 'static,
        E: Into<BoxError>,
    {
        self.on_kind(J::KIND, J::policy(), move |ctx| match serde_json::from_str(ctx.payload()) {
            Ok(job) => handler(ctx, job).map_err(Into::into),
            Err(error) => Ok(Outcome::dead(format!("undecodable payload: {error}"))),
        })
    }

    /// Runs jobs of a kind known by name only; [`Ctx::payload`] is the JSON text as it was
    /// enqueued.
    pub fn on_kind<E: Into<BoxError>>(
        mut self,
        kind: &str,
        policy: Policy,
        handler: impl Fn(&Ctx<'_>) -> Result<Outcome, E> + Send + Sync + 'static,
    ) -> Reactions {
        if let Err(mistake) = check_word("job kind", kind) {
            self.mistakes.push(mistake);
        }
        let run = Arc::new(move |ctx: &Ctx<'_>| handler(ctx).map_err(Into::into));
        if self.handlers.insert(kind.to_owned(), Handler { policy, run }).is_some() {
            let why = format!("kind {kind} has two handlers");
            self.mistakes.push(Error::Setting { what: "reactions", why });
        }
        self
    }

    /// The way out that [`Ctx::send`] knows by this name.
    pub fn channel(mut self, name: &str, channel: impl Channel + 'static) -> Reactions {
        if let Err(mistake) = self.channels.add(name, Arc::new(channel)) {
            self.mistakes.push(mistake);
        }
        self
    }

    /// Asks the host's own rows about a send whose fate is unknown: `Ok(Some(receipt))` says that
    /// it went out (a message row of the CRM is evidence). It runs on a connection that cannot
    /// write.
    pub fn recognise(
        mut self,
        channel: &str,
        recognise: impl Fn(&UnknownSend, &rusqlite::Connection) -> Result<Option<String>, BoxError>
        + Send
        + Sync
        + 'static,
    ) -> Reactions {
        if let Err(mistake) = self.channels.recognise(channel, Arc::new(recognise)) {
            self.mistakes.push(mistake);
        }
        self
    }

    /// Runs a handler for every event that the consumer hears: each delivery is a job, run with
    /// retries, whatever other consumers make of the same event. Several consumers are independent
    /// of one another.
    ///
    /// ```
    /// use lanebox::{Consumer, Outcome, Reactions};
    ///
    /// let reactions = Reactions::new().consume(
    ///     Consumer::new("sentiment", "message.received"),
    ///     |_ctx, event| {
    ///         println!("{} wrote", event.subject().unwrap_or("somebody"));
    ///         Ok::<_, lanebox::BoxError>(Outcome::Done)
    ///     },
    /// );
    /// ```
    pub fn consume<E: Into<BoxError>>(
        mut self,
        consumer: Consumer,
        handler: impl Fn(&Ctx<'_>, &Event) -> Result<Outcome, E> + Send + Sync + 'static,
    ) -> Reactions {
        let kind = format!("{KIND_PREFIX}{}", consumer.key());
        let policy = consumer.tries();
        self.subscribe(Subscription { consumer, route: None });
        self.on_kind(&kind, policy, move |ctx| match Event::from_envelope(ctx.payload()) {
            Ok(event) => handler(ctx, &event).map_err(Into::into),
            Err(error) => Ok(Outcome::dead(format!("undecodable event: {error}"))),
        })
    }

    /// Turns every event that the consumer hears into jobs, by a pure function: it may run more
    /// than once, with no transaction open. An error makes that delivery retry and finally dead,
    /// with a notice; [`Skip`](crate::Skip) closes it on purpose.
    pub fn route(
        mut self,
        consumer: Consumer,
        route: impl Fn(&Event) -> Result<Vec<NewJob>, BoxError> + Send + Sync + 'static,
    ) -> Reactions {
        self.subscribe(Subscription { consumer, route: Some(Arc::new(route)) });
        self
    }

    // Looked at before anything is made of its key, so that a mistake is told by the words of who
    // made it.
    fn subscribe(&mut self, new: Subscription) {
        let key = new.consumer.key();
        if self.subscriptions.iter().any(|other| other.consumer.key() == key) {
            let why = format!(
                "two consumers have the key {key}, and nothing was registered: give one of them another key"
            );
            self.mistakes.push(Error::Setting { what: "reactions", why });
        } else if let Err(mistake) = new.registration() {
            self.mistakes.push(mistake);
        }
        self.subscriptions.push(new);
    }

    /// The ways out.
    pub(crate) fn channels(&self) -> &Channels {
        &self.channels
    }

    /// The consumers, for the dispatcher.
    pub(crate) fn take_subscriptions(&mut self) -> Vec<Subscription> {
        std::mem::take(&mut self.subscriptions)
    }

    pub(crate) fn handlers(&self) -> impl Iterator<Item = (&str, &Handler)> {
        self.handlers.iter().map(|(kind, handler)| (kind.as_str(), handler))
    }

    /// The first mistake, if there is one.
    pub(crate) fn check(&mut self, lease_ms: i64) -> Result<()> {
        match self.mistakes.is_empty() {
            true => self.channels.check(lease_ms),
            false => Err(self.mistakes.remove(0)),
        }
    }
}
