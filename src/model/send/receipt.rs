//! The proof that a message was accepted, fresh or remembered.

use serde::{Serialize, Serializer};

use crate::model::id::SendKey;

/// Most characters of a receipt.
const LONGEST: usize = 512;

/// The proof that the channel accepted a message: from this run's call, or remembered from an
/// earlier one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Receipt {
    #[serde(serialize_with = "as_text")]
    pub(crate) key: SendKey,
    pub(crate) id: Option<String>,
    pub(crate) changed: bool,
    #[serde(skip)]
    pub(crate) fresh: bool,
}

impl Receipt {
    /// The key that the provider was given with the message.
    pub fn key(&self) -> SendKey {
        self.key
    }

    /// The provider's own id of the message; none if a person, or evidence without an id, said that
    /// it went out.
    pub fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }

    /// Whether it went out just now. If not, an earlier run had sent it, and nothing was sent.
    pub fn is_fresh(&self) -> bool {
        self.fresh
    }

    /// Whether the message that had gone out was another than the one asked for now. Nothing was
    /// sent, and a notice says so.
    pub fn changed(&self) -> bool {
        self.changed
    }
}

fn as_text<S: Serializer>(key: &SendKey, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(key)
}

/// A receipt as it is stored and compared: a fact is never refused for its length.
pub(crate) fn bounded(receipt: &str) -> String {
    receipt.chars().filter(|c| !c.is_control()).take(LONGEST).collect()
}
