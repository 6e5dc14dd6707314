//! Listeners that fail, and publishers that change their mind.

use std::sync::atomic::{AtomicBool, Ordering};

use super::log::logged;
use super::*;

// fault: hook-failure-ends-it, hook-after-can-stop
#[test]
fn j2_a_listener_that_fails_or_panics_is_logged_by_name_and_the_others_run() {
    let (hooks, heards) = (Hooks::default(), Heards::default());
    hooks.after::<Ended>(Priority(20).named("stats"), |_| Err("disk is gone".into()));
    hooks.after::<Ended>(Priority(10).named("badge"), |_| panic!("index {} is out", 7));
    hooks.after(Priority(0), heards.noting::<Ended>("last"));

    let (answer, log) = logged(|| hooks.publish(&Ended { seconds: 1 }));

    answer.unwrap();
    assert_eq!(heards.take(), ["last"]);
    assert_eq!(log.len(), 2, "{log:?}");
    for (line, name, error) in
        [(&log[0], "stats", "disk is gone"), (&log[1], "badge", "it panicked: index 7 is out")]
    {
        assert!(line.starts_with("WARN"), "{line}");
        assert!(line.contains(&format!("listener=\"{name}\"")), "{line}");
        assert!(line.contains("event=\"call.ended\""), "{line}");
        assert!(line.contains(error), "{line}");
    }
}

#[test]
fn j2_a_listener_without_a_name_is_logged_by_the_place_of_its_registration() {
    let hooks = Hooks::default();
    let line_number = line!() + 1;
    hooks.after::<Ended>(Priority(0), |_| Err("no".into()));

    let (answer, log) = logged(|| hooks.publish(&Ended { seconds: 1 }));

    answer.unwrap();
    let place = format!("failure.rs:{line_number}:");
    assert!(log[0].contains(&place), "{log:?}");
}

// fault: hook-asks-nobody
#[test]
fn j3_a_publish_cancelled_beforehand_reaches_nobody() {
    let (hooks, heards) = (Hooks::new(Unregistered::Count), Heards::default());
    hooks.before(Priority(0), heards.noting_before::<Dial>("before"));
    hooks.after(Priority(0), heards.noting::<Ended>("after"));

    let answer = hooks.publish_unless(&mut dial(), &|| true).map(|_| ());
    assert!(matches!(answer, Err(HookError::Cancelled { event: "call.dial" })), "{answer:?}");
    let answer = hooks.publish_unless(&Ended { seconds: 1 }, &|| true);
    assert!(matches!(answer, Err(HookError::Cancelled { event: "call.ended" })), "{answer:?}");

    assert_eq!(heards.take(), Vec::<String>::new());
    assert!(hooks.unregistered().is_empty(), "what was not published is not counted");
}

// fault: hook-goes-on
#[test]
fn j4_a_publish_cancelled_by_the_first_of_three_listeners_does_not_reach_the_others() {
    let (hooks, heards) = (Hooks::default(), Heards::default());
    let token = Arc::new(AtomicBool::new(false));
    let (cancel, ears) = (Arc::clone(&token), heards.clone());
    hooks.after::<Ended>(Priority(3), move |_| {
        ears.note("1");
        cancel.store(true, Ordering::SeqCst);
        Ok(())
    });
    hooks.after(Priority(2), heards.noting::<Ended>("2"));
    hooks.after(Priority(1), heards.noting::<Ended>("3"));

    let cancelled = || token.load(Ordering::SeqCst);
    let answer = hooks.publish_unless(&Ended { seconds: 1 }, &cancelled);

    assert!(matches!(answer, Err(HookError::Cancelled { .. })), "{answer:?}");
    assert_eq!(heards.take(), ["1"]);
}

#[test]
fn j4_before_an_event_too_and_a_cancellation_that_leaves_nobody_out_is_none() {
    let (hooks, heards) = (Hooks::default(), Heards::default());
    let token = Arc::new(AtomicBool::new(false));
    let cancel = Arc::clone(&token);
    hooks.before::<Dial>(Priority(2), move |_| {
        cancel.store(true, Ordering::SeqCst);
        Ok(())
    });
    // It does not hear the event, so nobody is left out on its account.
    hooks.before_matching("mail.*", Priority(1), heards.noting_before("mail")).unwrap();
    let cancelled = || token.load(Ordering::SeqCst);

    assert_eq!(hooks.publish_unless(&mut dial(), &cancelled).unwrap(), Answer::Proceed);

    token.store(false, Ordering::SeqCst);
    hooks.before(Priority(0), heards.noting_before::<Dial>("second"));
    let answer = hooks.publish_unless(&mut dial(), &cancelled).map(|_| ());
    assert!(matches!(answer, Err(HookError::Cancelled { .. })), "{answer:?}");
    assert_eq!(heards.take(), Vec::<String>::new());
}

// fault: hook-mandatory-is-optional
#[test]
fn j10_a_mandatory_listener_that_fails_refuses_and_the_others_still_run() {
    let (hooks, heards) = (Hooks::default(), Heards::default());
    hooks.before::<Dial>(Priority(30).named("first").mandatory(), |_| Err("no answer".into()));
    hooks
        .before_matching("call.*", Priority(20).named("second").mandatory(), |event| {
            assert!(event.is_cancelled(), "those after a refusal can see it");
            panic!("broken")
        })
        .unwrap();
    hooks.before(Priority(0), heards.noting_before::<Dial>("last"));

    let mut dial = dial();
    let (answer, log) = logged(|| hooks.publish(&mut dial));

    let Err(HookError::Refused { event, listener, cause }) = answer else {
        panic!("{answer:?}");
    };
    assert_eq!((event, listener.as_str()), ("call.dial", "first"));
    assert_eq!(cause.to_string(), "no answer");
    assert_eq!(dial.veto().unwrap().listener.as_deref(), Some("first"));
    assert_eq!(heards.take(), ["last"]);
    assert_eq!(log.len(), 2, "{log:?}");
    assert!(log[0].starts_with("ERROR") && log[0].contains("listener=\"first\""), "{log:?}");
    assert!(log[1].starts_with("ERROR") && log[1].contains("listener=\"second\""), "{log:?}");
}

// fault: hook-optional-is-mandatory
#[test]
fn j10_an_optional_listener_that_fails_is_logged_and_the_operation_allowed() {
    let hooks = Hooks::default();
    hooks.before::<Dial>(Priority(0).named("guess"), |_| panic!("broken"));

    let (answer, log) = logged(|| hooks.publish(&mut dial()));

    assert_eq!(answer.unwrap(), Answer::Proceed);
    assert_eq!(log.len(), 1, "{log:?}");
    assert!(log[0].starts_with("WARN") && log[0].contains("listener=\"guess\""), "{log:?}");
}

#[test]
fn j10_a_refusal_says_what_happened_and_what_to_do() {
    let hooks = Hooks::default();
    let mandatory = Priority(0).named("blocklist").mandatory();
    hooks.before::<Dial>(mandatory, |_| Err("table is locked".into()));

    let refusal = hooks.publish(&mut dial()).unwrap_err().to_string();

    assert_eq!(
        refusal,
        "`call.dial` is refused, because its mandatory listener blocklist failed: table is locked. \
         Nothing was done; mend the listener and try again"
    );
}
