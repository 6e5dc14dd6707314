//! What the receiver answers to a webhook that it can never record.

use super::*;

fn desk(folder: &tempfile::TempDir) -> Desk {
    let lanebox = Lanebox::open(folder.path().join("demo.db")).expect("a file");
    let halts = Arc::new(Halts::new(Box::new(std::io::sink())));
    Desk { lanebox, halts, wrong: Wrong::default() }
}

fn webhook(from: &str, text: &str) -> Vec<u8> {
    let message = json!({"from": from, "id": "wamid.1", "timestamp": "1767225694", "type": "text", "text": {"body": text}});
    let value = json!({"metadata": {"phone_number_id": "1"}, "messages": [message]});
    let changes = json!([{"field": "messages", "value": value}]);
    let body = json!({"object": "whatsapp_business_account", "entry": [{"changes": changes}]});
    body.to_string().into_bytes()
}

#[test]
fn a_webhook_that_can_never_be_taken_is_refused_for_good() {
    let folder = tempfile::tempdir().expect("a folder");
    let desk = desk(&folder);
    assert_eq!(record(&desk, &webhook("1", "hi")).0, StatusCode::OK);
    assert_eq!(record(&desk, &webhook("1", "hi")).0, StatusCode::OK);
    assert_eq!(record(&desk, &webhook("2", "hi")).0, StatusCode::CONFLICT);
    let long = "x".repeat(lanebox::MAX_PAYLOAD);
    assert_eq!(record(&desk, &webhook("3", &long)).0, StatusCode::UNPROCESSABLE_ENTITY);
}
