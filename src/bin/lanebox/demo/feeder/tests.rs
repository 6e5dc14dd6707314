//! Every webhook is repeated until the receiver's last word, in order for each contact, and only
//! then on record.

use std::collections::HashMap;
use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;
use std::thread;

use axum::Router;
use axum::http::StatusCode;
use axum::routing::post;

use super::super::input::generate;
use super::super::{log, serve};
use super::*;

/// A receiver that answers by a rule and remembers the bodies, answered with 200 or not.
struct Receiver {
    url: String,
    seen: Arc<Mutex<Vec<(String, u16)>>>,
}

impl Receiver {
    /// `answer` is given the body and how often it came before. `deaf_to` connections are
    /// accepted and dropped first, as by a receiver that is killed.
    fn start(deaf_to: usize, answer: fn(&str, usize) -> u16) -> Self {
        let seen: Arc<Mutex<Vec<(String, u16)>>> = Arc::default();
        let remembered = Arc::clone(&seen);
        let take = move |body: String| async move {
            let mut seen = remembered.lock();
            let before = seen.iter().filter(|(earlier, _)| *earlier == body).count();
            let http = answer(&body, before);
            seen.push((body, http));
            StatusCode::from_u16(http).unwrap()
        };
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("{}/webhook", serve::url_of(&listener).unwrap());
        thread::spawn(move || {
            for _ in 0..deaf_to {
                drop(listener.accept());
            }
            serve::run(listener, Router::new().route("/webhook", post(take)))
        });
        Self { url, seen }
    }

    fn taken(&self) -> Vec<String> {
        let seen = self.seen.lock();
        seen.iter().filter(|(_, http)| *http == 200).map(|(body, _)| body.clone()).collect()
    }
}

fn webhook(line: usize, from: &[&str], text: &str) -> Webhook {
    let message = |(n, from): (usize, &&str)| {
        json!({"from": from, "id": format!("wamid.{line}.{n}"), "timestamp": "1767225600",
            "type": "text", "text": {"body": text}})
    };
    let messages: Vec<_> = from.iter().enumerate().map(message).collect();
    let value = json!({"metadata": {"phone_number_id": "1"}, "messages": messages});
    let change = json!({"field": "messages", "value": value});
    let body = json!({"object": "whatsapp_business_account", "entry": [{"changes": [change]}]});
    Webhook { line, body: body.to_string() }
}

fn feed_all(webhooks: &[Webhook], receiver: &Receiver, path: &Path) -> Tally {
    let log = Mutex::new(Log::open(path).unwrap());
    feed(webhooks, &receiver.url, &log, Duration::ZERO, |_| {}).unwrap()
}

#[test]
fn each_webhook_is_repeated_until_200_and_then_on_record() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("feeder.jsonl");
    let receiver = Receiver::start(0, |_, before| [503, 500, 429, 200][before.min(3)]);
    let webhooks = [webhook(1, &["4915"], "hi"), webhook(2, &["4915", "1650"], "Stop")];

    let before = clock::now_ms();
    let tally = feed_all(&webhooks, &receiver, &path);

    assert_eq!(tally, Tally { acknowledged: 2, refused: 0 });
    let mut records: Vec<FeederRecord> = log::read(&path).unwrap();
    for record in &mut records {
        assert!((before..=clock::now_ms()).contains(&record.at_ms));
        record.at_ms = 0;
    }
    let message = |wamid: &str, from: &str, stop| FedMessage {
        wamid: wamid.to_owned(),
        from: from.to_owned(),
        stop,
    };
    let record = |line, messages| FeederRecord {
        at_ms: 0,
        what: Answer::Acknowledged,
        line,
        posts: 4,
        http: 200,
        messages,
    };
    let expected = [
        record(1, vec![message("wamid.1.0", "4915", false)]),
        record(2, vec![message("wamid.2.0", "4915", true), message("wamid.2.1", "1650", true)]),
    ];
    assert_eq!(records, expected);
}

#[test]
fn a_receiver_that_dies_in_the_middle_is_asked_again() {
    let dir = tempfile::tempdir().unwrap();
    let receiver = Receiver::start(3, |_, _| 200);
    let webhooks = [webhook(1, &["4915"], "hi")];

    let path = dir.path().join("feeder.jsonl");
    assert_eq!(feed_all(&webhooks, &receiver, &path).acknowledged, 1);
    let records: Vec<FeederRecord> = log::read(&path).unwrap();
    assert_eq!(records[0].posts, 4, "three connections were dropped");
    assert_eq!(receiver.taken(), [webhooks[0].body.clone()]);
}

#[test]
fn a_webhook_that_will_never_be_taken_is_refused_once_and_the_next_one_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("feeder.jsonl");
    let receiver = Receiver::start(0, |body, _| if body.starts_with("{}") { 400 } else { 200 });
    let webhooks = [Webhook { line: 1, body: "{}".to_owned() }, webhook(2, &["4915"], "hi")];

    assert_eq!(feed_all(&webhooks, &receiver, &path), Tally { acknowledged: 1, refused: 1 });
    let mut records: Vec<FeederRecord> = log::read(&path).unwrap();
    records.sort_by_key(|record| record.line);
    assert_eq!((records[0].what, records[0].http, records[0].posts), (Answer::Refused, 400, 1));
    assert_eq!(records[0].messages, []);
    assert_eq!(records[1].what, Answer::Acknowledged);
}

#[test]
fn each_contact_is_fed_in_order_while_answers_fail_now_and_then() {
    let dir = tempfile::tempdir().unwrap();
    let receiver = Receiver::start(0, |body, before| {
        let fails = before == 0 && body.len() % 3 == 0;
        if fails { 503 } else { 200 }
    });
    let webhooks = generate(12, 5, 11);
    let tally = feed_all(&webhooks, &receiver, &dir.path().join("feeder.jsonl"));

    assert_eq!(tally.acknowledged, webhooks.len());
    let posted = bodies_by_contact(webhooks.into_iter().map(|webhook| webhook.body));
    assert_eq!(bodies_by_contact(receiver.taken()), posted);
}

fn bodies_by_contact(bodies: impl IntoIterator<Item = String>) -> HashMap<String, Vec<String>> {
    let mut by_contact: HashMap<String, Vec<String>> = HashMap::new();
    for body in bodies {
        for message in messages_of(&body) {
            by_contact.entry(message.from).or_default().push(body.clone());
        }
    }
    by_contact
}

#[test]
fn contacts_that_share_a_webhook_share_a_stream_and_others_spread() {
    let shared = [
        webhook(1, &["a"], "1"),
        webhook(2, &["b"], "2"),
        webhook(3, &["c", "d"], "3"),
        webhook(4, &["a", "d"], "4"),
        webhook(5, &["c", "b"], "5"),
    ];
    let lines = |stream: &Vec<&Webhook>| stream.iter().map(|w| w.line).collect::<Vec<_>>();
    let one: Vec<_> = streams(&shared).iter().map(lines).collect();
    assert_eq!(one, [[1, 2, 3, 4, 5]]);

    let apart: Vec<_> = (0..20).map(|n| webhook(n, &[&format!("{n}")], "hi")).collect();
    assert_eq!(streams(&apart).len(), 8);
}
