//! Mode `neither` tells by statuses alone, and loses some of them by the seed.

use std::sync::mpsc;

use axum::http::StatusCode;

use super::super::super::webhook::{self, Happening, State as StatusState};
use super::*;

/// Takes statuses and hands them on; the first post of each body is answered with 503.
fn callback() -> (String, mpsc::Receiver<Happening>) {
    let (told, heard) = mpsc::channel();
    let mut turned_away = Vec::new();
    let answer = Arc::new(Mutex::new(move |body: String| {
        if !turned_away.contains(&body) {
            turned_away.push(body);
            return StatusCode::SERVICE_UNAVAILABLE;
        }
        for happening in webhook::parse(body.as_bytes()).unwrap() {
            told.send(happening).unwrap();
        }
        StatusCode::OK
    }));
    let take = move |body: String| async move { (*answer.lock())(body) };
    let listener = serve::bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let url = serve::url_of(&listener).unwrap();
    thread::spawn(move || serve::run(listener, Router::new().route("/", post(take))));
    (url, heard)
}

#[test]
fn mode_neither_posts_statuses_with_the_key_until_they_are_taken() {
    let (url, heard) = callback();
    let provider = Running::with(Mode::Neither, |args| args.callback = Some(url));
    let (_, answer) = provider.send("key-1", "one");
    for state in [StatusState::Sent, StatusState::Delivered] {
        let Happening::Status(status) = heard.recv().unwrap() else { panic!("not a status") };
        assert_eq!((status.wamid.as_str(), status.state), (wamid(&answer), state));
        assert_eq!(status.biz_opaque_callback_data.as_deref(), Some("key-1"));
        assert_eq!(status.recipient, "16505551234");
    }
}

#[test]
fn one_message_in_ten_never_gets_a_status_by_the_seed() {
    let told = || {
        let (url, heard) = callback();
        let provider = Running::with(Mode::Neither, |args| {
            args.callback = Some(url);
            args.lose_in = 10;
        });
        let sent: Vec<String> =
            (0..60).map(|n| wamid(&provider.send(&format!("k{n}"), "hi").1).to_owned()).collect();
        let last = provider.log().last().unwrap().wamid.clone();
        let mut told = Vec::new();
        loop {
            let Happening::Status(status) = heard.recv().unwrap() else { panic!("not a status") };
            let is_last = status.wamid == last;
            if status.state == StatusState::Sent {
                told.push(status.wamid);
            }
            if is_last {
                return (sent.len(), told);
            }
        }
    };
    let (sent, first) = told();
    assert!((40..60).contains(&first.len()), "{} of {sent} were told", first.len());
    assert_eq!(told().1, first);
}

#[test]
fn the_other_modes_post_no_status() {
    let (url, heard) = callback();
    for mode in [Mode::Dedupe, Mode::Lookup] {
        let provider = Running::with(mode, |args| args.callback = Some(url.clone()));
        assert_eq!(provider.send("key-1", "one").0, 200);
    }
    let provider = Running::with(Mode::Neither, |args| args.callback = Some(url));
    let (_, answer) = provider.send("key-2", "two");
    let Happening::Status(status) = heard.recv().unwrap() else { panic!("not a status") };
    assert_eq!(status.wamid, wamid(&answer), "the first that is told");
}
