//! The sample holds what it promises, traffic repeats, and a bad file is told by its line.

use std::collections::{HashMap, HashSet};

use super::super::webhook::{Happening, Inbound, Kind};
use super::*;

fn happenings(webhooks: &[Webhook]) -> Vec<Happening> {
    let taken = webhooks.iter().map(|webhook| webhook::parse(webhook.body.as_bytes()).unwrap());
    taken.flatten().collect()
}

fn inbound(webhooks: &[Webhook]) -> Vec<Inbound> {
    let message = |happening| match happening {
        Happening::Inbound(inbound) => Some(inbound),
        _ => None,
    };
    happenings(webhooks).into_iter().filter_map(message).collect()
}

fn wamids(messages: &[Inbound]) -> HashSet<&str> {
    messages.iter().map(|message| message.wamid.as_str()).collect()
}

#[test]
fn the_sample_holds_every_kind_of_traffic() {
    let webhooks = parse(SAMPLE.as_bytes()).unwrap();
    let messages = inbound(&webhooks);
    let kinds: HashSet<_> = messages.iter().map(|m| format!("{:?}", m.kind)).collect();
    assert_eq!(kinds.len(), 14, "every kind that the reader knows: {kinds:?}");
    assert!(wamids(&messages).len() < messages.len(), "duplicates");
    assert!(messages.iter().any(|m| m.kind == Kind::Image && m.text.is_none()));
    let text = |m: &Inbound, c: char| m.text.as_ref().is_some_and(|text| text.contains(c));
    assert!(messages.iter().any(|m| text(m, '😊')) && messages.iter().any(|m| text(m, 'م')));
    let apart = |pair: &[Inbound]| {
        pair[0].from == pair[1].from && (1..5).contains(&(pair[1].timestamp - pair[0].timestamp))
    };
    assert!(messages.windows(2).any(apart), "two messages seconds apart");

    let after_stop = |stop: &Inbound| {
        let later = messages.iter().skip_while(|m| m.wamid != stop.wamid).skip(1);
        later.filter(|m| m.from == stop.from).count()
    };
    let stops: Vec<_> = messages.iter().filter(|m| m.is_stop).map(after_stop).collect();
    assert_eq!(stops, [0, 1], "one STOP that nothing follows, and one with a message after it");

    let all = happenings(&webhooks);
    assert!(all.iter().any(|h| matches!(h, Happening::Status(_))));
    assert!(all.iter().filter(|h| matches!(h, Happening::Ignored { .. })).count() >= 7);
}

#[test]
fn a_seed_repeats_its_traffic_and_another_does_not() {
    assert_eq!(generate(5, 3, 7), generate(5, 3, 7));
    assert_ne!(generate(5, 3, 7), generate(5, 3, 8));
}

#[test]
fn generated_traffic_has_the_size_that_was_asked_for_and_one_stop() {
    for (contacts, messages, seed) in [(1, 1, 0), (2, 1, 1), (3, 2, 2), (40, 4, 3), (7, 30, 4)] {
        let webhooks = generate(contacts, messages, seed);
        let all = inbound(&webhooks);
        let unique = wamids(&all);
        assert!(unique.len() < all.len(), "duplicates");
        let stops: HashSet<_> =
            all.iter().filter(|m| m.is_stop).map(|m| (&m.wamid, &m.from)).collect();
        assert_eq!(stops.len(), usize::from(contacts > 1));
        assert_eq!(unique.len(), (contacts * messages) as usize + stops.len());
        let people: HashSet<_> = all.iter().map(|m| &m.from).collect();
        assert_eq!(people.len(), contacts as usize);
        assert!(happenings(&webhooks).iter().any(|h| matches!(h, Happening::Status(_))));
        let lines: Vec<_> = webhooks.iter().map(|webhook| webhook.line).collect();
        assert_eq!(lines, (1..=webhooks.len()).collect::<Vec<_>>());
    }
}

#[test]
fn a_message_follows_the_generated_stop() {
    let all = inbound(&generate(10, 4, 5));
    let mut order: HashMap<&str, Vec<bool>> = HashMap::new();
    let mut seen = HashSet::new();
    for message in all.iter().filter(|message| seen.insert(&message.wamid)) {
        order.entry(&message.from).or_default().push(message.is_stop);
    }
    let with_stop: Vec<_> = order.values().filter(|person| person.contains(&true)).collect();
    assert_eq!(with_stop, [&vec![false, false, false, true, false]]);
}

#[test]
fn generated_webhooks_survive_a_file() {
    let webhooks = generate(3, 3, 9);
    assert_eq!(parse(to_lines(&webhooks).as_bytes()).unwrap(), webhooks);
}

#[test]
fn a_file_may_be_lines_or_an_array_and_may_span_lines() {
    let one = r#"{"object":"whatsapp_business_account","entry":[]}"#;
    let tall = "{\n \"object\": \"whatsapp_business_account\",\r\n \"entry\": []\n}";
    let body_and_line = |text: &str| -> Vec<(usize, String)> {
        let webhooks = parse(text.as_bytes()).unwrap();
        webhooks.into_iter().map(|webhook| (webhook.line, webhook.body)).collect()
    };
    let flat = tall.replace(['\n', '\r'], " ");
    let lines = format!("\u{feff}{one}\n\n  {tall}\r\n{one}");
    let expected = [(1, one.to_owned()), (3, flat.clone()), (7, one.to_owned())];
    assert_eq!(body_and_line(&lines), expected);
    let array = format!("\n[\n{one},\n{tall}]\n");
    assert_eq!(body_and_line(&array), [(3, one.to_owned()), (4, flat)]);
}

#[test]
fn a_bad_file_is_told_by_its_line() {
    let one = r#"{"object":"whatsapp_business_account","entry":[]}"#;
    let error = |text: &[u8]| format!("{:#}", parse(text).unwrap_err());
    assert!(error(b"").contains("no webhook"));
    assert!(error(b"[]").contains("no webhook"));
    assert!(error(format!("{one}\n{{\"a\":\n").as_bytes()).contains("line 3"));
    assert!(error(format!("{one}\nhello\n").as_bytes()).contains("line 2"));
    assert!(error(format!("[{one},\n\n{one}\n{one}]").as_bytes()).contains("line 4"));
    assert!(error(format!("{one}\n17\n").as_bytes()).contains("line 2: expected a JSON object"));
    assert!(error(format!("[{one},\n[]]").as_bytes()).contains("line 2: expected a JSON object"));
    assert!(error(b"{}\n{}\xff").contains("line 2: not UTF-8"));
    let foreign = error(b"\n{\"object\":\"page\"}\n");
    assert!(foreign.contains("not one webhook") && foreign.contains("line 2"), "{foreign}");
}

#[test]
fn a_refused_body_among_others_is_still_played() {
    let one = r#"{"object":"whatsapp_business_account","entry":[]}"#;
    assert_eq!(parse(format!("{{\"a\":1,\"a\":2}}\n{one}").as_bytes()).unwrap().len(), 2);
}

#[test]
fn a_missing_file_is_named() {
    let error = format!("{:#}", read(Path::new("no/such/webhooks.jsonl")).unwrap_err());
    assert!(error.contains("no/such/webhooks.jsonl"), "{error}");
}
