//! Listeners that publish.

use super::*;

#[test]
fn j11_a_nested_publish_ends_before_the_outer_goes_on() {
    let (hooks, heards) = (Hooks::default(), Heards::default());
    let (bus, ears) = (hooks.clone(), heards.clone());
    hooks.before::<Dial>(Priority(10), move |_| {
        ears.note("outer begins");
        bus.publish(&Ended { seconds: 1 })?;
        ears.note("outer ends");
        Ok(())
    });
    hooks.before(Priority(0), heards.noting_before::<Dial>("outer, second"));
    hooks.after(Priority(10), heards.noting::<Ended>("inner, first"));
    hooks.after(Priority(0), heards.noting::<Ended>("inner, second"));

    assert_eq!(hooks.publish(&mut dial()).unwrap(), Answer::Proceed);

    let expected = ["outer begins", "inner, first", "inner, second", "outer ends", "outer, second"];
    assert_eq!(heards.take(), expected);
}

/// A bus on which everybody who hears of an ended call publishes another; it notes each answer.
fn endless() -> (Hooks, Heards) {
    let (hooks, heards) = (Hooks::default(), Heards::default());
    let (bus, ears) = (hooks.clone(), heards.clone());
    hooks.after::<Ended>(Priority(0), move |ended| {
        let answer = bus.publish(&Ended { seconds: ended.seconds + 1 });
        ears.note(match &answer {
            Ok(()) => "ok",
            Err(HookError::TooDeep { event: "call.ended" }) => "too deep",
            Err(_) => "another error",
        });
        Ok(answer?)
    });
    (hooks, heards)
}

// fault: hook-without-end
#[test]
fn j11_publishing_without_end_is_an_error_at_the_limit() {
    let (hooks, heards) = endless();

    hooks.publish(&Ended { seconds: 1 }).unwrap();

    let heard = heards.take();
    assert_eq!(heard.len(), MAX_DEPTH);
    assert_eq!(heard[0], "too deep");
    assert!(heard[1..].iter().all(|answer| answer == "ok"), "{heard:?}");
}

// fault: hook-depth-stays
#[test]
fn j11_the_depth_is_left_again_after_errors_and_panics() {
    let (hooks, heards) = endless();
    for _ in 0..3 {
        hooks.publish(&Ended { seconds: 1 }).unwrap();
        assert_eq!(heards.take().len(), MAX_DEPTH);
    }

    let (bus, panics) = (hooks.clone(), hooks.clone());
    let outer = hooks.before::<Dial>(Priority(0), move |_| {
        let answer = bus.publish_unless(&Ended { seconds: 1 }, &|| panic!("the token is broken"));
        Ok(answer?)
    });
    assert_eq!(hooks.publish(&mut dial()).unwrap(), Answer::Proceed);
    assert!(panics.remove(outer));

    hooks.publish(&Ended { seconds: 1 }).unwrap();
    assert_eq!(heards.take().len(), MAX_DEPTH);
}

#[test]
fn j11_too_deep_within_a_mandatory_listener_refuses() {
    let hooks = Hooks::default();
    let bus = hooks.clone();
    hooks.before::<Dial>(Priority(0).mandatory(), move |_| match bus.publish(&mut dial())? {
        Answer::Proceed => Ok(()),
        Answer::Vetoed(veto) => Err(veto.reason.into()),
    });

    let answer = hooks.publish(&mut dial());

    assert!(matches!(answer, Err(HookError::Refused { .. })), "{answer:?}");
}
