//! Recording facts.

use super::*;
use crate::model::event::MAX_PAYLOAD;

// fault: names-are-not-checked
#[test]
fn e2_a_name_is_dotted_lower_case() {
    let scratch = Scratch::new();
    let store = scratch.store();
    for bad in [
        "Lead.Created",
        "lead",
        "lead..x",
        "1lead.x",
        "lead.x.",
        "lead.1x",
        "lead.\u{e9}",
        "lead.x\0",
    ] {
        let refused = publish(&store, event(bad));
        assert!(matches!(refused, Err(Error::Invalid { .. })), "{bad}: {refused:?}");
    }
    assert!(publish(&store, event("lead.stage_changed")).is_ok());
    assert_eq!(scratch.one::<i64>("SELECT count(*) FROM lanebox_event"), 1);
}

// fault: event-time-is-now
#[test]
fn e3_an_event_is_kept_byte_for_byte_with_its_times() {
    let scratch = Scratch::new();
    let store = scratch.store();
    let odd = " {\"text\": \"\u{1F600} \u{5E9}\u{5DC}\u{5D5}\u{5DD}\",\n \"n\": 1.0e2}";
    let new = event("message.received")
        .entity("message", "wamid.1")
        .subject("+4915112345")
        .payload_json(odd)
        .metadata(&serde_json::json!({ "trace": "t1" }))
        .occurred_at(crate::model::job::instant(1_000));
    let id = publish(&store, new).expect("published").id();
    assert_eq!(scratch.one::<String>("SELECT payload FROM lanebox_event"), odd);
    assert_eq!(scratch.one::<[u8; 16]>("SELECT uuid FROM lanebox_event"), *id.0.as_bytes());
    assert_eq!(scratch.one::<String>("SELECT metadata FROM lanebox_event"), r#"{"trace":"t1"}"#);
    assert_eq!(scratch.one::<i64>("SELECT occurred_at FROM lanebox_event"), 1_000);
    assert_eq!(scratch.one::<i64>("SELECT recorded_at FROM lanebox_event"), 1_767_225_600_000);
    let columns = "SELECT entity_type || ' ' || entity_id || ' ' || subject FROM lanebox_event";
    assert_eq!(scratch.one::<String>(columns), "message wamid.1 +4915112345");
}

// fault: key-is-forgotten
#[test]
fn e4_one_fact_per_key_whatever_repeats_it() {
    let scratch = Scratch::new();
    let store = scratch.store();
    let message = || event("message.received").dedupe("wamid.1").payload_json("{\"a\":1}");
    let first = publish(&store, message()).expect("published");
    assert!(matches!(first, Published::New(_)));
    assert_eq!(publish(&store, message()).expect("known"), Published::Duplicate(first.id()));
    // Keys belong to their org.
    let other = NewEvent { org: "globex".to_owned(), ..message() };
    assert!(matches!(publish(&store, other), Ok(Published::New(_))));
    assert_eq!(scratch.one::<i64>("SELECT count(*) FROM lanebox_event WHERE org = 'acme'"), 1);
    scratch.assert_sound();
}

// fault: bulk-keeps-its-half
#[test]
fn e5_a_bulk_move_is_one_event_per_entity_and_all_or_none() {
    let scratch = Scratch::new();
    let store = scratch.store();
    let lead = |n: i64| event("lead.stage_changed").entity("lead", n);
    let published = store.publish((1..=50).map(lead).collect()).expect("published");
    assert!(published.windows(2).all(|pair| pair[0].id() < pair[1].id()));
    let ids = scratch.all::<String>("SELECT entity_id FROM lanebox_event ORDER BY seq");
    assert_eq!(ids, (1..=50).map(|n: i64| n.to_string()).collect::<Vec<_>>());
    let conflict =
        store.publish(vec![lead(51), lead(52).dedupe("k"), event("other.name").dedupe("k")]);
    assert!(matches!(conflict, Err(Error::Conflict { .. })), "{conflict:?}");
    assert_eq!(scratch.one::<i64>("SELECT count(*) FROM lanebox_event"), 50);
}

// fault: large-is-taken
#[test]
fn e6_a_payload_over_the_bound_is_refused_and_not_cut() {
    let scratch = Scratch::new();
    let store = scratch.store();
    let of = |bytes: usize| format!("{{\"t\":\"{}\"}}", "x".repeat(bytes - 8));
    let refused = publish(&store, event("a.b").payload_json(of(MAX_PAYLOAD + 1)));
    let text = refused.expect_err("too large").to_string();
    assert!(text.contains("the bound is 1048576") && text.contains("not cut"), "{text}");
    assert_eq!(scratch.one::<i64>("SELECT count(*) FROM lanebox_event"), 0);
    assert!(publish(&store, event("a.b").payload_json(of(MAX_PAYLOAD))).is_ok());
    assert_eq!(scratch.one::<i64>("SELECT length(payload) FROM lanebox_event"), 1_048_576);
}

#[test]
fn what_is_no_json_object_is_refused() {
    let scratch = Scratch::new();
    let store = scratch.store();
    let deep = format!("{{\"a\":{}{}}}", "[".repeat(64), "]".repeat(64));
    let nul = "{\"a\":\"\u{0}\"}";
    for bad in ["", "{", "[1]", "1", "null", "{\"a\":}", nul, "{\"a\":\"\\u0000\"}", &deep] {
        let refused = publish(&store, event("a.b").payload_json(bad));
        assert!(matches!(refused, Err(Error::Invalid { .. })), "{bad:?}: {refused:?}");
    }
    let refused = publish(&store, event("a.b").metadata(&"a text"));
    assert!(matches!(refused, Err(Error::Invalid { .. })), "{refused:?}");
    assert_eq!(scratch.one::<i64>("SELECT count(*) FROM lanebox_event"), 0);
}

// R60: the answer to a publish was lost.
// fault: conflict-is-a-duplicate, key-is-forgotten
#[test]
fn r60_the_same_call_again_gets_the_same_answer_and_another_body_is_a_conflict() {
    let scratch = Scratch::new();
    let store = scratch.store();
    let call = |body: &str| publish(&store, event("a.b").dedupe("k").payload_json(body));
    let first = call("{\"n\":1}").expect("published").id();
    for _ in 0..3 {
        assert_eq!(call("{\"n\":1}").expect("known"), Published::Duplicate(first));
    }
    assert!(matches!(call("{\"n\":2}"), Err(Error::Conflict { .. })));
    let other_name = publish(&store, event("a.c").dedupe("k").payload_json("{\"n\":1}"));
    assert!(matches!(other_name, Err(Error::Conflict { .. })));
    // A handle on the same file, later: the key is in the file, not in memory.
    let later = publish(&scratch.store(), event("a.b").dedupe("k").payload_json("{\"n\":1}"));
    assert_eq!(later.expect("known"), Published::Duplicate(first));
    assert_eq!(scratch.one::<i64>("SELECT count(*) FROM lanebox_event"), 1);
}

// fault: key-is-forgotten
#[test]
fn r60_a_key_outlives_the_body_of_its_event() {
    let scratch = Scratch::new();
    let store = scratch.store();
    let first = publish(&store, event("a.b").dedupe("k")).expect("published").id();
    scratch.run("UPDATE lanebox_front SET seq = 1; DELETE FROM lanebox_event");
    let again = publish(&store, event("a.b").dedupe("k")).expect("known");
    assert_eq!(again, Published::Duplicate(first));
}

#[test]
fn a_key_that_is_used_is_remembered_longer_and_written_at_most_daily() {
    let scratch = Scratch::new();
    let store = scratch.store();
    let used = || scratch.one::<i64>("SELECT used_at FROM lanebox_event_key");
    let publish = || publish(&store, event("a.b").dedupe("k")).expect("accepted");
    let _new = publish();
    let first = used();
    scratch.clock.advance(3_600_000);
    let _known = publish();
    assert_eq!(used(), first);
    scratch.clock.advance(24 * 3_600_000);
    let _known = publish();
    assert_eq!(used(), first + 25 * 3_600_000);
}

// R62: a provider delivers the same webhook twice at the same second.
// fault: key-is-forgotten
#[test]
fn r62_sixteen_parallel_posts_of_one_id_are_one_event() {
    let scratch = Scratch::new();
    let (one, other) = (scratch.store(), scratch.store());
    let answers: Vec<Published> = std::thread::scope(|scope| {
        let post = |i: usize| {
            let store = if i.is_multiple_of(2) { &one } else { &other };
            move || publish(store, event("message.received").dedupe("wamid.1")).expect("accepted")
        };
        let threads: Vec<_> = (0..16).map(|i| scope.spawn(post(i))).collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
    });
    let new = answers.iter().filter(|answer| matches!(answer, Published::New(_))).count();
    assert_eq!(new, 1);
    assert!(answers.windows(2).all(|pair| pair[0].id() == pair[1].id()));
    assert_eq!(scratch.one::<i64>("SELECT count(*) FROM lanebox_event"), 1);
    scratch.assert_sound();
}

#[test]
fn a_fact_of_a_time_that_cannot_be_kept_is_refused_and_not_moved() {
    let scratch = Scratch::new();
    let store = scratch.store();
    let begin = time::OffsetDateTime::UNIX_EPOCH;
    for kept in [begin, crate::model::job::instant(i64::MAX)] {
        assert!(publish(&store, event("a.b").occurred_at(kept)).is_ok(), "{kept}");
    }
    for moved in [
        begin - std::time::Duration::from_nanos(1),
        begin - std::time::Duration::from_secs(1 << 32),
    ] {
        let refused = publish(&store, event("a.b").occurred_at(moved));
        assert!(matches!(refused, Err(Error::Invalid { .. })), "{moved}: {refused:?}");
    }
}

// J14: the platform itself is an org.
#[test]
fn j14_an_event_of_the_platform_has_the_org_dash() {
    let scratch = Scratch::new();
    let store = scratch.store();
    assert!(publish(&store, NewEvent::new("-", "price_list.changed")).is_ok());
    assert_eq!(scratch.one::<String>("SELECT org FROM lanebox_event"), "-");
    for bad in ["", " ", " acme", "acme\0", &"x".repeat(129)] {
        let refused = publish(&store, NewEvent::new(bad, "a.b"));
        assert!(matches!(refused, Err(Error::Invalid { .. })), "{bad:?}: {refused:?}");
    }
}

#[test]
fn a_chain_of_causes_ends_at_sixteen() {
    let scratch = Scratch::new();
    let store = scratch.store();
    assert!(publish(&store, NewEvent { depth: 16, ..event("a.b") }).is_ok());
    let deeper = publish(&store, NewEvent { depth: 17, ..event("a.b") });
    assert!(deeper.expect_err("a loop").to_string().contains("look for a loop"));
}
