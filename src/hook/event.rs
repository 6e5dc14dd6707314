//! What travels on the bus: events of a type, and the view of an event whose type is not known.

use std::any::Any;
use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use super::{HookError, fields, pattern};

/// The org of an event that concerns no single tenant but the platform as a whole.
pub const PLATFORM: &str = "-";

/// An event of the business bus: a name, the org it concerns, and the payload it serializes to.
///
/// Also implement [`BeforeEvent`] or [`AfterEvent`] (or both, if one type serves twice).
///
/// ```
/// use lanebox::hook::{AnyEvent, HookEvent, PLATFORM};
///
/// #[derive(serde::Serialize)]
/// struct PriceListChanged { currency: String, valid_until: Option<String> }
///
/// impl HookEvent for PriceListChanged {
///     const NAME: &'static str = "price_list.changed";
///     fn org(&self) -> &str { PLATFORM }
/// }
///
/// let event: &dyn AnyEvent = &PriceListChanged { currency: "EUR".into(), valid_until: None };
/// assert_eq!((event.name(), event.org()), ("price_list.changed", "-"));
/// assert_eq!(event.fields()?["valid_until"], "");
/// # Ok::<(), lanebox::hook::HookError>(())
/// ```
///
/// A name of another form does not compile where the event is first used:
///
/// ```compile_fail
/// # use lanebox::hook::*;
/// # #[derive(serde::Serialize)] struct PriceListChanged;
/// impl HookEvent for PriceListChanged {
///     const NAME: &'static str = "PriceListChanged";
///     fn org(&self) -> &str { PLATFORM }
/// }
/// impl AfterEvent for PriceListChanged {}
/// Hooks::default().publish(&PriceListChanged);
/// ```
pub trait HookEvent: Serialize + 'static {
    /// Dotted lower-case, like `call.dial`: two parts or more, each beginning with a letter, then
    /// letters, digits and `_`; 128 bytes at most. Checked by the compiler.
    const NAME: &'static str;

    /// The tenant that this event concerns, or [`PLATFORM`]. Said by every event, never implied.
    fn org(&self) -> &str;
}

/// Marks an event that is published before the thing happens, within a [`Before`](super::Before).
#[diagnostic::on_unimplemented(
    message = "`{Self}` is a plain event: no listener can change, stop or veto it",
    note = "if it is published before the thing happens, implement `BeforeEvent` for it"
)]
pub trait BeforeEvent: HookEvent {}

/// Marks an event that is published after the thing happened: nobody can stop or veto it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an event that can be published after the fact",
    note = "wrap a before-event in `Before::new` and publish that, or implement `AfterEvent` for it"
)]
pub trait AfterEvent: HookEvent {}

/// An event whose type the listener does not know: what a listener by name pattern is given.
///
/// Every [`HookEvent`] is one; see the methods of `dyn AnyEvent` below.
pub trait AnyEvent: Erased {}

impl<E: HookEvent> AnyEvent for E {}

impl dyn AnyEvent {
    /// The event's [name](HookEvent::NAME).
    pub fn name(&self) -> &'static str {
        self.erased_name()
    }

    /// The event's [org](HookEvent::org).
    pub fn org(&self) -> &str {
        self.erased_org()
    }

    /// The event as JSON, as it is now (a before-event may have been changed on its way).
    ///
    /// # Errors
    ///
    /// [`HookError::Payload`] if its type cannot be written as JSON.
    pub fn payload(&self) -> Result<Value, HookError> {
        self.erased_payload()
            .map_err(|cause| HookError::Payload { event: self.name(), cause: cause.into() })
    }

    /// The payload as a flat map of strings, for templates.
    ///
    /// Nested names are joined by dots (`customer.name`, `lines.0.price`). A missing optional value
    /// and an empty list are empty strings, never absent keys, unless the type itself leaves them
    /// out (`skip_serializing_if`): [`complete`](super::Descriptor::complete) adds those.
    ///
    /// # Errors
    ///
    /// [`HookError::Payload`], as for [`payload`](#method.payload).
    pub fn fields(&self) -> Result<BTreeMap<String, String>, HookError> {
        self.payload().map(|payload| fields::flatten(&payload))
    }

    /// The event as an `E`, if it is one.
    pub fn downcast_ref<E: HookEvent>(&self) -> Option<&E> {
        (self as &dyn Any).downcast_ref()
    }

    /// The event as an `E` that can be changed, if it is one.
    pub fn downcast_mut<E: HookEvent>(&mut self) -> Option<&mut E> {
        (self as &mut dyn Any).downcast_mut()
    }
}

/// What makes a [`HookEvent`] (which has a constant, so no `dyn`) one that can be held as `dyn`.
/// Reachable but not nameable, so that only the blanket implementation exists.
pub trait Erased: Any {
    fn erased_name(&self) -> &'static str;
    fn erased_org(&self) -> &str;
    fn erased_payload(&self) -> serde_json::Result<Value>;
}

impl<E: HookEvent> Erased for E {
    fn erased_name(&self) -> &'static str {
        name::<E>()
    }

    fn erased_org(&self) -> &str {
        self.org()
    }

    fn erased_payload(&self) -> serde_json::Result<Value> {
        serde_json::to_value(self)
    }
}

/// The name of `E`, which the compiler has then checked.
pub(super) fn name<E: HookEvent>() -> &'static str {
    const {
        assert!(
            pattern::is_event_name(E::NAME),
            "event names are dotted lower case, like call.dial"
        )
    };
    E::NAME
}
