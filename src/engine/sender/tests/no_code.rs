//! A send by a channel that this process has no code for.

use super::*;

// fault: no-code-is-dead
#[test]
fn e82_a_channel_without_code_here_keeps_the_job_queued() {
    let shop = Shop::new(NEITHER);
    let held = shop.w.claim();
    let sender = shop.sender(held);
    let error = sender.send("pigeon", TO, "hello").expect_err("no code");
    assert!(error.to_string().contains("pigeon"), "{error}");
    assert!(matches!(hello(&sender), Err(SendError::Postponed { .. })), "one answer for a run");
    let due = shop.w.now() + 60_000;
    assert_eq!(shop.fails(held, &error), Some(Ended::Waits { due }));
    assert_eq!(shop.attempts(), 0);
    shop.w.sound();
}

// fault: no-code-is-silent
#[test]
fn e82_a_person_is_told_once_of_a_channel_that_nobody_has_code_for_after_a_deploys_time() {
    let shop = Shop::new(NEITHER);
    let run = || {
        let held = shop.w.claim();
        let error = shop.sender(held).send("pigeon", TO, "hello").expect_err("no code");
        assert!(matches!(shop.fails(held, &error), Some(Ended::Waits { .. })));
        shop.w.advance(60_000);
    };
    (0..10).for_each(|_| run());
    assert_eq!(shop.w.notices(), [""; 0], "a deploy");
    (0..5).for_each(|_| run());
    let notice = "SELECT kind || ' ' || cause || ' ' || state || ' ' || count || ' ' || reason FROM lanebox_notice";
    let told =
        "no process that ran this job had code for channel pigeon; what it should send waits";
    assert_eq!(shop.w.ask::<String>(notice), format!("channel.unhandled pigeon open 1 {told}"));
    // Somebody has code for it: the trouble is over.
    shop.w.store.offers(vec!["mail".to_owned()]).expect("another");
    assert!(shop.w.ask::<String>(notice).contains(" open "));
    shop.w.store.offers(vec!["mail".to_owned(), "pigeon".to_owned()]).expect("this one");
    assert!(shop.w.ask::<String>(notice).contains(" resolved "));
    assert_eq!(shop.attempts(), 0);
    shop.w.sound();
}

#[test]
fn a_channel_that_nobody_can_have_is_the_handlers_mistake() {
    let shop = Shop::new(NEITHER);
    let held = shop.w.claim();
    let error = shop.sender(held).send("", TO, "hello").expect_err("no name");
    assert_eq!(shop.fails(held, &error), Some(Ended::Dead));
    shop.w.sound();
}
