//! A letter hides what it carries; a name has one implementation. And a provider for other tests.

pub(crate) mod provider;

use super::*;

// fault: letter-shows-its-body
#[test]
fn e78_a_letter_shows_neither_its_body_nor_its_recipient() {
    let key = SendKey(uuid::Uuid::from_u128(7));
    let letter = Letter::new("acme", "+4915112345678", "a secret", key);
    let shown = format!("{letter:?} {letter:#?}");
    assert!(shown.contains("+49…78"), "{shown}");
    assert!(!shown.contains("secret") && !shown.contains("151123"), "{shown}");
}

struct Slow;

impl Channel for Slow {
    fn abilities(&self) -> Abilities {
        Abilities::new(Duration::from_secs(50))
    }

    fn deliver(&self, _: &Letter<'_>) -> Delivery {
        Delivery::accepted("never")
    }
}

#[test]
fn one_name_has_one_implementation_and_a_timeout_that_a_lease_outlives() {
    let mut channels = Channels::default();
    channels.add("slow", Arc::new(Slow)).expect("the first");
    assert!(channels.add("slow", Arc::new(Slow)).is_err());
    assert!(channels.add("", Arc::new(Slow)).is_err());
    assert!(channels.check(60_000).is_err());
    assert!(channels.check(90_000).is_ok());
    assert_eq!(Slow.lookup(SendKey(uuid::Uuid::nil())), Lookup::CannotTell);
}
