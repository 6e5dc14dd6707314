//! `Hooks`: who listens, and the door through which events are published.

use std::collections::BTreeMap;
use std::fmt;
use std::panic::Location;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::catalog::Registered;
use super::listen::{AfterFn, BeforeFn, Ear, Listener};
use super::pattern;
use super::snapshot::Snapshot;
use super::{
    AfterEvent, AnyEvent, Before, BeforeEvent, BoxError, Catalog, Descriptor, Guard, Heard,
    HookError, Listen, ListenerId, Publish, Unregistered, event,
};

/// The bus of one process.
///
/// Cloning is cheap and gives the same bus. A listener that publishes captures a clone; the bus and
/// that listener then keep each other alive until the listener is [removed](Hooks::remove).
///
/// See the [module documentation](super) for the guide.
#[derive(Clone)]
pub struct Hooks {
    pub(super) bus: Arc<Bus>,
}

pub(super) struct Bus {
    pub(super) before: Snapshot<Listener<BeforeFn<dyn AnyEvent>>>,
    pub(super) after: Snapshot<Listener<AfterFn<dyn AnyEvent>>>,
    pub(super) registered: Registered,
    last_id: AtomicU64,
}

impl Default for Hooks {
    /// A bus that counts events which nobody described.
    fn default() -> Self {
        Hooks::new(Unregistered::Count)
    }
}

impl Hooks {
    /// A bus with no listeners, that treats events which nobody described as told.
    pub fn new(unregistered: Unregistered) -> Self {
        Hooks {
            bus: Arc::new(Bus {
                before: Snapshot::default(),
                after: Snapshot::default(),
                registered: Registered::new(unregistered),
                last_id: AtomicU64::new(0),
            }),
        }
    }

    /// Listens before events of type `E`: may change, stop and veto them.
    ///
    /// ```
    /// # use lanebox::hook::*;
    /// # #[derive(serde::Serialize)] struct CallDial { number: String }
    /// # impl HookEvent for CallDial {
    /// #     const NAME: &'static str = "call.dial";
    /// #     fn org(&self) -> &str { "acme" }
    /// # }
    /// # impl BeforeEvent for CallDial {}
    /// # let hooks = Hooks::default();
    /// hooks.before::<CallDial>(Priority(10), |dial| {
    ///     dial.number.retain(|letter| letter != ' ');
    ///     Ok(())
    /// });
    /// let mut dial = Before::new(CallDial { number: "+49 30 111".to_owned() });
    /// assert_eq!(hooks.publish(&mut dial)?, Answer::Proceed);
    /// assert_eq!(dial.number, "+4930111");
    /// # Ok::<(), HookError>(())
    /// ```
    ///
    /// Nobody gets between a plain event and its publisher: this does not compile.
    ///
    /// ```compile_fail
    /// # use lanebox::hook::*;
    /// # #[derive(serde::Serialize)] struct CallEnded { seconds: u32 }
    /// # impl HookEvent for CallEnded {
    /// #     const NAME: &'static str = "call.ended";
    /// #     fn org(&self) -> &str { "acme" }
    /// # }
    /// # impl AfterEvent for CallEnded {}
    /// # let hooks = Hooks::default();
    /// hooks.before::<CallEnded>(Priority(10), |ended| Ok(()));
    /// ```
    #[track_caller]
    pub fn before<E: BeforeEvent>(
        &self,
        how: impl Into<Guard>,
        listener: impl Fn(&mut Before<E>) -> Heard + Send + Sync + 'static,
    ) -> ListenerId {
        event::name::<E>();
        let ear = Ear::of_type::<BeforeFn<E>>(Box::new(listener));
        self.bus.add(&self.bus.before, how.into(), ear)
    }

    /// Listens before every before-event whose name matches: `call.dial`, `call.*` (any depth below
    /// `call.`) or `*`. What it knows of the event is what [`AnyEvent`] shows.
    ///
    /// # Errors
    ///
    /// [`HookError::Pattern`] if the pattern is none of the three forms; nothing is registered.
    ///
    /// ```
    /// # use lanebox::hook::{Hooks, Priority};
    /// # let hooks = Hooks::default();
    /// hooks.before_matching("call.*", Priority(1000).named("office.hours"), |event| {
    ///     if event.org() == "acme" {
    ///         event.cancel("acme is closed today");
    ///     }
    ///     Ok(())
    /// })?;
    /// assert!(hooks.before_matching("Call.*", Priority(0), |_| Ok(())).is_err());
    /// # Ok::<(), lanebox::hook::HookError>(())
    /// ```
    #[track_caller]
    pub fn before_matching(
        &self,
        pattern: &str,
        how: impl Into<Guard>,
        listener: impl Fn(&mut Before<dyn AnyEvent>) -> Heard + Send + Sync + 'static,
    ) -> Result<ListenerId, HookError> {
        let ear = Ear::Matching(pattern::parse(pattern)?, Box::new(listener) as BeforeFn<_>);
        Ok(self.bus.add(&self.bus.before, how.into(), ear))
    }

