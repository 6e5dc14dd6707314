//! The channel of the demo: the send endpoint of the WhatsApp Cloud API, our send key in its opaque
//! callback data.

use std::time::Duration;

use lanebox::{Abilities, CallPhase, Channel, Class, Delivery, Letter, Lookup, SendKey};
use serde_json::{Value, json};
use ureq::Agent;

use super::provider::Mode;
use super::settings::PATIENCE;
use super::wrong::Wrong;

/// Its name, for handlers and consent.
pub const CHANNEL: &str = "whatsapp";

/// Shorter than two thirds of the demo's lease: a call only starts if the lease outlives it.
const TIMEOUT: Duration = Duration::from_millis(400);
/// The provider's lookup knows a message once its call has ended.
const SETTLE: Duration = Duration::from_millis(300);
const DEDUPES_FOR: Duration = Duration::from_secs(3600);

pub struct WhatsApp {
    agent: Agent,
    url: String,
    mode: Mode,
    wrong: Wrong,
}

impl WhatsApp {
    /// `name` is the user agent: the provider's log tells the workers apart by it.
    pub fn new(url: &str, mode: Mode, name: &str, wrong: Wrong) -> WhatsApp {
        let agent = Agent::config_builder()
            .timeout_global(Some(TIMEOUT))
            .http_status_as_error(false)
            .max_redirects(0)
            // A client that retries by itself would call twice for one intent.
            .max_idle_connections(0)
            .proxy(None)
            .user_agent(name)
            .build();
        WhatsApp { agent: agent.into(), url: url.to_owned(), mode, wrong }
    }

    fn post(&self, letter: &Letter<'_>) -> Result<(u16, Value), ureq::Error> {
        let body = json!({
            "messaging_product": "whatsapp",
            "recipient_type": "individual",
            "to": letter.recipient,
            "type": "text",
            "text": { "body": letter.body },
            "biz_opaque_callback_data": letter.key.to_string(),
        });
        let mut answer = self
            .agent
            .post(format!("{}/v21.0/106540352242922/messages", self.url))
            .send_json(&body)?;
        let status = answer.status().as_u16();
        Ok((status, answer.body_mut().read_json().unwrap_or(Value::Null)))
    }
}

impl Channel for WhatsApp {
    fn abilities(&self) -> Abilities {
        let abilities = Abilities::new(TIMEOUT).patience(PATIENCE);
        if self.wrong.blind_retry() {
            return abilities.lookup_after(Duration::from_millis(1));
        }
        match self.mode {
            Mode::Dedupe => abilities.dedupes_for(DEDUPES_FOR),
            Mode::Lookup => abilities.lookup_after(SETTLE),
            Mode::Neither => abilities,
        }
    }

    fn deliver(&self, letter: &Letter<'_>) -> Delivery {
        let (status, body) = match self.post(letter) {
            Ok(answer) => answer,
            Err(error) => return failed(&error),
        };
        let reason = format!("the provider answered {status}");
        match (Class::of_status(status), body["messages"][0]["id"].as_str()) {
            (Class::Accepted, Some(wamid)) => Delivery::accepted(wamid),
            (Class::Accepted | Class::Unknown, _) => Delivery::Unknown { reason },
            (Class::Rejected(refusal), _) => {
                Delivery::Rejected { refusal, reason, retry_after: None }
            }
            (Class::NotCalled, _) => Delivery::NotCalled { reason },
        }
    }

    fn lookup(&self, key: SendKey) -> Lookup {
        if self.wrong.blind_retry() {
            return Lookup::NotFound;
        }
        if self.mode != Mode::Lookup {
            return Lookup::CannotTell;
        }
        let url = format!("{}/lanebox/lookup?key={key}", self.url);
        let Ok(mut answer) = self.agent.get(url).call() else { return Lookup::CannotTell };
        let found: Option<Value> = answer.body_mut().read_json().ok();
        match (answer.status().as_u16(), found.as_ref().and_then(|found| found["wamid"].as_str())) {
            (200, Some(wamid)) => Lookup::Found { receipt: wamid.to_owned() },
            (404, _) => Lookup::NotFound,
            _ => Lookup::CannotTell,
        }
    }
}

// No status: how far the call came decides whether it can have gone out.
fn failed(error: &ureq::Error) -> Delivery {
    let phase = match error {
        ureq::Error::HostNotFound => CallPhase::Dns,
        ureq::Error::ConnectionFailed => CallPhase::Connect,
        ureq::Error::Io(io) if io.kind() == std::io::ErrorKind::ConnectionRefused => {
            CallPhase::Connect
        }
        ureq::Error::Timeout(_) => CallPhase::Timeout,
        _ => CallPhase::Reply,
    };
    let reason = error.to_string();
    match Class::of_phase(phase) {
        Class::NotCalled => Delivery::NotCalled { reason },
        _ => Delivery::Unknown { reason },
    }
}
