//! The shapes of the Graph API: what a send request says, its answer, its errors.

use axum::http::StatusCode;
use axum::response::{IntoResponse, Json, Response};
use serde::Deserialize;
use serde_json::{Value, json};

use super::super::log::ProviderRecord;

/// The API's limits, in characters.
const MAX_TEXT: usize = 4096;
const MAX_CALLBACK_DATA: usize = 512;

/// A message that somebody wants sent.
#[derive(Debug, Clone)]
pub struct Message {
    pub key: Option<String>,
    /// A phone number, or the business-scoped id of a person who hides it.
    pub to: String,
    pub text: String,
}

#[derive(Deserialize)]
struct Request {
    messaging_product: String,
    to: Option<String>,
    recipient: Option<String>,
    #[serde(rename = "type")]
    kind: Option<String>,
    text: Option<Text>,
    biz_opaque_callback_data: Option<String>,
}

#[derive(Deserialize)]
struct Text {
    body: String,
}

/// An error as the Graph API tells it.
#[derive(Debug)]
pub struct GraphError {
    http: StatusCode,
    code: u32,
    title: &'static str,
    details: String,
}

impl GraphError {
    fn new(http: StatusCode, code: u32, title: &'static str, details: impl Into<String>) -> Self {
        Self { http, code, title, details: details.into() }
    }

    fn invalid(details: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, 100, "Invalid parameter", details)
    }

    /// Nothing was accepted; later it may be.
    pub fn unavailable() -> Self {
        let details = "A service is temporarily unavailable.";
        Self::new(StatusCode::SERVICE_UNAVAILABLE, 131_016, "Service unavailable", details)
    }

    /// The provider itself is broken: whether it accepted is not known.
    pub fn broken(details: String) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, 131_000, "Something went wrong", details)
    }

    pub fn no_lookup() -> Self {
        let details = "This provider cannot look up keys; it runs in another mode.";
        Self::new(StatusCode::NOT_IMPLEMENTED, 3, "Unknown method", details)
    }

    pub fn not_found() -> Self {
        Self::new(StatusCode::NOT_FOUND, 803, "Not found", "No message was taken with that key.")
    }
}

impl IntoResponse for GraphError {
    fn into_response(self) -> Response {
        let body = json!({"error": {
            "message": format!("(#{}) {}", self.code, self.title),
            "type": "OAuthException",
            "code": self.code,
            "error_data": {"messaging_product": "whatsapp", "details": self.details},
            "fbtrace_id": "demo",
        }});
        (self.http, Json(body)).into_response()
    }
}

/// `vNN.0` and digits, as the API's addresses are.
pub fn check_path(version: &str, phone_number_id: &str) -> Result<(), GraphError> {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|c| c.is_ascii_digit());
    let version_is_known = version.strip_prefix('v').and_then(|number| number.split_once('.'));
    if version_is_known.is_none_or(|(major, minor)| !is_number(major) || !is_number(minor)) {
        let details = "Expected a version such as v24.0.";
        return Err(GraphError::new(StatusCode::NOT_FOUND, 2500, "Unknown path", details));
    }
    if !is_number(phone_number_id) {
        let details = "Expected the digits of a phone number id.";
        return Err(GraphError::new(StatusCode::NOT_FOUND, 2500, "Unknown path", details));
    }
    Ok(())
}

/// Reads a request to send one text.
pub fn read(body: &[u8]) -> Result<Message, GraphError> {
    let request: Request =
        serde_json::from_slice(body).map_err(|error| GraphError::invalid(error.to_string()))?;
    if request.messaging_product != "whatsapp" {
        return Err(GraphError::invalid("messaging_product must be whatsapp"));
    }
    if request.kind.as_deref().unwrap_or("text") != "text" {
        return Err(GraphError::invalid("this provider sends messages of type text only"));
    }
    let recipient = request.to.or(request.recipient).filter(|to| !to.trim().is_empty());
    let to = recipient.ok_or_else(|| GraphError::invalid("to (or recipient) is missing"))?;
    let Text { body: text } =
        request.text.ok_or_else(|| GraphError::invalid("text.body is missing"))?;
    if !(1..=MAX_TEXT).contains(&text.chars().count()) {
        return Err(GraphError::invalid("text.body must have 1 to 4096 characters"));
    }
    let key = request.biz_opaque_callback_data;
    if key.as_ref().is_some_and(|key| key.chars().count() > MAX_CALLBACK_DATA) {
        return Err(GraphError::invalid("biz_opaque_callback_data has more than 512 characters"));
    }
    Ok(Message { key, to, text })
}

/// The id by which the API knows a recipient: a number in digits, or a user id as it is.
#[derive(Debug, PartialEq, Eq)]
pub enum Recipient {
    WaId(String),
    UserId(String),
}

pub fn recipient(to: &str) -> Recipient {
    if to.chars().all(|c| c.is_ascii_digit() || "+ -()".contains(c)) {
        Recipient::WaId(to.chars().filter(char::is_ascii_digit).collect())
    } else {
        Recipient::UserId(to.to_owned())
    }
}

/// The answer to a request that was taken.
pub fn answer(record: &ProviderRecord) -> Value {
    let contact = match recipient(&record.to) {
        Recipient::WaId(number) => json!({"input": record.to, "wa_id": number}),
        Recipient::UserId(user) => json!({"input": record.to, "user_id": user}),
    };
    json!({
        "messaging_product": "whatsapp",
        "contacts": [contact],
        "messages": [{"id": record.wamid}],
    })
}
