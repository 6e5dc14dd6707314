//! The provider answers as the Cloud API does, has everything on disk before it answers, and holds
//! requests where it is told to.

mod statuses;

use std::path::Path;
use std::thread;

use tempfile::TempDir;
use ureq::Agent;

use super::super::log;
use super::*;

/// A provider on a free port with a log of its own.
struct Running {
    url: String,
    dir: TempDir,
    agent: Agent,
}

fn options(mode: Mode, log: &Path) -> ProviderArgs {
    ProviderArgs {
        listen: "127.0.0.1:0".parse().unwrap(),
        log: log.to_owned(),
        mode,
        seed: 7,
        callback: None,
        lose_in: 0,
        turn_away_in: 0,
    }
}

impl Running {
    fn start(mode: Mode) -> Self {
        Self::with(mode, |_| {})
    }

    fn with(mode: Mode, change: impl FnOnce(&mut ProviderArgs)) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let url = Self::serve(&dir, mode, change);
        let config = Agent::config_builder().http_status_as_error(false).build();
        Self { url, dir, agent: config.into() }
    }

    fn serve(dir: &TempDir, mode: Mode, change: impl FnOnce(&mut ProviderArgs)) -> String {
        let mut args = options(mode, &dir.path().join("provider.jsonl"));
        change(&mut args);
        let listener = serve::bind(args.listen).unwrap();
        let url = serve::url_of(&listener).unwrap();
        let router = router(&args, |_| {}).unwrap();
        thread::spawn(move || serve::run(listener, router));
        url
    }

    fn post(&self, path: &str, body: &str) -> (u16, Value) {
        let url = format!("{}{path}", self.url);
        read(self.agent.post(url).header("User-Agent", "worker-1").send(body).unwrap())
    }

    fn get(&self, path: &str) -> (u16, Value) {
        read(self.agent.get(format!("{}{path}", self.url)).call().unwrap())
    }

    fn send(&self, key: &str, text: &str) -> (u16, Value) {
        self.post("/v24.0/106540352242922/messages", &request(key, text))
    }

    fn log(&self) -> Vec<ProviderRecord> {
        log::read(&self.dir.path().join("provider.jsonl")).unwrap()
    }
}

fn read(mut answer: ureq::http::Response<ureq::Body>) -> (u16, Value) {
    let http = answer.status().as_u16();
    (http, serde_json::from_str(&answer.body_mut().read_to_string().unwrap()).unwrap())
}

fn request(key: &str, text: &str) -> String {
    let body = json!({"messaging_product": "whatsapp", "recipient_type": "individual",
        "to": "+1 650 555 1234", "type": "text", "text": {"body": text, "preview_url": false},
        "biz_opaque_callback_data": key});
    body.to_string()
}

fn wamid(answer: &Value) -> &str {
    answer["messages"][0]["id"].as_str().unwrap()
}

fn whats(records: &[ProviderRecord]) -> Vec<Taken> {
    records.iter().map(|record| record.what).collect()
}

#[test]
fn a_send_is_on_record_and_answered_as_the_cloud_api_does() {
    let provider = Running::start(Mode::Neither);
    let (http, answer) = provider.send("key-1", "olá 👋");
    let expected = json!({
        "messaging_product": "whatsapp",
        "contacts": [{"input": "+1 650 555 1234", "wa_id": "16505551234"}],
        "messages": [{"id": wamid(&answer)}],
    });
    assert_eq!((http, &answer), (200, &expected));

    let mut records = provider.log();
    assert!(records[0].at_ms > 1_700_000_000_000);
    records[0].at_ms = 0;
    let record = ProviderRecord {
        at_ms: 0,
        what: Taken::Accepted,
        mode: Mode::Neither,
        key: Some("key-1".to_owned()),
        to: "+1 650 555 1234".to_owned(),
        text: "olá 👋".to_owned(),
        wamid: wamid(&answer).to_owned(),
        client: Some("worker-1".to_owned()),
    };
    assert_eq!(records, [record]);
}

#[test]
fn a_person_without_a_visible_number_is_a_recipient() {
    let provider = Running::start(Mode::Dedupe);
    let body = json!({"messaging_product": "whatsapp", "recipient": "US.1349",
        "text": {"body": "hi"}});
    let (http, answer) = provider.post("/v24.0/1/messages", &body.to_string());
    assert_eq!(http, 200);
    assert_eq!(answer["contacts"], json!([{"input": "US.1349", "user_id": "US.1349"}]));
    assert_eq!(provider.log()[0].key, None);
}

#[test]
fn dedupe_gives_a_repeated_key_its_first_answer_and_sends_nothing() {
    let provider = Running::start(Mode::Dedupe);
    let (_, first) = provider.send("key-1", "one");
    let (http, again) = provider.send("key-1", "one");
    let (_, other) = provider.send("key-2", "two");
    assert_eq!((http, &again), (200, &first));
    assert_ne!(wamid(&other), wamid(&first));
    assert_eq!(whats(&provider.log()), [Taken::Accepted, Taken::Repeat, Taken::Accepted]);
}

#[test]
fn the_other_modes_send_a_repeated_key_again() {
    for mode in [Mode::Lookup, Mode::Neither] {
        let provider = Running::start(mode);
        let (_, first) = provider.send("key-1", "one");
        let (_, again) = provider.send("key-1", "one");
        assert_ne!(wamid(&again), wamid(&first));
        assert_eq!(whats(&provider.log()), [Taken::Accepted, Taken::Accepted]);
    }
}