    /// Listens after events of type `E`: hears of them, and can neither change nor stop them.
    ///
    /// ```
    /// # use lanebox::hook::*;
    /// # #[derive(serde::Serialize)] struct CallEnded { seconds: u32 }
    /// # impl HookEvent for CallEnded {
    /// #     const NAME: &'static str = "call.ended";
    /// #     fn org(&self) -> &str { "acme" }
    /// # }
    /// # impl AfterEvent for CallEnded {}
    /// # let hooks = Hooks::default();
    /// use std::sync::{Arc, atomic::{AtomicU32, Ordering}};
    ///
    /// let talked = Arc::new(AtomicU32::new(0));
    /// let total = Arc::clone(&talked);
    /// hooks.after::<CallEnded>(Priority(0), move |ended| {
    ///     total.fetch_add(ended.seconds, Ordering::Relaxed);
    ///     Ok(())
    /// });
    /// hooks.publish(&CallEnded { seconds: 95 })?;
    /// assert_eq!(talked.load(Ordering::Relaxed), 95);
    /// # Ok::<(), HookError>(())
    /// ```
    #[track_caller]
    pub fn after<E: AfterEvent>(
        &self,
        how: impl Into<Listen>,
        listener: impl Fn(&E) -> Heard + Send + Sync + 'static,
    ) -> ListenerId {
        event::name::<E>();
        let ear = Ear::of_type::<AfterFn<E>>(Box::new(listener));
        self.bus.add(&self.bus.after, how.into().into(), ear)
    }

    /// Listens after every after-event whose name matches, as [`before_matching`] does before.
    ///
    /// # Errors
    ///
    /// [`HookError::Pattern`] if the pattern has none of the three forms; nothing is registered.
    ///
    /// ```
    /// # use lanebox::hook::{Hooks, Priority};
    /// # let hooks = Hooks::default();
    /// hooks.after_matching("*", Priority(-100).named("log"), |event| {
    ///     println!("{}: {:?}", event.name(), event.fields()?);
    ///     Ok(())
    /// })?;
    /// # Ok::<(), lanebox::hook::HookError>(())
    /// ```
    ///
    /// [`before_matching`]: Hooks::before_matching
    #[track_caller]
    pub fn after_matching(
        &self,
        pattern: &str,
        how: impl Into<Listen>,
        listener: impl Fn(&dyn AnyEvent) -> Heard + Send + Sync + 'static,
    ) -> Result<ListenerId, HookError> {
        let ear = Ear::Matching(pattern::parse(pattern)?, Box::new(listener) as AfterFn<_>);
        Ok(self.bus.add(&self.bus.after, how.into().into(), ear))
    }

    /// Removes a listener; `false` if it is not (or no longer) here. A publish that is under way
    /// keeps the listeners it began with.
    ///
    /// ```
    /// # use lanebox::hook::{Hooks, Priority};
    /// # let hooks = Hooks::default();
    /// let log = hooks.after_matching("*", Priority(0), |_| Ok(()))?;
    /// assert!(hooks.remove(log));
    /// assert!(!hooks.remove(log));
    /// # Ok::<(), lanebox::hook::HookError>(())
    /// ```
    pub fn remove(&self, id: ListenerId) -> bool {
        self.bus.before.remove(|listener| listener.id == id)
            || self.bus.after.remove(|listener| listener.id == id)
    }

    /// Runs the listeners of an event, here and now.
    ///
    /// `publish(&mut before)` with a [`Before<E>`](Before) gives an [`Answer`], which the caller
    /// obeys; `publish(&event)` with an [`AfterEvent`] gives `()`, whatever its listeners did.
    ///
    /// # Errors
    ///
    /// [`HookError::Refused`] if a mandatory listener failed, [`HookError::TooDeep`] if listeners
    /// publish from within one another more than [`MAX_DEPTH`] deep, [`HookError::Unregistered`] if
    /// the bus [refuses](Unregistered::Refuse) what nobody described. After an error on a
    /// before-event the operation must not go on.
    ///
    /// [`Answer`]: super::Answer
    /// [`MAX_DEPTH`]: super::MAX_DEPTH
    pub fn publish<P: Publish>(&self, event: P) -> Result<P::Answer, HookError> {
        event.publish_on(self, &|| false)
    }

