//! What is known of one kind of event, for people and for templates.

use std::collections::BTreeMap;

use super::{HookEvent, event};

/// What a person or a template should know about one event.
///
/// ```
/// # use lanebox::hook::*;
/// # #[derive(serde::Serialize)]
/// # struct CallDial { number: String }
/// # impl HookEvent for CallDial {
/// #     const NAME: &'static str = "call.dial";
/// #     fn org(&self) -> &str { "acme" }
/// # }
/// let descriptor = Descriptor::of::<CallDial>("A call is about to be dialled")
///     .sensitive("number")
///     .field("agent");
/// assert_eq!(descriptor.name(), "call.dial");
/// assert!(descriptor.is_sensitive("number"));
/// assert_eq!(descriptor.fields().collect::<Vec<_>>(), ["agent", "number"]);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Descriptor {
    name: &'static str,
    label: String,
    /// Field to whether it is sensitive.
    fields: BTreeMap<String, bool>,
}

impl Descriptor {
    /// Describes the events of type `E`, with a label for people.
    pub fn of<E: HookEvent>(label: impl Into<String>) -> Self {
        Descriptor { name: event::name::<E>(), label: label.into(), fields: BTreeMap::new() }
    }

    /// Adds a field, by its name in the flat map (`customer.name`).
    pub fn field(mut self, name: impl Into<String>) -> Self {
        self.fields.entry(name.into()).or_insert(false);
        self
    }

    /// Adds a field whose value is masked wherever people look.
    pub fn sensitive(mut self, name: impl Into<String>) -> Self {
        self.fields.insert(name.into(), true);
        self
    }

    /// The event's [name](HookEvent::NAME).
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// What people call the event.
    pub fn label(&self) -> &str {
        &self.label
    }

    /// The names of its fields, sorted.
    pub fn fields(&self) -> impl Iterator<Item = &str> {
        self.fields.keys().map(String::as_str)
    }

    /// Whether a field's value must be masked wherever people look.
    pub fn is_sensitive(&self, field: &str) -> bool {
        self.fields.get(field).copied().unwrap_or(false)
    }

    /// Adds an empty string for every described field that an event's flat map lacks, so that a
    /// template can rely on all of them.
    pub fn complete(&self, fields: &mut BTreeMap<String, String>) {
        for name in self.fields() {
            if !fields.contains_key(name) {
                fields.insert(name.to_owned(), String::new());
            }
        }
    }
}
