//! Posts delivery statuses, with the sender's callback data, until the receiver takes them.

use std::sync::mpsc::{self, Sender};

use serde_json::{Value, json};

use super::super::log::ProviderRecord;
use super::super::post::Poster;
use super::graph::{Recipient, recipient};

/// Starts the thread that posts; it ends when all senders are gone and all is posted.
pub fn start(poster: Poster) -> Sender<ProviderRecord> {
    let (told, to_tell) = mpsc::channel();
    std::thread::spawn(move || {
        for record in to_tell {
            for state in ["sent", "delivered"] {
                let delivery = poster.post(&status(&record, state).to_string());
                if !delivery.is_acknowledged() {
                    eprintln!("the status of {} was refused: {}", record.wamid, delivery.http);
                }
            }
        }
    });
    told
}

fn status(record: &ProviderRecord, state: &str) -> Value {
    let mut status = json!({
        "id": record.wamid,
        "status": state,
        "timestamp": (record.at_ms / 1000).to_string(),
    });
    match recipient(&record.to) {
        Recipient::WaId(number) => status["recipient_id"] = number.into(),
        Recipient::UserId(user) => status["recipient_user_id"] = user.into(),
    }
    if let Some(key) = &record.key {
        status["biz_opaque_callback_data"] = key.as_str().into();
    }
    json!({
        "object": "whatsapp_business_account",
        "entry": [{"id": "102290129340398", "changes": [{"field": "messages", "value": {
            "messaging_product": "whatsapp",
            "metadata": {
                "display_phone_number": "15550783881",
                "phone_number_id": "106540352242922",
            },
            "statuses": [status],
        }}]}],
    })
}
