//! Traffic of any size, the same for the same seed.

use fastrand::Rng;
use serde_json::{Value, json};

use super::{Webhook, say};

const PHONE_NUMBER_ID: &str = "106540352242922";
const ACCOUNT_ID: &str = "102290129340398";
/// Traffic begins on 1 January 2026; only the distances between messages mean anything.
const FIRST_SECOND: u64 = 1_767_225_600;

/// Webhooks of `contacts` people who write `messages` messages each, in the order of arrival.
///
/// On top of those: duplicates (the same body again; an old message beside a new one), statuses
/// of messages sent before, and, with two contacts or more, one STOP by one of them before the
/// last message of theirs.
pub fn generate(contacts: u32, messages: u32, seed: u64) -> Vec<Webhook> {
    let mut traffic = Traffic::new(seed);
    let mut people: Vec<Person> = (0..contacts).map(|n| traffic.person(n, messages)).collect();
    if contacts > 1 {
        let who = traffic.rng.usize(..people.len());
        people[who].will_stop = true;
    }
    let mut writing: Vec<usize> = (0..people.len()).collect();
    while !writing.is_empty() {
        let turn = traffic.rng.usize(..writing.len());
        let person = &mut people[writing[turn]];
        traffic.turn(person);
        if person.left == 0 && !person.will_stop {
            writing.swap_remove(turn);
        }
    }
    traffic.repeat(0);
    traffic.into_webhooks()
}

struct Person {
    number: String,
    name: &'static str,
    left: u32,
    will_stop: bool,
}

struct Traffic {
    rng: Rng,
    second: u64,
    count: u32,
    /// The message that came last, with its sender, for a webhook that brings it again.
    last: Option<(Value, Value)>,
    bodies: Vec<String>,
}

impl Traffic {
    fn new(seed: u64) -> Self {
        let rng = Rng::with_seed(seed);
        Self { rng, second: FIRST_SECOND, count: 0, last: None, bodies: Vec::new() }
    }

    fn person(&mut self, n: u32, messages: u32) -> Person {
        let country = ["55119", "1650", "4915", "97250", "9715"][self.rng.usize(..5)];
        let number = format!("{country}{:08}", 10_000_000 + n);
        Person { number, name: say::name(&mut self.rng), left: messages, will_stop: false }
    }

    /// One person writes, now and then twice within seconds; then other things happen.
    fn turn(&mut self, person: &mut Person) {
        self.second += self.rng.u64(5..120);
        self.write(person);
        if self.rng.u8(0..4) == 0 && person.left > 0 {
            self.second += self.rng.u64(1..4);
            self.write(person);
        }
        if self.rng.u8(0..8) == 0 {
            let again = self.rng.usize(..self.bodies.len());
            self.repeat(again);
        }
        if self.count == 1 || self.rng.u8(0..4) == 0 {
            self.status(&person.number);
        }
    }

    fn write(&mut self, person: &mut Person) {
        let content = if person.will_stop && person.left <= 1 {
            person.will_stop = false;
            say::stop(&mut self.rng)
        } else {
            person.left -= 1;
            say::message(&mut self.rng)
        };
        let contact = json!({"profile": {"name": person.name}, "wa_id": person.number});
        let message = self.addressed(content, &person.number);
        let (mut contacts, mut messages) = (vec![contact.clone()], vec![message.clone()]);
        let repeats = self.rng.u8(0..12) == 0;
        if let Some((old_contact, old)) = self.last.replace((contact, message))
            && repeats
        {
            contacts.insert(0, old_contact);
            messages.insert(0, old);
        }
        self.push(json!({"contacts": contacts, "messages": messages}));
    }

    fn addressed(&mut self, mut message: Value, from: &str) -> Value {
        self.count += 1;
        message["from"] = from.into();
        message["id"] = self.wamid().into();
        message["timestamp"] = self.second.to_string().into();
        message
    }

    /// A status of something that the business sent before the demo began.
    fn status(&mut self, recipient: &str) {
        self.count += 1;
        let state = ["sent", "delivered", "read"][self.rng.usize(..3)];
        let status = json!({
            "id": self.wamid(), "status": state, "timestamp": self.second.to_string(),
            "recipient_id": recipient,
            "pricing": {"billable": false, "pricing_model": "PMP", "category": "service"},
        });
        self.push(json!({"statuses": [status]}));
    }

    fn push(&mut self, mut value: Value) {
        value["messaging_product"] = "whatsapp".into();
        value["metadata"] =
            json!({"display_phone_number": "15550783881", "phone_number_id": PHONE_NUMBER_ID});
        let body = json!({
            "object": "whatsapp_business_account",
            "entry": [{"id": ACCOUNT_ID, "changes": [{"field": "messages", "value": value}]}],
        });
        self.bodies.push(body.to_string());
    }

    fn repeat(&mut self, n: usize) {
        let body = self.bodies[n].clone();
        self.bodies.push(body);
    }

    fn wamid(&mut self) -> String {
        let chance: String = (0..24).map(|_| self.rng.alphanumeric()).collect();
        format!("wamid.HBgN{chance}{:06}A==", self.count)
    }

    fn into_webhooks(self) -> Vec<Webhook> {
        let webhook = |(n, body)| Webhook { line: n + 1, body };
        self.bodies.into_iter().enumerate().map(webhook).collect()
    }
}
