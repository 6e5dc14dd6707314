//! The store as one simulated process has it: the real one, with a point before and behind each
//! verb at which the process may die, stand still, or be overtaken by others, and storage errors on
//! order inside. A dead process changes nothing any more and hears nothing but that.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;

use super::world::World;
use crate::env::Hint;
use crate::error::{Error, Result};
use crate::model::consumer::Registration;
use crate::model::event::{NewEvent, Published};
use crate::model::id::{EventId, Held, JobId, JobNo, KindNo, ProcessNo, SendKey, Token};
use crate::model::job::{Enqueued, NewJob};
use crate::model::room::RoomMode;
use crate::store::Store;
use crate::store::bus::{Bus, InRoute, Look, Outlook, Registered, Wanted};
use crate::store::jobs::{
    Cancelled, Ended, Finish, HostWork, Jobs, Requeued, Round, Rounded, Stepped,
};
use crate::store::ledger::{
    Accepted, Begun, ChannelChange, Consent, Fact, HostRead, Intent, Ledger, LookPlace,
    LookedAnswer, LookedAt, Looks, Ordered, Rejected, Rejection, Resolved, UnderWay, Word,
};
use crate::store::people::{
    ConsumerView, Diagnosis, EventDetail, EventView, Explanation, Filter, JobDetail, JobView,
    LaneView, NoticeView, Page, People, SendDetail, SendView, Stats, Trace,
};
use crate::store::processes::{Announced, Processes, Watch};
use crate::store::space::{Checkpointed, LogHealth, RoomHealth, Space};
use crate::store::sqlite::SqliteStore;

/// Whether a process lives, and what it is in.
#[derive(Default)]
pub(super) struct Life {
    pub(super) name: usize,
    dead: AtomicBool,
    frozen: AtomicBool,
    /// Steps of it that are under way: it can only be taken away when there is none.
    inside: AtomicUsize,
}

impl Life {
    pub(super) fn new(name: usize) -> Arc<Life> {
        Arc::new(Life { name, ..Life::default() })
    }

    pub(super) fn is_dead(&self) -> bool {
        self.dead.load(Ordering::SeqCst)
    }

    pub(super) fn die(&self) {
        self.dead.store(true, Ordering::SeqCst);
    }

    pub(super) fn is_frozen(&self) -> bool {
        self.frozen.load(Ordering::SeqCst)
    }

    pub(super) fn freeze(&self, frozen: bool) {
        self.frozen.store(frozen, Ordering::SeqCst);
    }

    pub(super) fn is_entered(&self) -> bool {
        self.inside.load(Ordering::SeqCst) > 0
    }

    pub(super) fn enter(&self) {
        self.inside.fetch_add(1, Ordering::SeqCst);
    }

    pub(super) fn leave(&self) {
        self.inside.fetch_sub(1, Ordering::SeqCst);
    }
}

pub(super) struct Mortal {
    world: Weak<World>,
    life: Arc<Life>,
    store: Mutex<Option<Arc<SqliteStore>>>,
}

impl Mortal {
    pub(super) fn new(world: &Arc<World>, life: &Arc<Life>, store: SqliteStore) -> Mortal {
        let store = Mutex::new(Some(Arc::new(store)));
        Mortal { world: Arc::downgrade(world), life: life.clone(), store }
    }

    fn world(&self) -> Arc<World> {
        self.world.upgrade().expect("the world outlives its processes")
    }

    // Its lock file is free as soon as nothing of it is under way.
    fn alive(&self) -> Result<Arc<SqliteStore>> {
        let mut store = self.store.lock();
        if self.life.is_dead() {
            *store = None;
        }
        store.clone().ok_or_else(|| Error::Closed { cause: "this process has died".to_owned() })
    }

    fn verb<T>(
        &self,
        what: &'static str,
        call: impl FnOnce(&SqliteStore) -> Result<T>,
    ) -> Result<T> {
        drop(self.alive()?);
        let world = self.world();
        world.point(&self.life, what);
        let store = self.alive()?;
        let ordered = world.order_fault(&store);
        let answer = call(&store);
        if let Some(fault) = ordered
            && store.end_faults()
        {
            world.see(fault);
        }
        let told = answer.as_ref().err().map_or("ok", said);
        world.note(&format!("{}: {what}: {told}", self.life.name));
        world.point(&self.life, what);
        drop(store);
        drop(self.alive()?);
        answer
    }
}

/// An error in the trace: its text may name the file, and that differs from run to run.
pub(super) fn said(error: &Error) -> &'static str {
    match error {
        Error::Busy { .. } => "busy",
        Error::DiskFull(_) => "disk full",
        Error::CommitUnknown(_) => "commit unknown",
        Error::Closed { .. } => "closed",
        Error::RolledBack => "rolled back",
        Error::Defect { .. } => "defect",
        Error::Host(_) => "host",
        Error::Sqlite(_) => "sqlite",
        _ => "refused",
    }
}

/// Verbs that go straight to the store, between two points.
macro_rules! verbs {
    ($trait:ident: $(fn $name:ident($($arg:ident: $of:ty),*) -> $answer:ty;)*) => {
        $(fn $name(&self, $($arg: $of),*) -> Result<$answer> {
            self.verb(stringify!($name), |store| $trait::$name(store, $($arg),*))
        })*
    };
}

