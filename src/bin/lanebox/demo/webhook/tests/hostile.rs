//! Hostile bodies: refused with the place that was wrong, never a panic.

use proptest::prelude::*;

use super::super::*;
use super::{message, webhook};
use serde_json::{Map, json};

const SAMPLE: &str = include_str!("../../input/whatsapp_webhooks.jsonl");

fn refusal(body: &[u8]) -> Refusal {
    parse(body).expect_err("it should be refused")
}

fn refusal_of_message(change: impl FnOnce(&mut Value)) -> Refusal {
    let mut text = message(json!({"type": "text", "text": {"body": "hi"}}));
    change(&mut text);
    refusal(&webhook(json!({"messages": [text]})))
}

#[test]
fn a_wrong_or_missing_field_is_named_by_its_path() {
    let at = "entry[0].changes[0].value.messages[0]";
    let cases: [(&str, Value, &str); 14] = [
        ("id", Value::Null, "missing"),
        ("id", json!(7), "expected a string, found 7"),
        ("id", json!(""), "expected 1 to 256 bytes, found 0"),
        ("id", json!("x".repeat(257)), "expected 1 to 256 bytes, found 257"),
        ("id", json!("two words"), "an id has no blanks, found \"two words\""),
        ("from", json!(["x"]), "expected a string, found an array"),
        ("from", Value::Null, "missing"),
        ("timestamp", json!("soon"), "expected a whole number, found \"soon\""),
        ("timestamp", json!(-1), "expected Unix seconds between 1970 and 9999"),
        ("timestamp", json!(1.5), "expected a whole number, found 1.5"),
        ("type", json!({}), "expected a string, found an object"),
        ("type", Value::Null, "missing"),
        ("text", Value::Null, "missing"),
        ("text", json!("hi"), "expected an object, found \"hi\""),
    ];
    for (field, value, why) in cases {
        let refusal = refusal_of_message(|text| text[field] = value.clone());
        let expected = Refusal { at: format!("{at}.{field}"), why: why.to_owned() };
        assert_eq!(refusal, expected, "{value}");
    }
    let refusal = refusal_of_message(|text| text["text"]["body"] = json!(true));
    assert_eq!(refusal.to_string(), format!("{at}.text.body: expected a string, found true"));
}

