//! Dispatch on a real file, by one process and by several that share it.

mod audience;
mod crash;
#[cfg(unix)]
mod death;
mod fanout;
mod lanes;
mod processes;
mod random;
mod retry;
mod suspects;

use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;
use crate::model::event::NewEvent;
use crate::model::id::{EventSeq, KindNo};
use crate::model::job::Policy;
use crate::model::lane::Lane;
use crate::model::verdict::End;
use crate::store::bus::Bus;
use crate::store::jobs::{Ask, Claimed, Ended, Finish, Handled, Jobs, Round};
use crate::store::processes::Processes;
use crate::store::sqlite::SqliteStore;
use crate::store::sqlite::scratch::Scratch;

/// A process that shares the file. Dropping it is its death: the system takes its lock back.
struct Process {
    store: SqliteStore,
    no: ProcessNo,
    dispatcher: Dispatcher,
}

impl Process {
    fn start(scratch: &Scratch, subscriptions: Vec<Subscription>) -> Process {
        Process::on(scratch.store(), subscriptions)
    }

    fn on(store: SqliteStore, subscriptions: Vec<Subscription>) -> Process {
        let no = store.register().expect("registered");
        let (dispatcher, _) = Dispatcher::start(&store, no, subscriptions).expect("started");
        Process { store, no, dispatcher }
    }

    fn pass(&mut self) -> Step {
        self.try_pass().expect("a pass")
    }

    fn try_pass(&mut self) -> Result<Step> {
        self.dispatcher.step(&self.store, |dispatch| commit(&self.store, dispatch))
    }

    /// Passes until nothing is left to do now.
    fn drain(&mut self) {
        let _when_next = self.rest();
    }

    /// The same; when there will be something to do.
    fn rest(&mut self) -> Step {
        for _ in 0..10_000 {
            match self.pass() {
                Step::Again => {}
                step => return step,
            }
        }
        panic!("it never comes to rest");
    }

    fn publish(&self, events: impl IntoIterator<Item = NewEvent>) {
        let _known_or_new = self.store.publish(events.into_iter().collect()).expect("published");
    }

    /// Takes what can run now.
    fn claim(&self) -> Vec<Claimed> {
        let round = Round { claim: Some(self.ask()), ..Round::default() };
        self.store.round(round).expect("a claim").claimed
    }

    fn ask(&self) -> Ask {
        let kinds = self.store.kinds().into_iter();
        Ask {
            process: self.no,
            kinds: kinds.map(|kind| Handled { kind, short: false }).collect(),
            idle: 100,
            ahead: 0,
            lease_ms: 60_000,
            suspect_wait_ms: 30_000,
        }
    }

    fn end(&self, claimed: &Claimed, end: End) -> Ended {
        let finish = vec![Finish { held: claimed.held, end, outbox: Vec::new() }];
        let round = Round { finish, ..Round::default() };
        self.store.round(round).expect("an end").finished.remove(0)
    }
}

fn commit(store: &SqliteStore, dispatch: Dispatch) -> Result<Dispatched> {
    let round = Round { dispatch: Some(dispatch), ..Round::default() };
    store.round(round)?.dispatched.expect("it was asked for")
}

impl SqliteStore {
    fn kinds(&self) -> Vec<KindNo> {
        ["turn", "consume.a", "consume.b"].map(|kind| self.kind(kind).expect("a kind")).to_vec()
    }
}

fn consume(key: &str, pattern: &str) -> Subscription {
    Subscription { consumer: Consumer::new(key, pattern), route: None }
}

fn route(
    key: &str,
    pattern: &str,
    route: impl Fn(&Event) -> Result<Vec<NewJob>, BoxError> + Send + Sync + 'static,
) -> Subscription {
    Subscription { consumer: Consumer::new(key, pattern), route: Some(Arc::new(route)) }
}

fn with(consumer: impl FnOnce(Consumer) -> Consumer, subscription: Subscription) -> Subscription {
    Subscription { consumer: consumer(subscription.consumer), ..subscription }
}

fn tries(n: u32) -> impl FnOnce(Consumer) -> Consumer {
    move |consumer| consumer.policy(Policy::default().max_attempts(n))
}

fn turn() -> NewJob {
    NewJob::raw("turn", "{}", Lane::NONE)
}

fn one_turn(_: &Event) -> Result<Vec<NewJob>, BoxError> {
    Ok(vec![turn()])
}

fn event(name: &str) -> NewEvent {
    NewEvent::new("acme", name)
}

/// How often something ran.
#[derive(Clone, Default)]
struct Count(Arc<AtomicUsize>);

impl Count {
    fn up(&self) -> usize {
        self.0.fetch_add(1, Ordering::Relaxed) + 1
    }

    fn get(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

/// `key event state` of every delivery.
fn deliveries(scratch: &Scratch) -> Vec<String> {
    scratch.all(
        "SELECT c.key || ' ' || d.event || ' ' || d.state FROM lanebox_delivery d \
         JOIN lanebox_consumer c ON c.id = d.consumer ORDER BY d.event, c.key",
    )
}

fn jobs(scratch: &Scratch) -> i64 {
    scratch.one("SELECT count(*) FROM lanebox_job")
}

fn state(scratch: &Scratch, seq: i64) -> String {
    scratch.one(&format!("SELECT state FROM lanebox_event_state WHERE seq = {seq}"))
}
