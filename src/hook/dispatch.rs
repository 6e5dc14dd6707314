//! One publish: who is admitted, who is heard, and what becomes of a listener that fails.

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::listen::{AfterFn, BeforeFn};
use super::{
    AfterEvent, Answer, Before, BeforeEvent, BoxError, HookError, HookEvent, Hooks, event,
};

/// How deep listeners may publish from within one another, the outermost publish included.
///
/// Counted per thread. Small on purpose: with two listeners that publish in each round, what runs
/// doubles at each level.
pub const MAX_DEPTH: usize = 8;

/// What can be published: `&mut Before<E>` before, `&E` after. Not for others to implement.
pub trait Publish: Sealed {
    /// What the publisher learns.
    type Answer;

    #[doc(hidden)]
    fn publish_on(
        self,
        hooks: &Hooks,
        cancelled: &dyn Fn() -> bool,
    ) -> Result<Self::Answer, HookError>;
}

impl<E: BeforeEvent> Publish for &mut Before<E> {
    type Answer = Answer;

    fn publish_on(self, hooks: &Hooks, cancelled: &dyn Fn() -> bool) -> Result<Answer, HookError> {
        let name = event::name::<E>();
        let _depth = admit::<E>(hooks, cancelled)?;
        let mut refused = None;
        for listener in hooks.bus.before.take().iter() {
            if self.is_stopped() {
                break;
            }
            let Some(hear) = listener.hear::<BeforeFn<E>>(name) else {
                continue;
            };
            ask(name, cancelled)?;
            self.set_running(Some(listener.name.clone()));
            let standing = self.veto().cloned();
            let heard = caught(|| hear.before(self));
            self.keep(standing);
            if let Err(cause) = heard {
                log_failure(name, &listener.name, listener.mandatory, &cause);
                if listener.mandatory {
                    self.cancel(format!("a mandatory listener failed: {cause}"));
                    let listener = listener.name.to_string();
                    refused.get_or_insert(HookError::Refused { event: name, listener, cause });
                }
            }
            self.set_running(None);
        }
        match (refused, self.veto()) {
            (Some(refused), _) => Err(refused),
            (None, Some(veto)) => Ok(Answer::Vetoed(veto.clone())),
            (None, None) => Ok(Answer::Proceed),
        }
    }
}

impl<E: AfterEvent> Publish for &E {
    type Answer = ();

    fn publish_on(self, hooks: &Hooks, cancelled: &dyn Fn() -> bool) -> Result<(), HookError> {
        let name = event::name::<E>();
        let _depth = admit::<E>(hooks, cancelled)?;
        for listener in hooks.bus.after.take().iter() {
            let Some(hear) = listener.hear::<AfterFn<E>>(name) else {
                continue;
            };
            ask(name, cancelled)?;
            if let Err(cause) = caught(|| hear.after(self)) {
                log_failure(name, &listener.name, false, &cause);
            }
        }
        Ok(())
    }
}

/// What has to hold before anybody is heard.
fn admit<E: HookEvent>(hooks: &Hooks, cancelled: &dyn Fn() -> bool) -> Result<Depth, HookError> {
    ask(E::NAME, cancelled)?;
    let depth = Depth::enter().ok_or(HookError::TooDeep { event: E::NAME })?;
    hooks.bus.registered.admit(E::NAME)?;
    Ok(depth)
}

fn ask(event: &'static str, cancelled: &dyn Fn() -> bool) -> Result<(), HookError> {
    if cancelled() { Err(HookError::Cancelled { event }) } else { Ok(()) }
}

fn log_failure(event: &str, listener: &str, mandatory: bool, error: &BoxError) {
    if mandatory {
        tracing::error!(listener, event, %error, "a mandatory listener failed: refused");
    } else {
        tracing::warn!(listener, event, %error, "a listener failed; the others go on");
    }
}

/// Runs foreign code; a panic becomes an error with the panic's message.
pub(super) fn caught<T>(foreign: impl FnOnce() -> Result<T, BoxError>) -> Result<T, BoxError> {
    catch_unwind(AssertUnwindSafe(foreign)).unwrap_or_else(|panic| Err(panic_message(&*panic)))
}

fn panic_message(panic: &(dyn Any + Send)) -> BoxError {
    let text = match (panic.downcast_ref::<&str>(), panic.downcast_ref::<String>()) {
        (Some(text), _) => text,
        (_, Some(text)) => text.as_str(),
        _ => "no message",
    };
    format!("it panicked: {text}").into()
}

thread_local! {
    static DEPTH: Cell<usize> = const { Cell::new(0) };
}

/// One level of nesting on this thread, left again on drop.
pub(super) struct Depth;

impl Depth {
    /// `None` if this would be one level too many.
    pub(super) fn enter() -> Option<Self> {
        let depth = DEPTH.get();
        (depth < MAX_DEPTH).then(|| {
            DEPTH.set(depth + 1);
            Depth
        })
    }
}

impl Drop for Depth {
    fn drop(&mut self) {
        DEPTH.set(DEPTH.get() - 1);
    }
}

/// Reachable but not nameable: `Publish` is complete as it is.
pub trait Sealed {}

impl<E: BeforeEvent> Sealed for &mut Before<E> {}
impl<E: AfterEvent> Sealed for &E {}
