//! Reads a webhook of the WhatsApp Cloud API: every body becomes a list of what happened, or a
//! refusal that names the place. Nothing that the API may send, and nothing hostile, panics.
//!
//! A body is taken whole or not at all, so that one body is one transaction and one answer.

mod message;
mod node;
mod opt_out;
mod status;
mod strict;
#[cfg(test)]
mod tests;

use serde::Serialize;
use serde_json::Value;

pub use message::Kind;
use node::Node;
pub use status::{State, StatusError};

/// The longest body that is read: the API itself sends at most 3 MiB.
pub const MAX_BODY: usize = 3 * 1024 * 1024;

/// One thing that a webhook tells.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum Happening {
    /// A person wrote. Unless it is a STOP, it gets one reply.
    Inbound(Inbound),
    /// A message of ours moved on.
    Status(Status),
    /// Left alone on purpose; `why` is for people.
    Ignored { why: String },
}

/// A message from a person to the business.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Inbound {
    /// The provider's id of the message: the same message again carries the same id.
    pub wamid: String,
    /// The contact: the phone number in digits, or the business-scoped user id of a person who
    /// hides the number.
    pub from: String,
    /// The business number that was written to.
    pub phone_number_id: String,
    /// Unix seconds, as the sender's side tells them. Order never depends on it.
    pub timestamp: i64,
    pub kind: Kind,
    /// What the person wrote or chose: body, caption or title of a button.
    pub text: Option<String>,
    /// The whole message is a word that withdraws consent.
    pub is_stop: bool,
    /// The name in the person's profile.
    pub profile_name: Option<String>,
    /// The message object as it came.
    pub raw: Value,
}

/// What became of a message that the business sent.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Status {
    /// The provider's id of our message.
    pub wamid: String,
    /// The contact that it was sent to.
    pub recipient: String,
    pub state: State,
    /// What we gave the provider with the message: the demo's send key.
    pub biz_opaque_callback_data: Option<String>,
    /// Why it failed, if it did.
    pub errors: Vec<StatusError>,
}

/// A body that is not a webhook of this API. Nothing of it is taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{at}: {why}")]
pub struct Refusal {
    /// The place, such as `entry[0].changes[0].value.messages[0].id`, or `body`.
    pub at: String,
    /// What was wrong there.
    pub why: String,
}

/// Reads one body. The list is never empty: a webhook without news says so as `Ignored`.
///
/// # Errors
///
/// [`Refusal`] for anything that is not JSON of the public format: wrong types, missing fields,
/// a NUL, a key twice in one object, nesting beyond 64, more than [`MAX_BODY`] bytes.
pub fn parse(body: &[u8]) -> Result<Vec<Happening>, Refusal> {
    let document = strict::read(body)?;
    let root = Node::root(&document);
    let object = root.need("object")?;
    if object.text()? != "whatsapp_business_account" {
        return Err(object.refuse("expected \"whatsapp_business_account\""));
    }
    let mut happenings = Vec::new();
    for entry in root.need("entry")?.items()? {
        for change in entry.need("changes")?.items()? {
            read_change(&change, &mut happenings)?;
        }
    }
    if happenings.is_empty() {
        happenings.push(ignored("the webhook carries no change"));
    }
    Ok(happenings)
}

fn read_change(change: &Node<'_>, happenings: &mut Vec<Happening>) -> Result<(), Refusal> {
    let field = change.need("field")?.text()?;
    let value = change.need("value")?;
    if field != "messages" {
        happenings.push(ignored(why_not_ours(field)));
        return Ok(());
    }
    let before = happenings.len();
    for node in value.list("messages")? {
        happenings.push(message::read(&node, &value)?);
    }
    for node in value.list("statuses")? {
        happenings.push(status::read(&node)?);
    }
    for node in value.list("errors")? {
        let error = status::read_error(&node)?;
        happenings.push(ignored(format!("the platform reports {error}")));
    }
    if happenings.len() == before {
        happenings.push(ignored("a change of `messages` without messages, statuses or errors"));
    }
    Ok(())
}

fn ignored(why: impl Into<String>) -> Happening {
    Happening::Ignored { why: why.into() }
}

/// Why a change of another field is left alone. The public list of fields grows; one that is not
/// known yet is ignored as well, and says so.
fn why_not_ours(field: &str) -> String {
    let what = match field {
        "account_alerts"
        | "account_review_update"
        | "account_settings_update"
        | "account_update"
        | "business_capability_update"
        | "business_status_update"
        | "partner_solutions"
        | "payment_configuration_update"
        | "security" => "news of the account, not of a conversation",
        "message_template_components_update"
        | "message_template_quality_update"
        | "message_template_status_update"
        | "template_category_update"
        | "template_correct_category_detection" => "news of a template; the demo sends none",
        "phone_number_name_update" | "phone_number_quality_update" => {
            "news of the business number, not of a conversation"
        }
        "smb_message_echoes" | "message_echoes" => "a message that the business itself sent",
        "history" | "smb_app_state_sync" => "old conversations, answered long ago",
        "user_preferences" => "a choice about marketing; the demo only answers",
        "user_id_update" | "business_username_update" => "an address changed; nobody wrote",
        "calls" => "a call; the demo answers messages",
        "flows"
        | "automatic_events"
        | "tracking_events"
        | "messaging_handovers"
        | "group_lifecycle_update"
        | "group_participants_update"
        | "group_settings_update"
        | "group_status_update" => "not part of a conversation with one contact",
        _ => {
            return format!("field `{}` is not one that the demo knows", node::clip(field));
        }
    };
    format!("field `{field}`: {what}")
}
