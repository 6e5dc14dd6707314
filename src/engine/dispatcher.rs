//! Dispatch: what consumers make of new events. One step is a look, then this process's routes with
//! no transaction open, then a commit that may carry the next claim as well.

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::error::Error as StdError;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use crate::engine::run::panic_text;
use crate::error::Result;
use crate::model::consumer::{Consumer, Form, Registration, Skip, origin};
use crate::model::event::Event;
use crate::model::id::{ConsumerNo, ProcessNo};
use crate::model::job::NewJob;
use crate::model::outcome::BoxError;
use crate::model::text::scrub;
use crate::store::Store;
use crate::store::bus::{
    Batch, Delivery, Dispatch, Dispatched, InRoute, Look, Made, Next, Outlook, Range, Registered,
    Wanted, Watch, Way,
};

/// A pure function from an event to the jobs that it asks for.
pub(crate) type Route = Arc<dyn Fn(&Event) -> Result<Vec<NewJob>, BoxError> + Send + Sync>;

/// A consumer with the code that this process has for it.
pub(crate) struct Subscription {
    pub(crate) consumer: Consumer,
    /// `None`: a consume handler. Its deliveries are jobs of the kind `consume.KEY`, which workers
    /// run.
    pub(crate) route: Option<Route>,
}

impl Subscription {
    /// The consumer as the store registers it, if it breaks no rule.
    pub(crate) fn registration(&self) -> Result<Registration> {
        let form = if self.route.is_some() { Form::Route } else { Form::Consume };
        self.consumer.registration(form)
    }
}

/// When the next step is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Step {
    Again,
    /// At this wall time, or when the bell rings before.
    At(i64),
    OnBell,
}

/// The consumers of one process, and whose turn it is.
pub(crate) struct Dispatcher {
    process: ProcessNo,
    mine: Vec<Arc<Watch>>,
    code: HashMap<ConsumerNo, Code>,
    turn: usize,
    /// The last commit failed for the sake of one row: write each delivery apart.
    apart: bool,
    /// Of the look whose results are being committed.
    more: bool,
    next_retry: Option<i64>,
}

struct Code {
    registration: Registration,
    route: Option<Route>,
}

impl Dispatcher {
    /// Buries who has died, and registers the consumers; each answer says whether this process
    /// dispatches it. Two of one key are an error, and then none is registered.
    pub(crate) fn start(
        store: &dyn Store,
        process: ProcessNo,
        subscriptions: Vec<Subscription>,
    ) -> Result<(Dispatcher, Vec<(String, Registered)>)> {
        let code = checked(subscriptions)?;
        // Whoever died in a route accuses it before this process runs any: else a route that kills
        // at once could end each process that comes, before its reaper has buried the last one.
        store.sweep()?;
        let mut dispatcher = Dispatcher {
            process,
            mine: Vec::new(),
            code: HashMap::new(),
            turn: 0,
            apart: false,
            more: false,
            next_retry: None,
        };
        let mut answers = Vec::new();
        for code in code {
            let key = code.registration.key.clone();
            let answer = store.subscribe(code.registration.clone())?;
            dispatcher.adopt(code, &answer);
            answers.push((key, answer));
        }
        Ok((dispatcher, answers))
    }

    fn adopt(&mut self, code: Code, answer: &Registered) {
        let Registration { key, patterns, policy, .. } = code.registration.clone();
        let (consumer, generation) = match *answer {
            Registered::New { consumer, generation }
            | Registered::Same { consumer, generation }
            | Registered::Changed { consumer, generation, .. } => (consumer, generation),
            Registered::Older { version } => {
                tracing::warn!(key, version, "the file knows a higher version of this consumer");
                return;
            }
            Registered::Retired => {
                tracing::warn!(key, "this consumer was retired; its code gets no events");
                return;
            }
        };
        self.mine.push(Arc::new(Watch { consumer, generation, key, patterns, policy }));
        self.code.insert(consumer, code);
    }

    /// One step: looks, runs the routes, and hands what they made to `commit`, which may carry more
    /// in the same transaction. If there is nothing to write, `commit` is not called.
    ///
    /// # Errors
    /// The look or the commit failed: nothing was dispatched, and the next step does it again.
    pub(crate) fn step(
        &mut self,
        store: &dyn Store,
        commit: impl FnOnce(Dispatch) -> Result<Dispatched>,
    ) -> Result<Step> {
        let dispatched = self.prepare(store)?.map(commit);
        self.settle(dispatched)
    }

    /// Looks, and runs the routes; `None` if there is nothing to dispatch.
    fn prepare(&mut self, store: &dyn Store) -> Result<Option<Dispatch>> {
        self.turn = self.turn.wrapping_add(1);
        let (process, mine, turn) = (self.process, self.mine.as_slice(), self.turn);
        let outlook = store.look(&Look { process, mine, turn })?;
        (self.more, self.next_retry) = (outlook.more, outlook.next_retry);
        if outlook.is_empty() {
            return Ok(None);
        }
        let Outlook { generation, ranges, wanted, .. } = outlook;
        let wanted = if wanted.is_empty() { wanted } else { store.take(process, wanted)? };
        let mut running = Running { dispatcher: self, store, noted: false };
        let mut batches = Vec::with_capacity(ranges.len());
        for range in ranges {
            let made = running.range(&range)?;
            batches.push(Batch { range, made });
        }
        let Wanted { suspect, due } = wanted;
        let mut retries = Vec::with_capacity(due.len());
        for due in due {
            let runs = !due.has_died();
            let made = runs.then(|| running.run(&due.watch, due.body.as_deref(), Way::Again));
            retries.push((due, made.transpose()?));
        }
        // Last: it is the one that may end this process.
        let suspect = match suspect {
            Some(suspect) => {
                let made = match &suspect.next {
                    Next::Run { body, .. } => {
                        Some(running.run(&suspect.watch, body.as_deref(), Way::Alone)?)
                    }
                    Next::Pass | Next::Died { .. } => None,
                };
                Some((suspect, made))
            }
            None => None,
        };
        running.end()?;
        let apart = self.apart;
        Ok(Some(Dispatch { process, generation, batches, suspect, retries, apart }))
    }