impl Store for Mortal {}

impl Bus for Mortal {
    verbs! {
        Bus:
        fn publish(events: Vec<NewEvent>) -> Vec<Published>;
        fn subscribe(registration: Registration) -> Registered;
        fn look(ask: &Look<'_>) -> Outlook;
        fn take(process: ProcessNo, wanted: Wanted) -> Wanted;
        fn note_route(process: ProcessNo, at: Option<&InRoute>) -> ();
    }
}

impl Jobs for Mortal {
    verbs! {
        Jobs:
        fn enqueue(jobs: Vec<NewJob>) -> Vec<Enqueued>;
        fn cancel(job: JobId, by: &str) -> Cancelled;
        fn requeue(job: JobId, by: &str) -> Requeued;
        fn step_result(job: JobNo, name: &str) -> Option<String>;
        fn progress(held: Held, line: String) -> ();
    }

    fn round(&self, round: Round) -> Result<Rounded> {
        self.verb("round", |store| {
            let world = self.world();
            let before = world.holders(&round);
            let answer = store.round(round);
            world.agree(&before, &answer);
            answer
        })
    }

    fn finish_with(&self, finish: Finish, rows: HostWork<'_>) -> Result<Ended> {
        self.verb("finish_with", |store| {
            let (world, held) = (self.world(), finish.held);
            let holds = world.holds(held);
            let answer = store.finish_with(finish, rows);
            world.end_agrees(held, holds, &answer);
            answer
        })
    }

    fn finish_step(&self, held: Held, name: String, result: String) -> Result<Stepped> {
        self.verb("finish_step", |store| {
            let holds = self.world().holds(held);
            let answer = store.finish_step(held, name, result);
            self.world().step_agrees(held, holds, &answer);
            answer
        })
    }

    fn effect_key(&self, job: JobId, name: &str) -> [u8; 16] {
        self.alive().map_or([0; 16], |store| store.effect_key(job, name))
    }
}

impl Ledger for Mortal {
    verbs! {
        Ledger:
        fn no_code(held: Held, channel: &str) -> ();
        fn offers(channels: Vec<String>) -> ();
        fn accept(fact: Fact) -> Accepted;
        fn reject(rejection: Rejection) -> Rejected;
        fn under_way(call: UnderWay) -> ();
        fn due_looks(after: Option<LookPlace>, most: usize) -> Looks;
        fn looked(at: LookedAt) -> LookedAnswer;
        fn host_read(read: HostRead<'_>) -> ();
        fn resolve(key: SendKey, word: Word, who: &str) -> Resolved;
        fn order(key: SendKey, who: &str) -> Ordered;
        fn set_channel(change: ChannelChange) -> ();
        fn set_consent(consent: Consent) -> ();
        fn set_hold(reason: Option<String>, who: &str) -> ();
    }

    fn begin(&self, intent: Intent) -> Result<Begun> {
        self.verb("begin", |store| {
            let held = intent.held;
            let holds = self.world().holds(held);
            let answer = store.begin(intent);
            self.world().intent_agrees(held, holds, &answer);
            answer
        })
    }
}

impl Processes for Mortal {
    verbs! {
        Processes:
        fn register() -> ProcessNo;
        fn announce(process: ProcessNo, kinds: Vec<Announced>) -> Vec<KindNo>;
        fn tell_unhandled() -> usize;
        fn leave(process: ProcessNo) -> ();
        fn sweep() -> bool;
        fn watch(me: ProcessNo) -> Watch;
        fn cancel_asked(me: ProcessNo) -> Vec<Token>;
        fn touch() -> ();
        fn generation() -> u64;
    }

    fn hint(&self) -> Option<Hint> {
        None
    }
}

impl Space for Mortal {
    fn look_at_space(&self) -> RoomMode {
        self.alive().map_or(RoomMode::Plenty, |store| store.look_at_space())
    }

    fn room_mode(&self) -> RoomMode {
        self.alive().map_or(RoomMode::Plenty, |store| store.room_mode())
    }

    fn space(&self) -> (RoomHealth, LogHealth) {
        self.alive().map(|store| store.space()).unwrap_or_default()
    }

    verbs! {
        Space:
        fn tell_space() -> bool;
        fn checkpoint(me: ProcessNo) -> Checkpointed;
    }
}

impl People for Mortal {
    verbs! {
        People:
        fn events(filter: &Filter) -> Page<EventView>;
        fn jobs(filter: &Filter) -> Page<JobView>;
        fn lanes(filter: &Filter) -> Page<LaneView>;
        fn sends(filter: &Filter) -> Page<SendView>;
        fn notices(filter: &Filter) -> Page<NoticeView>;
        fn consumers() -> Vec<ConsumerView>;
        fn event(id: EventId) -> EventDetail;
        fn job(id: JobId) -> JobDetail;
        fn send(id: i64) -> SendDetail;
        fn notice(id: i64) -> NoticeView;
        fn has_org(name: &str) -> bool;
        fn stats() -> Stats;
        fn trace(id: &str) -> Trace;
        fn explain(job: JobId) -> Explanation;
        fn doctor() -> Diagnosis;
        fn acknowledge(notice: i64, by: &str) -> bool;
        fn resolve_notice(notice: i64, by: &str) -> bool;
    }
}
