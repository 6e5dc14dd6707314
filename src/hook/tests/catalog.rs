//! Descriptors, events that nobody described, and the flat map for templates.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use serde_json::json;

use super::*;
use crate::hook::fields::flatten;

fn describe_dial(label: &str) -> Vec<Descriptor> {
    vec![Descriptor::of::<Dial>(label).sensitive("number").field("agent")]
}

// fault: hook-first-failure-hides
#[test]
fn j13_a_provider_that_fails_hides_nobody_else_and_is_reported() {
    let hooks = Hooks::default();
    hooks.describe("broken", || Err("no settings".into()));
    hooks.describe("telephony", || Ok(describe_dial("A call is about to be dialled")));
    hooks.describe("panicking", || panic!("oops"));
    hooks.describe("reports", || Ok(vec![Descriptor::of::<Ended>("A call ended")]));

    let catalog = hooks.catalog();

    assert_eq!(catalog.descriptors.keys().collect::<Vec<_>>(), [&"call.dial", &"call.ended"]);
    let failures: Vec<_> =
        catalog.failures.iter().map(|it| (it.provider.as_str(), it.error.as_str())).collect();
    assert_eq!(failures, [("broken", "no settings"), ("panicking", "it panicked: oops")]);
}

#[test]
fn j13_an_event_described_twice_keeps_the_first_and_is_reported() {
    let hooks = Hooks::default();
    hooks.describe("telephony", || Ok(describe_dial("first")));
    hooks.describe("plugin", || Ok(describe_dial("second")));

    let catalog = hooks.catalog();

    assert_eq!(catalog.descriptors["call.dial"].label(), "first");
    let failure = ProviderFailure {
        provider: "plugin".to_owned(),
        error: "`call.dial` is already described".to_owned(),
    };
    assert_eq!(catalog.failures, [failure]);
}

#[test]
fn j13_a_provider_is_asked_until_it_has_answered_and_then_no_more() {
    let hooks = Hooks::new(Unregistered::Refuse);
    let (asked, ready) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicBool::new(false)));
    let (count, answers) = (Arc::clone(&asked), Arc::clone(&ready));
    hooks.describe("slow", move || {
        count.fetch_add(1, Ordering::SeqCst);
        match answers.load(Ordering::SeqCst) {
            true => Ok(describe_dial("dial")),
            false => Err("not yet".into()),
        }
    });

    assert_eq!(hooks.catalog().failures.len(), 1);
    let refusal = hooks.publish(&mut dial()).unwrap_err();
    assert!(refusal.to_string().contains("could not be asked: slow"), "{refusal}");
    ready.store(true, Ordering::SeqCst);
    assert_eq!(hooks.publish(&mut dial()).unwrap(), Answer::Proceed);
    assert_eq!(hooks.publish(&mut dial()).unwrap(), Answer::Proceed);
    assert!(hooks.catalog().failures.is_empty());
    assert_eq!(asked.load(Ordering::SeqCst), 3);
}

#[test]
fn j13_a_provider_that_asks_for_the_catalog_fails_instead_of_asking_itself_for_ever() {
    let hooks = Hooks::default();
    let bus = hooks.clone();
    hooks.describe("curious", move || match bus.catalog().failures.first() {
        Some(failure) => Err(failure.error.clone().into()),
        None => Ok(Vec::new()),
    });

    let catalog = hooks.catalog();

    assert_eq!(catalog.failures[0].error, "it was asked from too deep within others");
}

#[derive(Serialize)]
struct PriceListChanged {
    currency: String,
    valid_until: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

impl HookEvent for PriceListChanged {
    const NAME: &'static str = "price_list.changed";

