//! The resolver's passes: in which order it asks, what it writes, and when it comes back.

mod random;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};

use super::{Again, tick};
use crate::engine::channel::tests::provider::{Provider, Reply};
use crate::engine::channel::{Channel, Channels, Delivery, Letter, Lookup, UnknownSend};
use crate::engine::sender::Sender;
use crate::engine::signal::Signal;
use crate::model::id::{Held, SendKey};
use crate::model::outcome::BoxError;
use crate::model::send::ability::Abilities;
use crate::model::send::{Evidence, Witness};
use crate::model::verdict::End;
use crate::store::jobs::Ended;
use crate::store::ledger::Accepted;
use crate::store::ledger::tests::world::{
    BOTH, DEDUPE, LOOKUP, NEITHER, PATIENCE, SETTLE, TIMEOUT, World,
};

const TO: &str = "+4915112345678";

/// The signal of runs that nobody tells to stop.
static UNSAID: LazyLock<Signal> = LazyLock::new(Signal::default);

fn channels(abilities: Abilities) -> (Arc<Provider>, Channels) {
    let provider = Arc::new(Provider::new(abilities));
    let mut channels = Channels::default();
    channels.add("whatsapp", provider.clone()).expect("the only one");
    (provider, channels)
}

/// A job whose send went out, or not, and whose answer was lost; it waits now.
fn lost(w: &World, provider: &Provider, channels: &Channels, reply: Reply) -> Held {
    provider.then(reply);
    let held = w.claim_of("ann");
    let sender = Sender::new(&*w.store, &w.env, channels, held, "acme", &UNSAID);
    sender.send("whatsapp", TO, "hello").expect_err("nobody knows");
    assert_eq!(w.end(held, End::Unknown), Ended::Holds);
    held
}

fn pass(w: &World, channels: &Channels) -> (Again, usize) {
    tick(&*w.store, channels).expect("a pass")
}

fn state(w: &World) -> String {
    w.ask("SELECT iif(state = 'abandoned', how, state) || ' ' || coalesce(settled_by, '') FROM lanebox_send_try")
}

#[test]
fn nothing_unknown_means_nothing_to_do() {
    let w = World::new();
    let (_, channels) = channels(BOTH);
    assert_eq!(pass(&w, &channels), (Again::OnBell, 0));
}

#[test]
fn the_host_is_asked_first_and_whatever_it_knows_settles_the_send() {
    let w = World::new();
    let (provider, mut channels) = channels(LOOKUP);
    let recognise = |send: &UnknownSend, conn: &rusqlite::Connection| {
        assert_eq!((send.org(), send.channel(), send.number()), ("acme", "whatsapp", Some(1)));
        assert!(send.name().is_none() && send.job().is_some() && send.intended_at_ms() > 0);
        let writes = conn.execute("UPDATE lanebox_meta SET hold = 'x'", []);
        assert!(writes.is_err(), "it is a reader");
        let id = conn.query_row("SELECT 'row ' || count(*) FROM lanebox_job", [], |row| row.get(0));
        Ok::<Option<String>, BoxError>(Some(id?))
    };
    channels.recognise("whatsapp", Arc::new(recognise)).expect("the only one");
    lost(&w, &provider, &channels, Reply::LoseTheAnswer);
    w.advance(TIMEOUT + SETTLE);
    assert_eq!(pass(&w, &channels), (Again::OnBell, 1));
    assert_eq!(state(&w), "accepted recognise");
    assert_eq!(provider.asked(), [], "nobody else was asked");
    w.sound();
}

#[test]
fn a_host_that_does_not_know_fails_or_panics_leaves_the_lookup() {
    type Answer = Result<Option<String>, BoxError>;
    let answers: [fn() -> Answer; 3] =
        [|| Ok(None), || Err("no such table".into()), || panic!("the host's code panicked")];
    for answer in answers {
        let w = World::new();
        let (provider, mut channels) = channels(LOOKUP);
        let recognise = move |_: &UnknownSend, _: &rusqlite::Connection| answer();
        channels.recognise("whatsapp", Arc::new(recognise)).expect("the only one");
        lost(&w, &provider, &channels, Reply::LoseTheAnswer);
        w.advance(TIMEOUT + SETTLE);
        assert_eq!(pass(&w, &channels), (Again::OnBell, 1));
        assert_eq!(state(&w), "accepted lookup");
        w.sound();
    }
}

