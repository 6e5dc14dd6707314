//! The public format is taken, what needs no reply is left alone with its reason.

mod hostile;

use serde_json::json;

use super::*;

/// A webhook with one change of `messages`.
fn webhook(mut value: Value) -> Vec<u8> {
    value["messaging_product"] = json!("whatsapp");
    value["metadata"] =
        json!({"display_phone_number": "15550783881", "phone_number_id": "106540352242922"});
    change("messages", value)
}

fn change(field: &str, value: Value) -> Vec<u8> {
    let changes = json!([{"field": field, "value": value}]);
    let entry = json!([{"id": "102290129340398", "changes": changes}]);
    json!({"object": "whatsapp_business_account", "entry": entry}).to_string().into_bytes()
}

fn message(mut content: Value) -> Value {
    content["from"] = json!("16505551234");
    content["id"] = json!("wamid.ABC=");
    content["timestamp"] = json!("1767225600");
    content
}

fn happening(body: &[u8]) -> Happening {
    let mut happenings = parse(body).unwrap();
    assert_eq!(happenings.len(), 1, "{happenings:?}");
    happenings.remove(0)
}

fn inbound(content: Value) -> Inbound {
    match happening(&webhook(json!({"messages": [message(content)]}))) {
        Happening::Inbound(inbound) => inbound,
        other => panic!("not a message: {other:?}"),
    }
}

fn why_ignored(body: &[u8]) -> String {
    match happening(body) {
        Happening::Ignored { why } => why,
        other => panic!("not ignored: {other:?}"),
    }
}

#[test]
fn a_text_carries_who_wrote_what_to_whom() {
    let text = message(json!({"type": "text", "text": {"body": "مرحبا 👋\nline two"}}));
    let contacts = json!([{"wa_id": "999", "profile": {"name": "Another"}},
        {"wa_id": "16505551234", "profile": {"name": "Sheena"}}]);
    let body = webhook(json!({"contacts": contacts, "messages": [text]}));

    let expected = Inbound {
        wamid: "wamid.ABC=".to_owned(),
        from: "16505551234".to_owned(),
        phone_number_id: "106540352242922".to_owned(),
        timestamp: 1_767_225_600,
        kind: Kind::Text,
        text: Some("مرحبا 👋\nline two".to_owned()),
        is_stop: false,
        profile_name: Some("Sheena".to_owned()),
        raw: text,
    };
    assert_eq!(happening(&body), Happening::Inbound(expected));
}

#[test]
fn each_kind_of_message_is_taken_with_the_words_it_has() {
    let media = json!({"id": "1", "mime_type": "x/y", "sha256": "abc="});
    let captioned = json!({"id": "1", "caption": "look"});
    let list = json!({"type": "list_reply", "list_reply": {"id": "2", "title": "Express"}});
    let button = json!({"type": "button_reply", "button_reply": {"id": "1", "title": "Yes"}});
    let form = json!({"type": "nfm_reply",
        "nfm_reply": {"name": "flow", "body": "Sent", "response_json": "{}"}});
    let order = json!({"catalog_id": "9", "text": "gift", "product_items": []});
    let cases = [
        (json!({"type": "image", "image": media}), Kind::Image, None),
        (json!({"type": "image", "image": captioned}), Kind::Image, Some("look")),
        (json!({"type": "video", "video": captioned}), Kind::Video, Some("look")),
        (json!({"type": "document", "document": captioned}), Kind::Document, Some("look")),
        (json!({"type": "audio", "audio": media}), Kind::Audio, None),
        (json!({"type": "sticker", "sticker": media}), Kind::Sticker, None),
        (json!({"type": "location", "location": {"latitude": 1.5}}), Kind::Location, None),
        (json!({"type": "contacts", "contacts": [{}]}), Kind::Contacts, None),
        (json!({"type": "button", "button": {"text": "More"}}), Kind::Button, Some("More")),
        (json!({"type": "interactive", "interactive": button}), Kind::ButtonReply, Some("Yes")),
        (json!({"type": "interactive", "interactive": list}), Kind::ListReply, Some("Express")),
        (json!({"type": "interactive", "interactive": form}), Kind::FormReply, Some("Sent")),
        (json!({"type": "interactive", "interactive": {"type": "x"}}), Kind::Unsupported, None),
        (json!({"type": "order", "order": order}), Kind::Order, Some("gift")),
        (json!({"type": "unsupported", "errors": []}), Kind::Unsupported, None),
        (json!({"type": "unknown"}), Kind::Unsupported, None),
        (json!({"type": "poll_of_next_year", "x": 1}), Kind::Unsupported, None),
    ];
    for (content, kind, text) in cases {
        let inbound = inbound(content.clone());
        assert_eq!((inbound.kind, inbound.text.as_deref()), (kind, text), "{content}");
        assert!(!inbound.is_stop);
    }
}