    fn settle(&mut self, dispatched: Option<Result<Dispatched>>) -> Result<Step> {
        let moved = match dispatched {
            None => false,
            Some(Ok(done)) => {
                self.apart = false;
                self.next_retry = self.next_retry.into_iter().chain(done.retry_at).min();
                done.moved
            }
            Some(Err(error)) => {
                self.apart = error.is_of_one_row();
                return Err(error);
            }
        };
        Ok(match self.next_retry {
            _ if self.more || moved => Step::Again,
            Some(at) => Step::At(at),
            None => Step::OnBell,
        })
    }
}

/// The routes of one pass. The process's lock file names the one that runs, so that its death
/// accuses nobody else.
struct Running<'a> {
    dispatcher: &'a Dispatcher,
    store: &'a dyn Store,
    noted: bool,
}

impl Running<'_> {
    fn range(&mut self, range: &Range) -> Result<Vec<Delivery>> {
        let mut made = Vec::new();
        for event in range.events.iter().filter(|event| !event.duplicate) {
            for member in range.members.iter().filter(|m| m.wants(event.seq, &event.name)) {
                let watch = member.watch.clone();
                let answer = self.run(&watch, event.body.as_deref(), Way::Range)?;
                let org = event.org.clone();
                made.push(Delivery { watch, event: event.seq, org, made: answer });
            }
        }
        Ok(made)
    }

    fn run(&mut self, watch: &Watch, event: Option<&Event>, way: Way) -> Result<Made> {
        let Some(event) = event else {
            return Ok(Made::Skipped("its subject was forgotten".to_owned()));
        };
        let code = &self.dispatcher.code[&watch.consumer];
        let Some(route) = &code.route else {
            return Ok(consume(&code.registration, watch.consumer, event));
        };
        let Watch { consumer, generation, .. } = *watch;
        let at = InRoute { way, consumer, generation, event: event.seq };
        self.store.note_route(self.dispatcher.process, Some(&at))?;
        self.noted = true;
        Ok(routed(route, consumer, event))
    }

    // Whatever ends this process from now on, it is no route.
    fn end(self) -> Result<()> {
        if self.noted { self.store.note_route(self.dispatcher.process, None) } else { Ok(()) }
    }
}

fn checked(subscriptions: Vec<Subscription>) -> Result<Vec<Code>> {
    let code = |subscription: Subscription| {
        Ok(Code { registration: subscription.registration()?, route: subscription.route })
    };
    subscriptions.into_iter().map(code).collect()
}

fn consume(registration: &Registration, consumer: ConsumerNo, event: &Event) -> Made {
    match registration.job(event) {
        Ok(mut job) => {
            job.origin = origin(event.seq, consumer, 0);
            Made::Job(Box::new(job))
        }
        Err(error) => Made::Failed(error.to_string()),
    }
}

fn routed(route: &Route, consumer: ConsumerNo, event: &Event) -> Made {
    // The text of its error is the host's code too.
    let ask = || route(event).map_err(|error| refused(&*error, event));
    let answer = catch_unwind(AssertUnwindSafe(ask));
    let jobs = match answer {
        Ok(Ok(jobs)) => jobs,
        Ok(Err(made)) => return made,
        Err(panic) => return Made::Failed(scrubbed(&panic_text(&*panic), event)),
    };
    let born = jobs.into_iter().zip(0..).map(|(job, ordinal)| {
        let mut job = of_event(job, event)?;
        job.origin = origin(event.seq, consumer, ordinal);
        Ok(job)
    });
    match born.collect::<Result<Vec<_>>>() {
        Ok(jobs) => Made::Routed(jobs),
        Err(error) => Made::Failed(scrubbed(&error.to_string(), event)),
    }
}

// Checked before the event's own org is filled in: another program may have written it in a form
// that we would refuse.
fn of_event(mut job: NewJob, event: &Event) -> Result<NewJob> {
    let inherits = job.org.is_none();
    job.org.get_or_insert_with(|| "-".to_owned());
    job.check()?;
    if inherits {
        job.org = Some(event.org().to_owned());
    }
    Ok(job)
}

fn refused(error: &(dyn StdError + 'static), event: &Event) -> Made {
    let mut cause = Some(error);
    while let Some(error) = cause {
        if let Some(Skip(reason)) = error.downcast_ref() {
            return Made::Skipped(reason.clone());
        }
        cause = error.source();
    }
    Made::Failed(scrubbed(&error.to_string(), event))
}

// What is kept of an error is for people: neither the body nor the contact stands in it.
fn scrubbed(error: &str, event: &Event) -> String {
    let subject = serde_json::Value::from(event.subject().unwrap_or_default());
    scrub(&scrub(error, event.payload_json()), &subject.to_string())
}
