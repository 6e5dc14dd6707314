//! Texts from outside: what is refused, and what may be shown to people.

use proptest::prelude::*;

use super::*;

fn nested(depth: usize) -> String {
    format!("{}{}", "[".repeat(depth), "]".repeat(depth))
}

// fault: nul-is-taken
#[test]
fn j18_nul_is_refused_in_each_of_its_forms_and_nothing_that_only_looks_like_it() {
    let refused =
        ["\"\0\"", r#""\u0000""#, r#"{"a":["x\u0000"]}"#, r#""\\\u0000""#, r#""\u00001""#];
    for text in refused {
        let error = check_json("payload", text, 100).expect_err(text);
        assert!(error.to_string().contains("NUL"), "{text}: {error}");
    }
    for text in [r#""\\u0000""#, r#""\\\\u0000""#, r#""a\\u0000b""#, r#""\u0001""#, r#""\n\\""#] {
        check_json("payload", text, 100).expect(text);
    }
}

// fault: no-json-is-taken
#[test]
fn j18_what_is_not_json_is_refused() {
    for text in ["", "{", "{'a':1}", "nul", "[1,]", "\"a\nb\"", r#""\x""#, "1 2", "{\"a\" 1}"] {
        assert!(check_json("payload", text, 100).is_err(), "{text}");
    }
}

// fault: large-is-taken
#[test]
fn e6_what_is_too_large_is_refused_and_not_cut() {
    assert!(check_json("payload", "[1,2]", 5).is_ok());
    let error = check_json("payload", "[1,2]", 4).expect_err("one byte too many");
    assert!(error.to_string().contains("it was not cut"), "{error}");
}

// fault: depth-counts-texts
#[test]
fn j18_depth_is_counted_outside_of_texts_only() {
    assert!(check_json("payload", &nested(64), 1_000).is_ok());
    assert!(check_json("payload", &nested(65), 1_000).is_err());
    assert!(check_json("payload", &nested(100_000), 1 << 20).is_err(), "and no stack runs over");
    let quoted = format!(r#""{} \" {}""#, "[".repeat(80), "{".repeat(80));
    assert!(check_json("payload", &quoted, 1_000).is_ok());
    let closed = format!("[{}]", vec!["[]"; 100].join(","));
    assert!(check_json("payload", &closed, 1_000).is_ok(), "wide is not deep");
    let escaped = format!(r#"["\\",{}]"#, nested(64));
    assert!(check_json("payload", &escaped, 1_000).is_err(), "an escaped backslash ends its text");
}

#[test]
fn one_line_is_the_first_line_that_says_something() {
    let cases = [
        ("", "no reason given"),
        ("\n \r\n\t", "no reason given"),
        ("\u{1}\u{2}\nsecond", "second"),
        ("\n\n  first \nsecond", "first"),
        ("a\u{0}b\u{1b}[31mc", "ab[31mc"),
        ("a\rb", "ab"),
    ];
    for (text, line) in cases {
        assert_eq!(one_line(text), line, "{text:?}");
    }
}

// fault: errors-are-whole
#[test]
fn j47_a_long_error_is_cut_on_a_character_boundary() {
    let line = one_line(&"ä".repeat(50_000));
    assert_eq!(line.chars().count(), 300);
    assert!(line.ends_with("ä…"));
    assert_eq!(one_line(&"ä".repeat(300)).chars().count(), 300);
    assert!(one_line(&"ä".repeat(300)).ends_with('ä'));
}

// fault: errors-show-the-payload
#[test]
fn r73_texts_and_long_numbers_of_the_payload_are_not_in_an_error() {
    let payload = r#"{"to":"+4915112345","body":"see you at eight","code":1234567,"n":42,"x":["deep secret"]}"#;
    let error = "no route to +4915112345: \"see you at eight\" (1234567, 42) deep secret";
    assert_eq!(scrub(error, payload), "no route to […]: \"[…]\" ([…], 42) […]");
}

#[test]
fn r73_a_text_of_several_lines_does_not_show_its_first_one() {
    let payload = r#"{"body":"dear Ann\nyour code is 99\ttomorrow"}"#;
    let body = "dear Ann\nyour code is 99\ttomorrow";
    assert_eq!(scrub(&format!("cannot parse: {body}"), payload), "cannot parse: […]");
    assert_eq!(scrub(&format!("cannot parse {body:?}"), payload), "cannot parse \"[…]\\n[…]\"");
    assert_eq!(scrub("bad: your code is 99\ttomorrow", payload), "bad: […]");
}

#[test]
fn r73_a_quoted_text_is_hidden_as_its_quotes_write_it() {
    let payload = r#"{"body":"he said \"no\" twice"}"#;
    assert_eq!(scrub(&format!("bad {:?}", "he said \"no\" twice"), payload), "bad \"[…]\"");
}

#[test]
fn r73_no_half_of_a_text_stands_where_a_line_was_cut() {
    let secret = "s3cret ".repeat(30);
    let payload = serde_json::json!({ "body": secret.trim() }).to_string();
    for before in [250, 280, 299, 3_900, 3_990, 3_999, 5_000] {
        let error = format!("{} {}", "x".repeat(before), secret.trim());
        let line = scrub(&error, &payload);
        assert!(!line.contains("s3c"), "{before}: {line}");
        assert!(line.chars().count() <= 300);
    }
}

#[test]
fn a_payload_that_is_not_json_hides_nothing_and_breaks_nothing() {
    assert_eq!(scrub("plain error", "{"), "plain error");
    assert_eq!(scrub("", "{}"), "no reason given");
}

#[test]
fn a_payload_of_many_texts_is_looked_through_in_a_moment() {
    let items: Vec<String> = (0..10_000).map(|i| format!("text number {i}")).collect();
    let payload = serde_json::json!({ "items": items }).to_string();
    let error = "text number 9999 ".repeat(6_000);
    assert!(!scrub(&error, &payload).contains("number"));
}

proptest! {
    #[test]
    fn r73_what_is_shown_is_one_short_line_without_the_text(
        secret in "[a-z0-9 \"\\\\\n\t€]{4,40}", before in ".{0,320}", after in ".{0,40}"
    ) {
        let payload = serde_json::json!({ "deep": [{ "body": secret }] }).to_string();
        let line = scrub(&format!("{before}{secret}{after}"), &payload);
        prop_assert!(line.chars().count() <= 300 && !line.chars().any(char::is_control));
        prop_assert!(!line.is_empty());
        for part in secret.lines().map(clean).filter(|part| part.chars().count() >= 4) {
            prop_assert!(!line.contains(&part), "{line:?} shows {part:?}");
        }
    }
}
