//! Messages: which kinds a person writes, what counts as their text, and what is left alone.

use serde::Serialize;

use super::node::{Node, clip};
use super::opt_out::{is_stop, means_stop};
use super::{Happening, Inbound, Refusal, ignored};

/// The last millisecond of the year 9999, in seconds.
const MAX_TIMESTAMP: i64 = 253_402_300_799;

/// What kind of message a person wrote.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    Text,
    Image,
    Audio,
    Video,
    Document,
    Sticker,
    Location,
    /// Cards of other people.
    Contacts,
    /// A quick reply of a template.
    Button,
    /// A reply button of an interactive message.
    ButtonReply,
    /// An item chosen from a list.
    ListReply,
    /// A form (flow) that was filled in.
    FormReply,
    Order,
    /// The API says that it cannot show it, or its type is newer than this code.
    Unsupported,
}

impl Kind {
    /// Only what a person types or taps as words can withdraw consent; a caption describes its
    /// picture.
    fn can_stop(self) -> bool {
        matches!(self, Self::Text | Self::Button | Self::ButtonReply | Self::ListReply)
    }
}

/// Reads one message; `value` is the change that it stands in.
pub fn read(message: &Node<'_>, value: &Node<'_>) -> Result<Happening, Refusal> {
    let word = message.need("type")?.text()?;
    if let Some(why) = why_unanswered(message, word)? {
        return Ok(ignored(why));
    }
    let (kind, text) = content(message, word)?;
    let tapped = tapped(message, word)?;
    let from = sender(message)?;
    let timestamp = message.need("timestamp")?;
    if !(0..=MAX_TIMESTAMP).contains(&timestamp.number()?) {
        return Err(timestamp.refuse("expected Unix seconds between 1970 and 9999"));
    }
    Ok(Happening::Inbound(Inbound {
        wamid: message.need("id")?.id()?.to_owned(),
        from: from.to_owned(),
        phone_number_id: value.need("metadata")?.need("phone_number_id")?.id()?.to_owned(),
        timestamp: timestamp.number()?,
        kind,
        is_stop: kind.can_stop() && text.is_some_and(is_stop) || tapped.is_some_and(means_stop),
        text: text.map(str::to_owned),
        profile_name: profile_name(value, from)?.map(str::to_owned),
        raw: message.value().clone(),
    }))
}

/// The messages that no reply belongs to.
fn why_unanswered(message: &Node<'_>, word: &str) -> Result<Option<String>, Refusal> {
    let why = match word {
        "reaction" => "a reaction to a message; nothing to answer",
        "system" => "the contact's number or identity changed; nobody wrote",
        "edit" => "an edit of an earlier message",
        "revoke" => "an earlier message was withdrawn",
        "request_welcome" => "the chat was opened; nothing was written",
        _ if message.get("group_id")?.is_some() => {
            "a message to a group; the demo answers contacts"
        }
        _ => return Ok(None),
    };
    Ok(Some(format!("message of type \"{}\": {why}", clip(word))))
}

fn content<'a>(message: &Node<'a>, word: &str) -> Result<(Kind, Option<&'a str>), Refusal> {
    let captioned = || message.need(word)?.text_of("caption");
    let textless = || message.need(word)?.get("id").map(|_| None);
    Ok(match word {
        "text" => (Kind::Text, Some(message.need(word)?.need("body")?.text()?)),
        "image" => (Kind::Image, captioned()?),
        "video" => (Kind::Video, captioned()?),
        "document" => (Kind::Document, captioned()?),
        "audio" => (Kind::Audio, textless()?),
        "sticker" => (Kind::Sticker, textless()?),
        "location" => (Kind::Location, message.need(word)?.text_of("name")?),
        "contacts" => {
            message.need(word)?.items()?;
            (Kind::Contacts, None)
        }
        "button" => (Kind::Button, Some(message.need(word)?.need("text")?.text()?)),
        "interactive" => choice(&message.need(word)?)?,
        "order" => (Kind::Order, message.need(word)?.text_of("text")?),
        _ => (Kind::Unsupported, None),
    })
}

fn choice<'a>(interactive: &Node<'a>) -> Result<(Kind, Option<&'a str>), Refusal> {
    let word = interactive.need("type")?.text()?;
    let title = || interactive.need(word)?.need("title")?.text();
    Ok(match word {
        "button_reply" => (Kind::ButtonReply, Some(title()?)),
        "list_reply" => (Kind::ListReply, Some(title()?)),
        "nfm_reply" => (Kind::FormReply, interactive.need(word)?.text_of("body")?),
        _ => (Kind::Unsupported, None),
    })
}

/// What the host gave a button or an item to be known by.
fn tapped<'a>(message: &Node<'a>, word: &str) -> Result<Option<&'a str>, Refusal> {
    let interactive = match word {
        "button" => return message.need(word)?.text_of("payload"),
        "interactive" => message.need(word)?,
        _ => return Ok(None),
    };
    match interactive.need("type")?.text()? {
        form @ ("button_reply" | "list_reply") => interactive.need(form)?.text_of("id"),
        _ => Ok(None),
    }
}

/// The phone number; a person with a username may hide it, then the business-scoped user id.
fn sender<'a>(message: &Node<'a>) -> Result<&'a str, Refusal> {
    match (message.text_of("from")?, message.get("from_user_id")?) {
        (None | Some(""), Some(user)) => user.id(),
        _ => message.need("from")?.id(),
    }
}

fn profile_name<'a>(value: &Node<'a>, from: &str) -> Result<Option<&'a str>, Refusal> {
    for contact in value.list("contacts")? {
        let is_sender =
            contact.text_of("wa_id")? == Some(from) || contact.text_of("user_id")? == Some(from);
        if is_sender && let Some(profile) = contact.get("profile")? {
            return profile.text_of("name");
        }
    }
    Ok(None)
}