// fault: lookup-is-asked-at-once
#[test]
fn e72_the_lookup_is_asked_after_its_settle_time_and_believed() {
    for (reply, expected) in
        [(Reply::LoseTheAnswer, "accepted lookup"), (Reply::LoseTheRequest, "not_found lookup")]
    {
        let w = World::new();
        let (provider, channels) = channels(LOOKUP);
        lost(&w, &provider, &channels, reply);
        assert_eq!(pass(&w, &channels), (Again::At(w.now() + TIMEOUT + SETTLE), 0));
        assert_eq!(provider.asked(), []);
        w.advance(TIMEOUT + SETTLE);
        assert_eq!(pass(&w, &channels), (Again::OnBell, 1));
        assert_eq!(state(&w), expected);
        assert!(w.try_claim().is_some(), "its job runs again");
        w.sound();
    }
}

// A connection that breaks early says nothing of the request: a proxy may have it, and it arrives
// as late as one whose caller waited to the end.
// fault: lookup-is-asked-at-once
#[test]
fn e72_settle_time_counts_from_when_the_call_would_have_timed_out_also_if_it_broke_early() {
    for (lasts, panics) in [(0, false), (3_000, false), (TIMEOUT, false), (3_000, true)] {
        let w = World::new();
        let (provider, channels) = channels(LOOKUP);
        let (clock, timeout_at) = (w.clock.clone(), w.now() + TIMEOUT);
        provider.then(Reply::While(Box::new(move || clock.advance(lasts))));
        provider.then(if panics { Reply::Panic } else { Reply::LoseTheRequest });
        let held = w.claim_of("ann");
        let sender = Sender::new(&*w.store, &w.env, &channels, held, "acme", &UNSAID);
        let send = || sender.send("whatsapp", TO, "hello");
        let heard = std::panic::catch_unwind(std::panic::AssertUnwindSafe(send));
        assert_eq!(heard.is_err(), panics);
        assert_eq!(w.end(held, End::Unknown), Ended::Holds);
        assert_eq!(pass(&w, &channels), (Again::At(timeout_at + SETTLE), 0), "{lasts} {panics}");
        w.advance(timeout_at + SETTLE - w.now());
        assert_eq!(pass(&w, &channels), (Again::OnBell, 1));
        assert_eq!(state(&w), "not_found lookup");
        w.sound();
    }
}

#[test]
fn a_provider_without_a_lookup_is_never_asked() {
    let w = World::new();
    let (provider, channels) = channels(DEDUPE);
    lost(&w, &provider, &channels, Reply::LoseTheRequest);
    w.advance(TIMEOUT + PATIENCE / 32);
    assert_eq!(pass(&w, &channels).1, 1, "it may call again with the same key");
    assert_eq!(provider.asked(), []);
    w.sound();
}

#[test]
fn nobody_is_woken_for_a_gate_that_is_closed() {
    use crate::store::ledger::Ledger;
    let w = World::new();
    let (provider, channels) = channels(DEDUPE);
    lost(&w, &provider, &channels, Reply::LoseTheRequest);
    w.store.set_hold(Some("stop".to_owned()), "ann").expect("held");
    w.advance(TIMEOUT + PATIENCE / 32);
    assert_eq!(pass(&w, &channels).1, 0);
    w.store.set_hold(None, "ann").expect("lifted");
    w.advance(TIMEOUT + PATIENCE / 16);
    assert_eq!(pass(&w, &channels).1, 1);
    w.sound();
}

#[test]
fn a_process_without_the_code_leaves_it_to_others_until_a_person_must_be_told() {
    let w = World::new();
    let (provider, there) = channels(LOOKUP);
    let here = Channels::default();
    lost(&w, &provider, &there, Reply::LoseTheAnswer);
    let until = w.now() + PATIENCE;
    w.advance(TIMEOUT + SETTLE);
    assert_eq!(pass(&w, &here), (Again::At(until), 0));
    let next_look: i64 = w.ask("SELECT next_look FROM lanebox_send_try");
    assert_eq!(next_look, w.now(), "its look was not put off");
    w.advance(PATIENCE);
    assert_eq!(pass(&w, &here).1, 1);
    assert_eq!(w.notices(), ["send.unknown 1"]);
    w.sound();
}

