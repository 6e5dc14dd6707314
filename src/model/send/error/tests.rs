//! E132: an answer of ours that travels through `?` ends the run as what it is.

use std::error::Error as StdError;

use time::OffsetDateTime;

use super::{Told, end_of};
use crate::error::Error;
use crate::model::send::class::Refusal;
use crate::model::send::error::SendError;
use crate::model::send::numbering::Numbering;
use crate::model::verdict::End;

type BoxError = Box<dyn StdError + Send + Sync>;

#[derive(Debug, thiserror::Error)]
#[error("could not greet {name}")]
struct Greeting {
    name: &'static str,
    source: SendError,
}

fn at(ms: i64) -> OffsetDateTime {
    OffsetDateTime::UNIX_EPOCH + time::Duration::milliseconds(ms)
}

/// Each answer, and what it makes of the run.
fn answers() -> Vec<(SendError, Told)> {
    let postponed = |until, why: &str, counted| {
        Told::End(End::Postpone { until, why: why.to_owned(), keep_lane: Some(true), counted })
    };
    let retry = |error: &str| Told::End(End::Retry { error: error.to_owned(), wait_ms: 7 });
    let rejected =
        |refusal, retry_at| SendError::Rejected { refusal, reason: "no".to_owned(), retry_at };
    let store = |error| SendError::Store(error);
    vec![
        (SendError::Unknown, Told::End(End::Unknown)),
        (
            SendError::Vetoed { why: "consent withdrawn".to_owned() },
            Told::End(End::Veto("consent withdrawn".to_owned())),
        ),
        (SendError::Cancelled, retry("this job was cancelled; nothing was sent")),
        (
            SendError::Postponed { until: at(5_000), why: "paused".to_owned() },
            postponed(5_000, "paused", false),
        ),
        (
            SendError::LeaseShort { until: at(6_000) },
            postponed(
                6_000,
                "the lease of this run does not outlive the call; nothing was sent, it is tried again",
                true,
            ),
        ),
        (
            SendError::OverTime,
            retry("this run is over its time; nothing was sent, it is tried again"),
        ),
        (
            SendError::GivenUp,
            Told::End(End::GivenUp(
                "a person gave up on this message; nothing was sent".to_owned(),
            )),
        ),
        (
            rejected(Refusal::ForGood, None),
            Told::End(End::Dead("the message was refused: no".to_owned())),
        ),
        (rejected(Refusal::Transient, None), retry("the message was refused: no")),
        (
            rejected(Refusal::Transient, Some(at(9_000))),
            postponed(9_000, "the message was refused: no", false),
        ),
        (
            SendError::NotCalled { reason: "refused".to_owned() },
            retry("nothing reached the provider: refused"),
        ),
        (SendError::LeaseLost, Told::Drop),
        (
            store(Error::Busy { waited_ms: 9 }),
            retry(&format!("this message was not sent: {}", Error::Busy { waited_ms: 9 })),
        ),
        (
            store(Error::invalid("name of a send", "too long")),
            Told::End(End::Dead(format!(
                "this message was not sent: {}",
                Error::invalid("name of a send", "too long")
            ))),
        ),
    ]
}

// fault: told-ends-are-failures
#[test]
fn e132_each_answer_ends_the_run_as_what_it_is() {
    for (answer, told) in answers() {
        let error: BoxError = Box::new(answer);
        assert_eq!(end_of(&*error, 7), Some(told), "{error}");
    }
}

// fault: told-ends-are-failures
#[test]
fn e132_also_inside_an_error_of_the_hosts_own() {
    for (answer, told) in answers() {
        let inner = Greeting { name: "Ann", source: answer };
        let error: BoxError = Box::new(inner);
        assert_eq!(end_of(&*error, 7), Some(told.clone()), "{error}");
        let outer = Error::Host(error);
        assert_eq!(end_of(&outer, 7), Some(told), "{outer}");
    }
}

#[cfg(feature = "cli")]
#[test]
fn e132_also_through_anyhow_and_its_contexts() {
    use anyhow::Context as _;
    for (answer, told) in answers() {
        let error = Err::<(), _>(answer).context("greeting").context("turn").expect_err("an error");
        assert_eq!(end_of(error.as_ref(), 7), Some(told.clone()), "{error:#}");
        let boxed: BoxError = error.into();
        assert_eq!(end_of(&*boxed, 7), Some(told));
    }
}

#[test]
fn an_error_of_the_hosts_alone_is_not_ours() {
    let error: BoxError = "the model is down".into();
    assert_eq!(end_of(&*error, 7), None);
    let nested = Error::Host("no such table".into());
    assert_eq!(end_of(&nested, 7), None);
}

// fault: store-error-has-no-cause
#[test]
fn r75_a_store_error_stays_the_root_of_the_chain() {
    let full = rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(13), None);
    let error = SendError::Store(Error::DiskFull(full));
    let mut root: &dyn StdError = &error;
    while let Some(next) = root.source() {
        root = next;
    }
    assert!(error.to_string().contains("the disk is full"), "{error}");
    assert!(root.to_string().contains("full"), "{root}");
}

// Trap 3 of the ledger's design: after an answer that wrote nothing no later send may take its
// number.
#[test]
fn an_answer_that_used_no_number_is_the_answer_to_every_later_send() {
    for (answer, _) in answers() {
        let mut run = Numbering::default();
        run.next().expect("number 1");
        run.heard(&answer);
        let (text, sticks) = (answer.to_string(), answer.sticks());
        match run.next() {
            Ok(slot) => assert!(!sticks, "{text} must stick, but {slot:?} was given"),
            Err(again) => {
                assert!(sticks, "{text} has its number: the next one may go on");
                assert_eq!(
                    std::mem::discriminant(&again),
                    std::mem::discriminant(&answer),
                    "{text}"
                );
                assert!(run.go_on().is_err(), "a named one too");
            }
        }
    }
}

#[test]
fn e132_what_breaks_a_rule_ends_the_run_as_dead_also_when_it_is_heard_again() {
    let mut run = Numbering::default();
    let answer = SendError::Store(Error::invalid("channel", "it is empty"));
    run.heard(&answer);
    let again = run.next().expect_err("it sticks");
    assert_eq!(again.to_string(), answer.to_string());
    assert_eq!(end_of(&again, 7), end_of(&answer, 7));
    assert_eq!(end_of(&again, 7), Some(Told::End(End::Dead(answer.to_string()))));
}

#[test]
fn a_call_without_an_answer_is_unknown_whatever_became_of_its_handler() {
    let mut run = Numbering::default();
    run.next().expect("number 1");
    run.calls();
    assert!(matches!(run.next(), Err(SendError::Unknown)));
    run.accepted();
    assert_eq!(run.next().expect("number 2"), crate::model::send::Slot::Seq(2));
}

#[test]
fn a_run_numbers_at_most_a_thousand_sends() {
    let mut run = Numbering::default();
    for _ in 0..1_000 {
        run.next().expect("a number");
    }
    let refused = run.next().expect_err("the 1001st");
    assert!(matches!(refused, SendError::Store(Error::Invalid { .. })), "{refused}");
}
