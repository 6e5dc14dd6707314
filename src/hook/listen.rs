//! How somebody listens: priority, name, whether its failure refuses, and what it hears.

use std::any::Any;
use std::panic::Location;
use std::sync::Arc;

use super::pattern::Pattern;
use super::{AnyEvent, Before, BoxError};

/// What a listener answers: that it heard the event, or why it failed (`?` takes any error).
pub type Heard = Result<(), BoxError>;

/// A listener's place in line: the higher runs first, negative ones are for afterthoughts.
///
/// (A job's priority goes the other way round.)
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Priority(pub i32);

/// How to listen: a priority, and a name for the log.
///
/// Most listeners need only a [`Priority`], which is one of these; they are then named by the
/// place in the source where they were registered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listen {
    priority: Priority,
    name: Option<String>,
}

/// How to listen before an event: as [`Listen`], and perhaps mandatory.
///
/// An after-event has happened already and cannot be refused, so listeners to it take no `Guard`:
///
/// ```compile_fail
/// # use lanebox::hook::{Hooks, Priority};
/// # let hooks = Hooks::default();
/// hooks.after_matching("*", Priority(0).mandatory(), |_| Ok(()));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Guard {
    listen: Listen,
    mandatory: bool,
}

/// Names one registration, to [remove](super::Hooks::remove) it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ListenerId(pub(super) u64);

impl Priority {
    /// This priority, with a name by which the log and a [`Veto`](super::Veto) call the listener.
    pub fn named(self, name: impl Into<String>) -> Listen {
        Listen { priority: self, name: Some(name.into()) }
    }

    /// This priority, for a listener whose failure means that the operation is refused.
    pub fn mandatory(self) -> Guard {
        Listen::from(self).mandatory()
    }
}

impl Listen {
    /// The same, for a listener whose failure means that the operation is refused.
    pub fn mandatory(self) -> Guard {
        Guard { listen: self, mandatory: true }
    }
}

impl From<Priority> for Listen {
    fn from(priority: Priority) -> Self {
        Listen { priority, name: None }
    }
}

impl From<Listen> for Guard {
    fn from(listen: Listen) -> Self {
        Guard { listen, mandatory: false }
    }
}

impl From<Priority> for Guard {
    fn from(priority: Priority) -> Self {
        Listen::from(priority).into()
    }
}

pub(super) type BeforeFn<E> = Box<dyn Fn(&mut Before<E>) -> Heard + Send + Sync>;
pub(super) type AfterFn<E> = Box<dyn Fn(&E) -> Heard + Send + Sync>;

/// One registration. `M` is the function of a listener by pattern, before or after.
pub(super) struct Listener<M> {
    pub(super) id: ListenerId,
    pub(super) priority: Priority,
    pub(super) name: Arc<str>,
    pub(super) mandatory: bool,
    ear: Ear<M>,
}

/// What a listener hears. A listener of one type keeps its function as `dyn Any`, so that listeners
/// of all types stand in one line; the publish of an `E` knows the type to look for.
pub(super) enum Ear<M> {
    Typed(Box<dyn Any + Send + Sync>),
    Matching(Pattern, M),
}

/// The function of a listener that hears the event at hand.
pub(super) enum Hear<'a, T, M> {
    Typed(&'a T),
    Matching(&'a M),
}

impl<M> Ear<M> {
    pub(super) fn of_type<T: Any + Send + Sync>(hear: T) -> Self {
        Ear::Typed(Box::new(hear))
    }
}

impl<M> Listener<M> {
    pub(super) fn new(id: ListenerId, how: Guard, ear: Ear<M>, place: &Location<'_>) -> Self {
        let Guard { listen: Listen { priority, name }, mandatory } = how;
        let name = name.unwrap_or_else(|| place.to_string()).into();
        Listener { id, priority, name, mandatory, ear }
    }

    /// How this listener hears an event of that name whose typed listeners are a `T`; `None` if it
    /// does not.
    pub(super) fn hear<T: 'static>(&self, event: &str) -> Option<Hear<'_, T, M>> {
        match &self.ear {
            Ear::Typed(hear) => hear.downcast_ref().map(Hear::Typed),
            Ear::Matching(pattern, hear) => pattern.matches(event).then_some(Hear::Matching(hear)),
        }
    }
}

impl<E> Hear<'_, BeforeFn<E>, BeforeFn<dyn AnyEvent>>
where
    E: super::BeforeEvent,
{
    pub(super) fn before(&self, event: &mut Before<E>) -> Heard {
        match self {
            Hear::Typed(hear) => hear(event),
            Hear::Matching(hear) => hear(event),
        }
    }
}

impl<E> Hear<'_, AfterFn<E>, AfterFn<dyn AnyEvent>>
where
    E: super::AfterEvent,
{
    pub(super) fn after(&self, event: &E) -> Heard {
        match self {
            Hear::Typed(hear) => hear(event),
            Hear::Matching(hear) => hear(event),
        }
    }
}
