//! Who runs, in which order, and on which list.

use std::cmp::Reverse;

use proptest::prelude::*;

use super::*;

// fault: hook-lowest-first
#[test]
fn j1_the_higher_priority_runs_first_and_ties_as_registered_from_whatever_source() {
    let (hooks, heards) = (Hooks::default(), Heards::default());
    hooks.after(Priority(0), heards.noting::<Ended>("type, 0"));
    hooks.after_matching("*", Priority(0), heards.noting("everything, 0")).unwrap();
    hooks.after_matching("*", Priority(100), heards.noting("everything, 100")).unwrap();
    hooks.after_matching("call.*", Priority(-5), heards.noting("prefix, -5")).unwrap();
    hooks.after_matching("call.ended", Priority(7), heards.noting("exact, 7")).unwrap();

    hooks.publish(&Ended { seconds: 1 }).unwrap();

    assert_eq!(
        heards.take(),
        ["everything, 100", "exact, 7", "type, 0", "everything, 0", "prefix, -5"]
    );
}

// fault: hook-once-only
#[test]
fn j5_a_listener_registered_twice_runs_twice_and_is_removed_once_at_a_time() {
    let (hooks, heards) = (Hooks::default(), Heards::default());
    let first = hooks.after(Priority(0), heards.noting::<Ended>("same"));
    let second = hooks.after(Priority(0), heards.noting::<Ended>("same"));
    assert_ne!(first, second);

    hooks.publish(&Ended { seconds: 1 }).unwrap();
    assert_eq!(heards.take(), ["same", "same"]);

    assert!(hooks.remove(first));
    assert!(!hooks.remove(first));
    hooks.publish(&Ended { seconds: 1 }).unwrap();
    assert_eq!(heards.take(), ["same"]);
}

// fault: hook-removed-at-once
#[test]
fn j12_a_running_publish_keeps_the_listeners_that_it_began_with() {
    let (hooks, heards) = (Hooks::default(), Heards::default());
    let doomed = hooks.after(Priority(0), heards.noting::<Ended>("doomed"));
    let (bus, ears) = (hooks.clone(), heards.clone());
    hooks.after::<Ended>(Priority(10), move |_| {
        ears.note("changer");
        if bus.remove(doomed) {
            bus.after(Priority(5), ears.noting::<Ended>("newcomer"));
        }
        Ok(())
    });

    hooks.publish(&Ended { seconds: 1 }).unwrap();
    assert_eq!(heards.take(), ["changer", "doomed"]);

    hooks.publish(&Ended { seconds: 1 }).unwrap();
    assert_eq!(heards.take(), ["changer", "newcomer"]);
}

#[test]
fn j12_a_listener_may_remove_itself_and_one_before_an_event_may_add_another() {
    let (hooks, heards) = (Hooks::default(), Heards::default());
    let (bus, ears) = (hooks.clone(), heards.clone());
    let own_id = Arc::new(Mutex::new(None));
    let id = Arc::clone(&own_id);
    *own_id.lock() = Some(hooks.before::<Dial>(Priority(1), move |_| {
        ears.note("once");
        bus.before(Priority(0), ears.noting_before::<Dial>("for good"));
        assert!(bus.remove(id.lock().expect("set before the first publish")));
        Ok(())
    }));

    assert_eq!(hooks.publish(&mut dial()).unwrap(), Answer::Proceed);
    assert_eq!(heards.take(), ["once"]);
    assert_eq!(hooks.publish(&mut dial()).unwrap(), Answer::Proceed);
    assert_eq!(heards.take(), ["for good"]);
}

/// A listener's last owner may be the bus: what it drops then may use the bus.
#[test]
fn j12_a_removed_listener_may_use_the_bus_as_it_goes() {
    struct Farewell(Hooks);
    impl Drop for Farewell {
        fn drop(&mut self) {
            self.0.after::<Ended>(Priority(0), |_| Ok(()));
        }
    }
    let hooks = Hooks::default();
    let farewell = Farewell(hooks.clone());
    let id = hooks.after::<Ended>(Priority(0), move |_| {
        let _kept = &farewell;
        Ok(())
    });

    assert!(hooks.remove(id));
    assert_eq!(hooks.bus.after.take().len(), 1);
}

#[test]
fn j12_listeners_registered_by_many_threads_during_publishes_are_all_there() {
    let (hooks, heards) = (Hooks::default(), Heards::default());
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (hooks, heards) = (&hooks, &heards);
            scope.spawn(move || {
                for priority in 0..25 {
                    let who = format!("{priority:02}");
                    hooks.after(Priority(priority), heards.noting::<Ended>(&who));
                    hooks.publish(&Ended { seconds: thread }).unwrap();
                }
            });
        }
    });
    heards.take();

    hooks.publish(&Ended { seconds: 1 }).unwrap();

    let heard = heards.take();
    assert_eq!(heard.len(), 100);
    assert!(heard.is_sorted_by(|one, next| one >= next), "{heard:?}");
}

#[derive(Debug, Clone)]
enum Change {
    Add {
        priority: i32,
        source: Source,
    },
    /// The listener at this place, if there are so many.
    Remove(usize),
}

#[derive(Debug, Clone, Copy)]
enum Source {
    Type,
    Pattern(&'static str),
}

impl Source {
    fn hears_calls(self) -> bool {
        !matches!(self, Source::Pattern("mail.*" | "call.other"))
    }
}

fn change() -> impl Strategy<Value = Change> {
    let pattern = prop::sample::select(vec!["*", "call.*", "call.dial", "mail.*", "call.other"]);
    let source = prop_oneof![Just(Source::Type), pattern.prop_map(Source::Pattern)];
    prop_oneof![
        4 => (-2..3, source).prop_map(|(priority, source)| Change::Add { priority, source }),
        1 => (0..12usize).prop_map(Change::Remove),
    ]
}

proptest! {
    /// The line of listeners is the list of registrations, sorted by descending priority, stably.
    #[test]
    fn j1_any_registrations_and_removals_leave_the_line_in_order(
        changes in prop::collection::vec(change(), 0..40),
    ) {
        let (hooks, heards) = (Hooks::default(), Heards::default());
        let mut expected: Vec<(i32, String, ListenerId, bool)> = Vec::new();
        for (number, change) in changes.into_iter().enumerate() {
            match change {
                Change::Add { priority, source } => {
                    let (who, place) = (number.to_string(), Priority(priority));
                    let id = match source {
                        Source::Type => hooks.before(place, heards.noting_before::<Dial>(&who)),
                        Source::Pattern(pattern) => hooks
                            .before_matching(pattern, place, heards.noting_before(&who))
                            .unwrap(),
                    };
                    expected.push((priority, who, id, source.hears_calls()));
                }
                Change::Remove(place) if place < expected.len() => {
                    let (_, _, id, _) = expected.remove(place);
                    prop_assert!(hooks.remove(id));
                }
                Change::Remove(_) => {}
            }
        }
        expected.sort_by_key(|(priority, ..)| Reverse(*priority));
        let expected: Vec<_> =
            expected.into_iter().filter(|(.., hears)| *hears).map(|(_, who, ..)| who).collect();

        prop_assert_eq!(hooks.publish(&mut dial()).unwrap(), Answer::Proceed);

        prop_assert_eq!(heards.take(), expected);
    }
}