#[test]
fn messages_that_need_no_reply_are_ignored_with_their_reason() {
    let cases = [
        (json!({"type": "reaction", "reaction": {"message_id": "wamid.1"}}), "reaction"),
        (json!({"type": "system", "system": {"type": "user_changed_number"}}), "nobody wrote"),
        (json!({"type": "edit", "edit": {"original_message_id": "wamid.1"}}), "edit"),
        (json!({"type": "revoke", "revoke": {"original_message_id": "wamid.1"}}), "withdrawn"),
        (json!({"type": "request_welcome"}), "opened"),
        (json!({"type": "text", "group_id": "g", "text": {"body": "STOP"}}), "group"),
    ];
    for (content, reason) in cases {
        let why = why_ignored(&webhook(json!({"messages": [message(content)]})));
        assert!(why.contains(reason), "{why}");
    }
}

#[test]
fn a_person_who_hides_the_number_is_known_by_the_user_id() {
    let user = "US.13491208655302741918";
    let mut hidden = message(json!({"type": "text", "text": {"body": "Hi"}}));
    hidden["from_user_id"] = json!(user);
    for absent in [Value::Null, json!("")] {
        hidden["from"] = absent;
        let contacts = json!([{"user_id": user, "profile": {"name": "Mika"}}]);
        let body = webhook(json!({"contacts": contacts, "messages": [hidden]}));
        let Happening::Inbound(inbound) = happening(&body) else { panic!("not a message") };
        assert_eq!((inbound.from.as_str(), inbound.profile_name.as_deref()), (user, Some("Mika")));
    }
    hidden["from"] = json!("16505551234");
    let body = webhook(json!({"messages": [hidden]}));
    let Happening::Inbound(inbound) = happening(&body) else { panic!("not a message") };
    assert_eq!(inbound.from, "16505551234");
}

#[test]
fn statuses_carry_their_state_our_key_and_their_errors() {
    let states = [
        ("sent", State::Sent),
        ("delivered", State::Delivered),
        ("read", State::Read),
        ("played", State::Played),
        ("failed", State::Failed),
        ("deleted", State::Deleted),
    ];
    for (word, state) in states {
        let body = webhook(json!({"statuses": [{
            "id": "wamid.1", "status": word, "timestamp": "1767225600", "recipient_id": "1650",
            "biz_opaque_callback_data": "0198-key", "conversation": {"id": "c"},
            "errors": [{"code": 131_047, "title": "Re-engagement message"}],
        }]}));
        let errors = vec![StatusError { code: 131_047, title: "Re-engagement message".to_owned() }];
        let expected = Status {
            wamid: "wamid.1".to_owned(),
            recipient: "1650".to_owned(),
            state,
            biz_opaque_callback_data: Some("0198-key".to_owned()),
            errors,
        };
        assert_eq!(happening(&body), Happening::Status(expected));
    }
}

#[test]
fn a_status_without_a_number_or_of_a_new_kind_is_no_reason_to_fail() {
    let hidden = json!({"id": "wamid.1", "status": "read", "recipient_user_id": "US.1"});
    let Happening::Status(status) = happening(&webhook(json!({"statuses": [hidden]}))) else {
        panic!("not a status")
    };
    assert_eq!((status.recipient.as_str(), status.biz_opaque_callback_data), ("US.1", None));
    let new = json!({"id": "wamid.1", "status": "warning", "recipient_id": "1650"});
    assert!(why_ignored(&webhook(json!({"statuses": [new]}))).contains("warning"));
}

