//! Event names and the patterns that select them.

use proptest::prelude::*;

use super::super::pattern::{Pattern, is_event_name};
use super::*;

#[test]
fn names_are_dotted_lower_case() {
    for good in ["call.dial", "a.b", "ai_agent.dispatch_requested", "a.b.c", "x9_.y_9"] {
        assert!(is_event_name(good), "{good}");
    }
    let (longest, too_long) =
        ("a.".to_owned() + &"b".repeat(126), "a.".to_owned() + &"b".repeat(127));
    assert!(is_event_name(&longest));
    for bad in [
        "",
        "call",
        "call.",
        ".dial",
        "call..dial",
        "Call.dial",
        "call.Dial",
        "call.9",
        "9.call",
        "_a.b",
        "a._b",
        "call.di al",
        "call.d\u{e9}al",
        "call.dial\0",
        "call-x.dial",
        "*",
        "call.*",
        &too_long,
    ] {
        assert!(!is_event_name(bad), "{bad:?}");
    }
}

#[test]
fn a_prefix_takes_all_below_it_and_nothing_beside_it() {
    let below = Pattern::parse("call.*").unwrap();
    assert!(below.matches("call.dial"));
    assert!(below.matches("call.dial.retry"));
    assert!(!below.matches("callback.due"));
    assert!(!below.matches("mail.call.dial"));
    assert!(Pattern::parse("call.dial").unwrap().matches("call.dial"));
    assert!(!Pattern::parse("call.dial").unwrap().matches("call.dial.retry"));
    assert!(Pattern::parse("*").unwrap().matches("call.dial"));
}

#[test]
fn a_pattern_of_no_known_form_is_refused_and_registers_nobody() {
    let hooks = Hooks::default();
    for bad in [
        "",
        "call",
        "call*",
        "call.d*",
        "*.dial",
        "call.*.retry",
        "call.**",
        ".*",
        "Call.*",
        "call. *",
    ] {
        let error = hooks.after_matching(bad, Priority(0), |_| Ok(())).unwrap_err();
        assert!(matches!(&error, HookError::Pattern { pattern } if pattern == bad), "{error:?}");
        assert!(hooks.before_matching(bad, Priority(0), |_| Ok(())).is_err());
    }
    assert!(hooks.bus.before.take().is_empty());
    assert!(hooks.bus.after.take().is_empty());
}

proptest! {
    #[test]
    fn any_text_is_a_pattern_or_refused_without_a_panic(text in "\\PC{0,140}") {
        let name = is_event_name(&text);
        let exact = Pattern::parse(&text).is_some_and(|it| matches!(it, Pattern::Exact(_)));
        prop_assert_eq!(exact, name);
    }

    #[test]
    fn a_name_matches_itself_and_the_prefix_of_each_of_its_dots(
        name in "[a-z][a-z0-9_]{0,8}(\\.[a-z][a-z0-9_]{0,8}){1,4}",
    ) {
        prop_assert!(is_event_name(&name));
        prop_assert!(Pattern::parse(&name).unwrap().matches(&name));
        for (dot, _) in name.match_indices('.') {
            let pattern = format!("{}.*", &name[..dot]);
            prop_assert!(Pattern::parse(&pattern).unwrap().matches(&name), "{}", pattern);
        }
    }
}
