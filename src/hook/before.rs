//! A before-event on its way through its listeners: changeable, stoppable, and open to a veto.

use std::any::Any;
use std::collections::HashMap;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

/// An event that is about to happen, and what its listeners have said so far.
///
/// It derefs to the event, so that listeners read and change its fields directly. A listener by
/// name pattern gets a `Before<dyn AnyEvent>`.
///
/// What a listener did stays, also if it failed half-way, and also if the same `Before` is
/// published again: a new question deserves a new `Before`.
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
/// hooks.before::<CallDial>(Priority(20).named("risk.score"), |dial| {
///     dial.set_state("risk", dial.number.len() as u32);
///     Ok(())
/// });
/// hooks.before::<CallDial>(Priority(10).named("risk.limit"), |dial| {
///     if dial.state::<u32>("risk").is_some_and(|risk| *risk > 3) {
///         dial.cancel(format!("{} is too risky", dial.number));
///     }
///     Ok(())
/// });
///
/// let mut dial = Before::new(CallDial { number: "+49 30".to_owned() });
/// if let Answer::Vetoed(veto) = hooks.publish(&mut dial)? {
///     assert_eq!(veto.listener.as_deref(), Some("risk.limit"));
///     assert_eq!(veto.reason, "+49 30 is too risky");
/// }
/// # Ok::<(), HookError>(())
/// ```
pub struct Before<E: ?Sized> {
    course: Course,
    // Last, so that a `&mut Before<E>` is also a `&mut Before<dyn AnyEvent>`.
    event: E,
}

#[derive(Default)]
struct Course {
    stopped: bool,
    veto: Option<Veto>,
    state: HashMap<String, Box<dyn Any + Send + Sync>>,
    running: Option<Arc<str>>,
}

/// Why something must not happen, and who says so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Veto {
    /// The reason, in the words of whoever cancelled.
    pub reason: String,
    /// The name of the listener; `None` if the publisher itself cancelled.
    pub listener: Option<String>,
}

/// What the listeners of a before-event said. The publisher obeys: after a veto it leaves no fact,
/// job or webhook.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "a vetoed operation must not go on"]
pub enum Answer {
    /// Nobody objects.
    Proceed,
    /// Somebody does; if several do, this is the first of them.
    Vetoed(Veto),
}

impl<E> Before<E> {
    /// An event that is about to happen, and that nobody has heard of yet.
    pub fn new(event: E) -> Self {
        Before { course: Course::default(), event }
    }

    /// The event, as its listeners left it.
    pub fn into_inner(self) -> E {
        self.event
    }
}

impl<E: ?Sized> Before<E> {
    /// Vetoes the event. The listeners after this one still run; the first reason stands.
    pub fn cancel(&mut self, reason: impl Into<String>) {
        let listener = self.course.running.as_deref().map(str::to_owned);
        self.course.veto.get_or_insert_with(|| Veto { reason: reason.into(), listener });
    }

    /// Whether anybody has vetoed the event.
    pub fn is_cancelled(&self) -> bool {
        self.course.veto.is_some()
    }

    /// The veto, if there is one.
    pub fn veto(&self) -> Option<&Veto> {
        self.course.veto.as_ref()
    }

    /// Keeps the listeners after this one from running, mandatory ones included. Not a veto.
    pub fn stop_propagation(&mut self) {
        self.course.stopped = true;
    }

    /// Whether somebody stopped the event; stopped before it is published, it reaches nobody.
    pub fn is_stopped(&self) -> bool {
        self.course.stopped
    }

    /// Leaves a value for the listeners after this one and for the publisher, replacing any earlier
    /// value of that key.
    pub fn set_state<T: Any + Send + Sync>(&mut self, key: impl Into<String>, value: T) {
        self.course.state.insert(key.into(), Box::new(value));
    }

    /// The value of a key; `None` if nobody set it or it is not a `T` ([`has_state`] tells which).
    ///
    /// [`has_state`]: Before::has_state
    pub fn state<T: Any>(&self, key: &str) -> Option<&T> {
        self.course.state.get(key)?.downcast_ref()
    }

    /// Whether anybody set a value of that key, of whatever type.
    pub fn has_state(&self, key: &str) -> bool {
        self.course.state.contains_key(key)
    }

    /// Puts a veto back that a listener lifted by assigning a new `Before` to the one it was given.
    pub(super) fn keep(&mut self, standing: Option<Veto>) {
        if standing.is_some() {
            self.course.veto = standing;
        }
    }

    /// Who is heard now: the name that a veto carries.
    pub(super) fn set_running(&mut self, listener: Option<Arc<str>>) {
        self.course.running = listener;
    }
}

impl<E: ?Sized> Deref for Before<E> {
    type Target = E;

    fn deref(&self) -> &E {
        &self.event
    }
}

impl<E: ?Sized> DerefMut for Before<E> {
    fn deref_mut(&mut self) -> &mut E {
        &mut self.event
    }
}

impl<E: fmt::Debug + ?Sized> fmt::Debug for Before<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Before")
            .field("event", &&self.event)
            .field("stopped", &self.course.stopped)
            .field("veto", &self.course.veto)
            .finish_non_exhaustive()
    }
}
