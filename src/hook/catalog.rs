//! Which events exist: the providers that know, and the events that nobody described.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use parking_lot::Mutex;

use super::dispatch::{Depth, caught};
use super::snapshot::Snapshot;
use super::{BoxError, Descriptor, HookError};

/// What becomes of an event that is published although nobody described it. Either way it is
/// counted, see [`Hooks::unregistered`](super::Hooks::unregistered).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Unregistered {
    /// It goes through.
    #[default]
    Count,
    /// It is refused with [`HookError::Unregistered`], and nobody hears of it.
    Refuse,
}

/// What all providers say together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Catalog {
    /// The described events by name.
    pub descriptors: BTreeMap<&'static str, Descriptor>,
    /// What went wrong, in the order in which the providers were registered.
    pub failures: Vec<ProviderFailure>,
}

/// One provider that could not answer, or that described an event which an earlier one describes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderFailure {
    /// The provider's name.
    pub provider: String,
    /// Its error or the message of its panic; or which event it describes a second time.
    pub error: String,
}

type Ask = Box<dyn Fn() -> Result<Vec<Descriptor>, BoxError> + Send + Sync>;

struct Provider {
    name: String,
    ask: Ask,
    answer: OnceLock<Vec<Descriptor>>,
}

/// The providers of one bus, and the count of events that none of them describes.
pub(super) struct Registered {
    providers: Snapshot<Provider>,
    unregistered: Unregistered,
    counts: Mutex<BTreeMap<&'static str, u64>>,
}

impl Registered {
    pub(super) fn new(unregistered: Unregistered) -> Self {
        Registered {
            providers: Snapshot::default(),
            unregistered,
            counts: Mutex::new(BTreeMap::new()),
        }
    }

    pub(super) fn add(&self, name: String, ask: Ask) {
        let provider = Provider { name, ask, answer: OnceLock::new() };
        self.providers.insert(provider, |_, _| true);
    }

    pub(super) fn catalog(&self) -> Catalog {
        let mut catalog = Catalog { descriptors: BTreeMap::new(), failures: Vec::new() };
        for provider in self.providers.take().iter() {
            let mut fail = |error| {
                let provider = provider.name.clone();
                catalog.failures.push(ProviderFailure { provider, error });
            };
            match provider.descriptors() {
                Err(error) => fail(error.to_string()),
                Ok(descriptors) => {
                    for descriptor in descriptors {
                        if catalog.descriptors.contains_key(descriptor.name()) {
                            fail(format!("`{}` is already described", descriptor.name()));
                        } else {
                            catalog.descriptors.insert(descriptor.name(), descriptor.clone());
                        }
                    }
                }
            }
        }
        catalog
    }

    pub(super) fn unregistered(&self) -> BTreeMap<&'static str, u64> {
        self.counts.lock().clone()
    }

    /// Lets an event pass, or not, and counts it if nobody described it.
    pub(super) fn admit(&self, event: &'static str) -> Result<(), HookError> {
        let providers = self.providers.take();
        let known = |provider: &Provider| provider.answer.get().is_some_and(|it| has(it, event));
        if providers.iter().any(|provider| known(provider)) {
            return Ok(());
        }
        // Only providers that have not answered yet are really asked here.
        let mut failed = Vec::new();
        for provider in providers.iter() {
            match provider.descriptors() {
                Ok(descriptors) if has(descriptors, event) => return Ok(()),
                Ok(_) => {}
                Err(_) => failed.push(provider.name.clone()),
            }
        }
        *self.counts.lock().entry(event).or_default() += 1;
        match self.unregistered {
            Unregistered::Count => Ok(()),
            Unregistered::Refuse => Err(HookError::Unregistered { event, failed }),
        }
    }
}

impl Provider {
    fn descriptors(&self) -> Result<&[Descriptor], BoxError> {
        if let Some(answer) = self.answer.get() {
            return Ok(answer);
        }
        // A provider that asks for the catalog would otherwise ask itself without end.
        let _depth = Depth::enter().ok_or("it was asked from too deep within others")?;
        let answer = caught(&self.ask)?;
        Ok(self.answer.get_or_init(|| answer))
    }
}

fn has(descriptors: &[Descriptor], event: &str) -> bool {
    descriptors.iter().any(|descriptor| descriptor.name() == event)
}