    fn org(&self) -> &str {
        PLATFORM
    }
}

impl AfterEvent for PriceListChanged {}

// fault: hook-empty-is-absent
#[test]
fn j14_a_platform_event_has_no_tenant_and_missing_values_are_empty_strings() {
    let event = PriceListChanged { currency: "EUR".to_owned(), valid_until: None, note: None };
    let event: &dyn AnyEvent = &event;

    assert_eq!(event.org(), "-");
    let mut fields = event.fields().unwrap();
    assert_eq!(fields["currency"], "EUR");
    assert_eq!(fields["valid_until"], "");

    // What the type leaves out, its descriptor adds; what is there stays.
    assert!(!fields.contains_key("note"));
    let label = "Prices have changed";
    let descriptor = Descriptor::of::<PriceListChanged>(label).field("note").field("currency");
    descriptor.complete(&mut fields);
    assert_eq!(fields["note"], "");
    assert_eq!(fields["currency"], "EUR");
}

// fault: hook-empty-is-absent
#[test]
fn j14_a_payload_of_any_shape_becomes_a_flat_map() {
    let payload = json!({
        "customer": { "name": "Zoë 🦊", "phone": null, "tags": {} },
        "lines": [{ "price": 1.5 }, { "price": 2 }],
        "notes": [],
        "vip": true,
        "big": u64::MAX,
    });
    let fields = flatten(&payload);
    let expected = [
        ("big", "18446744073709551615"),
        ("customer.name", "Zoë 🦊"),
        ("customer.phone", ""),
        ("customer.tags", ""),
        ("lines.0.price", "1.5"),
        ("lines.1.price", "2"),
        ("notes", ""),
        ("vip", "true"),
    ];
    let fields: Vec<_> = fields.iter().map(|(key, text)| (key.as_str(), text.as_str())).collect();
    assert_eq!(fields, expected);

    assert!(flatten(&json!(null)).is_empty());
    assert_eq!(flatten(&json!("bare"))["value"], "bare");
}

#[test]
fn j14_an_event_that_is_no_json_says_so_and_hurts_nobody_else() {
    #[derive(Serialize)]
    struct Odd(std::collections::BTreeMap<(u8, u8), u8>);
    impl HookEvent for Odd {
        const NAME: &'static str = "odd.one";
        fn org(&self) -> &str {
            "acme"
        }
    }
    impl AfterEvent for Odd {}
    let odd = Odd([((1, 2), 3)].into());

    let error = (&odd as &dyn AnyEvent).fields().unwrap_err();
    assert!(matches!(error, HookError::Payload { event: "odd.one", .. }), "{error:?}");

    let (hooks, heards) = (Hooks::default(), Heards::default());
    hooks.after_matching("*", Priority(1), |event| Ok(event.payload().map(drop)?)).unwrap();
    hooks.after(Priority(0), heards.noting::<Odd>("by its type"));
    hooks.publish(&odd).unwrap();
    assert_eq!(heards.take(), ["by its type"]);
}

// fault: hook-unknown-is-not-counted
#[test]
fn j15_an_event_that_nobody_described_is_counted_by_default() {
    let (hooks, heards) = (Hooks::default(), Heards::default());
    hooks.describe("telephony", || Ok(describe_dial("dial")));
    hooks.after(Priority(0), heards.noting::<Ended>("heard"));

    hooks.publish(&Ended { seconds: 1 }).unwrap();
    hooks.publish(&Ended { seconds: 2 }).unwrap();
    assert_eq!(hooks.publish(&mut dial()).unwrap(), Answer::Proceed);

    assert_eq!(heards.take(), ["heard", "heard"]);
    assert_eq!(hooks.unregistered(), BTreeMap::from([("call.ended", 2)]));
}

// fault: hook-strict-is-lax
#[test]
fn j15_an_event_that_nobody_described_is_refused_where_the_catalog_is_strict() {
    let (hooks, heards) = (Hooks::new(Unregistered::Refuse), Heards::default());
    hooks.describe("telephony", || Ok(describe_dial("dial")));
    hooks.after(Priority(0), heards.noting::<Ended>("never"));

    let answer = hooks.publish(&Ended { seconds: 1 });
    assert!(matches!(answer, Err(HookError::Unregistered { event: "call.ended", .. })));
    assert_eq!(hooks.publish(&mut dial()).unwrap(), Answer::Proceed);

    assert_eq!(heards.take(), Vec::<String>::new());
    assert_eq!(hooks.unregistered(), BTreeMap::from([("call.ended", 1)]));

    // Described later, it passes.
    hooks.describe("reports", || Ok(vec![Descriptor::of::<Ended>("A call ended")]));
    hooks.publish(&Ended { seconds: 1 }).unwrap();
    assert_eq!(heards.take(), ["never"]);
}
