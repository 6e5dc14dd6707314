//! Delivery statuses, and the errors that they and the platform carry.

use std::fmt;

use serde::Serialize;

use super::node::{Node, clip};
use super::{Happening, Refusal, Status, ignored};

/// How far a message of ours has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    Sent,
    Delivered,
    Read,
    /// A voice message was listened to.
    Played,
    Failed,
    Deleted,
}

/// One error object of the API.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StatusError {
    /// The API's number; what it means is the provider's to say.
    pub code: i64,
    pub title: String,
}

impl fmt::Display for StatusError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error {}: {}", self.code, clip(&self.title))
    }
}

pub fn read(status: &Node<'_>) -> Result<Happening, Refusal> {
    let word = status.need("status")?.text()?;
    let state = match word {
        "sent" => State::Sent,
        "delivered" => State::Delivered,
        "read" => State::Read,
        "played" => State::Played,
        "failed" => State::Failed,
        "deleted" => State::Deleted,
        other => {
            return Ok(ignored(format!("status \"{}\" decides nothing", clip(other))));
        }
    };
    let recipient = match status.get("recipient_id")? {
        Some(number) => number,
        None => status.need("recipient_user_id")?,
    };
    let errors = status.list("errors")?.iter().map(read_error).collect::<Result<_, _>>()?;
    Ok(Happening::Status(Status {
        wamid: status.need("id")?.id()?.to_owned(),
        recipient: recipient.id()?.to_owned(),
        state,
        biz_opaque_callback_data: status.text_of("biz_opaque_callback_data")?.map(str::to_owned),
        errors,
    }))
}

/// The API gives `title`, `message` or both.
pub fn read_error(error: &Node<'_>) -> Result<StatusError, Refusal> {
    let title = match error.text_of("title")? {
        Some(title) => title,
        None => error.text_of("message")?.unwrap_or("no title"),
    };
    Ok(StatusError { code: error.need("code")?.number()?, title: title.to_owned() })
}
