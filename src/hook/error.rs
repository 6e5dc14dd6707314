//! Why a publish or a registration did not go through.

use super::MAX_DEPTH;

/// Any error, as listeners and providers return it; `?` makes one of whatever they have.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Why the bus did not do what it was asked.
///
/// The bus stores nothing, so nothing is half-done after an error. Whoever published a before-event
/// must not go on after one: that is what makes a listener mandatory.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HookError {
    /// A mandatory listener failed. The others have run, and its failure is logged.
    #[error(
        "`{event}` is refused, because its mandatory listener {listener} failed: {cause}. \
         Nothing was done; mend the listener and try again"
    )]
    Refused {
        /// The event's name.
        event: &'static str,
        /// The listener's name; if several failed, the first.
        listener: String,
        /// Its error, or the message of its panic.
        #[source]
        cause: BoxError,
    },

    /// The publisher's own cancellation came before all listeners had run.
    #[error(
        "publishing `{event}` was cancelled before all its listeners had run. \
         The bus stores nothing; publish it again if it still holds"
    )]
    Cancelled {
        /// The event's name.
        event: &'static str,
    },

    /// Listeners publish from within one another without end, or nearly so.
    #[error(
        "`{event}` was not published: it is caused by listeners that publish from within one \
         another, more than {MAX_DEPTH} deep. Look for a listener that publishes what it hears"
    )]
    TooDeep {
        /// The name of the innermost event.
        event: &'static str,
    },

    /// Nobody described the event, and the bus [refuses](super::Unregistered::Refuse) such events.
    #[error(
        "`{event}` was not published: no provider describes it{}. \
         Add it to the descriptors that Hooks::describe registers",
        failed_providers(.failed)
    )]
    Unregistered {
        /// The event's name.
        event: &'static str,
        /// The providers that could not be asked; one of them may know it.
        failed: Vec<String>,
    },

    /// A name pattern has none of the forms that exist.
    #[error(
        "`{pattern}` selects no events, and nothing was registered. \
         A pattern is a name (call.dial), a prefix (call.*) or everything (*)"
    )]
    Pattern {
        /// The pattern as given.
        pattern: String,
    },

    /// An event cannot be written as JSON.
    #[error("`{event}` cannot be written as JSON: {cause}. Mend how its type is serialized")]
    Payload {
        /// The event's name.
        event: &'static str,
        /// What the serializer said.
        #[source]
        cause: BoxError,
    },
}

fn failed_providers(failed: &[String]) -> String {
    if failed.is_empty() {
        return String::new();
    }
    format!(" (these could not be asked: {})", failed.join(", "))
}