#[test]
fn an_envelope_of_another_shape_is_refused() {
    let cases = [
        ("", "body: EOF while parsing"),
        ("hello", "body: expected value"),
        ("[]", "body: expected an object, found an array"),
        ("null", "body: expected an object, found null"),
        ("{}", "object: missing"),
        (r#"{"object":"page","entry":[]}"#, "object: expected \"whatsapp_business_account\""),
        (r#"{"object":"whatsapp_business_account"}"#, "entry: missing"),
        (r#"{"object":"whatsapp_business_account","entry":{}}"#, "entry: expected an array"),
        (r#"{"object":"whatsapp_business_account","entry":[1]}"#, "entry[0]: expected an object"),
        (r#"{"object":"whatsapp_business_account","entry":[{}]}"#, "entry[0].changes: missing"),
        (r#"{"object":"whatsapp_business_account","entry":[]} x"#, "body: trailing characters"),
    ];
    for (body, expected) in cases {
        let refusal = refusal(body.as_bytes()).to_string();
        assert!(refusal.starts_with(expected), "{body}: {refusal}");
    }
}

#[test]
fn text_that_json_readers_disagree_about_is_refused() {
    let twice = br#"{"object":"whatsapp_business_account","object":"page","entry":[]}"#;
    assert!(refusal(twice).why.contains("\"object\" stands twice"));
    let nul = br#"{"object":"whatsapp_business_account","entry":[],"x":["a\u0000b"]}"#;
    assert!(refusal(nul).why.contains("contains a NUL"));
    let nul_key = br#"{"object":"whatsapp_business_account","entry":[],"a\u0000b":1}"#;
    assert!(refusal(nul_key).why.contains("the key"));
    let surrogate = br#"{"object":"\ud800"}"#;
    assert!(refusal(surrogate).why.contains("hex escape"));
    assert_eq!(refusal(b"{\"object\":\"\xff\"}").at, "body");
    let infinite = br#"{"object":1e999}"#;
    assert!(refusal(infinite).why.contains("number out of range"));
    let private = br#"{"$serde_json::private::RawValue":"{}"}"#;
    assert_eq!(refusal(private).to_string(), "object: missing");
}

#[test]
fn depth_and_size_have_their_limits() {
    let nested = |depth: usize| {
        let extra = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        format!(r#"{{"object":"whatsapp_business_account","entry":[],"x":{extra}}}"#)
    };
    assert!(parse(nested(63).as_bytes()).is_ok());
    assert_eq!(refusal(nested(64).as_bytes()).why, "nested deeper than 64");
    assert!(refusal(nested(100_000).as_bytes()).why.contains("recursion limit"));

    let mut huge = br#"{"object":"whatsapp_business_account","entry":[]}"#.to_vec();
    huge.resize(MAX_BODY, b' ');
    assert!(parse(&huge).is_ok());
    huge.push(b' ');
    assert!(refusal(&huge).why.contains("at most 3145728"));
}

#[test]
fn a_refusal_quotes_foreign_text_short_and_on_one_line() {
    let refusal = refusal_of_message(|text| text["id"] = json!("\n\u{1b}[2J ".repeat(50)));
    let text = refusal.to_string();
    assert!(text.len() < 400 && !text.contains(['\n', '\u{1b}']), "{text}");
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        "(whatsapp_business_account|messages|text|sent|interactive|1767225600)"
            .prop_map(Value::from),
    ];
    let key = prop_oneof![
        "(object|entry|changes|field|value|messages|statuses|errors|metadata|contacts|id|type)",
        "(from|timestamp|text|body|image|interactive|status|recipient_id|code|title|group_id)",
        any::<String>(),
    ];
    leaf.prop_recursive(6, 64, 6, move |inner| {
        let members = prop::collection::vec((key.clone(), inner.clone()), 0..6);
        prop_oneof![
            prop::collection::vec(inner, 0..6).prop_map(Value::from),
            members.prop_map(|members| Value::Object(Map::from_iter(members))),
        ]
    })
}

/// Puts `graft` in the place of the `n`-th value below `value`, counted depth first.
fn replace(value: &mut Value, n: &mut usize, graft: &Value) {
    if *n == 0 {
        *value = graft.clone();
    }
    *n = n.wrapping_sub(1);
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| replace(item, n, graft)),
        Value::Object(members) => members.values_mut().for_each(|item| replace(item, n, graft)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn sample(n: prop::sample::Index) -> &'static str {
    let lines: Vec<_> = SAMPLE.lines().collect();
    lines[n.index(lines.len())]
}

/// Taken or refused on purpose: a list that tells something, or a place and a reason.
fn check(body: &[u8]) {
    match parse(body) {
        Ok(happenings) => assert!(!happenings.is_empty()),
        Err(refusal) => assert!(!refusal.at.is_empty() && !refusal.why.is_empty()),
    }
}

proptest! {
    #[test]
    fn any_bytes_are_taken_or_refused(body in prop::collection::vec(any::<u8>(), 0..200)) {
        check(&body);
    }

    #[test]
    fn any_json_is_taken_or_refused(document in any_json()) {
        check(document.to_string().as_bytes());
        check(&webhook(json!({"messages": [document], "statuses": [document]})));
        check(&webhook(json!({"messages": document, "contacts": document, "errors": document})));
    }

    #[test]
    fn a_webhook_with_a_foreign_part_is_taken_or_refused(
        line in any::<prop::sample::Index>(), n in 0..60_usize, graft in any_json(),
    ) {
        let mut body: Value = serde_json::from_str(sample(line)).unwrap();
        replace(&mut body, &mut n.clone(), &graft);
        check(body.to_string().as_bytes());
    }

    #[test]
    fn a_damaged_webhook_is_taken_or_refused(
        line in any::<prop::sample::Index>(), at in any::<prop::sample::Index>(),
        byte in any::<u8>(), cut in any::<bool>(),
    ) {
        let mut body = sample(line).as_bytes().to_vec();
        let at = at.index(body.len());
        body[at] = byte;
        body.truncate(if cut { at } else { body.len() });
        check(&body);
    }
}