#[test]
fn only_lookup_tells_whether_a_key_was_taken() {
    let provider = Running::start(Mode::Lookup);
    assert_eq!(provider.get("/lanebox/lookup?key=key%201").0, 404);
    let (_, first) = provider.send("key 1", "one");
    provider.send("key 1", "one");
    let (http, found) = provider.get("/lanebox/lookup?key=key%201");
    assert_eq!((http, found["wamid"].as_str()), (200, Some(wamid(&first))));
    for mode in [Mode::Dedupe, Mode::Neither] {
        assert_eq!(Running::start(mode).get("/lanebox/lookup?key=key-1").0, 501);
    }
}

#[test]
fn a_provider_that_restarts_on_its_log_remembers_what_it_took() {
    let mut provider = Running::start(Mode::Dedupe);
    let (_, first) = provider.send("key-1", "one");
    provider.url = Running::serve(&provider.dir, Mode::Dedupe, |_| {});
    let (_, again) = provider.send("key-1", "one");
    let (_, second) = provider.send("key-2", "two");
    assert_eq!(wamid(&again), wamid(&first));
    assert_ne!(wamid(&second), wamid(&first));
}

#[test]
fn a_bad_request_gets_an_error_of_the_graph_api_and_is_not_on_record() {
    let provider = Running::start(Mode::Dedupe);
    let messages = "/v24.0/1/messages";
    let cases = [
        (messages, "".to_owned(), 400, 100),
        (messages, "[".to_owned(), 400, 100),
        (messages, request("k", ""), 400, 100),
        (messages, request("k", &"x".repeat(4097)), 400, 100),
        (messages, request(&"k".repeat(513), "hi"), 400, 100),
        (messages, json!({"messaging_product": "sms", "to": "1"}).to_string(), 400, 100),
        (messages, request("k", "hi").replace("\"to\"", "\"x\""), 400, 100),
        (messages, request("k", "hi").replace("\"type\":\"text\"", "\"type\":\"image\""), 400, 100),
        ("/24/1/messages", request("k", "hi"), 404, 2500),
        ("/v24.0/me/messages", request("k", "hi"), 404, 2500),
    ];
    for (path, body, status, code) in cases {
        let (http, answer) = provider.post(path, &body);
        assert_eq!((http, &answer["error"]["code"]), (status, &json!(code)), "{path} {body}");
        assert_eq!(answer["error"]["type"], "OAuthException");
        assert!(answer["error"]["error_data"]["details"].is_string());
    }
    assert_eq!(provider.log(), []);
}

#[test]
fn requests_are_turned_away_by_the_seed_before_anything_is_accepted() {
    let answers = || {
        let provider = Running::with(Mode::Neither, |args| args.turn_away_in = 3);
        let answers: Vec<u16> = (0..30).map(|n| provider.send(&format!("k{n}"), "hi").0).collect();
        assert_eq!(provider.log().len(), answers.iter().filter(|&&http| http == 200).count());
        answers
    };
    let first = answers();
    assert!(first.contains(&503) && first.contains(&200));
    assert_eq!(answers(), first);
}

#[test]
fn a_request_held_after_its_accept_is_on_record_and_unanswered_until_released() {
    let provider = Running::start(Mode::Lookup);
    assert_eq!(provider.post("/control/hold", "").1, json!({"armed": 1}));
    assert_eq!(provider.get("/control/held").1, json!({"held": []}));
    thread::scope(|scope| {
        let sending = scope.spawn(|| provider.send("key-1", "one"));
        let (_, held) = provider.get("/control/held?wait_ms=60000");
        let record = provider.log().remove(0);
        let expected = json!([{"at": "after_accept", "key": "key-1", "to": "+1 650 555 1234",
            "wamid": record.wamid, "client": "worker-1"}]);
        assert_eq!(held["held"], expected);
        assert_eq!(provider.send("key-2", "the next one is not held").0, 200);
        assert!(!sending.is_finished());

        assert_eq!(provider.post("/control/release", "").1, json!({"released": 1}));
        let (http, answer) = sending.join().unwrap();
        assert_eq!((http, wamid(&answer)), (200, record.wamid.as_str()));
    });
}

#[test]
fn a_request_held_before_its_accept_is_not_on_record_until_released() {
    let provider = Running::start(Mode::Dedupe);
    provider.post("/control/hold?at=before_accept", "");
    thread::scope(|scope| {
        let sending = scope.spawn(|| provider.send("key-1", "one"));
        let (_, held) = provider.get("/control/held?wait_ms=60000");
        assert_eq!(held["held"][0]["at"], "before_accept");
        assert_eq!(provider.log(), []);
        provider.post("/control/release", "");
        assert_eq!(sending.join().unwrap().0, 200);
    });
    assert_eq!(provider.log().len(), 1);
}

#[test]
fn release_disarms_what_nobody_reached() {
    let provider = Running::start(Mode::Dedupe);
    provider.post("/control/hold", "");
    assert_eq!(provider.post("/control/hold", "").1, json!({"armed": 2}));
    assert_eq!(provider.post("/control/release", "").1, json!({"released": 0}));
    assert_eq!(provider.send("key-1", "one").0, 200);
}
