//! What a customer reads: the provider's own log, contact by contact.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use lanebox::{
    Abilities, Channel, Delivery, Lane, Letter, Lookup, NewJob, Outcome, Reactions, SendKey,
};

use crate::scene::{Answer, LONG, Scene, quick};

const CONTACTS: usize = 50;
const MESSAGES: usize = 4;

/// What went out: to whom, what, by which key.
type Log = Arc<Mutex<Vec<(String, String, SendKey)>>>;

/// Refuses, does not answer, or is not reached, again and again.
struct Moody {
    log: Log,
    calls: AtomicUsize,
}

impl Moody {
    fn take(&self, letter: &Letter<'_>) {
        let row = (letter.recipient.to_owned(), letter.body.to_owned(), letter.key);
        self.log.lock().expect("no panic").push(row);
    }
}

impl Channel for Moody {
    fn abilities(&self) -> Abilities {
        Abilities::new(Duration::from_millis(100)).lookup_after(Duration::from_millis(1))
    }

    fn deliver(&self, letter: &Letter<'_>) -> Delivery {
        let lost = || Delivery::Unknown { reason: "no answer in time".to_owned() };
        match self.calls.fetch_add(1, Ordering::SeqCst) % 7 {
            1 => Delivery::rejected_for_now("503"),
            2 => Delivery::NotCalled { reason: "no connection".to_owned() },
            3 => lost(),
            4 => {
                self.take(letter);
                lost()
            }
            _ => {
                self.take(letter);
                Delivery::accepted("taken")
            }
        }
    }

    fn lookup(&self, key: SendKey) -> Lookup {
        let log = self.log.lock().expect("no panic");
        match log.iter().any(|(_, _, sent)| *sent == key) {
            true => Lookup::Found { receipt: "taken".to_owned() },
            false => Lookup::NotFound,
        }
    }
}

// fault: retry-overtaken
#[test]
fn r33_each_contact_reads_its_messages_in_order_whatever_the_provider_answers() {
    let scene = Scene::new();
    let lanebox = scene.open();
    let log = Log::default();
    let moody = Moody { log: log.clone(), calls: AtomicUsize::new(0) };
    let policy = quick().max_attempts(100);
    let reactions =
        Reactions::new().channel("whatsapp", moody).on_kind("turn", policy, |ctx| -> Answer {
            ctx.send("whatsapp", ctx.subject().unwrap_or_default(), ctx.payload())?;
            Ok(Outcome::Done)
        });
    let message = |n: usize| {
        let contact = format!("+49 {}", n % CONTACTS);
        let job = NewJob::raw("turn", (n / CONTACTS).to_string(), Lane::of(&contact));
        job.org("acme").subject(contact).max_attempts(100)
    };
    let jobs = (0..CONTACTS * MESSAGES).map(message).collect();
    let _accepted = lanebox.enqueue_all(jobs).expect("accepted");
    let running = lanebox.start(reactions).expect("started");
    scene.until_ended(i64::try_from(CONTACTS * MESSAGES).expect("few"));
    running.stop(LONG);
    let mut read: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (contact, text, _) in log.lock().expect("no panic").iter() {
        read.entry(contact.clone()).or_default().push(text.clone());
    }
    assert_eq!(read.len(), CONTACTS);
    for (contact, texts) in read {
        assert_eq!(texts, ["0", "1", "2", "3"], "{contact}: each once, in order");
    }
}
