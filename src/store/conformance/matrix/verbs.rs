//! What can be done to a job, and the answer in words.

use super::places::Subject;
use crate::model::id::{Held, SendNo, Token};
use crate::model::verdict::End;
use crate::store::conformance::world::{postpone, retry};
use crate::store::jobs::{Jobs, Round};
use crate::store::sqlite::door::Step;

type Act = fn(&Subject) -> String;

pub(super) const VERBS: &[(&str, Act)] = &[
    ("done", |s| end(s, End::Done { result: Some("{}".to_owned()) })),
    ("skip", |s| end(s, End::Skip("not for us".to_owned()))),
    ("veto", |s| end(s, End::Veto("opted out".to_owned()))),
    ("dead", |s| end(s, End::Dead("no such number".to_owned()))),
    ("retry", |s| end(s, retry(5_000))),
    ("postpone briefly", |s| end(s, postpone(s.world.now() + 60_000))),
    ("postpone for long", |s| end(s, postpone(s.world.now() + 60_001))),
    ("unknown", |s| end(s, End::Unknown)),
    ("hand back unstarted", |s| end(s, End::HandBack { started: false })),
    ("hand back", |s| end(s, End::HandBack { started: true })),
    ("a stale end", stale),
    ("renew", renew),
    ("lose", lose),
    ("cancel", |s| format!("{:?}", s.world.cancel(s.job))),
    ("requeue", |s| format!("{:?}", s.world.requeue(s.job))),
    ("pause its lane", |s| step(s, Step::PauseLane(s.lane()))),
    ("resume its lane", |s| step(s, Step::ResumeLane(s.lane()))),
    ("settle its send", |s| step(s, Step::Free(s.send.unwrap_or(SendNo(99))))),
];

/// The claim that holds it, or the last one; of a job that was never claimed a forged one.
fn held(subject: &Subject) -> Held {
    subject.held.unwrap_or_else(|| {
        let held = subject.world.one::<i64>("SELECT max(token) FROM lanebox_counter");
        let other = subject.world.one::<i64>("SELECT id FROM lanebox_running");
        assert_ne!(other, subject.job.0);
        Held {
            job: subject.job,
            token: Token(held),
            process: subject.world.me,
            org: crate::model::id::OrgNo(1),
            lane: None,
            started_at: 0,
            series: 1,
            attempts: 1,
            lost: 0,
        }
    })
}

fn end(subject: &Subject, end: End) -> String {
    let ended = format!("{:?}", subject.world.end(held(subject), end));
    // Times are those of the clock: say how long it waits.
    match ended.split_once("due: ") {
        None => ended,
        Some((_, rest)) => {
            let due: i64 = rest.trim_end_matches(" }").parse().expect("a time");
            format!("Waits {} ms", due - subject.world.now())
        }
    }
}

fn stale(subject: &Subject) -> String {
    let stale = Held { token: Token(held(subject).token.0 + 50), ..held(subject) };
    let done = subject.world.done(stale);
    let retried = subject.world.end(stale, retry(0));
    format!("{done:?} {retried:?}")
}

fn renew(subject: &Subject) -> String {
    let renew = vec![held(subject)];
    let round = Round { renew, lease_ms: 60_000, ..Round::default() };
    let renewed = subject.world.store.round(round).expect("a pass").renewed;
    format!("{renewed:?}")
}

// Everybody's lease runs out; the bystander that runs renews before.
fn lose(subject: &Subject) -> String {
    let world = &subject.world;
    world.sql(&format!(
        "UPDATE lanebox_running SET lease_until = 9999999999 WHERE id <> {}",
        subject.job
    ));
    let lost = world.lose();
    world.sql(&format!(
        "UPDATE lanebox_running SET lease_until = 1060000 WHERE id <> {}",
        subject.job
    ));
    let answers: Vec<String> = lost.iter().map(|lost| format!("{:?}", lost.ended)).collect();
    let due = answers.first().map_or("nobody".to_owned(), Clone::clone);
    if due.starts_with("Waits") { "Waits 0 ms".to_owned() } else { due }
}

fn step(subject: &Subject, step: Step) -> String {
    format!("{:?}", subject.world.store.step(step).expect("a step"))
}