    /// As [`publish`](Hooks::publish), unless or until `cancelled` says yes. It is asked before the
    /// first listener and before each further one; a listener that has begun is never interrupted.
    ///
    /// # Errors
    ///
    /// Those of [`publish`](Hooks::publish), and [`HookError::Cancelled`] if `cancelled` said yes.
    ///
    /// ```
    /// # use lanebox::hook::*;
    /// # #[derive(serde::Serialize)] struct CallEnded { seconds: u32 }
    /// # impl HookEvent for CallEnded {
    /// #     const NAME: &'static str = "call.ended";
    /// #     fn org(&self) -> &str { "acme" }
    /// # }
    /// # impl AfterEvent for CallEnded {}
    /// # let hooks = Hooks::default();
    /// use std::sync::atomic::{AtomicBool, Ordering};
    ///
    /// let stopping = AtomicBool::new(true);
    /// let ended = CallEnded { seconds: 95 };
    /// let answer = hooks.publish_unless(&ended, &|| stopping.load(Ordering::Relaxed));
    /// assert!(matches!(answer, Err(HookError::Cancelled { .. })));
    /// ```
    pub fn publish_unless<P: Publish>(
        &self,
        event: P,
        cancelled: &dyn Fn() -> bool,
    ) -> Result<P::Answer, HookError> {
        event.publish_on(self, cancelled)
    }

    /// Registers a provider of descriptors: the part of a program that knows of these events.
    ///
    /// It is asked when the catalog is first needed, and not again once it has answered. If it
    /// fails or panics it hides nobody else's events, and is asked again when next needed.
    ///
    /// ```
    /// # use lanebox::hook::*;
    /// # #[derive(serde::Serialize)] struct CallDial { number: String }
    /// # impl HookEvent for CallDial {
    /// #     const NAME: &'static str = "call.dial";
    /// #     fn org(&self) -> &str { "acme" }
    /// # }
    /// let hooks = Hooks::new(Unregistered::Refuse);
    /// hooks.describe("telephony", || {
    ///     let dial = Descriptor::of::<CallDial>("A call is about to be dialled");
    ///     Ok(vec![dial.sensitive("number")])
    /// });
    /// hooks.describe("plugin", || Err("its settings cannot be read".into()));
    ///
    /// let catalog = hooks.catalog();
    /// assert_eq!(catalog.descriptors["call.dial"].label(), "A call is about to be dialled");
    /// assert_eq!(catalog.failures[0].provider, "plugin");
    /// ```
    pub fn describe(
        &self,
        provider: impl Into<String>,
        descriptors: impl Fn() -> Result<Vec<Descriptor>, BoxError> + Send + Sync + 'static,
    ) {
        self.bus.registered.add(provider.into(), Box::new(descriptors));
    }

    /// All described events, and the providers that could not answer.
    pub fn catalog(&self) -> Catalog {
        self.bus.registered.catalog()
    }

    /// How often each event that nobody described was published, or refused for that reason.
    ///
    /// ```
    /// # use lanebox::hook::*;
    /// # #[derive(serde::Serialize)] struct CallEnded { seconds: u32 }
    /// # impl HookEvent for CallEnded {
    /// #     const NAME: &'static str = "call.ended";
    /// #     fn org(&self) -> &str { "acme" }
    /// # }
    /// # impl AfterEvent for CallEnded {}
    /// let hooks = Hooks::new(Unregistered::Refuse);
    /// assert!(hooks.publish(&CallEnded { seconds: 95 }).is_err());
    /// assert_eq!(hooks.unregistered()["call.ended"], 1);
    /// ```
    pub fn unregistered(&self) -> BTreeMap<&'static str, u64> {
        self.bus.registered.unregistered()
    }
}

impl fmt::Debug for Hooks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hooks")
            .field("before", &self.bus.before.take().len())
            .field("after", &self.bus.after.take().len())
            .finish_non_exhaustive()
    }
}

impl Bus {
    /// Puts a listener in its place: behind all that have its priority or a higher one.
    #[track_caller]
    fn add<M>(&self, line: &Snapshot<Listener<M>>, how: Guard, ear: Ear<M>) -> ListenerId {
        let id = ListenerId(self.last_id.fetch_add(1, Ordering::Relaxed) + 1);
        let listener = Listener::new(id, how, ear, Location::caller());
        line.insert(listener, |there, new| there.priority >= new.priority);
        id
    }
}