#[test]
fn changes_of_other_fields_are_ignored_whatever_they_hold() {
    let fields = [
        "account_update",
        "message_template_status_update",
        "phone_number_quality_update",
        "smb_message_echoes",
        "history",
        "user_preferences",
        "calls",
        "flows",
        "a_field_of_next_year",
    ];
    for field in fields {
        for value in [json!({}), json!([1, "x"]), json!({"messages": "not even an array"})] {
            let why = why_ignored(&change(field, value));
            assert!(why.contains(&format!("`{field}`")), "{why}");
        }
    }
}

#[test]
fn news_of_the_platform_and_empty_webhooks_say_so() {
    let error = json!({"errors": [{"code": 130_429, "message": "Rate limit hit"}]});
    assert_eq!(why_ignored(&webhook(error)), "the platform reports error 130429: Rate limit hit");
    assert!(why_ignored(&webhook(json!({"messages": null}))).contains("without messages"));
    let empty = json!({"object": "whatsapp_business_account", "entry": []}).to_string();
    assert!(why_ignored(empty.as_bytes()).contains("no change"));
}

#[test]
fn one_webhook_may_tell_of_many_things_in_order() {
    let one = message(json!({"type": "text", "text": {"body": "one"}}));
    let two = message(json!({"type": "reaction", "reaction": {}}));
    let status = json!({"id": "wamid.1", "status": "sent", "recipient_id": "1650"});
    let body = webhook(json!({"messages": [one, two], "statuses": [status]}));
    let kinds: Vec<_> = parse(&body).unwrap().iter().map(std::mem::discriminant).collect();
    let ignored = Happening::Ignored { why: String::new() };
    assert_eq!(kinds.len(), 3);
    assert_eq!(kinds[1], std::mem::discriminant(&ignored));
}

#[test]
fn a_word_of_the_table_withdraws_consent_and_nothing_else_does() {
    let stops =
        ["STOP", " stop\n", "Stop!", "“stop”", "PARAR", "Sair.", "إيقاف", "\u{200f}הסר", "停止"];
    for word in stops {
        assert!(inbound(json!({"type": "text", "text": {"body": word}})).is_stop, "{word}");
        assert!(inbound(json!({"type": "button", "button": {"text": word}})).is_stop, "{word}");
    }
    for text in ["don't stop", "stop it", "bus stop", "", "!", "cancel", "STOPPED", "s top"] {
        assert!(!inbound(json!({"type": "text", "text": {"body": text}})).is_stop, "{text}");
    }
    let picture = json!({"type": "image", "image": {"caption": "STOP"}});
    assert!(!inbound(picture).is_stop, "a caption describes its picture");
}

// The host chose what a button means by its payload or id; what it shows may be anything.
#[test]
fn a_button_that_means_stop_is_a_stop_whatever_it_shows() {
    let quick = |payload: &str, text: &str| {
        inbound(json!({"type": "button", "button": {"payload": payload, "text": text}})).is_stop
    };
    let chosen = |form: &str, id: &str, title: &str| {
        let reply = json!({"type": form, form: {"id": id, "title": title}});
        inbound(json!({"type": "interactive", "interactive": reply})).is_stop
    };
    for word in ["STOP", "stop", "OPT_OUT", "unsubscribe", "stop_all"] {
        assert!(quick(word, "No more of this"), "{word}");
        assert!(chosen("button_reply", word, "No more"), "{word}");
        assert!(chosen("list_reply", word, "No more"), "{word}");
    }
    assert!(quick("7", "Stop") && chosen("button_reply", "7", "STOP!"));
    for other in ["more", "stop_order_7", "bus_stop", ""] {
        assert!(!quick(other, "Yes") && !chosen("button_reply", other, "Yes"), "{other}");
    }
    assert!(!inbound(json!({"type": "button", "button": {"text": "Yes"}})).is_stop);
}
