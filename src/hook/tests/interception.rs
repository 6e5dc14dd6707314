//! What listeners before an event may do to it, and what nobody may do to a plain one.

use super::*;

// fault: hook-cannot-be-stopped
#[test]
fn j6_who_stops_propagation_keeps_lower_listeners_out_and_the_publisher_sees_it() {
    let (hooks, heards) = (Hooks::default(), Heards::default());
    hooks.before::<Dial>(Priority(10), |dial| {
        dial.stop_propagation();
        Ok(())
    });
    hooks.before(Priority(20), heards.noting_before::<Dial>("higher"));
    hooks.before(Priority(0).mandatory(), heards.noting_before::<Dial>("lower"));

    let mut dial = dial();
    assert_eq!(hooks.publish(&mut dial).unwrap(), Answer::Proceed);

    assert_eq!(heards.take(), ["higher"]);
    assert!(dial.is_stopped());
    assert!(!dial.is_cancelled());
}

// fault: hook-forgets
#[test]
fn j7_a_value_in_the_shared_state_reaches_lower_listeners_and_the_publisher() {
    let hooks = Hooks::default();
    hooks.before::<Dial>(Priority(10), |dial| {
        assert!(!dial.has_state("score"));
        dial.set_state("score", 42_u32);
        Ok(())
    });
    hooks
        .before_matching("call.*", Priority(0).named("reader").mandatory(), |event| {
            assert_eq!(event.state::<u32>("score"), Some(&42));
            event.set_state("score", 43_u32);
            Ok(())
        })
        .unwrap();

    let mut dial = dial();
    assert_eq!(hooks.publish(&mut dial).unwrap(), Answer::Proceed);

    assert_eq!(dial.state::<u32>("score"), Some(&43));
    // A missing key and a value of another type are both `None`, and can be told apart.
    assert_eq!(dial.state::<String>("score"), None);
    assert!(dial.has_state("score"));
    assert_eq!(dial.state::<u32>("missing"), None);
    assert!(!dial.has_state("missing"));
}

// fault: hook-stopped-is-forgotten
#[test]
fn j8_an_event_stopped_before_publish_reaches_nobody() {
    let (hooks, heards) = (Hooks::default(), Heards::default());
    hooks.before(Priority(0), heards.noting_before::<Dial>("any"));
    hooks.before_matching("*", Priority(0), heards.noting_before("every")).unwrap();

    let mut dial = dial();
    dial.stop_propagation();
    assert_eq!(hooks.publish(&mut dial).unwrap(), Answer::Proceed);

    assert_eq!(heards.take(), Vec::<String>::new());
}

/// The types already forbid it (see the `compile_fail` examples of `Hooks::before` and `Guard`);
/// what is left to a listener is to fail, and to listen before everything.
// fault: hook-after-can-stop
#[test]
fn j9_nothing_that_a_listener_does_stops_a_plain_event() {
    let (hooks, heards) = (Hooks::default(), Heards::default());
    hooks
        .before_matching("*", Priority(100).mandatory(), |event| {
            event.cancel("never");
            event.stop_propagation();
            Err("no".into())
        })
        .unwrap();
    hooks.after::<Ended>(Priority(50), |_| Err("no".into()));
    hooks.after::<Ended>(Priority(40), |_| panic!("no"));
    hooks.after(Priority(0), heards.noting::<Ended>("last"));

    hooks.publish(&Ended { seconds: 1 }).unwrap();

    assert_eq!(heards.take(), ["last"]);
}

#[test]
fn a_veto_does_not_end_the_round_and_the_first_reason_stands() {
    let (hooks, heards) = (Hooks::default(), Heards::default());
    hooks.before::<Dial>(Priority(20).named("blocklist"), |dial| {
        dial.cancel("blocked");
        Ok(())
    });
    hooks
        .before_matching("call.*", Priority(10), |event| {
            assert_eq!(event.veto().unwrap().reason, "blocked");
            event.cancel("too late");
            Ok(())
        })
        .unwrap();
    hooks.before(Priority(0), heards.noting_before::<Dial>("last"));

    let mut dial = dial();
    let answer = hooks.publish(&mut dial).unwrap();

    let veto = Veto { reason: "blocked".to_owned(), listener: Some("blocklist".to_owned()) };
    assert_eq!(answer, Answer::Vetoed(veto.clone()));
    assert_eq!(dial.veto(), Some(&veto));
    assert_eq!(heards.take(), ["last"]);
}

/// `*event = Before::new(..)` compiles where `**event = ..` was meant.
// fault: hook-veto-is-lost
#[test]
fn a_listener_that_replaces_the_event_whole_does_not_lift_the_veto_of_another() {
    let hooks = Hooks::default();
    hooks.before::<Dial>(Priority(10).named("blocklist"), |event| {
        event.cancel("blocked");
        Ok(())
    });
    hooks.before::<Dial>(Priority(0), |event| {
        *event = dial();
        Ok(())
    });

    let mut event = dial();
    let answer = hooks.publish(&mut event).unwrap();

    assert!(matches!(answer, Answer::Vetoed(veto) if veto.reason == "blocked"));
    assert!(event.is_cancelled());
}

#[test]
fn a_publisher_may_veto_its_own_event_before_and_after_the_round() {
    let hooks = Hooks::default();
    hooks.before::<Dial>(Priority(0).named("any"), |_| Ok(()));
    let (mut dial, mut late) = (dial(), dial());
    assert_eq!(hooks.publish(&mut late).unwrap(), Answer::Proceed);
    late.cancel("too late, but noted");
    assert_eq!(late.veto().unwrap().listener, None);

    dial.cancel("changed my mind");
    let veto = Veto { reason: "changed my mind".to_owned(), listener: None };
    assert_eq!(hooks.publish(&mut dial).unwrap(), Answer::Vetoed(veto));
}

#[test]
fn listeners_change_the_event_by_its_type_and_by_its_name() {
    let hooks = Hooks::default();
    hooks.before::<Dial>(Priority(10), |dial| {
        dial.number.retain(|letter| letter != ' ');
        Ok(())
    });
    hooks
        .before_matching("call.dial", Priority(0), |event| {
            assert_eq!(event.payload()?["number"], "+4930111");
            assert!(event.downcast_ref::<Ended>().is_none());
            let dial = event.downcast_mut::<Dial>().ok_or("not a Dial")?;
            dial.agent = Some("Ada".to_owned());
            Ok(())
        })
        .unwrap();

    let mut dial = dial();
    assert_eq!(hooks.publish(&mut dial).unwrap(), Answer::Proceed);

    let dial = dial.into_inner();
    assert_eq!((dial.number.as_str(), dial.agent.as_deref()), ("+4930111", Some("Ada")));
}

/// A type with both markers is heard by the listeners of the phase in which it is published.
#[test]
fn before_and_after_are_separate_lines() {
    #[derive(Serialize)]
    struct Moved;
    impl HookEvent for Moved {
        const NAME: &'static str = "lead.moved";
        fn org(&self) -> &str {
            "acme"
        }
    }
    impl BeforeEvent for Moved {}
    impl AfterEvent for Moved {}
    let (hooks, heards) = (Hooks::default(), Heards::default());
    hooks.before(Priority(0), heards.noting_before::<Moved>("before"));
    hooks.after(Priority(0), heards.noting::<Moved>("after"));

    assert_eq!(hooks.publish(&mut Before::new(Moved)).unwrap(), Answer::Proceed);
    assert_eq!(heards.take(), ["before"]);
    hooks.publish(&Moved).unwrap();
    assert_eq!(heards.take(), ["after"]);
}