#[test]
fn a_long_list_is_looked_at_in_passes_and_strangers_do_not_hide_ours() {
    let w = World::new();
    let (provider, ours) = channels(LOOKUP);
    let theirs = Arc::new(Provider::new(LOOKUP));
    let mut both = ours.clone();
    both.add("mail", theirs.clone()).expect("another one");
    for i in 0..150 {
        let (name, provider) = if i < 80 { ("mail", &theirs) } else { ("whatsapp", &provider) };
        provider.then(Reply::LoseTheAnswer);
        let held = w.claim_of(&format!("contact {i}"));
        let sender = Sender::new(&*w.store, &w.env, &both, held, "acme", &UNSAID);
        sender.send(name, TO, "hello").expect_err("nobody knows");
        assert_eq!(w.end(held, End::Unknown), Ended::Holds);
    }
    w.advance(TIMEOUT + SETTLE);
    assert_eq!(pass(&w, &ours), (Again::Now, 64));
    let (again, woken) = pass(&w, &ours);
    assert_eq!(woken, 6);
    assert!(matches!(again, Again::At(_)));
    assert_eq!(theirs.asked(), []);
    w.sound();
}

/// A lookup during which another program writes, and this handle too.
struct Nosy {
    path: std::path::PathBuf,
    store: Arc<crate::store::sqlite::SqliteStore>,
    asked: AtomicUsize,
}

impl Channel for Nosy {
    fn abilities(&self) -> Abilities {
        LOOKUP
    }

    fn deliver(&self, _: &Letter<'_>) -> Delivery {
        Delivery::Unknown { reason: "timeout".to_owned() }
    }

    fn lookup(&self, _: SendKey) -> Lookup {
        use crate::store::ledger::Ledger;
        let other = rusqlite::Connection::open(&self.path).expect("another program");
        other.execute_batch("BEGIN IMMEDIATE; ROLLBACK").expect("nobody holds the write lock");
        self.store.set_hold(None, "ann").expect("and this handle can write");
        match self.asked.fetch_add(1, Ordering::SeqCst) {
            0 => panic!("a lookup that panics"),
            1 => Lookup::CannotTell,
            _ => Lookup::NotFound,
        }
    }
}

#[test]
fn the_outside_is_asked_with_no_transaction_open_and_may_fail() {
    let w = World::new();
    let nosy = Nosy { path: w.path.clone(), store: w.store.clone(), asked: 0.into() };
    let nosy = Arc::new(nosy);
    let mut channels = Channels::default();
    channels.add("whatsapp", nosy.clone()).expect("the only one");
    let held = w.claim_of("ann");
    let sender = Sender::new(&*w.store, &w.env, &channels, held, "acme", &UNSAID);
    sender.send("whatsapp", TO, "hello").expect_err("nobody knows");
    assert_eq!(w.end(held, End::Unknown), Ended::Holds);
    for _ in 0..2 {
        w.advance(60_000);
        assert_eq!(pass(&w, &channels).1, 0);
    }
    w.advance(60_000);
    assert_eq!(pass(&w, &channels).1, 1);
    assert_eq!(state(&w), "not_found lookup");
    assert_eq!(nosy.asked.load(Ordering::SeqCst), 3);
    w.sound();
}

// R59: forty unknown sends of one outage, and after a while none is without a resolution or an
// alert.
#[test]
fn r59_no_unknown_is_frozen_for_ever() {
    let w = World::new();
    let (provider, channels) = channels(NEITHER);
    for i in 0..40 {
        provider.then(if i % 2 == 0 { Reply::LoseTheAnswer } else { Reply::LoseTheRequest });
        let held = w.claim_of(&format!("contact {i}"));
        let sender = Sender::new(&*w.store, &w.env, &channels, held, "acme", &UNSAID);
        sender.send("whatsapp", TO, "hello").expect_err("nobody knows");
        assert_eq!(w.end(held, End::Unknown), Ended::Holds);
    }
    // Statuses arrive for some of those that went out.
    for message in provider.log().iter().take(10) {
        let status = Witness::Evidence(Evidence::Status);
        assert_eq!(w.accept(message.key, Some(&message.id), status), Accepted::Now);
    }
    let end = w.now() + PATIENCE + TIMEOUT;
    while let (Again::At(at), _) = pass(&w, &channels) {
        assert!(at <= end, "it is told in time");
        w.advance(at - w.now());
    }
    let open = "SELECT count(*) FROM lanebox_send_try WHERE state = 'unknown' AND notice IS NULL";
    assert_eq!(w.ask::<i64>(open), 0);
    assert_eq!(w.notices(), ["send.unknown 30"], "one outage, one notice");
    assert_eq!(provider.log().len(), 20, "and nothing was sent twice");
    w.sound();
}
